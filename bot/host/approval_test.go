package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
)

func interactive(spec *host.PrepareSpec) { quick(spec); spec.Interactive = true }

// command sends what a person at the terminal would.
func (r *rig) command(dir, id, name string, args orchestrator.CommandArgs) {
	r.t.Helper()
	if _, err := command.Append(dir, orchestrator.Payload{Name: name, Args: args, Actor: "me", Source: "cli", SourceID: "cli/" + id}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) gateOpen(dir string, times int) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("gate %d is open", times), func() bool {
		return r.count(dir, orchestrator.EvGateOpened) >= times && len(r.state(dir).Pending) == 0
	})
}

// What the person leaves out is not in the commit, the message is theirs.
func TestProtocolG1APersonApprovesAndLeavesFilesOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], "tmp/ä b.txt=x", "AGENT_SUMMARY.md=note", ".agentmux/.active_session=x")
	r.script(sc)
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	approval := `{"action":"approve","of":"` + r.state(dir).GateDigest() + `","exclude_files":["tmp/ä b.txt"],"commit_message":"docs: say hello.\n\n---\nFor @mia, see #4."}`
	if err := os.WriteFile(filepath.Join(dir, "08_completion", "approval.json"), []byte(approval), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt" {
		t.Errorf("files: %q", got)
	}
	want := "docs: say hello\n\n ---\nFor (at)mia, see no. 4.\n\nAgentmux-Session: " + orchestrator.PublicID(s.SessionID, s.Identity) + "\n"
	if got := r.git("log", "-1", "--format=%B", s.FeatureBranch); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// What the gate blocks is shown to the person at hand, whose word lifts it.
func TestProtocolG4ThePersonAtHandLiftsWhatTheGateShowed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], ".vscode/settings.json={}")
	r.script(sc)
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	if found := r.state(dir).Completion.Findings; len(found) != 1 || !strings.Contains(found[0], ".vscode/settings.json") {
		t.Errorf("the gate shows %v", found)
	}
	r.command(dir, "1", "approve", orchestrator.CommandArgs{})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != ".vscode/settings.json\nREADME.md\na.txt" {
		t.Errorf("files: %q", got)
	}
}

// Without a person at hand the approval of a gate lets pass what looks like a secret, and no path.
func TestSecurity7AnApprovalFromAfarLetsAMatchPass(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	token := "npm_" + strings.Repeat("a1B2", 9)
	for name, c := range map[string]struct {
		file, message string
		passes        bool
	}{
		"what looks like a secret":     {"b.txt=key " + token, "", true},
		"more than the gate had shown": {"b.txt=key " + token, "npm_" + strings.Repeat("c3D4", 9), false},
		"a blocked path":               {".vscode/settings.json={}", "", false},
		"both":                         {".vscode/settings.json=" + token, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "approval: {completion: true}\n")
			sc := simple()
			sc.Files["1"], sc.Again = append(sc.Files["1"], c.file), map[string]int{"coder/1": 2} // refused, and taken the third time
			r.script(sc)
			dir := r.prepare(quick)
			stop := r.background(host.RunSpec{Dir: dir})
			r.gateOpen(dir, 1)
			r.command(dir, "1", "approve", orchestrator.CommandArgs{Message: c.message})
			s, err := stop(nil)
			must(t, err)
			if c.passes {
				mustEnd(t, s, orchestrator.OutcomeDone, "")
				return
			}
			mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonOutputGate)
			if got := r.git("branch", "--list", "agentmux/*"); got != "" {
				t.Errorf("branches: %s", got)
			}
		})
	}
}

// An answer that is older than the gate does not count, whatever it names, even if the host was
// killed before it removed the file. Neither does an answer that the program wrote.
func TestSecurity19AnOlderAnswerDoesNotCount(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	file := filepath.Join(dir, "08_completion", "approval.json")
	answer := func() string { return `{"action":"approve","of":"` + r.state(dir).GateDigest() + `"}` }
	first := strings.TrimSuffix(answer(), "}") + `,"commit_message":"npm_` + strings.Repeat("a1B2", 9) + `"}` // which the gate did not show
	must(t, os.WriteFile(file, []byte(first), 0o600))
	s, err := stop(nil)
	must(t, err)
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonOutputGate)
	own, err := os.ReadFile(file)
	must(t, err)
	stop = r.background(host.RunSpec{Dir: dir, Resume: true})
	r.gateOpen(dir, 2)
	if _, err := os.Stat(file); err == nil {
		t.Error("the answer to the first gate lies at the second")
	}
	opened := r.state(dir).Gate.OpenedAt
	refused := func(text string, at time.Time) {
		t.Helper()
		before := r.count(dir, orchestrator.EvInputRejected)
		must(t, os.WriteFile(file, []byte(text), 0o600))
		must(t, os.Chtimes(file, at, at))
		r.eventually("the file is refused", func() bool {
			return r.count(dir, orchestrator.EvInputRejected) > before && len(r.state(dir).Pending) == 0
		})
		if s := r.state(dir); s.Gate == nil || s.Gate.OpenedAt != opened {
			t.Fatalf("gate %+v", s.Gate)
		}
	}
	refused(answer(), opened.Add(-time.Minute))
	refused(string(own), time.Now())
	must(t, os.WriteFile(file, []byte(answer()), 0o600))
	s, err = stop(nil)
	must(t, err)
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

// An exhausted review of an interactive session is the person's to decide.
func TestProtocolP11AnExhaustedReviewAsksThePerson(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.config.Defaults.Completion.SkipFinalApproval = true
	sc := simple()
	sc.Verdict = map[string][]string{"reviewer_logic": {"fail"}}
	r.script(sc)
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	r.command(dir, "1", "approve", orchestrator.CommandArgs{})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
