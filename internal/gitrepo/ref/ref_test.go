package ref_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
	"github.com/agentmux/agentmux/internal/gitrepo/ref"
)

// repository is a bare one with some commits.
type repository struct {
	t       *testing.T
	dir     string
	refs    ref.Directory
	commits []string
	asked   atomic.Int32 // calls of git by the refs
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir()}
	r.git("init", "-q", "--bare", "-b", "none", ".")
	for i := range 4 {
		r.commits = append(r.commits, r.git("commit-tree", object.EmptyTree, "-m", fmt.Sprint(i)))
	}
	call := func(args ...string) git.Call {
		r.asked.Add(1)
		return git.Call{GitDir: r.dir, Args: args}
	}
	r.refs = ref.New(r.dir, filepath.Join(r.dir, "tmp"), call, object.Open(filepath.Join(r.dir, "objects")))
	r.git("hash-object", "-t", "tree", "-w", "/dev/null")
	return r
}

// git runs it as a person would.
func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (r *repository) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// at fails unless git and the package agree about where a ref is; "" is nowhere.
func (r *repository) at(name, want string) {
	r.t.Helper()
	byGit, err := r.try("rev-parse", "--verify", "--quiet", name)
	if err != nil {
		byGit = ""
	}
	got, err := r.refs.Ref(r.t.Context(), name)
	if err != nil || got != want || byGit != want {
		r.t.Errorf("%s is at %q by git, at %q here, %v; want %q", name, byGit, got, err, want)
	}
}

// clean fails if something is left of a move.
func (r *repository) clean() {
	r.t.Helper()
	err := filepath.WalkDir(r.dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(p, ".lock") || filepath.Dir(p) == filepath.Join(r.dir, "tmp")) {
			r.t.Errorf("left: %s", p)
		}
		return err
	})
	if err != nil {
		r.t.Error(err)
	}
}

const name = "refs/agentmux/integration/s1"

func TestARefMovesAsWithGit(t *testing.T) {
	r := newRepository(t)
	one, two, three := r.commits[0], r.commits[1], r.commits[2]
	move := func(new, old string, want error) {
		t.Helper()
		if err := r.refs.UpdateRef(t.Context(), name, new, old); !errors.Is(err, want) {
			t.Errorf("%q to %q: %v, want %v", old, new, err, want)
		}
	}
	r.at(name, "")
	move(one, two, ref.ErrMoved)
	r.at(name, "")
	move(one, "", nil)
	move(one, "", nil) // is there already
	r.at(name, one)
	move(two, "", ref.ErrMoved)
	move(two, three, ref.ErrMoved)
	move(two, one, nil)
	r.at(name, two)
	r.git("pack-refs", "--all", "--prune")
	if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
		t.Fatal("the ref is not packed")
	}
	r.at(name, two)
	move(three, one, ref.ErrMoved)
	move(three, two, nil)
	r.at(name, three)
	if err := r.refs.Hold(t.Context(), name, one); err != nil {
		t.Error(err)
	}
	r.at(name, one)
	if n := r.asked.Load(); n > 0 {
		t.Errorf("git was asked %d times", n)
	}
	r.git("update-ref", name, two, one) // git sees no lock
	r.at(name, two)
	if info, err := os.Stat(filepath.Join(r.dir, name)); err != nil || info.Size() != 41 {
		t.Errorf("the file of the ref: %v, %v", info, err)
	}
	r.clean()
}

// What git refuses is refused by git, and what only git knows is asked.
func TestWhatIsLeftToGit(t *testing.T) {
	r := newRepository(t)
	one := r.commits[0]
	absent := strings.Repeat("1", 40)
	for what, new := range map[string]string{"an object that is not there": absent, "a tree": object.EmptyTree} {
		before := r.asked.Load()
		err := r.refs.UpdateRef(t.Context(), name, new, "")
		if r.asked.Load() == before || new == absent && err == nil {
			t.Errorf("%s: %v, without git", what, err)
		}
	}
	_, _ = r.try("update-ref", "-d", name)
	r.git("update-ref", "refs/agentmux/file", one)
	r.git("update-ref", "refs/agentmux/dir/file", one)
	for _, packed := range []bool{false, true} {
		if packed {
			r.git("pack-refs", "--all", "--prune")
		}
		for _, bad := range []string{"refs/agentmux/file/below", "refs/agentmux/file/below/deep", "refs/agentmux/dir"} {
			if err := r.refs.UpdateRef(t.Context(), bad, one, ""); err == nil {
				t.Errorf("packed %v: %s was made", packed, bad)
			}
			r.at(bad, "")
		}
	}
	// Directories that git left empty are not in the way.
	if err := os.MkdirAll(filepath.Join(r.dir, name, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.refs.UpdateRef(t.Context(), name, one, ""); err != nil {
		t.Error(err)
	}
	r.at(name, one)
	r.git("symbolic-ref", "refs/agentmux/link", name)
	r.at("refs/agentmux/link", one)
	for _, bad := range []string{"HEAD", "refs/../x", "refs/a b", "refs/x.lock", "refs/-/..", ""} {
		if err := r.refs.UpdateRef(t.Context(), bad, one, ""); err == nil {
			t.Errorf("%q was made", bad)
		}
	}
	r.clean()
}

// Of movers from one place one wins, whether they are git or not.
func TestOneMoverWins(t *testing.T) {
	r := newRepository(t)
	from := r.commits[0]
	for round := range 25 {
		target := fmt.Sprintf("refs/agentmux/race/%d", round)
		if err := r.refs.UpdateRef(t.Context(), target, from, ""); err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var winner atomic.Value
		var group sync.WaitGroup
		for i := range 3 {
			to := r.commits[1+i]
			group.Go(func() {
				if err := r.refs.UpdateRef(context.Background(), target, to, from); err == nil {
					won.Add(1)
					winner.Store(to)
				} else if !errors.Is(err, ref.ErrMoved) && !git.Says(err, ".lock") {
					t.Error(err)
				}
			})
		}
		group.Go(func() {
			if _, err := r.try("update-ref", target, r.commits[1], from); err == nil {
				won.Add(1)
				winner.Store(r.commits[1])
			}
		})
		group.Wait()
		// Two may have moved it to the same commit: the second found it there.
		if n := won.Load(); n < 1 || n > 2 {
			t.Fatalf("round %d: %d movers won", round, n)
		}
		if got, err := r.refs.Ref(t.Context(), target); err != nil || won.Load() == 1 && got != winner.Load() {
			t.Errorf("it is at %s, %v; %v won", got, err, winner.Load())
		}
	}
	r.clean()
}

// hold leaves what a process of ours has while it moves a ref: the lock with its second name, and
// the lock of the kernel while it lives.
func (r *repository) hold(target string) (second *os.File) {
	r.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Join(r.dir, "tmp"), 0o700), os.MkdirAll(filepath.Dir(filepath.Join(r.dir, target)), 0o700)); err != nil {
		r.t.Fatal(err)
	}
	f, err := os.CreateTemp(filepath.Join(r.dir, "tmp"), "ref-*")
	if err == nil {
		_, err = f.WriteString(r.commits[3] + "\n")
	}
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		err = os.Link(f.Name(), filepath.Join(r.dir, target+".lock"))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// The lock of a process that was killed is taken away by the next move of the ref, and when it
// is deleted; that of one that lives is not, and neither is git's.
func TestTheLockOfAKilledProcess(t *testing.T) {
	r := newRepository(t)
	one, two := r.commits[0], r.commits[1]
	if err := r.hold(name).Close(); err != nil { // killed: the kernel lets go
		t.Fatal(err)
	}
	if err := r.refs.UpdateRef(t.Context(), name, one, ""); err != nil {
		t.Errorf("after a killed process: %v", err)
	}
	r.at(name, one)
	r.clean()
	if err := r.hold(name).Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.refs.DeleteRef(t.Context(), name, one); err != nil {
		t.Errorf("deleted after a killed process: %v", err)
	}
	r.at(name, "")
	r.clean()

	living := r.hold(name)
	if err := r.refs.UpdateRef(t.Context(), name, one, ""); err == nil {
		t.Error("a ref that another process moves was moved")
	}
	if err := living.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.refs.Hold(t.Context(), name, one); err != nil {
		t.Error(err)
	}
	r.at(name, one)
	r.clean()

	lock := filepath.Join(r.dir, name+".lock")
	if err := os.WriteFile(lock, []byte(two+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.refs.UpdateRef(t.Context(), name, two, one); err == nil {
		t.Error("a ref that git moves was moved")
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Errorf("the lock of git: %v", err)
	}
	r.at(name, one)
}

// A killed process may have moved the ref already, or not yet taken the lock.
func TestWhatAKilledProcessLeaves(t *testing.T) {
	r := newRepository(t)
	one := r.commits[0]
	f := r.hold(name)
	if err := errors.Join(os.Rename(filepath.Join(r.dir, name+".lock"), filepath.Join(r.dir, name)), f.Close()); err != nil {
		t.Fatal(err)
	}
	r.at(name, r.commits[3])
	if err := r.refs.UpdateRef(t.Context(), name, one, r.commits[3]); err != nil {
		t.Error(err)
	}
	r.at(name, one)
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != r.commits[3]+"\n" {
		t.Errorf("its second name holds %q, %v", got, err)
	}
}
