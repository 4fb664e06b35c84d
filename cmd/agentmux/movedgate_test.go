package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// heldBeside is quickPlaybook with a coder that changes a path that is held, too.
var heldBeside = strings.Replace(quickPlaybook, coderWrites, coderWrites+"      - write: {file: CODEOWNERS, text: \"* @eve\\n\"}\n", 1)

// gateParks has the result shown at a gate, and the job give its runner back soon.
const gateParks = "approval: {completion: true}\nlimits: {human_wait: 1s}\n"

// Attack 37: a job shows the result at a gate and gives its runner back; the job of the approval restores the session on another
// runner. What was approved counts if the output gate says the same there. If it holds more, all of it is asked about once more,
// and nothing leaves before that is approved.
func TestSecurity37AnApprovalFollowsItsSessionToAnotherRunner(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, more := range map[string]string{"it is the same": "", "it holds more": "protected_paths: [CODEOWNERS, a.txt]"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, rigOptions{playbook: heldBeside, config: gateParks})
			repo := r.github.Repo(rigRepo)
			repo.Label(1, "agentmux:quick", rigOwner)
			r.event("issues", labelEvent("agentmux:quick"))
			r.expect(0, "issue", "1", "--headless")
			if s := r.onRunner().State; s.OutcomeReason != orchestrator.ReasonGateTimeout || fmt.Sprint(s.Completion.Asked) != "[CODEOWNERS]" {
				t.Fatalf("%s, asked about %q", s.OutcomeReason, s.Completion.Asked)
			}
			if more != "" {
				file := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
				r.write(file, withGitHub(r.read(file), more))
			}
			approves := func(id int64) {
				t.Helper()
				repo.SetRun(fakehub.Run{ID: id - 1, Attempt: 1, Status: "completed", Conclusion: "success"})
				r.anotherRunner(id)
				repo.Comment(1, "/agentmux approve", rigOwner)
				r.event("issue_comment", commentEvent("/agentmux approve"))
				r.expect(0, "issue", "1", "--headless")
			}
			approves(78)
			if more != "" {
				s := r.onRunner().State
				if s.OutcomeReason != orchestrator.ReasonGateTimeout || fmt.Sprint(s.Completion.Asked) != "[CODEOWNERS a.txt]" || len(repo.Pulls()) != 0 {
					t.Fatalf("%s, asked about %q, %d pull requests", s.OutcomeReason, s.Completion.Asked, len(repo.Pulls()))
				}
				approves(79)
			}
			e := r.onRunner()
			if pulls := repo.Pulls(); len(pulls) != 1 || pulls[0].Draft || e.State.Outcome != orchestrator.OutcomeDone || len(e.State.Completion.Open) > 0 {
				t.Errorf("%s, %+v, pull requests %+v", e.State.Outcome, e.State.Completion, pulls)
			}
			opened := 0
			for _, record := range r.recordsOf(e) {
				if record.Type == orchestrator.EvGateOpened {
					opened++
				}
			}
			if want := 1 + len(more)/max(len(more), 1); opened != want {
				t.Errorf("%d gates", opened)
			}
		})
	}
}

// Another try of a session that waits on a machine that is gone is one of that session, from its checkpoint: it keeps its name,
// its branch and its status comment, and no other one begins beside it.
func TestARetryIsForTheSessionOfAnotherMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo, e := r.github.Repo(rigRepo), r.parkedByAPush()
	j := asRunner(r.elsewhere(rigOptions{playbook: laterPlaybook, config: botConfig}))
	repo.Comment(1, "/agentmux retry", rigOwner)
	j.event("issue_comment", commentEvent("/agentmux retry"))
	ran := j.expect(0, "issue", "1", "--headless")
	got := j.onRunner()
	if got.Name != e.Name || got.State.Identity != e.State.Identity || got.State.Outcome != orchestrator.OutcomeDone || len(repo.Pulls()) != 1 || j.claimRef() != "" {
		t.Errorf("%s of %s, %s, %d pull requests, claim %q\n%s", got.Name, got.State.Identity, got.State.Outcome, len(repo.Pulls()), j.claimRef(), ran.out)
		records := r.recordsOf(e)
		for _, record := range records[max(0, len(records)-12):] { // what is on the server of the first session
			t.Logf("%+v", record)
		}
		for _, c := range repo.Comments(1) {
			t.Logf("%s: %s", c.Author, c.Body)
		}
	}
}

// The request label on the issue of a session that waits, or was stopped, on a machine that is gone is for that session, from its
// checkpoint: it continues, or a comment says what it waits for, and no other one begins beside it. If the text of the issue was
// edited since, another one begins.
func TestALabelIsForTheSessionOfAnotherMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		playbook string // of the first machine
		config   string
		reason   orchestrator.Optional // it waits for
		edited   bool
		want     string // label at the end
	}{
		"it was stopped":          {heldPlaybook, "", "", false, "agentmux:done"},
		"it was stopped, edited":  {heldPlaybook, "", "", true, "agentmux:done"},
		"it waits for a push":     {quickPlaybook, "", orchestrator.ReasonPushRejected, false, "agentmux:done"},
		"it waits for its answer": {parkedPlaybook, parksSoon, orchestrator.ReasonQuestion, false, "agentmux:needs-human"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rigOptions{playbook: c.playbook, unlabel: true, config: botConfig + c.config}
			r := newRig(t, o)
			repo := r.github.Repo(rigRepo)
			repo.RefusePush(fakehub.HiddenRule("refs/heads/agentmux/*"))
			b := r.background("bot")
			repo.Label(1, "agentmux:quick", rigOwner)
			var e session.Entry
			at := func(is func(*orchestrator.State) bool) func() bool {
				return func() bool {
					all := r.served(rigRepo)
					if len(all) != 1 || all[0].State == nil {
						return false
					}
					e = all[0]
					return is(e.State)
				}
			}
			if c.reason == "" {
				r.eventually("the coder works", at(func(s *orchestrator.State) bool { return s.Phase == "implementing" }), b.out.String)
				r.said(b, 1, "/agentmux stop", "+1")
			}
			r.eventually("the session has ended", func() bool {
				return at(func(s *orchestrator.State) bool { return s.Ended() && s.OutcomeReason == c.reason })() && len(r.claims()) == 0
			}, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit %d\n%s", code, b.out.String())
			}
			repo.AllowPush()
			o.playbook = laterPlaybook
			if c.edited {
				repo.EditIssue(1, rigOwner, nil, new("It should say two, please.\n"))
				o.playbook = quickPlaybook
			}
			other := r.elsewhere(o)
			b = other.background("bot")
			repo.Label(1, "agentmux:quick", rigOwner)
			other.eventually("the label is answered", func() bool {
				return other.hasLabel(rigRepo, 1, c.want) && !other.hasLabel(rigRepo, 1, "agentmux:quick") && len(other.claims()) == 0
			}, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			all, told := other.served(rigRepo), strings.Join(r.told(rigRepo, 1), "\n")
			if c.want == "agentmux:needs-human" {
				if len(all) != 0 || !strings.Contains(told, "comment /agentmux answer TEXT") {
					t.Errorf("%d sessions\n%s", len(all), told)
				}
				return
			}
			if len(all) != 1 || all[0].State.Outcome != orchestrator.OutcomeDone || (all[0].State.Identity == e.State.Identity) == c.edited || len(repo.Pulls()) != 1 {
				t.Fatalf("%d sessions, %d pull requests\n%s", len(all), len(repo.Pulls()), b.out.String())
			}
			if !c.edited {
				other.oneResult(all[0], 0)
			}
		})
	}
}
