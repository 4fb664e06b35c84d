package project

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/document"
)

// Configs remembers the configuration of commits of a project. It is safe for concurrent use.
type Configs struct {
	Project *Project
	// Of returns the machine's configuration with the files of a commit.
	Of func(files fs.FS) (*config.Config, document.Problems)

	mu    sync.Mutex
	known map[string]*config.Config // by commit
	fetch sync.Mutex                // one fetch at a time
}

// maxConfigs bounds how many configurations are remembered.
const maxConfigs = 64

// At returns the configuration of a commit.
func (k *Configs) At(ctx context.Context, commit string) (*config.Config, error) {
	k.mu.Lock()
	c := k.known[commit]
	k.mu.Unlock()
	if c != nil {
		return c, nil
	}
	files, err := k.Project.Files(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", commit, err)
	}
	c, problems := k.Of(files)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxConfigs {
		k.known = map[string]*config.Config{}
	}
	k.known[commit] = c
	return c, nil
}

// Tip fetches the tip of the base, which c or the configuration there names, and reads what the repository says about
// its sessions there. With problems that are errors, now is not to be used.
func (k *Configs) Tip(ctx context.Context, c *config.Config) (base Base, files fs.FS, now *config.Config, problems document.Problems, err error) {
	k.fetch.Lock()
	defer k.fetch.Unlock()
	now = c
	for range 2 { // the base may name another one
		if base, err = k.Project.Base(ctx, now, ""); err != nil {
			return base, nil, nil, nil, err
		}
		if files, err = k.Project.Files(ctx, base.SHA); err != nil {
			return base, nil, nil, nil, err
		}
		named := now.GitHub.BaseBranch
		if now, problems = k.Of(files); len(problems.Errors()) > 0 || now.GitHub.BaseBranch == named {
			break
		}
	}
	return base, files, now, problems, nil
}
