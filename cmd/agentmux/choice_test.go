package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A word that is not a command starts nothing.
func TestProtocolE2MistypedCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.write(filepath.Join(r.clone, "feature.md"), "Say two.\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"isue", "1"}, "did you mean issue?"},
		{[]string{"stauts"}, "did you mean status?"},
		{[]string{"aprove"}, "did you mean approve?"},
		{[]string{"att"}, "did you mean attach?"},
		{[]string{"42"}, `unknown command "42"`},
		{[]string{"feature.md"}, `agentmux run "feature.md"`},
		{[]string{"Say two everywhere"}, `agentmux run "Say two everywhere"`},
		{[]string{"workflows", "lst"}, "did you mean list?"},
		{[]string{"config", "chekc"}, "did you mean check?"},
		{[]string{"session", "rnu"}, "did you mean run?"},
		{[]string{"status", "--jsn"}, "--jsn"},
		{[]string{"run"}, "agentmux run --help"},
		{[]string{"sessions", "--log-level", "loud"}, "debug, info, warn or error"},
		{[]string{"stop", "a", "--session", "b"}, "two sessions"},
	} {
		r.row(strings.Join(c.args, " "), func(t *testing.T) {
			if res := r.expect(2, c.args...); !strings.Contains(res.err, c.says) {
				t.Errorf("%v says %q, want %q", c.args, res.err, c.says)
			}
		})
	}
	if entries := r.sessions(); len(entries) != 0 {
		t.Errorf("started: %+v", entries)
	}
}

func TestProtocolE4EveryWayToNameASession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	for _, c := range []struct {
		name  string
		issue int
		repo  string
	}{{"alpha", 7, "acme/widgets"}, {"alpine", 8, "octo/other"}, {"beta", 8, "acme/widgets"}} {
		st := orchestrator.State{IssueNumber: c.issue, Repo: orchestrator.Optional(c.repo), Settings: orchestrator.DefaultSettings()}
		s, err := session.Create(session.CreateSpec{
			Note:    r.noteMade,
			Project: r.clone, Now: time.Now(), Name: c.name, Request: "x", Definition: []byte(definitionText(t)), State: st,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	for _, c := range []struct{ arg, want string }{
		{"alpha", "alpha"}, {"alpi", "alpine"}, {"b", "beta"}, {"7", "alpha"}, {"#7", "alpha"}, {"octo/other#8", "alpine"},
		{"acme/widgets#8", "beta"}, {filepath.Join(session.Dir(r.clone), "alpine"), "alpine"}, {".agentmux/.sessions/beta", "beta"},
	} {
		r.row(c.arg, func(t *testing.T) {
			if res := r.expect(0, "status", c.arg); !strings.Contains(res.out, "session    "+c.want+"\n") {
				t.Errorf("%s: %s", c.arg, res.out)
			}
		})
	}
	for _, c := range []struct{ arg, says string }{
		{"al", "alpha, alpine"}, {"#8", "alpine, beta"}, {"8", "alpine, beta"}, {"", "alpha, alpine, beta"},
		{"gamma", "agentmux sessions"}, {"#9", "agentmux sessions"}, {"octo/none#8", "agentmux sessions"},
	} {
		r.row(c.arg, func(t *testing.T) {
			args := []string{"status", c.arg}
			if c.arg == "" {
				args = []string{"logs"} // status shows one of them
			}
			if res := r.expect(2, args...); !strings.Contains(res.err, c.says) {
				t.Errorf("%q: %s", c.arg, res.err)
			}
		})
	}
	// For a command that only one of them obeys, that one is meant; the others say why not.
	if res := r.expect(2, "pause", "--session", "alpha"); !strings.Contains(res.err, "not running") {
		t.Errorf("pause: %s", res.err)
	}
	if res := r.expect(2, "approve"); !strings.Contains(res.err, "no session here") {
		t.Errorf("approve: %s", res.err)
	}
	if err := os.WriteFile(filepath.Join(session.Dir(r.clone), "beta", session.StateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := r.expect(2, "resume", "--from-backup", "--headless"); !strings.Contains(res.err, "alpha, alpine, beta") {
		t.Errorf("resume: %s", res.err)
	}
	if res := r.expect(2, "resume", "--from-backup", "beta", "--headless"); !strings.Contains(res.err, "no state.json.bak") {
		t.Errorf("resume beta: %s", res.err)
	}
}

// Without a name the session is meant that the command can apply to.
func TestProtocolE4TheOnlyOneACommandCanApplyTo(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	r.expect(2, "resume")
	for _, name := range []string{"old", "older"} {
		s, err := session.Create(session.CreateSpec{
			Note:    r.noteMade,
			Project: r.clone, Now: time.Now(), Name: name, Request: "x", Definition: []byte(definitionText(t)),
			State: orchestrator.State{Settings: orchestrator.DefaultSettings()},
		})
		if err != nil {
			t.Fatal(err)
		}
		st, err := s.ReadState()
		if err != nil {
			t.Fatal(err)
		}
		st.Phase, st.Outcome = orchestrator.PhaseDone, orchestrator.OutcomeDone
		if err := s.Commit(decide.Step{State: st, Changed: true}); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	host := r.background("run", "Say two", "--workflow", "quick", "--headless", "--name", "held")
	r.launched("held")
	r.expect(0, "pause")
	if e, err := session.Find(r.clone, "held", nil); err != nil || !e.State.Paused {
		t.Errorf("not paused: %+v, %v", e, err)
	}
	for _, flags := range [][]string{{"--changes", "more"}, {"--base", "main"}, {"--from-backup"}} {
		r.row(strings.Join(flags, " "), func(t *testing.T) {
			if res := r.expect(2, append([]string{"resume"}, flags...)...); !strings.Contains(res.err, "held is paused") {
				t.Errorf("resume %v: %s", flags, res.err)
			}
		})
	}
	// A directory names it from anywhere.
	r.expect(0, "resume", filepath.Join(session.Dir(r.clone), "held"), "--project", r.dir)
	if e, err := session.Find(r.clone, "held", nil); err != nil || e.State.Paused {
		t.Errorf("paused: %+v, %v", e, err)
	}
	r.expect(0, "stop")
	select {
	case <-host.ended:
	case <-time.After(runLimit):
		t.Fatal("the host does not end")
	}
	if code := host.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d", code)
	}
	if res := r.expect(2, "stop"); !strings.Contains(res.err, "no session here") {
		t.Errorf("stop: %s", res.err)
	}
}

// Mistakes of two files come together, each with its place.
func TestProtocolE1MistakesInTwoFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "limits: {stal: 20m}\nprofiles: {fast: {}}\n"})
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nreview:\n  timeout: soon\n  rerun: [all]\ndefaults:\n  session_name: x\n")
	for _, args := range [][]string{{"config", "check"}, {"issue", "1", "--headless"}} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			res := r.expect(2, args...)
			for _, want := range []string{
				`config\.yaml:5: limits\.stal: .*"stall"`, `config\.yaml:6: profiles: removed: .*roles\.`,
				`\.agentmux/config\.yaml:3: review\.timeout: expected a duration`, `\.agentmux/config\.yaml:4: review\.rerun: expected`,
				`\.agentmux/config\.yaml:6: defaults\.session_name: removed: .*--name`,
			} {
				if !regexp.MustCompile(want).MatchString(res.err) {
					t.Errorf("%v: no %s in\n%s", args, want, res.err)
				}
			}
		})
	}
	if entries := r.sessions(); len(entries) != 0 {
		t.Errorf("started: %+v", entries)
	}
}

// A directory below the clone's root with a configuration is a project of its own: what is
// started there is found there.
func TestAProjectBelowTheCloneHasItsOwnSessions(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	root := r.clone
	r.write(filepath.Join(root, "part", ".agentmux", "config.yaml"), "version: 2\ndefaults: {workflow: quick}\n")
	r.clone = filepath.Join(root, "part")
	r.expect(0, "run", "Say two", "--headless", "--name", "inside")
	e := r.session()
	r.done(e)
	if e.State.Workflow != "quick" {
		t.Errorf("workflow %s", e.State.Workflow)
	}
	if res := r.expect(0, "sessions"); !strings.Contains(res.out, "inside") {
		t.Errorf("sessions there: %s", res.out)
	}
	r.clone = root
	if res := r.expect(0, "sessions"); strings.Contains(res.out, "inside") {
		t.Errorf("sessions of the clone: %s", res.out)
	}
	if res := r.expect(0, "sessions", "--project", "part"); !strings.Contains(res.out, "inside") {
		t.Errorf("sessions of --project: %s", res.out)
	}
	empty := filepath.Join(r.dir, "empty")
	r.git(r.dir, "init", "--quiet", empty)
	r.clone = empty
	if res := r.expect(2, "run", "Say two", "--headless"); !strings.Contains(res.err, "no commit") {
		t.Errorf("no commit: %s", res.err)
	}
}
