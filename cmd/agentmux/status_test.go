package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// What status proposes is what the session takes.
func TestTheNextStepIsOneThatIsTaken(t *testing.T) {
	gate := &orchestrator.Gate{Name: orchestrator.GateCompletion}
	open := []orchestrator.Question{{ID: "q1"}}
	for _, c := range []struct {
		name  string
		state orchestrator.State
		want  string
	}{
		{"a gate", orchestrator.State{Gate: gate}, `agentmux approve one, or agentmux changes "..." one`},
		{"a gate in a pause", orchestrator.State{Gate: gate, Paused: true}, "agentmux resume one"},
		{"a question", orchestrator.State{Questions: open}, `agentmux answer q1 "..." --session one`},
		{"a question in a pause", orchestrator.State{Questions: open, Paused: true}, "agentmux resume one"},
		{"a park in a pause, at a gate", orchestrator.State{Gate: gate, Paused: true, Outcome: orchestrator.OutcomeNeedsHuman},
			`agentmux approve one, or agentmux changes "..." one`},
		{"a branch that failed its review and went nowhere", orchestrator.State{
			Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeNeedsHuman, OutcomeReason: orchestrator.ReasonReviewExhausted,
			FeatureBranch: "agentmux/one", Completion: orchestrator.Completion{Commit: "c"},
		}, "git merge agentmux/one"},
		{"an open pull request", orchestrator.State{
			Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone, FeatureBranch: "agentmux/one",
			Completion: orchestrator.Completion{Commit: "c", Pushed: true, PRNumber: 7},
		}, `review the pull request; agentmux changes "..." one asks for another round`},
		{"a draft at the end", orchestrator.State{
			Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone, FeatureBranch: "agentmux/one",
			Completion: orchestrator.Completion{Commit: "c", Pushed: true, PRNumber: 7, Draft: true},
		}, `review the pull request, a draft, and make it ready for review there; agentmux changes "..." one asks for another round`},
	} {
		if c.state.Phase == "" {
			c.state.Phase = "completing"
		}
		if got := show.Tell(t.Context(), session.Entry{Name: "one", Running: !c.state.Ended(), State: &c.state}).Next(); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// What GitHub refused to show is said at the end and by status, and a resume shows it when
// GitHub lets it.
func TestWhatGitHubRefusedToShowIsOwed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.github.Inject(fakehub.Fault{Route: "POST .../issues/{number}/labels", From: 2, Status: 403, Message: "Resource not accessible by integration"})
	res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()
	resume := "agentmux resume " + e.Name
	if !strings.Contains(res.err, "next: "+resume) || !strings.Contains(res.err, "owed: GitHub does not show its end yet: ") {
		t.Errorf("the end says\n%s", res.err)
	}
	if out := r.expect(0, "status").out; !strings.Contains(out, "Resource not accessible") || !strings.Contains(out, resume) {
		t.Errorf("status says\n%s", out)
	}
	r.github.Heal()
	r.expect(0, "resume", e.Name)
	r.done(r.session())
	if got := r.github.Repo(rigRepo).Issue(1).Labels; !slices.Equal(got, []string{"agentmux:done"}) {
		t.Errorf("labels %q", got)
	}
	if out := r.expect(0, "status").out; strings.Contains(out, "Resource not accessible") || strings.Contains(out, resume) {
		t.Errorf("after all was shown status says\n%s", out)
	}
}

// A word of the server's git is one line with a next step.
func TestBrokenGitServerIsNamedInOneLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	for route, want := range map[string]string{"refuses": "what the token may do", "does not answer": "try again"} {
		r.row(route, func(t *testing.T) {
			status := map[string]int{"refuses": 403, "does not answer": 502}[route]
			r.github.Inject(fakehub.Fault{Route: "GIT fetch-refs", From: 2, Status: status, Message: "x"})
			res := r.expect(1, append([]string{"issue", "1"}, quickRun...)...)
			text := strings.TrimSpace(res.err)
			if line := text[strings.LastIndex(text, "\n")+1:]; !strings.Contains(line, "the git server "+route) || !strings.Contains(line, want) || strings.Contains(line, "fatal:") {
				t.Errorf("%d: %s", status, text)
			}
			r.github.Heal()
		})
	}
}

// A person who waits is told what for, whatever GitHub is slow with.
func TestEachWaitForGitHubIsNamed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.github.Inject(fakehub.Fault{Route: "GET .../collaborators/{login}/permission", Times: 1, Slow: console.Patience + time.Second})
	if res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...); !strings.Contains(res.err, "waiting for GitHub about who asked for acme/widgets#1 ...") {
		t.Errorf("the run says\n%s", res.err)
	}
}
