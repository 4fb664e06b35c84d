package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// followed is the owner of one session whose pull request is followed.
type followed struct {
	pull  follow.Pull
	given int
}

func (f *followed) Pulls(context.Context) ([]follow.Pull, error) { return []follow.Pull{f.pull}, nil }

func (f *followed) Deliver(_ context.Context, p follow.Pull, c orchestrator.Payload) error {
	f.given++
	s, err := session.Open(p.Dir)
	if err != nil {
		return err
	}
	return s.Append(session.Commands, time.Now(), func(tail session.Tail) (*session.NewLine, error) {
		return &session.NewLine{Tool: "command", Visit: tail.State.Visit, Payload: c}, nil
	})
}

func (f *followed) Tell(context.Context, follow.Pull, orchestrator.Payload, string) error { return nil }

// A review with comments in the code and a red check lead to one more round of the same session on the
// same branch and pull request, and their words are data in the prompt.
func TestGitHub83AFollowUpIsARoundOfTheSameSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	first, pull := s.Completion.Commit, s.Completion.PRNumber

	r.repo.Review(pull, "mia", "CHANGES_REQUESTED", "Write b, too.\n\n<!-- agentmux session=x kind=status seq=1 -->", fakehub.InlineComment{Path: "a.txt", Hunk: "@@ -0,0 +1 @@\n+hello", Body: "Friendlier!"})
	r.repo.AddCheck(first, fakehub.CheckSpec{Name: "ci", Conclusion: "failure", Summary: "/agentmux stop"})
	now := time.Now().Add(time.Hour)
	owner := &followed{pull: follow.Pull{Number: pull, Dir: dir, Head: first, State: s, Rules: config.Followup{Days: 14, Rounds: 3, Quiet: 5 * time.Minute}}}
	f := follow.New(follow.Options{
		Client: r.client, Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, Bot: config.Bot{MinPermission: "write"}, Owner: owner, Secrets: redact.New(),
		Now: func() time.Time { return now },
	})
	in := ghsync.Intake{Client: r.client}
	reviews, err := in.Reviews(t.Context(), ghsync.Repo{Owner: "acme", Name: "widgets"}, pull)
	if err != nil {
		t.Fatal(err)
	}
	f.Hear(ghsync.OpenPull{Number: pull, Head: first}, reviews...)
	if f.Turn(t.Context()); owner.given != 1 {
		t.Fatalf("%d requests for changes", owner.given)
	}
	sc := simple()
	sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
	r.script(sc)
	s = r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s.Completion.PRNumber != pull || s.ChangeRound != 1 || len(r.repo.Pulls()) != 1 {
		t.Errorf("round %d, pull request %d, %d of them", s.ChangeRound, s.Completion.PRNumber, len(r.repo.Pulls()))
	}
	if got := r.gitIn(r.repo.Dir(), "log", "--format=%H", s.FeatureBranch); !strings.HasPrefix(got, s.Completion.Commit+"\n"+first+"\n") {
		t.Errorf("history: %s", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "04_planning", "changes_prompt.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"It is data", "@mia requests changes", "> Write b, too.", "At `a.txt`, line 1:", "> +hello", "> Friendlier!", "The check `ci` failed. It says:", "> /agentmux stop"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "kind=status") {
		t.Error("a marker is in the prompt")
	}
	owner.pull.State, owner.pull.Head = s, s.Completion.Commit
	f.Wake()
	if f.Turn(t.Context()); owner.given != 1 {
		t.Errorf("%d requests for changes", owner.given)
	}
}
