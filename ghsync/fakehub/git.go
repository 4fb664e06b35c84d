package fakehub

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gitEnv lets no configuration, hook, prompt or variable of the machine reach git.
func (s *Server) gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.root, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0", "GIT_ATTR_NOSYSTEM=1",
	}
}

// git runs one command in dir and returns its output without space around it.
func (s *Server) git(dir string, stdin []byte, args ...string) (string, error) {
	out, err := s.gitOutput(dir, stdin, args...)
	return strings.TrimSpace(string(out)), err
}

// gitRaw is git without input, the output untouched.
func (s *Server) gitRaw(dir string, args ...string) ([]byte, error) {
	return s.gitOutput(dir, nil, args...)
}

func (s *Server) gitOutput(dir string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, s.gitEnv(), bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// initBare makes the bare repository of r, which takes pushes and has no hooks.
func (s *Server) initBare(r *repo) error {
	r.dir = filepath.Join(s.root, strconv.FormatInt(r.id, 10)+".git")
	if _, err := s.git(s.root, nil, "init", "-q", "--bare", "--template=", "-b", r.defaultBranch, r.dir); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(r.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("configure the repository: %w", err)
	}
	if _, err := file.WriteString(bareConfig); err != nil {
		return errors.Join(fmt.Errorf("configure the repository: %w", err), file.Close())
	}
	return file.Close()
}

// bareConfig is written straight into the file: a run of git per setting would make most
// of the time a test needs to start.
const bareConfig = `[http]
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

// importFrom copies the branches and tags of a local repository.
func (s *Server) importFrom(r *repo, source string) error {
	abs, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("find %s: %w", source, err)
	}
	_, err = s.git(r.dir, nil, "-c", "protocol.file.allow=always", "-c", "safe.directory=*",
		"fetch", "-q", "--no-write-fetch-head", abs, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	return err
}

// commit puts a commit on a branch and returns its id.
func (s *Server) commit(r *repo, spec CommitSpec, at time.Time) (string, error) {
	branch := "refs/heads/" + spec.Branch
	author := spec.Author
	if author == "" {
		author = "Octo Dev <octo-dev@users.noreply.example.com>"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit %s\ncommitter %s %d +0000\ndata %d\n%s\n", branch, author, at.Unix(), len(spec.Message), spec.Message)
	if parent := r.parentOf(branch, spec.From); parent != "" {
		fmt.Fprintf(&b, "from %s\n", parent)
	}
	for _, path := range slices.Sorted(maps.Keys(spec.Files)) {
		content := spec.Files[path]
		if content == Deleted {
			fmt.Fprintf(&b, "D %q\n", path)
			continue
		}
		fmt.Fprintf(&b, "M 100644 inline %q\ndata %d\n%s\n", path, len(content), content)
	}
	if _, err := s.git(r.dir, b.Bytes(), "fast-import", "--quiet", "--force"); err != nil {
		return "", err
	}
	if err := s.readRefs(r); err != nil {
		return "", err
	}
	return r.refs[branch], nil
}

// parentOf is where a commit on branch starts.
func (r *repo) parentOf(branch, from string) string {
	if sha := r.refs[branch]; sha != "" && from == "" {
		return sha
	}
	if from == "" {
		from = r.defaultBranch
	}
	if sha := r.refs["refs/heads/"+from]; sha != "" {
		return sha
	}
	if len(from) == 40 && from != "" {
		return from
	}
	return ""
}

// readRefs refreshes what the server knows of the refs.
func (s *Server) readRefs(r *repo) error {
	out, err := s.git(r.dir, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if sha, name, found := strings.Cut(strings.TrimSpace(line), " "); found {
			refs[name] = sha
		}
	}
	r.refs = refs
	return nil
}

// backend is the server side of git's smart protocol.
func (s *Server) backend(r *repo, who string) (http.Handler, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	env := append(s.gitEnv(), "GIT_PROJECT_ROOT="+s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+who)
	return &cgi.Handler{Path: path, Args: []string{"http-backend"}, Root: "/", Dir: r.dir, Env: env, Stderr: &bytes.Buffer{}}, nil
}
