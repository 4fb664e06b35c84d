package gitrepo

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
	networkLimit = 15 * time.Minute
	// killDelay is how long a git that was told to stop may take to remove its locks.
	killDelay = 3 * time.Second
	// pipeDelay is how long after its end an answer is waited for. On a machine that is
	// short of processors another child of ours that has not become its program yet holds
	// the pipe open for seconds.
	pipeDelay = time.Minute
	// maxOutput bounds what is kept of one answer; no list of paths comes near it.
	maxOutput = 1 << 30
)

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

// call is one git invocation. Only run starts it.
type call struct {
	gitDir    string // empty: discovered from dir
	workTree  string
	index     string
	dir       string   // working directory; empty: gitDir
	transport string   // the one allowed protocol; empty: none
	config    []string // further key=value
	env       []string // further NAME=value
	stdin     []byte
	in, out   *os.File      // for pipe: instead of stdin and of an answer
	limit     time.Duration // 0: localLimit
	maxOutput int64         // 0: maxOutput; more is an error
	personal  bool          // reads the person's global configuration
	guard     func() error  // called right before git starts
	args      []string
}

// environment is everything git sees of the outside. HOME does not exist, so no
// .netrc is read; GIT_ALLOW_PROTOCOL also reaches the upload-pack of a local fetch,
// which -c does not.
func (c call) environment() []string {
	env := []string{
		"PATH=" + absolutePath(os.Getenv("PATH")),
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_ALLOW_PROTOCOL=" + c.transport,
		"GIT_PAGER=cat",
		"GIT_EDITOR=false",
		"GIT_SSH_COMMAND=false",
		// What a new repository is made of is not left to what this git takes for the default.
		"GIT_DEFAULT_HASH=sha1",
		"GIT_DEFAULT_REF_FORMAT=files",
	}
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		env = append(env, "TMPDIR="+tmp)
	}
	if c.personal {
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
		"GIT_DIR": c.gitDir, "GIT_WORK_TREE": c.workTree, "GIT_INDEX_FILE": c.index,
	} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, c.env...)
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

func (c call) arguments() []string {
	args := []string{"--no-pager"}
	for _, kv := range hardened {
		args = append(args, "-c", kv)
	}
	if c.transport != "" {
		args = append(args, "-c", "protocol."+c.transport+".allow=always")
	}
	for _, kv := range c.config {
		args = append(args, "-c", kv)
	}
	return append(args, c.args...)
}

// run starts git and returns what it wrote to stdout. A non-zero exit is *Error, and
// the output is returned with it.
func (c call) run(ctx context.Context) ([]byte, error) {
	if c.guard != nil {
		if err := c.guard(); err != nil {
			return nil, err
		}
	}
	stdout := &command.Output{Max: cmp.Or(c.maxOutput, maxOutput), Refuse: true}
	stderr := &command.Output{Max: 64 << 10}
	cmd := command.Cmd{
		Argv: append([]string{"git"}, c.arguments()...), Env: c.environment(), Dir: cmp.Or(c.dir, c.gitDir), Stdin: c.in, Stdout: stdout, Stderr: stderr,
		Limit: cmp.Or(c.limit, localLimit), Grace: killDelay, Drain: pipeDelay,
	}
	if c.in == nil && c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	if c.out != nil {
		cmd.Stdout = c.out
	}
	err := cmd.Run(ctx)
	crash.Point("git", c.args[0])
	return stdout.Bytes(), c.failure(err, stdout, stderr)
}

func (c call) failure(err error, stdout, stderr *command.Output) error {
	if err == nil {
		return nil
	}
	name := "git"
	if len(c.args) > 0 {
		name = c.args[0]
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

// pipe runs two calls at once, the second on what the first one writes.
func pipe(ctx context.Context, from, to call) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	from.out, to.in = w, r
	failed := make(chan error, 1)
	go func() {
		_, err := from.run(ctx)
		failed <- errors.Join(err, w.Close())
	}()
	_, err = to.run(ctx)
	// Closed before the other is waited for: it may be writing to somebody who is gone.
	err = errors.Join(err, r.Close())
	return errors.Join(<-failed, err)
}

// text is run for answers of one line.
func (c call) text(ctx context.Context) (string, error) {
	out, err := c.run(ctx)
	return strings.TrimSuffix(string(out), "\n"), err
}

// exitCode is the exit code of git in err, 0 for nil, -1 for any other error.
func exitCode(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	}
	return -1
}

// says reports whether git failed with these words, where its exit code does not tell one
// cause from another. Calls have the language C.
func says(err error, words string) bool {
	var e *Error
	return errors.As(err, &e) && strings.Contains(e.Stderr, words)
}

// records splits NUL-terminated output.
func records(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// joined is the inverse of records, for -z --stdin.
func joined(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.Bytes()
}
