package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// A host that is killed just behind the end leaves its tmux server and the last words on the
// issue. Status says so, and a resume that names nothing finishes both.
func TestWhatAKilledEndOwesIsFinished(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	host := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.eventually("there is a pull request", func() bool { return len(r.github.Repo(rigRepo).Pulls()) == 1 }, host.out.String)
	r.github.Inject(fakehub.Unavailable("POST .../issues/{number}/comments", 503, 0), fakehub.Unavailable("PATCH .../issues/comments/{id}", 503, 0))
	r.eventually("the session is done", func() bool {
		e := r.sessions()
		return len(e) == 1 && e[0].State != nil && e[0].State.Phase == orchestrator.PhaseDone
	}, host.out.String)
	host.exit(syscall.SIGKILL)
	r.github.Heal()
	e := r.session()
	server := r.leftServer(e)
	out := r.expect(0, "status").out
	for _, want := range []string{"owed       GitHub does not show its end yet", "owed       its tmux server still runs",
		"next       agentmux resume " + e.Name + " finishes what is owed"} {
		if !strings.Contains(out, want) {
			t.Errorf("status does not say %q:\n%s", want, out)
		}
	}
	var status struct{ Owed []struct{ Kind string } }
	if err := json.Unmarshal([]byte(r.expect(0, "status", "--json").out), &status); err != nil || len(status.Owed) < 2 {
		t.Errorf("the JSON owes %+v, %v", status, err)
	}
	res := r.expect(0, "resume")
	if url := r.session().State.Completion.PRURL + "\n"; res.out != url {
		t.Errorf("standard output is %q, want %q", res.out, url)
	}
	if e = r.session(); !mirror.Shown(e.Dir, e.State.Seq) {
		t.Error("GitHub does not show the end")
	}
	if _, err := server.Started(t.Context()); err == nil {
		t.Error("the tmux server still runs")
	}
	if out := r.expect(0, "status").out; strings.Contains(out, "owed") {
		t.Errorf("afterwards status says\n%s", out)
	}
	r.expect(2, "resume")
}

// leftServer makes the tmux server that a killed host leaves, with something at work in it.
func (r *rig) leftServer(e session.Entry) *tmux.Server {
	r.t.Helper()
	sess, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := tmux.New(tmux.Options{Socket: sess.ReadRuntime().Socket, Tags: []string{"@left"}})
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = server.Ensure(r.t.Context(), tmux.SessionSpec{Name: e.State.SessionName, Width: 80, Height: 24, Window: tmux.WindowSpec{
		Session: e.State.SessionName, Name: "agent", Command: []string{"/bin/sh", "-c", "read never"}, Dir: r.dir, Options: map[string]string{"@left": "yes"},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = server.KillServer(context.WithoutCancel(r.t.Context())) })
	return server
}

// Without a name status shows what a person most likely means.
func TestStatusWithoutAName(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put("older", orchestrator.PhaseDone, 48, 1)
	s.put("newest", orchestrator.PhaseDone, 2, 1)
	s.put("oldest", orchestrator.PhaseDone, 96, 1)
	if out := s.expect(0, "status").out; !strings.HasPrefix(out, "session    newest\n") {
		t.Errorf("of three that ended status shows\n%s", out)
	}
	s.lock(s.put("alone", "reviewing", 200, 1))
	if out := s.expect(0, "status").out; !strings.HasPrefix(out, "session    alone\n") {
		t.Errorf("beside one that runs status shows\n%s", out)
	}
	s.lock(s.put("beside", "reviewing", 200, 1))
	res := s.expect(0, "status")
	if !strings.Contains(res.out, "alone") || !strings.Contains(res.out, "beside") || strings.Contains(res.out, "newest") || !strings.Contains(res.err, "status NAME") {
		t.Errorf("of two that run status shows\n%s%s", res.out, res.err)
	}
}

// lock holds the lock of a session, as a host does.
func (s *shelf) lock(dir string) {
	s.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := sess.Lock(0); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = sess.Close() })
}

// Why a session waits is a sentence, not the name of a constant, and an outage says since
// when it lasts and how often it was tried.
func TestStatusSaysWhyAndSinceWhen(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dir := s.put("one", "completing", 1, 1)
	file := filepath.Join(dir, session.StateFile)
	var st map[string]any
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &st) != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(dir, session.EventsFile), `{"seq":1,"ts":"2026-01-02T10:00:00Z","type":"effect_failed","phase":"completing","visit":1,"data":{"id":"1.1","effect":"ensure_push","error":"the server is out","attempt":3}}
{"seq":2,"ts":"2026-01-02T10:01:00Z","type":"needs_human","phase":"completing","visit":1,"data":{"reason":"output_gate","text":"the output gate found: secret","next":"resume to scan again"}}
`)
	st["seq"] = 2
	st["pending_effects"] = []any{map[string]any{"id": "1.1", "type": "ensure_push", "attempt": 3, "since": "2026-01-02T09:00:00Z"}}
	put := func() {
		data, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		s.write(file, string(data))
	}
	put()
	if out := s.expect(0, "status").out; !strings.Contains(out, "the push of the branch fails since ") || !strings.Contains(out, ", 3 tries: the server is out") {
		t.Errorf("status says\n%s", out)
	}
	st["outcome"], st["outcome_reason"], st["pending_effects"] = "needs_human", "output_gate", []any{}
	st["completion"] = map[string]any{"findings": []string{"secret: a.txt:3"}}
	put()
	out := s.expect(0, "status").out
	for _, want := range []string{"phase      completing, needs a human", "reason     output_gate: the output gate found: secret", "finding    secret: a.txt:3",
		"you can    resume to scan again", `next       agentmux resume one, or agentmux changes "..." one`} {
		if !strings.Contains(out, want) {
			t.Errorf("status does not say %q:\n%s", want, out)
		}
	}
}
