package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Clone is what a person's clone looks like. Changed and Unpushed only serve to tell
// the person what is not part of a base.
type Clone struct {
	Root     string // top of the work tree
	Head     string // commit, empty if there is none yet
	Branch   string // empty if detached
	Detached bool
	Changed  int // files that differ from Head or are untracked and not ignored
	Unpushed int // commits of Head on no remote-tracking branch; 0 without a remote
	// Origin is the URL of the remote "origin", empty if there is none. It may hold
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
// if there is none of the person's.
func Inspect(ctx context.Context, dir string) (Clone, error) {
	in := inspection{}
	return in.look(ctx, dir, in.origin, in.head, in.remote, in.changed)
}

// Locate is Inspect that reads Root and Origin only.
func Locate(ctx context.Context, dir string) (Clone, error) {
	in := inspection{}
	return in.look(ctx, dir, in.origin)
}

// Pushes maps the remotes of the clone that holds dir to the addresses that a push goes to.
// What holds for Clone.Origin holds for these.
func Pushes(ctx context.Context, dir string) (map[string]string, error) {
	in := inspection{}
	if _, err := in.look(ctx, dir); err != nil {
		return nil, err
	}
	names, err := in.git("remote").text(ctx)
	if err != nil {
		return nil, fmt.Errorf("list remotes: %w", err)
	}
	urls := map[string]string{}
	for name := range strings.FieldsSeq(names) {
		url, err := in.git("remote", "get-url", "--push", "--", name).text(ctx)
		if err == nil {
			urls[name] = url
		}
	}
	return urls, nil
}

type inspection struct {
	dir   string
	clone Clone
}

// look finds the clone and takes the steps in it.
func (in *inspection) look(ctx context.Context, dir string, steps ...func(context.Context) error) (Clone, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Clone{}, err
	}
	in.dir = abs
	root, err := in.git("rev-parse", "--show-toplevel").text(ctx)
	switch {
	case exitCode(err) == 128 && says(err, "dubious ownership"):
		return Clone{}, fmt.Errorf("inspect %s: %w", abs, ErrForeign)
	case exitCode(err) == 128 && says(err, "must be run in a work tree"):
		return Clone{}, fmt.Errorf("inspect %s: %w", abs, ErrBare)
	case exitCode(err) > 0:
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

func (in *inspection) git(args ...string) call { return call{dir: in.dir, args: args} }

func (in *inspection) head(ctx context.Context) error {
	branch, err := in.git("symbolic-ref", "--quiet", "--short", "HEAD").text(ctx)
	switch exitCode(err) {
	case 0:
		in.clone.Branch = branch
	case 1:
		in.clone.Detached = true
	default:
		return err
	}
	sha, err := resolve(ctx, in.git(), "HEAD")
	if err != nil && !errors.Is(err, ErrNoCommit) {
		return err
	}
	in.clone.Head = sha
	return nil
}

func (in *inspection) origin(ctx context.Context) error {
	url, err := in.git("remote", "get-url", "origin").text(ctx)
	if exitCode(err) > 0 {
		return nil
	}
	in.clone.Origin = url
	return err
}

func (in *inspection) remote(ctx context.Context) error {
	if in.clone.Origin == "" {
		return nil
	}
	ref, err := in.git("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD").text(ctx)
	if err == nil {
		in.clone.DefaultBranch = strings.TrimPrefix(ref, "refs/remotes/origin/")
	} else if exitCode(err) < 0 {
		return err
	}
	if in.clone.Head == "" {
		return nil
	}
	count, err := in.git("rev-list", "--count", in.clone.Head, "--not", "--remotes").text(ctx)
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
	init := call{dir: tmp, args: []string{"init", "-q", "--bare", "--template=", gitDir}}
	if _, err := init.run(ctx); err != nil {
		return tempError(err)
	}
	if err := in.copyIndex(ctx, gitDir); err != nil {
		return err
	}
	set := map[string]bool{}
	add := func(c call) error {
		out, err := c.run(ctx)
		for _, p := range records(out) {
			set[p] = true
		}
		return err
	}
	against := in.clone.Head
	if against == "" {
		if against, err = in.git("hash-object", "-t", "tree", "/dev/null").text(ctx); err != nil {
			return err
		}
	}
	over := func(args ...string) call {
		return call{gitDir: gitDir, workTree: in.dir, index: filepath.Join(gitDir, "index"), dir: in.dir, args: args}
	}
	untracked := []string{"ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--directory", "--no-empty-directory"}
	// What stands there is ours, or configuration that a run reads where it is.
	untracked = append(untracked, "--exclude=/.agentmux/")
	untracked = append(untracked, in.excludes(ctx)...)
	for _, c := range []call{
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

// excludes names the person's own ignore files at their usual places.
func (in *inspection) excludes(ctx context.Context) []string {
	var args []string
	own, _ := in.git("rev-parse", "--path-format=absolute", "--git-path", "info/exclude").text(ctx)
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
	from, err := in.git("rev-parse", "--path-format=absolute", "--git-path", "index").text(ctx)
	if err != nil {
		return err
	}
	shared, err := filepath.Glob(filepath.Join(filepath.Dir(from), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, p := range append(shared, from) {
		to := filepath.Join(gitDir, filepath.Base(p))
		err := copyIndexFile(p, to)
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

// UserConfig is what is taken from a person's global git configuration, and nothing
// else is.
type UserConfig struct {
	Name, Mail string
	// Proxy, CAInfo, Backend and Version are http.proxy, http.sslCAInfo,
	// http.sslBackend and http.version.
	Proxy, CAInfo, Backend, Version string
}

// ReadUserConfig reads the person's global configuration. A missing file is an empty
// configuration.
func ReadUserConfig(ctx context.Context) (UserConfig, error) {
	var u UserConfig
	c := call{dir: "/", personal: true, args: []string{
		"config", "--global", "--includes", "-z", "--get-regexp",
		`^(user\.(name|email)|http\.(proxy|sslcainfo|sslbackend|version))$`,
	}}
	out, err := c.run(ctx)
	if code := exitCode(err); code == 1 || (code > 1 && says(err, "No such file")) {
		return u, nil
	}
	if err != nil {
		return u, fmt.Errorf("read the global git configuration: %w", err)
	}
	into := map[string]*string{
		"user.name": &u.Name, "user.email": &u.Mail, "http.proxy": &u.Proxy,
		"http.sslcainfo": &u.CAInfo, "http.sslbackend": &u.Backend, "http.version": &u.Version,
	}
	for _, rec := range records(out) {
		key, value, _ := strings.Cut(rec, "\n")
		if p := into[key]; p != nil {
			*p = value
		}
	}
	return u, nil
}

// network is the part of the configuration that a call over the network to a server is given.
// What decides where the token travels is always said: in general, and for the server, because
// the closer word counts, wherever it is written.
func (u UserConfig) network(server string) []string {
	var config []string
	for _, at := range []string{"http.", "http." + server + "."} {
		config = append(config, at+"proxy="+u.Proxy, at+"sslVerify=true", at+"extraHeader=", at+"cookieFile=")
	}
	for _, kv := range [][2]string{
		{"http.sslCAInfo", u.CAInfo}, {"http.sslBackend", u.Backend}, {"http.version", u.Version},
	} {
		if kv[1] != "" {
			config = append(config, kv[0]+"="+kv[1])
		}
	}
	return config
}

// Tracks reports whether the clone that holds dir has files at or below path in its index. A
// directory in no clone tracks nothing.
func Tracks(ctx context.Context, dir, path string) (bool, error) {
	in := inspection{}
	if _, err := in.look(ctx, dir); err != nil {
		if errors.Is(err, ErrNotClone) || errors.Is(err, ErrBare) {
			return false, nil
		}
		return false, err
	}
	in.dir = dir
	out, err := in.git("ls-files", "-z", "--", path).run(ctx)
	if err != nil {
		return false, fmt.Errorf("what git tracks of %s: %w", path, err)
	}
	return len(out) > 0, nil
}
