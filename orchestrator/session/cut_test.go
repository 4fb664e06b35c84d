package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// offsets are the places of a file at which it is cut or changed: all of them, or with
// a stride those of its ends and some between.
func offsets(size, stride int) []int {
	ends := 64
	if testing.Short() {
		ends, stride = 4, 8*stride
	}
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_POWER")); err == nil {
		stride = n
	}
	var at []int
	for n := range size {
		if n < ends || n > size-ends || n%stride == 0 {
			at = append(at, n)
		}
	}
	return at
}

// open gives the session of a project, on a disk that waits for nothing.
func open(t *testing.T, project, name string) *session.Session {
	t.Helper()
	s, err := session.OpenOn(filepath.Join(session.Dir(project), name), powertest.New(project).Disk())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStateCutAtEveryByte(t *testing.T) {
	project, name, _ := whole(t)
	s := open(t, project, name)
	want := state(t, s)
	text := read(t, s, session.StateFile)
	for _, n := range offsets(len(text), 17) {
		write(t, s.Path(session.StateFile), text[:n])
		got, err := s.ReadState()
		var corrupt *session.CorruptError
		switch {
		case n == len(text)-1: // only the last line end is missing
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("without its line end: %v", err)
			}
		case !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "state.json") || !strings.Contains(err.Error(), "--from-backup"):
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// A bit that is another one makes the state unreadable, whether it is in a value or in a
// key, unless the state is the same all the same; only in the number of its last record does
// the checker have to see it.
func TestStateWithOneBitFlipped(t *testing.T) {
	project, name, _ := whole(t)
	s := open(t, project, name)
	plain := func(st *orchestrator.State) string {
		st.Unknown = nil // the name of the checksum itself
		data, err := st.Encode()
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	want := plain(state(t, s))
	text := []byte(read(t, s, session.StateFile))
	refused, bits := 0, 1
	if testing.Short() {
		bits = 3 // of each byte others
	}
	for _, n := range offsets(len(text), 67) {
		for bit := n % bits; bit < 8; bit += bits {
			flipped := bytes.Clone(text)
			flipped[n] ^= 1 << bit
			write(t, s.Path(session.StateFile), string(flipped))
			st, err := s.ReadState()
			if err != nil {
				refused++
				if !strings.Contains(err.Error(), "agentmux") {
					t.Errorf("byte %d, bit %d: %v", n, bit, err)
				}
				continue
			}
			if plain(st) == want {
				continue
			}
			around := string(text[max(0, n-40):min(len(text), n+1)])
			if !strings.Contains(around, `"seq": `) && !strings.Contains(around, `"updated_at": `) {
				t.Errorf("byte %d, bit %d: nothing sees %q", n, bit, flipped[max(0, n-20):min(len(flipped), n+20)])
			}
		}
	}
	if refused == 0 {
		t.Error("no flip was refused: the test looks at the wrong bytes")
	}
}

// Who edits a state takes out its checksum; a line of the version before, which does not
// know it, says nothing.
func TestAnEditedStateIsReadWithoutItsChecksum(t *testing.T) {
	s := fresh(t)
	text := read(t, s, session.StateFile)
	changed := strings.Replace(text, `"paused": false`, `"paused": true`, 1)
	write(t, s.Path(session.StateFile), changed)
	if _, err := s.ReadState(); err == nil || !strings.Contains(err.Error(), `take out its line "checksum"`) {
		t.Errorf("%v", err)
	}
	write(t, s.Path(session.StateFile), edited(changed))
	if st, err := s.ReadState(); err != nil || !st.Paused {
		t.Errorf("%+v, %v", st, err)
	}
	later := strings.Replace(changed, `"seq": 2`, `"seq": 3`, 1)
	write(t, s.Path(session.StateFile), later)
	if st, err := s.ReadState(); err != nil || !st.Paused || st.Unknown != nil {
		t.Errorf("written by the version before: %+v, %v", st, err)
	}
	write(t, s.Path(session.StateFile), strings.Replace(later, `"seq"`, `"sep"`, 1))
	if _, err := s.ReadState(); err == nil {
		t.Error("a state without its number is taken")
	}
}

// edited is a state as a person leaves it who changed it.
func edited(text string) string {
	i := strings.LastIndex(text, ",\n  \"checksum\"")
	return text[:i] + "\n}\n"
}

func TestRecordsCutAtEveryByte(t *testing.T) {
	project, name, _ := whole(t)
	s := open(t, project, name)
	text, before := read(t, s, session.EventsFile), read(t, s, session.StateFile)
	seq := state(t, s).Seq
	for _, n := range offsets(len(text), 61) {
		write(t, s.Path(session.EventsFile), text[:n])
		write(t, s.Path(session.StateFile), before)
		again := open(t, project, name)
		if err := again.Lock(0); err != nil {
			t.Fatal(err)
		}
		st, err := again.Recover(noon)
		if err != nil || st.Seq != seq+1 {
			t.Fatalf("cut at %d: %+v, %v", n, st, err)
		}
		commit(t, again, next(st, orchestrator.EvAgentStatus))
		records, bad, err := again.Events(0)
		whole := strings.Count(text[:n], "\n")
		if err != nil || bad > 0 || len(records) != whole+2 {
			t.Errorf("cut at %d: %d records, %d bad, %v; %d were whole", n, len(records), bad, err, whole)
		}
		if err := session.CheckDir(again.Dir).Err(); err != nil {
			t.Errorf("cut at %d: %v", n, err)
		}
		again.Close()
	}
}

// A damaged record is passed over and counted; the others stay.
func TestARecordWithOneBitFlipped(t *testing.T) {
	project, name, _ := whole(t)
	s := open(t, project, name)
	text := []byte(read(t, s, session.EventsFile))
	lines := bytes.Count(text, []byte("\n"))
	for _, n := range offsets(len(text), 97) {
		flipped := bytes.Clone(text)
		flipped[n] ^= 1 << (n % 8)
		write(t, s.Path(session.EventsFile), string(flipped))
		records, bad, err := s.Events(0)
		if err != nil || len(records)+bad < lines-1 {
			t.Errorf("byte %d: %d records and %d bad of %d, %v", n, len(records), bad, lines, err)
		}
		session.CheckDir(s.Dir)
	}
}

func TestToolLinesCutAtEveryByte(t *testing.T) {
	project, name, _ := whole(t)
	s := open(t, project, name)
	text := read(t, s, session.ToolEvents)
	all, _, err := s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	cursors := []orchestrator.Cursor{{}, all[0].Cursor, all[1].Cursor}
	for n := range len(text) + 1 {
		write(t, s.Path(session.ToolEvents), text[:n])
		for i, c := range cursors {
			got, _, err := s.Lines(session.ToolEvents, c, 0)
			if err != nil {
				t.Fatal(err)
			}
			rewound := len(got) > 0 && got[0].Rewound != nil
			if rewound != (int64(n) < c.Offset) {
				t.Fatalf("cut at %d, cursor behind line %d: %+v", n, i, got)
			}
			from := i
			if rewound {
				got, from = got[1:], 0
			}
			for j, l := range got {
				if l.Corrupt != "" || l.ID != all[from+j].ID {
					t.Fatalf("cut at %d: line %d is %+v", n, j, l)
				}
			}
			if whole := strings.Count(text[:n], "\n"); from+len(got) != max(whole, from) {
				t.Fatalf("cut at %d, cursor behind line %d: %d lines of %d", n, i, from+len(got), whole)
			}
		}
	}
}

func TestDefinitionWithOneByteChanged(t *testing.T) {
	project, name, _ := whole(t)
	dir := filepath.Join(session.Dir(project), name)
	text := read(t, open(t, project, name), session.DefinitionFile)
	try := func(what, changed string) {
		write(t, filepath.Join(dir, session.DefinitionFile), changed)
		var corrupt *session.CorruptError
		_, err := open(t, project, name).ReadState()
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "definition.yaml") || strings.Contains(err.Error(), "--from-backup") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, n := range offsets(len(text), 41) {
		try(fmt.Sprintf("cut at %d", n), text[:n])
		flipped := []byte(text)
		flipped[n] ^= 1 << (n % 8)
		try(fmt.Sprintf("byte %d", n), string(flipped))
	}
}

// A blob with another content is never taken for the one that is named.
func TestBlobWithOneBitFlipped(t *testing.T) {
	project, name, _ := whole(t)
	s := open(t, project, name)
	sha := state(t, s).Messages[0].SHA256
	text := read(t, s, "blobs/"+sha)
	for n := range len(text) {
		flipped := []byte(text)
		flipped[n] ^= 1 << (n % 8)
		write(t, s.Path("blobs", sha), string(flipped))
		if _, err := s.Blob(sha); err == nil || !strings.Contains(err.Error(), sha) {
			t.Fatalf("byte %d: %v", n, err)
		}
		write(t, s.Path("blobs", sha), text[:n])
		if _, err := s.Blob(sha); err == nil {
			t.Fatalf("cut at %d", n)
		}
	}
	if err := session.CheckDir(s.Dir).Err(); err == nil || !strings.Contains(err.Error(), sha) {
		t.Errorf("the checker says %v", err)
	}
}
