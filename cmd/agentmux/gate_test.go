package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A run that changed nothing waits for a person, however often it is begun again.
func TestNothingChangedIsNotDone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: strings.Replace(quickPlaybook, `      - write: {file: a.txt, text: "two\n"}
`, "", 1)})
	r.expect(3, append(issueRun, "--name", "one")...)
	for _, args := range [][]string{{"resume", "one"}, {"resume", "one", "--headless"}, issueRun} {
		r.expect(3, args...)
		s := r.session().State
		if s.Outcome != orchestrator.OutcomeNeedsHuman || s.OutcomeReason != orchestrator.ReasonNothingToCommit || s.Completion.Approved {
			t.Fatalf("%v: %s %s, completion %+v", args, s.Outcome, s.OutcomeReason, s.Completion)
		}
	}
	if res := r.expect(2, "approve", "one"); !strings.Contains(res.err, "no gate") {
		t.Errorf("approve: %s", res.err)
	}
}

// What a gate asks about is shown: its plan, or its diff, with the digest that names it.
func TestDiffShowsWhatAGateAsksAbout(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	playbook := strings.Replace(quickPlaybook, `      - write: {file: a.txt, text: "two\n"}
`, `      - write: {file: a.txt, text: "two\tthree \e[31mred\u202e\n"}
      - write: {file: AGENT_SUMMARY.md, text: "mine\n"}
`, 1)
	r := newRig(t, rigOptions{playbook: playbook, config: "approval: {plan: true, completion: true}\nlimits: {human_wait: 1s}\n"})
	r.expect(3, append(issueRun, "--name", "one")...)
	digest := orchestrator.ShortDigest(r.session().State.GateDigest())
	plan := r.expect(0, "diff").out
	for _, want := range []string{"the plan waits for approval (1 subplan)", "Say two", "## Subplan 1: a", "- [ ] write", "--of " + digest} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not show %q:\n%s", want, plan)
		}
	}
	if text := r.expect(0, "status").out; !strings.Contains(text, "the plan waits for approval") || !strings.Contains(text, digest) {
		t.Errorf("status of the plan's gate:\n%s", text)
	}
	written, err := os.ReadFile(filepath.Join(r.session().Dir, "04_planning", "plan.md"))
	if err != nil || !strings.Contains(string(written), "## Subplan 1: a") {
		t.Errorf("plan.md (%v):\n%s", err, written)
	}
	r.expect(0, "approve", "one", "--of", digest)
	r.expect(3, "resume", "one", "--headless")
	e := r.session()
	digest = orchestrator.ShortDigest(e.State.GateDigest())
	diff := r.expect(0, "diff", "one").out
	for _, want := range []string{
		"the result waits for approval (1 file changed, +1 -1)", "the review passed", "--of " + digest,
		"diff --git a/a.txt b/a.txt", "-one\n", "+two\tthree <U+001B>[31mred<U+202E>\n",
	} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff does not show %q:\n%s", want, diff)
		}
	}
	if strings.Contains(diff, "AGENT_SUMMARY") || strings.ContainsRune(diff, '\x1b') {
		t.Errorf("the diff shows what is not to be committed, or steers the terminal:\n%q", diff)
	}
	if stat := r.expect(0, "diff", "one", "--stat").out; !strings.Contains(stat, " a.txt | +1 -1") || strings.Contains(stat, "diff --git") {
		t.Errorf("stat:\n%s", stat)
	}
	for _, want := range []string{"1 file changed, +1 -1; agentmux diff one shows it", digest, "plan: approved by "} {
		if text := r.expect(0, "status", "one").out; !strings.Contains(text, want) {
			t.Errorf("status does not show %q:\n%s", want, text)
		}
	}
	checkGateJSON(t, r, e.State)
	r.expect(0, "approve", "one")
	r.expect(0, "resume", "one", "--headless")
	if after := r.expect(0, "diff", "one").out; !strings.Contains(after, "+two\tthree") || strings.Contains(after, "waits for approval") {
		t.Errorf("after the end:\n%s", after)
	}
	r.expect(3, "resume", "one", "--changes", "more", "--headless")
	r.expect(0, "approve", "one")
	r.expect(3, "resume", "one", "--headless")
	if round := r.expect(0, "diff", "one").out; !strings.Contains(round, "the result waits for approval (0 files changed, +0 -0)") {
		t.Errorf("another round shows what the one before has changed:\n%s", round)
	}
}

func checkGateJSON(t *testing.T, r *rig, s *orchestrator.State) {
	t.Helper()
	var got struct {
		Digest string `json:"gate_digest"`
		Reason string `json:"gate_reason"`
		Diff   struct {
			Files []struct{ Path string }
			Added int
		}
		Decisions []struct {
			Gate, Action, Source, Origin string
			PID                          int
		}
	}
	if err := json.Unmarshal([]byte(r.expect(0, "status", "one", "--json").out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Digest != s.GateDigest() || got.Reason != "review_passed" || len(got.Diff.Files) != 1 || got.Diff.Added != 1 {
		t.Errorf("gate in JSON: %+v", got)
	}
	if len(got.Decisions) != 1 || got.Decisions[0].Source != "cli" || got.Decisions[0].PID == 0 || !strings.Contains(got.Decisions[0].Origin, "process ") {
		t.Errorf("decisions in JSON: %+v", got.Decisions)
	}
}

// What a session would refuse is refused when it is said, and nothing is recorded; what it
// does is told when it has done it.
func TestACommandIsToldWhatBecomesOfIt(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: strings.Replace(quickPlaybook, `      - write: {file: a.txt, text: "two\n"}
`, "", 1)})
	r.expect(3, append(issueRun, "--name", "one")...)
	file := filepath.Join(r.session().Dir, session.Commands)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no gate is open", []string{"approve", "one"}},
		{"changes needs a text", []string{"changes", "", "one"}},
		{"changes needs a text", []string{"changes", " \n", "one"}},
		{"say needs a text", []string{"say", "", "--session", "one"}},
		{"no question is open", []string{"answer", "yes", "--session", "one"}},
		{"there is no question q7", []string{"answer", "q7", "yes", "--session", "one"}},
		{"no coder is at work", []string{"say", "look", "--role", "coder", "--session", "one"}},
	} {
		r.row(strings.Join(c.args, " "), func(t *testing.T) {
			if res := r.expect(2, c.args...); !strings.Contains(res.err, c.want) {
				t.Errorf("%v: it says %s, want %q", c.args, res.err, c.want)
			}
		})
	}
	if recorded, err := os.ReadFile(file); len(recorded) > 0 {
		t.Errorf("what was refused is recorded: %s%v", recorded, err)
	}
	if res := r.expect(0, "stop", "one"); !strings.Contains(res.err, "stop: done") {
		t.Errorf("stop: %s", res.err)
	}
	if s := r.session().State; s.Outcome != orchestrator.OutcomeCanceled {
		t.Errorf("it said stopped and is %s", s.Outcome)
	}
	r.hostsEnded()
}
