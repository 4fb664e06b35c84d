package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

var _ host.Guard = claim.Held(nil) // what a host that claims is given

// winner is the host that takes over in these tests.
const winner = "h_0123456789abcdef"

// tornGuard holds the claim until it is lost.
type tornGuard struct {
	once sync.Once
	lost chan struct{}
}

func (g *tornGuard) lose() { g.once.Do(func() { close(g.lost) }) }

func (g *tornGuard) Check(context.Context) error {
	select {
	case <-g.lost:
		return errors.New(winner + " holds the claim")
	default:
		return nil
	}
}

func (g *tornGuard) Lost() <-chan struct{} { return g.lost }

func (g *tornGuard) Holder() string { return winner }

// The loser stops its agents, keeps what they had not submitted, and writes nothing more: not at
// its end, and not when it starts again.
func TestGitHub79TheLoserOfAClaimStopsAndKeepsTheWork(t *testing.T) {
	t.Parallel()
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	g := &tornGuard{lost: make(chan struct{})}
	spec := host.RunSpec{Dir: dir, Guard: g, Mirror: host.MirrorSpec{On: true, Pace: fastPace()}}
	stop := r.background(spec)
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	workspace := r.state(dir).Workspaces["2.1"].Path
	if err := os.WriteFile(filepath.Join(workspace, "half.txt"), []byte("half\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.eventually("the issue shows the coder", func() bool { return len(r.repo.Comments(1)) > 0 })
	g.lose()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost)
	if !strings.Contains(string(s.Cause), winner) {
		t.Errorf("cause %q", s.Cause)
	}
	if got := r.launches(dir); len(got) > 0 {
		t.Errorf("launches: %v", got)
	}
	stores, _ := filepath.Glob(filepath.Join(r.root, "s", "*", "acme", "widgets.git"))
	if len(stores) != 1 {
		t.Fatalf("stores: %v", stores)
	}
	if got := r.gitIn(stores[0], "show", "refs/agentmux/preserved/"+r.key(dir)+"/1:half.txt"); got != "half" {
		t.Errorf("the work that was not submitted: %q", got)
	}
	writes := len(r.github.Log())
	spec.Guard = nil // what has ended is not claimed again
	s = r.run(spec)
	mustEnd(t, s, orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost)
	for _, e := range r.github.Log()[writes:] {
		t.Errorf("written after the loss: %s %s", e.Route, e.Path)
	}
	for _, c := range r.repo.Comments(1) {
		if strings.Contains(c.Body, "stopped") || strings.Contains(c.Body, "kind=final") {
			t.Errorf("the loser tells an end:\n%s", c.Body)
		}
	}
	if got := r.repo.Issue(1).Labels; !slices.Contains(got, "agentmux:running") || slices.Contains(got, "agentmux:failed") {
		t.Errorf("labels %v", got)
	}
}

// The guard is asked before a branch and a pull request leave the machine. What it does not allow
// is not written, and once the claim is lost it never is.
func TestGitHub79TheGuardIsAskedBeforeWork(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		effect string
		wrote  func(r *githubRig) int
	}{
		"push":         {orchestrator.EffPush, func(r *githubRig) int { return len(branches(r)) }},
		"pull request": {orchestrator.EffPR, func(r *githubRig) int { return len(r.repo.Pulls()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			r.script(simple())
			dir, _ := r.issue("Greet", "Say hello.")
			lost := make(chan struct{})
			g := &heldGuard{tornGuard: tornGuard{lost: lost}, held: func() bool {
				return slices.ContainsFunc(r.state(dir).Pending, func(e orchestrator.Effect) bool { return e.Type == c.effect && len(e.After) == 0 })
			}}
			stop := r.background(host.RunSpec{Dir: dir, Guard: g})
			r.eventually("the write is held back", func() bool { return r.count(dir, orchestrator.EvEffectFailed) > 0 || c.wrote(r) > 0 })
			if n := c.wrote(r); n > 0 {
				t.Fatalf("%d written against the guard", n)
			}
			g.lose()
			s, err := stop(nil)
			if err != nil {
				t.Fatal(err)
			}
			mustEnd(t, s, orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost)
			if n := c.wrote(r); n > 0 {
				t.Errorf("%d written after the loss", n)
			}
		})
	}
}

// heldGuard does not know of whom the claim is while held.
type heldGuard struct {
	tornGuard
	held func() bool
}

func (g *heldGuard) Check(context.Context) error {
	if g.held() {
		return errors.New("the server does not answer")
	}
	return nil
}

func branches(r *githubRig) (list []string) {
	for ref := range r.repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/agentmux/") {
			list = append(list, ref)
		}
	}
	return list
}

// A guard that does not know holds a write back, and it is made when the guard knows.
func TestGitHub79AWriteIsHeldBackWhileTheClaimIsNotKnown(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	asked := 0
	guard := guardFunc(func(context.Context) error {
		if asked++; asked == 1 {
			if list := branches(r); len(list) > 0 {
				t.Errorf("pushed before the guard was asked: %v", list)
			}
			return errors.New("the server does not answer")
		}
		return nil
	})
	s := r.run(host.RunSpec{Dir: dir, Guard: guard})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(branches(r)) != 1 || len(r.repo.Pulls()) != 1 || asked < 2 {
		t.Errorf("branches %v, pull requests %v, asked %d times", branches(r), r.repo.Pulls(), asked)
	}
}
