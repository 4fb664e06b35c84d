package project_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// What was found of a clone is not asked of git again: the directory is not even a clone here.
func TestWhatWasFoundIsNotLookedForAgain(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/nope")
	c, problems := config.Load(config.Sources{Home: "/"})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := project.Opener{Self: "/self", StateHome: filepath.Join(t.TempDir(), "state"), Log: slog.New(slog.DiscardHandler), Located: &project.Located{}}
	if _, err := o.Reopen(t.Context(), dir, c); !errors.Is(err, clone.ErrNotClone) {
		t.Fatalf("%v, want %v", err, clone.ErrNotClone)
	}
	found := project.Found{Root: dir, Origin: "https://github.com/acme/widgets.git", User: remote.UserConfig{Name: "Mia", Mail: "mia@example.com"}}
	o.Located.Know(dir, found)
	p, err := o.Reopen(t.Context(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Found(); *got != found || p.Repo.String() != "acme/widgets" || !p.GitHub {
		t.Errorf("%+v, %+v", got, p)
	}
	if _, err := o.Open(t.Context(), dir, c); !errors.Is(err, clone.ErrNotClone) {
		t.Errorf("Open takes what was found before: %v", err)
	}
}
