package clone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// Clone is what a person's clone looks like. Changed and Unpushed only serve to tell
// the person what is not part of a base.
type Clone struct {
	Root     string // top of the work tree
	Head     string // commit, empty before the first one
	Branch   string // empty if detached
	Detached bool
	Changed  int // files that differ from Head or are untracked and not ignored
	Unpushed int // commits of Head on no remote-tracking branch; 0 without a remote
	// Origin is the URL of the remote "origin", empty without one. It may hold
	// a password: it goes nowhere but to the code that parses it.
	Origin string
	// DefaultBranch is where origin/HEAD points to, empty if unknown.
	DefaultBranch string
}

// What Inspect may find instead of a clone.
var (
	ErrNotClone = errors.New("not a git work tree")
	ErrBare     = errors.New("a bare repository, without a work tree")
	ErrForeign  = errors.New("it belongs to another user")
)

// Inspect reads a person's clone that holds dir and changes nothing in it. No filter,
// hook or monitor of its configuration runs. The error is ErrNotClone, ErrBare or ErrForeign
// where dir is in no clone of the person. Files in own, as paths relative to dir or absolute, are not counted as
// changed while git does not track them: a run reads them where they are.
func Inspect(ctx context.Context, dir string, own ...string) (Clone, error) {
	in := inspection{}
	for _, file := range own {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		in.own = append(in.own, file)
	}
	return in.find(ctx, dir, in.origin, in.head, in.remote, in.changed)
}

// Locate is Inspect that reads Root and Origin only.
func Locate(ctx context.Context, dir string) (Clone, error) {
	in := inspection{}
	return in.find(ctx, dir, in.origin)
}

// Pushes maps the remotes of the clone that holds dir to the addresses that a push goes to.
// What holds for Clone.Origin holds for these.
func Pushes(ctx context.Context, dir string) (map[string]string, error) {
	in := inspection{}
	if _, err := in.find(ctx, dir); err != nil {
		return nil, err
	}
	names, err := in.git("remote").Text(ctx)
	if err != nil {
		return nil, fmt.Errorf("list remotes: %w", err)
	}
	urls := map[string]string{}
	for name := range strings.FieldsSeq(names) {
		url, err := in.git("remote", "get-url", "--push", "--", name).Text(ctx)
		if err == nil {
			urls[name] = url
		}
	}
	return urls, nil
}

type inspection struct {
	dir   string
	own   []string // files that do not count while they are untracked
	clone Clone
}

// find finds the clone and takes the steps in it.
func (in *inspection) find(ctx context.Context, dir string, steps ...func(context.Context) error) (Clone, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Clone{}, err
	}
	in.dir = abs
	root, err := in.git("rev-parse", "--show-toplevel").Text(ctx)
	switch {
	case git.ExitCode(err) == 128 && git.Says(err, "dubious ownership"):
		return Clone{}, fmt.Errorf("inspect %s: %w", abs, ErrForeign)
	case git.ExitCode(err) == 128 && git.Says(err, "must be run in a work tree"):
		return Clone{}, fmt.Errorf("inspect %s: %w", abs, ErrBare)
	case git.ExitCode(err) > 0:
		return Clone{}, fmt.Errorf("inspect %s: %w", abs, ErrNotClone)
	case err != nil:
		return Clone{}, err
	}
	in.dir = root
	in.clone.Root = root
	for _, step := range steps {
		err := step(ctx)
		if errors.As(err, new(*TempError)) {
			return Clone{}, err // says nothing of the clone
		}
		if err != nil {
			return Clone{}, fmt.Errorf("inspect %s: %w", root, err)
		}
	}
	return in.clone, nil
}

func (in *inspection) git(args ...string) git.Call { return git.Call{Dir: in.dir, Args: args} }

func (in *inspection) head(ctx context.Context) error {
	branch, err := in.git("symbolic-ref", "--quiet", "--short", "HEAD").Text(ctx)
	switch git.ExitCode(err) {
	case 0:
		in.clone.Branch = branch
	case 1:
		in.clone.Detached = true
	default:
		return err
	}
	sha, err := git.Resolve(ctx, in.git(), "HEAD")
	if err != nil && !errors.Is(err, git.ErrNoCommit) {
		return err
	}
	in.clone.Head = sha
	return nil
}

func (in *inspection) origin(ctx context.Context) error {
	url, err := in.git("remote", "get-url", "origin").Text(ctx)
	if git.ExitCode(err) > 0 {
		return nil
	}
	in.clone.Origin = url
	return err
}

func (in *inspection) remote(ctx context.Context) error {
	if in.clone.Origin == "" {
		return nil
	}
	ref, err := in.git("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD").Text(ctx)
	if err == nil {
		in.clone.DefaultBranch = strings.TrimPrefix(ref, "refs/remotes/origin/")
	} else if git.ExitCode(err) < 0 {
		return err
	}
	if in.clone.Head == "" {
		return nil
	}
	count, err := in.git("rev-list", "--count", in.clone.Head, "--not", "--remotes").Text(ctx)
	if err != nil {
		return err
	}
	in.clone.Unpushed, err = strconv.Atoi(count)
	return err
}

// changed counts with a copy of the index under an empty git directory of our own, so
// that nothing of the clone's configuration, and no nested repository, takes part.
func (in *inspection) changed(ctx context.Context) error {
	tmp, err := os.MkdirTemp("", "agentmux-inspect-*")
	if err != nil {
		return tempError(err)
	}
	defer os.RemoveAll(tmp)
	gitDir := filepath.Join(tmp, "git")
	init := git.Call{Dir: tmp, Args: []string{"init", "-q", "--bare", "--template=", gitDir}}
	if _, err := init.Run(ctx); err != nil {
		return tempError(err)
	}
	if err := in.copyIndex(ctx, gitDir); err != nil {
		return err
	}
	set := map[string]bool{}
	add := func(c git.Call) error {
		out, err := c.Run(ctx)
		for _, p := range git.Records(out) {
			set[p] = true
		}
		return err
	}
	against := in.clone.Head
	if against == "" {
		if against, err = in.git("hash-object", "-t", "tree", "/dev/null").Text(ctx); err != nil {
			return err
		}
	}
	over := func(args ...string) git.Call {
		return git.Call{GitDir: gitDir, WorkTree: in.dir, Index: filepath.Join(gitDir, "index"), Dir: in.dir, Args: args}
	}
	untracked := []string{"ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--directory", "--no-empty-directory"}
	// These are files of this program, or configuration that a run reads where it is.
	untracked = append(untracked, "--exclude=/.agentmux/", "--exclude=.dmux-agents.yml")
	for _, file := range in.own {
		if below, ok := in.below(file); ok {
			untracked = append(untracked, "--exclude=/"+literal(below))
		}
	}
	untracked = append(untracked, in.excludes(ctx)...)
	for _, c := range []git.Call{
		in.git("diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff", against),
		over("diff-files", "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff"),
		over(untracked...),
	} {
		if err := add(c); err != nil {
			return err
		}
	}
	in.clone.Changed = len(set)
	return nil
}

// below returns the path of a file from the root of the clone, which git names without links.
func (in *inspection) below(file string) (path string, ok bool) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", false // the file is not there
	}
	path, err = filepath.Rel(in.dir, filepath.Join(dir, filepath.Base(file)))
	return filepath.ToSlash(path), err == nil && filepath.IsLocal(path)
}

// excludes names the person's own ignore files at their usual places.
func (in *inspection) excludes(ctx context.Context) []string {
	var args []string
	own, _ := in.git("rev-parse", "--path-format=absolute", "--git-path", "info/exclude").Text(ctx)
	config, _ := os.UserConfigDir()
	for _, p := range []string{own, filepath.Join(config, "git", "ignore")} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			args = append(args, "--exclude-from="+p)
		}
	}
	return args
}

// copyIndex copies the clone's index, and the shared part of a split one.
func (in *inspection) copyIndex(ctx context.Context, gitDir string) error {
	from, err := in.git("rev-parse", "--path-format=absolute", "--git-path", "index").Text(ctx)
	if err != nil {
		return err
	}
	shared, err := filepath.Glob(filepath.Join(filepath.Dir(from), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, p := range append(shared, from) {
		to := filepath.Join(gitDir, filepath.Base(p))
		err := git.CopyIndex(p, to)
		var at *fs.PathError
		switch {
		case errors.As(err, &at) && at.Path == to:
			return tempError(err)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// Tracks reports whether the clone that holds dir has files at or below path in its index. A
// directory in no clone tracks nothing.
func Tracks(ctx context.Context, dir, path string) (bool, error) {
	in := inspection{}
	if _, err := in.find(ctx, dir); err != nil {
		if errors.Is(err, ErrNotClone) || errors.Is(err, ErrBare) {
			return false, nil
		}
		return false, err
	}
	in.dir = dir
	out, err := in.git("ls-files", "-z", "--", path).Run(ctx)
	if err != nil {
		return false, fmt.Errorf("what git tracks of %s: %w", path, err)
	}
	return len(out) > 0, nil
}
