package spares_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/spares"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// rig is a session of the feature workflow by its state alone.
type rig struct {
	*repotest.Rig
	t    *testing.T
	def  *workflows.Definition
	dir  string
	make func(ctx context.Context, dir, commit string) error // nil = as workspaces are made
	made atomic.Int32
	*spares.Spares
	stop func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Rig: repotest.New(t, map[string]string{"a": "a\n", "dir/b": "b\n"}), t: t, stop: func() {}}
	def, _, problems := workflows.Load("feature", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	r.def, r.dir = def, filepath.Join(r.State, "workspaces", "s")
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) start() {
	r.Spares, r.stop = spares.Start(r.t.Context(), spares.Options{
		Session: "s", Dir: r.dir, Store: r.Store, Log: slog.New(slog.DiscardHandler), Drop: workspace.Remove,
		Make: func(ctx context.Context, dir, commit string) error {
			r.made.Add(1)
			if r.make != nil {
				return r.make(ctx, dir, commit)
			}
			_, err := workspace.Make(ctx, r.Store, dir, commit)
			return err
		},
	})
}

// see has a state committed. Pending are types of effects.
func (r *rig) see(phase, commit string, pending ...string) {
	s := &orchestrator.State{Phase: phase, Settings: orchestrator.Settings{Parallel: 4}}
	s.Integrated.Commit = commit
	for _, kind := range pending {
		s.Pending = append(s.Pending, orchestrator.Effect{Type: kind})
	}
	r.Foresee(r.def, s)
}

// working has an agent be started and then work in a phase.
func (r *rig) working(phase, commit string) {
	r.see(phase, commit, orchestrator.EffStartAgent)
	r.see(phase, commit)
}

// whole lists the spares that are complete, at a commit.
func (r *rig) whole(commit string) []string {
	list, _ := filepath.Glob(filepath.Join(r.dir, "spare-*.base"))
	var whole []string
	for _, name := range list {
		dir := strings.TrimSuffix(name, ".base")
		if base, err := workspace.Base(dir); err == nil && base == commit {
			whole = append(whole, filepath.Base(dir))
		}
	}
	return whole
}

func (r *rig) eventually(what string, is func() bool) {
	r.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("never: %s; there is %q", what, r.there())
		}
	}
}

func (r *rig) there() []string {
	list, _ := os.ReadDir(r.dir)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func (r *rig) ready(n int, commit string) {
	r.t.Helper()
	r.eventually("so many spares", func() bool { return len(r.whole(commit)) == n })
}

func (r *rig) file(name string) os.FileInfo {
	r.t.Helper()
	info, err := os.Stat(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return info
}

func TestSparesAreMadeWhileAgentsWork(t *testing.T) {
	r := newRig(t)
	r.start()
	r.see("architecting", r.Base) // no agent was started in this run
	r.see("architecting", r.Base, orchestrator.EffStartAgent)
	if n := r.made.Load(); n > 0 {
		t.Errorf("%d were made before an agent works", n)
	}
	r.see("architecting", r.Base)
	r.ready(1, r.Base) // for the planner
	was := r.file("spare-1")
	dir := filepath.Join(r.dir, "2.view-planner-12345678")
	if !r.Take(t.Context(), dir, r.Base) {
		t.Fatal("no spare served")
	}
	if !os.SameFile(was, r.file(filepath.Base(dir))) {
		t.Error("the workspace is not the spare")
	}
	if r.Take(t.Context(), dir, r.Base) {
		t.Error("a workspace that is there was replaced")
	}
	r.working("planning", r.Base)
	r.ready(2, r.Base) // for coders; no more than that
	r.see("completing", r.Base)
	r.ready(0, r.Base)
	r.working("reviewing", r.Base)
	r.ready(1, r.Base)
	r.stop()
	if left := r.there(); len(left) != 3 {
		t.Errorf("left beside the workspace: %q", left)
	}
	r.stop = func() {}
}

// A spare is brought to the commit that is wanted, at the latest when it is taken.
func TestSparesFollowTheWork(t *testing.T) {
	r := newRig(t)
	next := r.Commit(map[string]string{"a": "changed\n"}, r.Base)
	last := r.Commit(map[string]string{"dir/new": "new\n"}, next)
	r.start()
	r.working("planning", r.Base)
	r.ready(2, r.Base)
	made := r.made.Load()
	dir := filepath.Join(r.dir, "4.view-reviewer_logic-12345678")
	if !r.Take(t.Context(), dir, next) {
		t.Fatal("no spare served")
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(data) != "changed\n" {
		t.Errorf("a: %q, %v", data, err)
	}
	r.working("reviewing", last)
	r.ready(1, last)
	if n := r.made.Load() - made; n != 0 {
		t.Errorf("%d were made, want that which is there to be brought", n)
	}
}

// A spare that is being made is waited for: it is there sooner than a new workspace.
func TestASpareThatIsBeingMadeIsWaitedFor(t *testing.T) {
	r := newRig(t)
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	r.make = func(ctx context.Context, dir, commit string) error {
		begun <- struct{}{}
		<-goOn
		_, err := workspace.Make(ctx, r.Store, dir, commit)
		return err
	}
	r.start()
	r.working("reviewing", r.Base)
	<-begun
	dir := filepath.Join(r.dir, "5.fix-12345678")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r.Take(ended, filepath.Join(r.dir, "other-12345678"), r.Base) {
		t.Error("taken after the end of the context")
	}
	got := make(chan bool)
	go func() { got <- r.Take(t.Context(), dir, r.Base) }()
	close(goOn)
	if !<-got {
		t.Error("the one that was being made did not serve")
	}
	if _, err := workspace.Base(dir); err != nil {
		t.Error(err)
	}
}

// A workspace that somebody was let into is left alone, and so are the spares.
func TestASpareTakesThePlaceOfNothing(t *testing.T) {
	r := newRig(t)
	r.start()
	r.working("reviewing", r.Base)
	r.ready(1, r.Base)
	dir := filepath.Join(r.dir, "5.fix-12345678")
	if err := os.MkdirAll(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	there := r.there()
	if r.Take(t.Context(), dir, r.Base) {
		t.Error("a spare was taken where a workspace is")
	}
	if _, err := os.Stat(filepath.Join(dir, "work")); err != nil || !slices.Equal(r.there(), there) {
		t.Errorf("%v; there is %q, before %q", err, r.there(), there)
	}
}

// What cannot be made ahead is made when it is asked for; the next commit asks again.
func TestWhatCannotBeMadeAheadIsNotTaken(t *testing.T) {
	r := newRig(t)
	broken := make(chan struct{}, 10)
	r.make = func(_ context.Context, dir, _ string) error {
		_ = os.MkdirAll(dir+".making", 0o700)
		broken <- struct{}{}
		return errors.New("no space")
	}
	r.start()
	r.working("reviewing", r.Base)
	<-broken
	if r.Take(t.Context(), filepath.Join(r.dir, "5.fix-12345678"), r.Base) {
		t.Error("a workspace that was never made served")
	}
	r.eventually("what was begun is removed", func() bool { return len(r.there()) == 0 })
	if n := r.made.Load(); n != 1 {
		t.Errorf("tried %d times without a commit", n)
	}
	r.see("reviewing", r.Base)
	<-broken
}

// What a killed run left goes at the next start; workspaces stay.
func TestWhatAKilledRunLeftGoes(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"spare-7", "spare-8.making/part", "spare-9.removing/part", "2.view-planner-12345678", "spare-x-1-12345678"} {
		if err := os.MkdirAll(filepath.Join(r.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"spare-7.base", "spare-7.index", "spare-8.lfs", "2.view-planner-12345678.base"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	want := []string{"2.view-planner-12345678", "2.view-planner-12345678.base", "spare-x-1-12345678"}
	r.eventually("the spares are gone", func() bool { return slices.Equal(r.there(), want) })
}

// A workspace that is not used any more is away at once; its files go when no agent waits.
func TestRetiredWorkspacesGoWhenNoAgentWaits(t *testing.T) {
	r := newRig(t)
	dir := r.Workspace("1.view-architect-12345678")
	left := filepath.Join(r.dir, "spare-9")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.eventually("what a killed run left is gone", func() bool { _, err := os.Lstat(left); return err != nil })
	r.see("planning", r.Base, orchestrator.EffStartAgent)
	if err := r.Retire(dir); err != nil {
		t.Fatal(err)
	}
	if got := r.there(); len(got) != 1 || !strings.HasSuffix(got[0], ".removing") {
		t.Errorf("there is %q", got)
	}
	if err := r.Retire(dir); err != nil {
		t.Errorf("a second time: %v", err)
	}
	r.see("completing", r.Base)
	r.eventually("its files are gone", func() bool { return len(r.there()) == 0 })
	other := filepath.Join(r.State, "elsewhere")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.Retire(other); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("a workspace of another place stays")
	}
}

func TestWithoutSparesNothingIsTaken(t *testing.T) {
	var none *spares.Spares
	if none.Take(t.Context(), filepath.Join(t.TempDir(), "x"), strings.Repeat("1", 40)) {
		t.Error("taken")
	}
}
