package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/internal/crash"
)

const (
	localLimit   = 5 * time.Minute
	NetworkLimit = 15 * time.Minute
	// killDelay is how long a git that was told to stop may take to remove its locks.
	killDelay = 3 * time.Second
	// pipeDelay is how long an answer is waited for after the end of git. On a machine that is
	// short of processors another child of this process, which has not become its program yet,
	// holds the pipe open for seconds.
	pipeDelay = time.Minute
	// maxOutput bounds what is kept of one answer; no list of paths comes near it.
	maxOutput = 1 << 30
)

// Durable makes objects and refs survive a power loss: the session's state counts on
// a commit once it has its id.
var Durable = []string{"core.fsync=committed,reference", "core.fsyncMethod=batch"}

// hardened holds for every call. core.fileMode and the three after it fix what git
// would else probe from the file system or take from a repository's configuration.
var hardened = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.autocrlf=false",
	"core.protectHFS=true",
	"core.protectNTFS=true",
	"core.fileMode=true",
	"core.symlinks=true",
	"core.ignoreCase=false",
	"core.quotePath=false",
	"submodule.recurse=false",
	"diff.ignoreSubmodules=all",
	"protocol.allow=never",
	"transfer.fsckObjects=true",
	"gc.auto=0",
	"maintenance.auto=false",
	"credential.helper=",
	"protocol.version=2",
}

// Error is a git that ended with an error. Stderr is what it said, untrusted text.
type Error struct {
	Command string // the subcommand
	Code    int    // exit code, -1 when it was killed
	Stderr  string
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Stderr)
	if text == "" {
		return fmt.Sprintf("git %s: exit code %d", e.Command, e.Code)
	}
	return fmt.Sprintf("git %s: %s", e.Command, text)
}

// Call is one git invocation. Only Run starts it.
type Call struct {
	GitDir    string // empty: discovered from Dir
	WorkTree  string
	Index     string
	Dir       string   // working directory; empty: GitDir
	Transport string   // the one allowed protocol; empty: none
	Config    []string // further key=value
	Env       []string // further NAME=value
	Stdin     []byte
	Limit     time.Duration // 0: localLimit
	MaxOutput int64         // 0: maxOutput; more is an error
	Personal  bool          // reads the person's global configuration
	Guard     func() error  // called right before git starts
	Helper    *os.File      // a program that speaks the Transport, in place of git's own
	Args      []string

	in, out *os.File // instead of Stdin and of an answer
}

// Bare is a bare repository. Guard is called right before git starts in it.
type Bare interface {
	Dir() string
	Guard() error
}

// In is a call in a bare repository, without work tree. What it writes is Durable.
func In(repo Bare, args ...string) Call {
	return Call{GitDir: repo.Dir(), Guard: repo.Guard, Config: Durable, Args: args}
}

// environment is everything git sees of the outside. HOME does not exist, so no
// .netrc is read; GIT_ALLOW_PROTOCOL also reaches the upload-pack of a local fetch,
// which -c does not.
func (c Call) environment() []string {
	env := []string{
		"PATH=" + c.path(),
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_ALLOW_PROTOCOL=" + c.Transport,
		"GIT_PAGER=cat",
		"GIT_EDITOR=false",
		"GIT_SSH_COMMAND=false",
		// What a new repository is made of is not left to what this git takes for the default.
		"GIT_DEFAULT_HASH=sha1",
		"GIT_DEFAULT_REF_FORMAT=files",
	}
	if c.Helper != nil {
		env = append(env, "GIT_EXEC_PATH="+nothing)
	}
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		env = append(env, "TMPDIR="+tmp)
	}
	if c.Personal {
		env = append(env, "HOME="+os.Getenv("HOME"))
		for _, name := range []string{"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"} {
			if v, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+v)
			}
		}
	} else {
		env = append(env, "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null")
	}
	for name, value := range map[string]string{
		"GIT_DIR": c.GitDir, "GIT_WORK_TREE": c.WorkTree, "GIT_INDEX_FILE": c.Index,
	} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, c.Env...)
}

// path is where git finds itself. A call with a helper has no other place: a program there with
// the name of git's own helper would come before ours.
func (c Call) path() string {
	if c.Helper != nil {
		if found, err := Program(); err == nil {
			return filepath.Dir(found)
		}
	}
	return absolutePath(os.Getenv("PATH"))
}

// absolutePath drops relative entries: git may run inside a directory of an agent.
func absolutePath(path string) string {
	var keep []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(os.PathListSeparator))
}

func (c Call) arguments() []string {
	args := []string{"--no-pager"}
	for _, kv := range hardened {
		args = append(args, "-c", kv)
	}
	if c.Transport != "" {
		args = append(args, "-c", "protocol."+c.Transport+".allow=always")
	}
	if c.Helper != nil {
		args = append(args, "-c", "alias.remote-"+c.Transport+"=!"+helperFile)
	}
	for _, kv := range c.Config {
		args = append(args, "-c", kv)
	}
	return append(args, c.Args...)
}

// Run starts git and returns what it wrote to stdout. A non-zero exit is *Error, and
// the output is returned with it.
func (c Call) Run(ctx context.Context) ([]byte, error) {
	if c.Guard != nil {
		if err := c.Guard(); err != nil {
			return nil, err
		}
	}
	stdout := &command.Output{Max: cmp.Or(c.MaxOutput, maxOutput), Refuse: true}
	stderr := &command.Output{Max: 64 << 10}
	cmd := command.Cmd{
		Argv: append([]string{"git"}, c.arguments()...), Env: c.environment(), Dir: cmp.Or(c.Dir, c.GitDir), Stdin: c.in, Stdout: stdout, Stderr: stderr,
		Limit: cmp.Or(c.Limit, localLimit), Grace: killDelay, Drain: pipeDelay,
	}
	if c.Helper != nil {
		cmd.Files = []*os.File{c.Helper}
	}
	if c.in == nil && c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	if c.out != nil {
		cmd.Stdout = c.out
	}
	err := cmd.Run(ctx)
	crash.Point("git", c.Args[0])
	return stdout.Bytes(), c.failure(err, stdout, stderr)
}

func (c Call) failure(err error, stdout, stderr *command.Output) error {
	if err == nil {
		return nil
	}
	name := "git"
	if len(c.Args) > 0 {
		name = c.Args[0]
	}
	var exit *exec.ExitError
	switch {
	case stdout.Over():
		return fmt.Errorf("git %s: answer larger than %d bytes: %w", name, stdout.Max, ErrTooLarge)
	case errors.As(err, &exit):
		return &Error{Command: name, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return fmt.Errorf("git %s: %w", name, err)
}

// ErrTooLarge says that an answer is larger than the caller's limit.
var ErrTooLarge = errors.New("too large")

// From is the call with what a file holds from its offset on as its input.
func (c Call) From(file *os.File) Call {
	c.in = file
	return c
}

// Pipe runs two calls at once, the second on what the first one writes.
func Pipe(ctx context.Context, from, to Call) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	from.out, to.in = w, r
	failed := make(chan error, 1)
	go func() {
		_, err := from.Run(ctx)
		failed <- errors.Join(err, w.Close())
	}()
	_, err = to.Run(ctx)
	// Closed before the other is waited for: it may be writing to a program that has ended.
	err = errors.Join(err, r.Close())
	return errors.Join(<-failed, err)
}

// Text is Run for answers of one line.
func (c Call) Text(ctx context.Context) (string, error) {
	out, err := c.Run(ctx)
	return strings.TrimSuffix(string(out), "\n"), err
}

// ExitCode is the exit code of git in err, 0 for nil, -1 for any other error.
func ExitCode(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	}
	return -1
}

// Says reports whether git failed with these words, where its exit code does not tell one
// cause from another. Calls have the language C.
func Says(err error, words string) bool {
	var e *Error
	return errors.As(err, &e) && strings.Contains(e.Stderr, words)
}

// Records splits NUL-terminated output.
func Records(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// Joined is the inverse of Records, for -z --stdin.
func Joined(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.Bytes()
}
