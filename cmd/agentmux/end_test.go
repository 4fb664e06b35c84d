package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// hangPlaybook never hands anything in.
const hangPlaybook = "version: 1\nagents:\n  - {role: planner, steps: [{hang: true}]}\n"

// A run in the foreground tells its course in lines for a person, and at the end the outcome,
// the next step, and on standard output the address of its pull request.
func TestTheEndOfARunIsTold(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()
	if want := e.State.Completion.PRURL + "\n"; res.out != want {
		t.Errorf("standard output is %q, want %q", res.out, want)
	}
	for _, want := range []string{"done: pull request #2\n", "next: review the pull request", "agentmux attach " + e.Name} {
		if !strings.Contains(res.err, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if !regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d → implementing$`).MatchString(res.err) || strings.Contains(res.err, "msg=") {
		t.Error("these are no lines for a person")
	}
	if log := r.expect(0, "logs").out; !strings.Contains(log, " event=done ") {
		t.Errorf("the log file has\n%s", log)
	}
	t.Log(res.err)
}

// The level of the sandbox is told as it is, before, at and after the start.
func TestTheLevelOfTheSandboxIsTold(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for kind, want := range map[string]struct{ level, words string }{
		"":              {"none", "none (agents run as you)"},
		"github-hosted": {"runner", "runner (agents run as you, on a machine that ends with the job)"},
	} {
		t.Run(want.level, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook})
			r.setEnv("RUNNER_ENVIRONMENT", kind)
			if out := r.expect(0, "issue", "1", "--workflow", "quick", "--dry-run").out; !strings.Contains(out, "sandbox: "+want.level+"\n") {
				t.Errorf("the dry run says\n%s", out)
			}
			if out := r.expect(0, "issue", "1", "--workflow", "quick", "--dry-run", "--json").out; !strings.Contains(out, `"sandbox": "`+want.level+`"`) {
				t.Errorf("the dry run says\n%s", out)
			}
			if res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...); !strings.Contains(res.err, "sandbox: "+want.level+")") {
				t.Errorf("the start says\n%s", res.err)
			}
			if out := r.expect(0, "status").out; !strings.Contains(out, "sandbox: "+want.words+"\n") {
				t.Errorf("the status says\n%s", out)
			}
			if out := r.expect(0, "status", "--json").out; !strings.Contains(out, `"sandbox": "`+want.level+`"`) {
				t.Errorf("the status says\n%s", out)
			}
		})
	}
}

func TestTheLogOfARunInAFormatForPrograms(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.git(r.clone, "remote", "remove", "origin")
	res := r.expect(0, "run", "Say two.", "--workflow", "quick", "--headless", "--log-format", "json")
	events := 0
	for line := range strings.Lines(res.err) {
		var record struct{ Msg, Event string }
		if json.Unmarshal([]byte(line), &record) == nil && record.Event != "" {
			events++
		}
	}
	if events < 5 {
		t.Errorf("%d records in\n%s", events, res.err)
	}
	if res.out != "" || !strings.Contains(res.err, "done: the branch "+r.session().State.FeatureBranch+" is in this clone\nnext: git merge ") {
		t.Errorf("the end of a run without a pull request: %q\n%s", res.out, res.err)
	}
	if log := r.read(r.session().Dir + "/events.jsonl"); !strings.Contains(log, `"withheld":"elsewhere"`) {
		t.Errorf("why nothing was pushed has no name of its own in\n%s", log)
	}
	if res := r.expect(2, "run", "x", "--log-format", "xml"); !strings.Contains(res.err, `--log-format: expected lines, text or json, found "xml"`) {
		t.Errorf("an unknown format: %s", res.err)
	}
}

func TestAnInterruptTellsWhatIsNext(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: hangPlaybook})
	b := r.background(append([]string{"issue", "1", "--no-mirror"}, quickRun...)...)
	e := r.atWork("planner")
	if code := b.exit(syscall.SIGINT); code != exit.Canceled {
		t.Errorf("exit %d", code)
	}
	if out := b.out.String(); !strings.Contains(out, "canceled: stopped by a signal (interrupt)\nnext: agentmux resume "+e.Name) {
		t.Errorf("it says\n%s", out)
	}
	if out := r.expect(0, "status").out; !strings.Contains(out, "phase      stopped in planning\n") || strings.Contains(out, "phase      failed") {
		t.Errorf("status says\n%s", out)
	}
}

// A person who waits for a detached session is told of its end too, and after an interrupt that it
// continues.
func TestWaitingForADetachedSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "defaults: {provider: script, completion: {skip_final_approval: true}}\n"})
	file := r.dir + "/home/.config/agentmux/config.yaml"
	r.write(file, strings.Replace(r.read(file), "defaults: {provider: script}\n", "", 1))
	screen := r.brief("issue", "1", "--workflow", "quick", "--wait").shows("next: review the pull request")
	if !strings.Contains(screen, "done: pull request #2") || !strings.Contains(screen, r.session().State.Completion.PRURL) {
		t.Errorf("the terminal shows\n%s", screen)
	}
	other := newRig(t, rigOptions{playbook: hangPlaybook})
	at := other.brief("issue", "1", "--workflow", "quick", "--no-mirror", "--wait")
	e := other.atWork("planner")
	at.press("C-c")
	at.shows(e.Name + " continues without you")
	other.expect(0, "stop", e.Name)
	r.hostsEnded()
	other.hostsEnded()
}

// In the session's own monitor q lets the person go. It runs while a terminal is attached, and
// one that is killed comes back.
func TestQInTheSessionsMonitorDetaches(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: hangPlaybook})
	at := r.brief("issue", "1", "--workflow", "quick", "--no-mirror")
	e := r.atWork("planner")
	at.shows("q detach")
	before := r.control(e).PID
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.eventually("the monitor is back", func() bool { now := r.control(e); return !now.Dead && now.PID != before }, nil)
	at.shows("q detach")
	at.press("q")
	at.shows("next       agentmux attach " + e.Name)
	r.eventually("the monitor has ended", func() bool { return r.control(e).Dead }, nil)
	r.brief("attach", e.Name).shows("q detach")
	r.expect(0, "stop", e.Name)
	r.hostsEnded()
}

// The monitor in the session's tmux, which has neither the person's keys nor the token, tells what a gate asks about and
// where changes of the pull request are asked for; another one begins the round.
func TestTheMonitorsOfASession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	at := r.brief("issue", "1", "--workflow", "quick", "--no-mirror")
	if screen := at.shows("The result waits for your approval."); !strings.Contains(screen, "1 file changed, ") {
		t.Errorf("at the gate the terminal shows\n%s", screen)
	}
	at.press("a")
	at.shows("approve: done") // its answer would be written over the next one
	at.shows("Outcome: done")
	e := r.session()
	r.eventually("its host is gone", func() bool { return !session.Running(e.Dir) }, nil)
	at.press("c")
	at.shows("What is to be changed?")
	at.press("m", "o", "r", "e", "Enter")
	at.shows("in a terminal of yours type: agentmux changes \"...\" " + e.Name)
	if strings.Contains(r.read(e.Dir, "commands.jsonl"), `"changes"`) {
		t.Error("changes are recorded that no resume would apply")
	}
	at.press("q")
	r.write(filepath.Join(r.dir, "playbook.yaml"), hangPlaybook)
	beside := r.brief("monitor", e.Name)
	beside.shows("[c] ask for changes")
	beside.press("c")
	beside.shows("What is to be changed?")
	beside.press("m", "o", "r", "e", "Enter")
	beside.shows("changes: done")
	r.atWork("planner")
	r.expect(0, "stop", e.Name)
	r.hostsEnded()
}

// TestSecurity19KeysOfAProgramSteerNothing sends a key to the session's monitor over the socket
// of tmux, as an agent could; then a person presses it.
func TestSecurity19KeysOfAProgramSteerNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: hangPlaybook})
	r.background(append([]string{"issue", "1"}, quickRun...)...)
	e := r.atWork("planner")
	sess, err := session.Open(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := tmux.New(tmux.Options{Socket: sess.ReadRuntime().Socket})
	if err != nil {
		t.Fatal(err)
	}
	pane := r.control(e).ID
	at := r.brief("attach", e.Name)
	at.shows("p pause")
	r.eventually("nobody has typed for a while", func() bool {
		typed, err := server.Typed(t.Context(), time.Now().Add(-hosting.TypedBefore))
		return err == nil && !typed
	}, nil)
	(&terminal{r: r, server: server, pane: pane}).press("p")
	refused := false
	r.eventually("the key was answered", func() bool {
		screen, _ := server.Capture(t.Context(), pane, 200)
		refused = strings.Contains(screen, "no terminal has typed this")
		return refused || r.session().State.Paused
	}, nil)
	if !refused {
		t.Fatal("a program's key paused the session")
	}
	if commands := r.read(e.Dir, "commands.jsonl"); commands != "" {
		t.Errorf("there are commands: %s", commands)
	}
	at.press("p")
	r.eventually("the session is paused", func() bool { return r.session().State.Paused }, nil)
	r.expect(0, "stop", e.Name)
	r.hostsEnded()
}

// control is the pane of the monitor in a session's tmux.
func (r *rig) control(e session.Entry) tmux.Pane {
	r.t.Helper()
	sess, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := tmux.New(tmux.Options{Socket: sess.ReadRuntime().Socket, Tags: []string{"@agentmux_role"}})
	if err != nil {
		r.t.Fatal(err)
	}
	panes, err := server.Panes(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, pane := range panes {
		if pane.Options["@agentmux_role"] == "control" {
			return pane
		}
	}
	r.t.Fatalf("no monitor among %+v", panes)
	return tmux.Pane{}
}
