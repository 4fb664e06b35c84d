package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// powered is a session on a disk whose power will go. What somebody was told is noted
// with the moment of the telling.
type powered struct {
	disk *powertest.Disk
	root string

	mu   sync.Mutex
	told []told
}

type told struct {
	moment  int
	created bool
	seq     int    // committed
	shown   int    // noted by the mirror
	line    string // "launch tool payload"
}

func (p *powered) note(n told) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n.moment = p.disk.Moment()
	p.told = append(p.told, n)
}

const failing = `verdict: fail
summary: Expiry ignores clock skew.
findings: [{location: "auth/token.go:41", issue: No leeway, severity: high, recommendation: Allow 60 s}]
`

const mirrorNote = `{"version":1,"shown_seq":%d}`

// TestPowerLossDuringASession cuts the power below a whole session. With
// AGENTMUX_POWER set it goes at each so many-th moment, in more ways.
func TestPowerLossDuringASession(t *testing.T) {
	p := &powered{root: t.TempDir()}
	p.disk = powertest.New(p.root)
	var want string
	bubble(t, func(t *testing.T) { want = p.live(t) })
	moments, lines := p.disk.Moment(), 0
	for _, n := range p.told {
		if n.line != "" {
			lines++
		}
	}
	if moments < 1000 || lines < 9 {
		t.Fatalf("only %d changes and %d answered lines", moments, lines)
	}
	stride, fates, rest := max(1, moments/20), powertest.Fates+1, 8
	if testing.Short() {
		stride = max(1, moments/5)
	}
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_POWER")); err == nil {
		stride, fates, rest = n, powertest.Fates+5, 5
	}
	images := 0
	for past := range p.disk.Past() {
		if past.Moment%stride != 0 && past.Moment != moments {
			continue
		}
		for fate := range fates {
			dir := filepath.Join(t.TempDir(), "image")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := past.Image(dir, fate); err != nil {
				t.Fatal(err)
			}
			images++
			p.judge(t, dir, past.Moment)
			if !t.Failed() && images%rest == 0 {
				bubble(t, func(t *testing.T) { p.goOn(t, dir, past.Moment, want) })
			}
			if t.Failed() {
				t.Fatalf("the power went after %d of %d changes, fate %d", past.Moment, moments, fate)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d changes, %d answered lines, %d images", moments, lines, images)
}

// live runs the session to its end, with the power on.
func (p *powered) live(t *testing.T) string {
	st := orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "c0"}
	st.Integrated = orchestrator.Integrated{Commit: "c0", Tree: "t0"}
	s, err := session.Create(session.CreateSpec{
		Project: p.root, Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.",
		Definition: definition(t, "feature"), State: st, Disk: p.disk.Disk(),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.note(told{created: true})
	return p.run(t, s, p.disk, orchestrator.StartNew)
}

// run hosts a session and returns what its end must not depend on.
func (p *powered) run(t *testing.T, s *session.Session, disk *powertest.Disk, mode string) string {
	w := worldOf(t, s)
	w.put = func(rel, text string) {
		if err := disk.Write(s.Path(rel), []byte(text)); err != nil {
			t.Error(err)
		}
	}
	first := mode == orchestrator.StartNew
	w.say = func(launch orchestrator.Launch, tool, payload string) {
		appendLine(w, session.ToolEvents, launch, tool, payload)
		if first {
			p.note(told{line: string(launch) + " " + tool + " " + payload})
		}
	}
	w.play = func(w *world, e orchestrator.Effect) {
		if role := e.Args.Role; role == workflows.RoleReviewerLogic && w.state().ReviewIteration == 0 {
			w.write(artifact.ReviewFile("07_review", role), failing)
			w.submit(e.Args.Launch, "submit_review", `{"role":"`+role+`","verdict":"fail"}`)
			return
		}
		if e.Args.Role == "architect" {
			appendLine(w, session.Commands, "", "command", `{"name":"say","args":{"text":"Mind the clock."}}`)
		}
		honest(w, e)
	}
	st := w.start(engine.Options{Start: orchestrator.Start{Mode: mode}, OnCommit: func(st *orchestrator.State) {
		if first {
			p.note(told{seq: st.Seq})
		}
		if err := s.Replace(session.MirrorFile, fmt.Appendf(nil, mirrorNote, st.Seq)); err != nil {
			t.Error(err)
		}
		if first {
			p.note(told{shown: st.Seq})
		}
	}}).wait()
	return end(st)
}

// end is what the end of a session must not depend on.
func end(st *orchestrator.State) string {
	verdicts := map[string]string{}
	for role, r := range st.ReviewResults {
		verdicts[role] = r.Verdict
	}
	return fmt.Sprintf("%s %s groups %v subplans %v verdicts %v committed %v", st.Phase, st.Outcome,
		st.CompletedGroups, slices.Sorted(slices.Values(st.CompletedSubplans)), verdicts, st.Completion.Commit != "")
}

// appendLine appends a line as the tool of an agent or a command does.
func appendLine(w *world, file string, launch orchestrator.Launch, tool, payload string) {
	parts, _ := launch.Parts()
	visit, role, task := parts.Visit, parts.Role, parts.Task
	err := w.s.Append(file, time.Now(), func(session.Tail) (*session.NewLine, error) {
		return &session.NewLine{Tool: tool, Role: role, Task: task, Launch: launch, Visit: visit, Payload: json.RawMessage(payload)}, nil
	})
	if err != nil {
		w.t.Error(err)
	}
}

// judge looks at what a power loss left.
func (p *powered) judge(t *testing.T, dir string, moment int) {
	t.Helper()
	entries, err := session.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, created := p.toldBy(moment)
	if len(entries) == 0 && !created {
		return
	}
	if len(entries) != 1 || entries[0].Err != nil {
		t.Fatalf("listed: %+v", entries)
	}
	s, err := session.OpenOn(entries[0].Dir, powertest.New(dir).Disk())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(0); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.Recover(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if st.Seq < want.seq {
		t.Errorf("record %d was committed, the state is at %d", want.seq, st.Seq)
	}
	if err := session.CheckDir(s.Dir).Err(); err != nil {
		t.Error(err)
	}
	var mirror struct {
		Shown int `json:"shown_seq"`
	}
	data, _ := os.ReadFile(s.Path(session.MirrorFile))
	if len(data) > 0 && json.Unmarshal(data, &mirror) != nil || mirror.Shown < want.shown {
		t.Errorf("the mirror noted %d, its file holds %q", want.shown, data)
	}
	p.lines(t, s, moment, false)
}

// toldBy sums up what somebody had been told by a moment.
func (p *powered) toldBy(moment int) (sum told, created bool) {
	for _, n := range p.told {
		if n.moment <= moment {
			sum.seq, sum.shown, created = max(sum.seq, n.seq), max(sum.shown, n.shown), created || n.created
		}
	}
	return sum, created
}

// lines checks that every answered line is there; once, unless the launch was started
// again.
func (p *powered) lines(t *testing.T, s *session.Session, moment int, again bool) {
	t.Helper()
	lines, _, err := s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, l := range lines {
		found[string(l.Launch)+" "+l.Tool+" "+string(l.Payload)]++
	}
	for _, n := range p.told {
		if n.line != "" && n.moment <= moment && (found[n.line] == 0 || found[n.line] > 1 && !again) {
			t.Errorf("the answered line %q is there %d times", n.line, found[n.line])
		}
	}
}

// goOn resumes what a power loss left and runs it to its end. The machine was off:
// no agent is left, and what git holds is there.
func (p *powered) goOn(t *testing.T, dir string, moment int, want string) {
	t.Helper()
	entries, err := session.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		return
	}
	disk := powertest.New(dir)
	s, err := session.OpenOn(entries[0].Dir, disk.Disk())
	if err == nil {
		err = s.Lock(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := p.run(t, s, disk, orchestrator.StartResume); got != want {
		t.Errorf("the session ended as\n%s\nwant\n%s", got, want)
	}
	p.lines(t, s, moment, true)
}
