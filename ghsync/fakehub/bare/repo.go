// Package bare keeps bare git repositories on disk and serves them: the git side of the fake
// GitHub. What git does, it does in an environment where no configuration, hook, prompt or
// variable of the machine reaches it. What is asked most, refs and lists of refs, is read from
// the files without a process, where these are plain; git judges all others.
//
// The state of a Repo is its directory, guarded by git's own locks, and what is remembered of
// it cannot change; so its methods may be called by several goroutines.
package bare

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Repo is a bare repository.
type Repo struct {
	Dir   string
	known *known
}

// config is written straight into the file: a run of git per setting would make most
// of the time a test needs to start.
const config = `[http]
	receivepack = true
[receive]
	denyDeleteCurrent = refuse
	fsckObjects = true
	autogc = false
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[gc]
	auto = 0
[core]
	hooksPath = /dev/null
`

// Init creates a repository that accepts pushes and has no hooks. The parent of dir must
// exist; it becomes git's home.
func Init(dir, branch string) (Repo, error) {
	r := Repo{Dir: dir}
	create := r.command("init", "-q", "--bare", "--template=", "-b", branch, dir)
	create.Dir = filepath.Dir(dir)
	if _, err := output(create); err != nil {
		return r, err
	}
	path := filepath.Join(dir, "config")
	data, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("configure the repository: %w", err)
	}
	r.known = newKnown(append(data, config...))
	if err := os.WriteFile(path, r.known.config, 0); err != nil {
		return r, fmt.Errorf("configure the repository: %w", err)
	}
	return r, nil
}

// Run runs one command and returns its output without space around it.
func (r Repo) Run(args ...string) (string, error) {
	out, err := r.Read(args...)
	return strings.TrimSpace(string(out)), err
}

// Read runs one command and returns its output as it is.
func (r Repo) Read(args ...string) ([]byte, error) { return output(r.command(args...)) }

func (r Repo) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(r.Dir), "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0", "GIT_ATTR_NOSYSTEM=1",
	}
}

func (r Repo) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, r.env()
	return cmd
}

// feed runs one command with an input.
func (r Repo) feed(stdin []byte, args ...string) ([]byte, error) {
	cmd := r.command(args...)
	cmd.Stdin = bytes.NewReader(stdin)
	return output(cmd)
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", cmd.Args[1], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// Import copies the branches and tags of a local repository.
func (r Repo) Import(source string) error {
	abs, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("find %s: %w", source, err)
	}
	_, err = r.Run("-c", "protocol.file.allow=always", "-c", "safe.directory=*",
		"fetch", "-q", "--no-write-fetch-head", abs, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	return err
}

// Refs returns the object ids of all refs by their full names.
func (r Repo) Refs() (map[string]string, error) {
	if s, plain := r.snapshot(); plain {
		return s.ids, nil
	}
	out, err := r.Run("for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if sha, name, found := strings.Cut(strings.TrimSpace(line), " "); found {
			refs[name] = sha
		}
	}
	return refs, nil
}

// Deleted as content of a file in a Commit removes the file.
const Deleted = "\x00deleted"

// Commit is a commit to put on a ref. Parent "" is a root commit; Author "" is a made-up one.
type Commit struct {
	Ref, Parent, Author, Message string
	Files                        map[string]string
	At                           time.Time
}

// Commit puts a commit on its ref, whatever the ref was before.
func (r Repo) Commit(c Commit) error {
	author := c.Author
	if author == "" {
		author = "Octo Dev <octo-dev@users.noreply.example.com>"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit %s\ncommitter %s %d +0000\ndata %d\n%s\n", c.Ref, author, c.At.Unix(), len(c.Message), c.Message)
	if c.Parent != "" {
		fmt.Fprintf(&b, "from %s\n", c.Parent)
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		content := c.Files[path]
		if content == Deleted {
			fmt.Fprintf(&b, "D %q\n", path)
			continue
		}
		fmt.Fprintf(&b, "M 100644 inline %q\ndata %d\n%s\n", path, len(content), content)
	}
	_, err := r.feed(b.Bytes(), "fast-import", "--quiet", "--force")
	return err
}
