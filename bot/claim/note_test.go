package claim_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
)

func TestNotesAreReadAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	if _, err := claim.ReadNote(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a note: %v", err)
	}
	seen := claim.Seen{Issue: 12, ID: strings.Repeat("a", 40), Claim: claim.Claim{Gen: 3}}
	for _, n := range []claim.Note{
		{Host: claim.NewHostID(), Claims: []claim.NoteClaim{}},
		{Host: claim.JobHostID(7, 1), Claims: []claim.NoteClaim{claim.NoteOf(seen), {Issue: 13, Gen: 1}}, Checkpoint: strings.Repeat("b", 40)},
	} {
		if err := n.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := claim.ReadNote(dir); err != nil || !reflect.DeepEqual(got, n) {
			t.Errorf("read %+v, %v; want %+v", got, err, n)
		}
	}
	file := filepath.Join(dir, "claim.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for name, text := range map[string]string{"empty": "", "cut": `{"v":1,"host":"h_`, "no host": `{"v":1}`, "bad host": `{"v":1,"host":"../x"}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := claim.ReadNote(dir); err == nil || !strings.Contains(err.Error(), "claim.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := `{"v":2,"host":{"id":"h_1"}}`
	if err := os.WriteFile(file, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claim.ReadNote(dir); !errors.Is(err, claim.ErrNewer) {
		t.Errorf("a later version: %v", err)
	}
	if err := (claim.Note{Host: claim.NewHostID()}).Write(dir); !errors.Is(err, claim.ErrNewer) {
		t.Errorf("over a later version: %v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != newer {
		t.Errorf("the file is now %s", data)
	}
}
