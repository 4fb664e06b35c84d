package session_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// metacharacters are titles that mean something to a shell, to git, to tmux or to a
// terminal.
var metacharacters = []string{
	`"; rm -rf ~ #`, "$(touch x)", "`touch x`", "#{q}#(touch x)", "%1 @2 $3", "a\nb\r\n-c", "--upload-pack=x", "../../etc/passwd", "a..b.lock",
	"refs/heads/main", "@{-1}^~:", "x\x00y", "\x1b]0;t\x07\x1b[2J", "\u202egnp\u202c", "*?[a-z]{1,2}", "!! && || | > < &", `C:\x`, "%s%n%!d", "~root", ".git",
	"日本語", "ＦＵＬＬ", "", "   ", strings.Repeat("long word ", 40), strings.Repeat("x", 300),
}

func TestSecurity15TitlesBecomePlainNames(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	for _, title := range metacharacters {
		for _, name := range []string{session.Slug(title), session.IssueSlug(12, title)} {
			if !plain.MatchString(name) || len(name) > 48 {
				t.Errorf("%q becomes %q", title, name)
			}
		}
		sp := spec(t, t.TempDir())
		sp.Source, sp.State.IssueNumber, sp.State.IssueTitle = title, 12, "x"
		s := create(t, sp)
		st := state(t, s)
		branch, ours := strings.CutPrefix(st.FeatureBranch, "agentmux/")
		for what, name := range map[string]string{"session": s.Name(), "tmux session": st.SessionName, "branch": branch} {
			if !plain.MatchString(name) {
				t.Errorf("%q: the %s is %q", title, what, name)
			}
		}
		if !ours || filepath.Dir(s.Dir) != session.Dir(sp.Project) {
			t.Errorf("%q: branch %q, directory %s", title, st.FeatureBranch, s.Dir)
		}
	}
}

// A person who adds everything to a commit must not add what agents have printed.
func TestSecurity33SessionsAreNeverCommitted(t *testing.T) {
	project := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	s := create(t, spec(t, project))
	if err := os.MkdirAll(s.Path(session.TranscriptsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, s.Path(session.TranscriptsDir, "1.coder.1.log"), "token\n")
	write(t, filepath.Join(project, ".agentmux", ".last_completion.json"), "{}\n")
	if got := git("status", "--porcelain"); got != "" {
		t.Errorf("a session shows in the clone:\n%s", got)
	}
	git("add", "-A")
	if got := git("ls-files"); got != "" {
		t.Errorf("in the index:\n%s", got)
	}
	write(t, filepath.Join(project, ".agentmux", "config.yaml"), "version: 2\n")
	git("add", ".agentmux")
	if got := git("ls-files"); got != ".agentmux/config.yaml\n" {
		t.Errorf("in the index with a configuration:\n%s", got)
	}
}
