package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
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
	r := newRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], ".vscode/settings.json={}")
	r.script(sc)
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	r.command(dir, "1", "approve", orchestrator.CommandArgs{})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonOutputGate)
	stop = r.background(host.RunSpec{Dir: dir, Resume: true})
	r.gateOpen(dir, 2)
	r.command(dir, "2", "approve", orchestrator.CommandArgs{})
	s, err = stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != ".vscode/settings.json\nREADME.md\na.txt" {
		t.Errorf("files: %q", got)
	}
}

// An answer that is older than the gate does not count, whatever it names, even if the host was
// killed before it removed the file. Neither does an answer that the program wrote.
func TestSecurity19AnOlderAnswerDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], ".vscode/settings.json={}")
	r.script(sc)
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	file := filepath.Join(dir, "08_completion", "approval.json")
	answer := func() string { return `{"action":"approve","of":"` + r.state(dir).GateDigest() + `"}` }
	must(t, os.WriteFile(file, []byte(answer()), 0o600))
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
