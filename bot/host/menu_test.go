package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const menus = "agents: {transport: tui}\nproviders: {script: {dialogs: [{text: 'Run this command?', choices: [{label: 'yes', keys: [Enter]}, {label: 'no', keys: [Escape, Enter]}]}]}}\n"

// menuRig is a run whose planner shows a dialog that takes that many keys.
func menuRig(t *testing.T, takes int, change ...func(*scenario)) (*githubRig, string) {
	r := newGitHubRig(t, menus)
	r.ahead(5 * time.Second) // a screen is quiet at once
	sc := simple()
	sc.Menu = map[string]int{"planner": takes}
	for _, c := range change {
		c(&sc)
	}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	return r, dir
}

// shown runs a session that people see on its issue.
func shown(dir string) host.RunSpec {
	return host.RunSpec{Dir: dir, Mirror: host.MirrorSpec{On: true, HostID: "h_test", Pace: fastPace()}}
}

// asked waits for the question about the dialog.
func (r *rig) asked(dir string) (q orchestrator.Question) {
	r.t.Helper()
	r.eventually("a person is asked", func() bool {
		for _, q = range r.state(dir).Questions {
			return true
		}
		return false
	})
	if want := "Run this command?\n$ rm -r build\n> yes\n  no"; q.Kind != orchestrator.KindDialog || q.Text != want || strings.Join(q.Options, " ") != "yes no" {
		r.t.Fatalf("asked %+v", q)
	}
	return q
}

func TestProtocolP14AnAnswerIsPressedWhileTheDialogIsThere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		takes   int
		outcome string
		reason  string
	}{
		"at once":               {1, orchestrator.OutcomeDone, ""},
		"the first key is lost": {2, orchestrator.OutcomeDone, ""},
		"every key is lost":     {9, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentDialog},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := menuRig(t, c.takes)
			stop := r.background(shown(dir))
			q := r.asked(dir)
			r.eventually("the issue shows it", func() bool {
				for _, c := range r.repo.Comments(1) {
					if strings.Contains(c.Body, "a dialog that only a person may answer") && strings.Contains(c.Body, "answer "+q.ID+" <number>`") {
						return true
					}
				}
				return false
			})
			r.command(dir, "c1", "answer", orchestrator.CommandArgs{ID: q.ID, Text: "1", Written: q.AskedAt})
			s, err := stop(nil)
			if err != nil {
				t.Fatal(err)
			}
			mustEnd(t, s, c.outcome, c.reason)
			if a := s.Agents["planner"]; a.Attempt != 1 || s.Questions[0].Answer != "yes" || len(s.Questions) != 1 || r.count(dir, orchestrator.EvPersonTyped) != 0 {
				t.Errorf("agent %+v, questions %+v", a, s.Questions)
			}
		})
	}
}

// A host that died left the dialog, its question, and as often as not the answer: the next one presses it.
func TestProtocolP14TheNextHostPressesTheAnswer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, dir := menuRig(t, 1)
	stop := r.background(shown(dir))
	q := r.asked(dir)
	if _, err := stop(errors.New("enough")); err == nil {
		t.Fatal("the run was not stopped")
	}
	r.command(dir, "c1", "answer", orchestrator.CommandArgs{ID: q.ID, Text: "yes", Written: q.AskedAt})
	s := r.run(shown(dir))
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	noted, err := os.ReadFile(filepath.Join(dir, session.LaunchesDir, "1.planner.1", "pressed"))
	if a := s.Agents["planner"]; a.Attempt != 1 || len(s.Questions) != 1 || !strings.Contains(string(noted), `"answers":{"`+q.ID+`":1}`) {
		t.Errorf("agent %+v, questions %+v, noted %s, %v", a, s.Questions, noted, err)
	}
}

// The person answers at the pane: nothing is left to answer.
func TestProtocolP14ADialogThatIsAnsweredAtThePaneIsAskedNoMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, dir := menuRig(t, 1)
	stop := r.background(shown(dir))
	r.asked(dir)
	r.attach(dir, "1.planner.1").press("Enter")
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if q := s.Questions[0]; len(s.Questions) != 1 || q.Open() || q.Answer != "" || s.Agents["planner"].Attempt != 1 {
		t.Errorf("questions %+v", s.Questions)
	}
}

// A program whose hooks say that it waits is asked about though its screen moves. When the person answers at the pane, it
// still waits by its hooks while what was permitted runs: the question is closed, and nothing else follows.
func TestProtocolP14ADialogThatHooksTellOfIsAsked(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, dir := menuRig(t, 1, func(sc *scenario) {
		sc.Hooked, sc.Hold = map[string]bool{"planner": true}, map[string]bool{"planner": true}
	})
	r.ahead(3 * time.Second) // no screen that moves is quiet
	stop := r.background(shown(dir))
	q := r.asked(dir)
	r.attach(dir, "1.planner.1").press("Enter")
	r.eventually("the question is closed", func() bool { return !r.state(dir).Questions[0].Open() })
	if s := r.state(dir); s.Ended() || len(s.Questions) != 1 || s.Questions[0].Answer != "" {
		t.Errorf("outcome %q %q, asked %+v", s.Outcome, s.OutcomeReason, s.Questions)
	}
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(s.Questions) != 1 || s.Questions[0].ID != q.ID {
		t.Errorf("asked %+v", s.Questions)
	}
}
