package host_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// earRig is a session of an issue whose comments are heard.
type earRig struct {
	*githubRig
	dir   string
	issue int
	stop  func(cause error) (*orchestrator.State, error)
	ear   *ear.Listener
}

// running is the owner of a session that runs in this test, again when it is woken.
type running struct {
	ear.One
	wake func()
}

func (r running) Wake(context.Context, ear.Subject) error {
	r.wake()
	return nil
}

// listen runs the session of a new issue, and an ear beside it.
func listen(t *testing.T, extra string, sc scenario, change func(*host.PrepareSpec)) *earRig {
	t.Helper()
	r := &earRig{githubRig: newGitHubRig(t, extra)}
	for login, role := range map[string]fakehub.Role{"wil": fakehub.Write, "max": fakehub.Maintain, "rea": fakehub.Read} {
		r.github.AddUser(fakehub.UserSpec{Login: login, Roles: map[string]fakehub.Role{widgets: role}})
	}
	r.script(sc)
	r.dir, r.issue = r.newIssue("Greet", "Say hello.", change)
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan struct{}, 1)
	owner := running{
		One: ear.One{Issue: r.issue, Dir: r.dir, HeldBy: func(ctx context.Context, s *orchestrator.State) ([]string, error) {
			return r.host.Held(ctx, r.dir, s, r.config)
		}},
		wake: func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		},
	}
	r.ear = &ear.Listener{Every: 20 * time.Millisecond, Ear: ear.New(ear.Options{
		Client: r.client, Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, Bot: r.config.Bot, Journal: j, Owner: owner, Issues: []int{r.issue}, Log: r.host.Log,
	})}
	spec := host.RunSpec{Dir: r.dir, OnCommit: func(*orchestrator.State) { r.ear.Wake() }, Mirror: host.MirrorSpec{On: true, Listened: true, ListenedAfter: true, HostID: "h_test", Pace: fastPace()}}
	r.stop = r.background(spec)
	spec.Config = r.config
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		again := make(chan struct{})
		go func() {
			defer close(again)
			for {
				select {
				case <-ctx.Done():
					return
				case <-woken:
					if _, err := r.host.Run(ctx, spec); err != nil && ctx.Err() == nil {
						t.Errorf("run: %v", err)
					}
				}
			}
		}()
		r.ear.Run(ctx)
		<-again
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// comment writes a comment and waits for its receipts.
func (r *earRig) comment(body, author, receipts string) {
	r.t.Helper()
	id := r.repo.Comment(r.issue, body, author)
	r.eventually(body+" has "+receipts, func() bool { return r.receipts(id) == receipts })
}

func (r *earRig) receipts(id int64) string {
	for _, c := range r.repo.Comments(r.issue) {
		if c.ID == id {
			return strings.ReplaceAll(strings.Join(c.Reactions, " "), "robo ", "")
		}
	}
	return "no comment"
}

// said waits for a text of the program on the issue.
func (r *earRig) said(text string) {
	r.t.Helper()
	r.eventually("somebody says "+text, func() bool {
		return slices.ContainsFunc(r.repo.Comments(r.issue), func(c fakehub.CommentView) bool { return c.Author == "robo" && strings.Contains(c.Body, text) })
	})
}

// end waits for the end of the run that began first.
func (r *earRig) end() *orchestrator.State {
	r.t.Helper()
	s, err := r.stop(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// TestGitHub54AQuestionAnsweredByCommentReachesTheAgentThatAsked with a real session: the planner asks
// and ends its turn, a person answers on the issue, and the planner continues with the answer.
func TestGitHub54AQuestionAnsweredByCommentReachesTheAgentThatAsked(t *testing.T) {
	t.Parallel()
	sc := simple()
	sc.Ask = map[string]string{"planner": "Which of the two?"}
	r := listen(t, "", sc, func(*host.PrepareSpec) {})
	r.said("Reply: `/agentmux answer q1 <number or text>`")
	r.comment("/agentmux answer 2", "rea", "")
	r.comment("/agentmux answer 2", "wil", "eyes +1")
	s := r.end()
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if a := s.Agents["planner"]; a.Attempt != 2 {
		t.Errorf("agent: %+v", a)
	}
	prompt, err := os.ReadFile(filepath.Join(r.dir, "04_planning", "planner_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "Which of the two?") || !strings.Contains(string(prompt), "\nAnswer: b\n") ||
		!strings.Contains(string(prompt), `is answers to your questions, by "wil", sha256 `) {
		t.Errorf("the prompt lacks the answer: %v", err)
	}
	r.said("| `wil` | answer | ✅ applied |")
	r.said("or comment `/agentmux changes TEXT`, for another round.")
}

// TestGitHub54SayReachesAnAgent whose program waits in its terminal, with a real session.
func TestGitHub54SayReachesAnAgent(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	sc := simple()
	sc.Limited = map[string]bool{"planner": true}
	r := listen(t, "agents: {transport: tui}\n", sc, func(*host.PrepareSpec) {})
	r.eventually("the planner is limited", func() bool { return r.state(r.dir).Agents["planner"].Limited })
	r.comment("/agentmux say planner go on", "wil", "eyes +1")
	s := r.end()
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if a := s.Agents["planner"]; a.Attempt != 1 || len(s.Messages) != 1 {
		t.Errorf("agent %+v, messages %+v", a, s.Messages)
	}
	r.said("| `wil` | say planner | ✅ delivered ")
}

// A coder at work hears nothing; what was said to it is refused when the session ends without it.
// A stop ends the session under the coder. What is said later is refused in the fold, which the
// next run of the session shows.
func TestGitHub58SayToAnAgentThatNeverReads(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r := listen(t, "agents: {transport: headless}\n", sc, func(*host.PrepareSpec) {})
	r.eventually("the coder runs", func() bool { return r.started(r.dir, "2.coder.1.1") })
	say := r.repo.Comment(r.issue, "/agentmux say coder look at the tests", "wil")
	r.eventually("it is seen", func() bool { return r.receipts(say) == "eyes" })
	r.comment("/agentmux paues", "wil", "-1")
	r.comment("/agentmux pause", "wil", "eyes +1")
	r.comment("/agentmux resume", "wil", "eyes +1")
	r.said("❌ there is no command paues: did you mean pause?")
	r.comment("/agentmux stop", "wil", "eyes +1")
	s := r.end()
	mustEnd(t, s, orchestrator.OutcomeCanceled, "")
	r.eventually("it is refused", func() bool { return r.receipts(say) == "eyes -1" })
	r.said("Stopped by `wil`.")
	r.comment("/agentmux say hello", "wil", "-1")
	r.said("| `wil` | say | ❌ the session has ended |")
	r.comment("/agentmux help", "wil", "eyes +1")
	r.said("| `/agentmux say [ROLE] TEXT` |")
	if got := r.state(r.dir); got.Outcome != orchestrator.OutcomeCanceled {
		t.Errorf("outcome %q", got.Outcome)
	}
}

// TestSecurity13AHeldPathAtTheGateTakesMaintain with a real session whose coder changed a path that is
// held.
func TestSecurity13AHeldPathAtTheGateTakesMaintain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	sc := simple()
	sc.Plan = plan("  - {group_id: one, mode: serial, plans: [{index: 1, name: A}]}\n", "CODEOWNERS")
	sc.Files = map[string][]string{"1": {"CODEOWNERS=* @eve"}}
	r := listen(t, "approval: {completion: true}\n", sc, func(p *host.PrepareSpec) {})
	r.said("waits for approval")
	r.said("CODEOWNERS +1 -0 (held: maintain permission approves it)")
	r.comment("/agentmux approve", "wil", "-1")
	r.said("❌ the gate shows CODEOWNERS, which takes maintain permission to approve: a person who has it can")
	if s := r.state(r.dir); s.Gate == nil {
		t.Fatal("it is approved")
	}
	r.comment("/agentmux approve", "max", "eyes +1")
	s := r.end()
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(s.Completion.Held) == 0 {
		t.Errorf("completion %+v", s.Completion)
	}
	if pulls := r.repo.Pulls(); len(pulls) != 1 || pulls[0].Draft || !strings.HasPrefix(pulls[0].Body, "**Needs a look:** `CODEOWNERS` changed.\n") {
		t.Errorf("what was approved is not ready, with its path named first: %+v", pulls)
	}
}

// TestGitHub57AnApprovalOfAPlanThatIsNotShownYet comes between the gate and its comment, or before
// both.
func TestGitHub57AnApprovalBeforeItsGate(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	sc := simple()
	sc.Hold = map[string]bool{"planner": true}
	r := listen(t, "approval: {plan: true}\n", sc, func(*host.PrepareSpec) {})
	r.eventually("the planner runs", func() bool { return r.started(r.dir, "1.planner.1") })
	r.comment("/agentmux approve", "wil", "-1")
	r.said("❌ no gate is open: nothing waits for approval")
	r.word()
	r.said("### The plan waits for approval")
	r.comment("/agentmux approve", "wil", "eyes +1")
	mustEnd(t, r.end(), orchestrator.OutcomeDone, "")
}
