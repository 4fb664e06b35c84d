package host_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/bot/config"
)

// W5: a commit's own settings, whatever the working tree says.
func TestFilesShowsTheSettingsOfACommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.write(".agentmux/config.yaml", "version: 2\nlimits: {research: 3}\n")
	r.write(".agentmux/workflows/mine.yaml", "version: 1\n")
	r.write(".agentmux/prompts/agents/coder.md", "Be kind.\n")
	if err := os.Symlink("/etc/hostname", r.project+"/.agentmux/link"); err != nil {
		t.Fatal(err)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "settings")
	commit := r.git("rev-parse", "HEAD")
	r.write(".agentmux/config.yaml", "version: 2\nlimits: {research: 2}\n")
	project, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := project.Base(t.Context(), r.config, "HEAD"); err != nil {
		t.Fatal(err)
	}
	files, err := project.Files(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(files, ".agentmux/config.yaml", ".agentmux/workflows/mine.yaml", ".agentmux/prompts/agents/coder.md"); err != nil {
		t.Error(err)
	}
	if _, err := files.Open(".agentmux/link"); !os.IsNotExist(err) {
		t.Errorf("a link: %v", err)
	}
	if _, err := files.Open("README.md"); !os.IsNotExist(err) {
		t.Errorf("a file outside: %v", err)
	}
	c, problems := config.Load(config.Sources{Project: files, ProjectPrefix: commit[:7] + ":"})
	if c == nil || c.Limits.Research != 3 {
		t.Errorf("config %+v, %v", c, problems.Lines())
	}
}
