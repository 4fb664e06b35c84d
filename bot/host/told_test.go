package host_test

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// A command that comes while a parked session ends is applied by a host that has all it
// needs: the base is held again, although this one's hold is gone.
func TestACommandWhileASessionEndsHasAllItNeeds(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Gone = map[string]int{"planner": 2}
	r.script(sc)
	dir := r.prepare(quick)
	var once sync.Once
	stop := r.background(host.RunSpec{Dir: dir, OnCommit: func(s *orchestrator.State) {
		if s.Parked() {
			once.Do(func() {
				refs := r.refs("refs/agentmux/start/")
				if len(refs) != 1 {
					t.Errorf("holds of the base: %v", refs)
				}
				for _, ref := range refs {
					r.inHostRepo("update-ref", "-d", ref)
				}
				r.command(dir, "1", "retry", orchestrator.CommandArgs{})
			})
		}
	}})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if n := r.count(dir, orchestrator.EvCommandApplied); n != 1 {
		t.Errorf("%d commands applied", n)
	}
	if refs := r.refs("refs/agentmux/start/"); len(refs) != 1 {
		t.Errorf("holds of the base: %v", refs)
	}
}

// Who mends the configuration of a parked session and asks for changes has it continue by what is mended.
func TestChangesOfAParkedSessionTakeTheConfiguration(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Gone = map[string]int{"planner": 2}
	r.script(sc)
	dir := r.prepare(quick)
	if s := r.run(host.RunSpec{Dir: dir}); !s.Parked() {
		t.Fatalf("outcome %s", s.Outcome)
	}
	sc.Gone = nil
	r.script(sc)
	r.config.Limits.Phase = 77 * time.Minute
	r.command(dir, "1", "changes", orchestrator.CommandArgs{Text: "Greet in French."})
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s.Settings.LimitPhase.D() != 77*time.Minute {
		t.Errorf("the limit of a phase is %s", s.Settings.LimitPhase.D())
	}
}

// A command that comes while the last words of a parked session are shown on its issue does
// not wait for them, and is not lost.
func TestACommandWhileTheLastWordsAreShownIsTaken(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Gone = map[string]int{"planner": 2}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	var once sync.Once
	guard := func(ctx context.Context) error {
		s := r.state(dir)
		if !s.Parked() {
			return nil
		}
		if len(s.Pending) == 0 { // the engine has ended
			once.Do(func() { r.command(dir, "1", "stop", orchestrator.CommandArgs{}) })
		}
		<-ctx.Done() // a server that does not answer
		return ctx.Err()
	}
	stop := r.background(host.RunSpec{Dir: dir, Mirror: host.MirrorSpec{On: true}, Guard: guardFunc(guard)})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeCanceled, "")
}

// guardFunc is a guard that never loses its claim.
type guardFunc func(context.Context) error

func (f guardFunc) Check(ctx context.Context) error { return f(ctx) }

func (guardFunc) Lost() <-chan struct{} { return nil }

func (guardFunc) Holder() string { return "" }

func (r *rig) inHostRepo(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("git", append([]string{"--git-dir", r.storeDir()}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Errorf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) refs(prefix string) []string {
	r.t.Helper()
	return strings.Fields(r.inHostRepo("for-each-ref", "--format=%(refname)", prefix))
}
