package project

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/agent/settings"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// ProjectConfigBase is the value of agents.project_config that loads settings.
const ProjectConfigBase = "base"

// AgentSettings are the settings for agents' programs in the base commit of a session, and
// whether they are loaded. Instructions are not among them.
type AgentSettings struct {
	Paths  []string `json:"paths"`  // those of settings.ProjectPaths that exist, or a link on the way to one
	Wanted bool     `json:"wanted"` // agents.project_config says so
	Loaded bool     `json:"loaded"` // Wanted, and allowed if a person has to be asked

	files   []gitrepo.Entry // the regular files of them
	allowed string          // a file that exists once a person has allowed these settings
}

// AgentSettings reads the settings of a base commit. An interactive session loads only the
// contents that a person allowed on this machine. Without a terminal there is no question, and
// the key in the person's own configuration decides.
func (p *Project) AgentSettings(ctx context.Context, c *config.Config, base string, interactive bool) (AgentSettings, error) {
	entries, err := p.Store.Entries(ctx, base)
	if err != nil {
		return AgentSettings{}, fmt.Errorf("look for agent settings: %w", err)
	}
	s := AgentSettings{Wanted: c.Agents.ProjectConfig == ProjectConfigBase}
	content := []string{"agent settings", p.Clone.Root}
	for _, e := range entries {
		path, ok := settingOf(e)
		if !ok {
			continue
		}
		if !slices.Contains(s.Paths, path) {
			s.Paths = append(s.Paths, path)
		}
		if e.Type == "blob" && e.Mode != modeSymlink {
			s.files = append(s.files, e)
			content = append(content, e.Mode, e.ID, e.Path)
		}
	}
	s.allowed = allowedFile(p.stateHome, content...)
	s.Loaded = s.Wanted && (!interactive || there(s.allowed))
	return s, nil
}

// settingOf returns the setting that an entry of a tree belongs to.
func settingOf(e gitrepo.Entry) (string, bool) {
	for _, path := range prefixes(e.Path) {
		if isSetting(path) {
			return path, true
		}
	}
	if e.Mode == modeSymlink {
		for _, known := range settings.ProjectPaths() {
			if strings.HasPrefix(known, e.Path+"/") {
				return e.Path, true
			}
		}
	}
	return "", false
}

// Open reports whether a person has to be asked.
func (s AgentSettings) Open() bool { return s.Wanted && !s.Loaded && len(s.files) > 0 }

// Allow remembers that these settings may be loaded on this machine.
func (s AgentSettings) Allow() error { return allow(s.allowed) }

// Note says which settings were found and whether they are loaded; "" without any.
func (s AgentSettings) Note() string {
	list := strings.Join(s.Paths, ", ")
	switch {
	case len(s.Paths) == 0:
		return ""
	case s.Loaded:
		return "agent settings of the base commit are loaded: " + list
	case s.Wanted:
		return "agent settings of the repository are not loaded, they are not allowed on this machine yet: " + list + "; a run at a terminal asks"
	}
	return "agent settings of the repository are not loaded: " + list +
		"; \"agents: {project_config: base}\" in your own configuration loads those of the base commit"
}

// AgentSettingsFile of a session holds what its last host found.
const AgentSettingsFile = "agent-settings.json"

// FoundAgentSettings returns what the last host of a session wrote down, without reading the
// repository; the zero value if that file is missing or damaged.
func FoundAgentSettings(dir string) AgentSettings {
	var s AgentSettings
	data, err := session.ReadFile(filepath.Join(dir, AgentSettingsFile))
	if err != nil || json.Unmarshal(data, &s) != nil {
		return AgentSettings{}
	}
	s.Paths = slices.DeleteFunc(s.Paths, func(path string) bool { // it is shown at a terminal
		return !slices.ContainsFunc(settings.ProjectPaths(), func(known string) bool { return known == path || strings.HasPrefix(known, path+"/") })
	})
	return s
}

// LoadSettings writes the settings that were found into a workspace after ClearSettings. Links
// are left out, because an agent could have written what they point to.
func (p *Project) LoadSettings(ctx context.Context, found AgentSettings, workspace, launch string) error {
	blobs, err := p.blobsOf(ctx, found.files)
	if err != nil {
		return fmt.Errorf("load agent settings: %w", err)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return fmt.Errorf("load agent settings: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, e := range found.files {
		if err := clearWay(workspace, launch, e.Path); err != nil {
			return err
		}
		if err := writeSetting(root, e, blobs[e.ID]); err != nil {
			return fmt.Errorf("load agent settings: %w", err)
		}
		crash.Point("load settings", e.Path)
	}
	return nil
}

// blobsOf reads the contents of entries, at most maxSettings bytes in all.
func (p *Project) blobsOf(ctx context.Context, entries []gitrepo.Entry) (map[string][]byte, error) {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	sizes, err := p.Store.Sizes(ctx, ids)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, id := range ids {
		total += sizes[id]
	}
	if total > maxSettings {
		return nil, &LargeError{Size: total}
	}
	return p.Store.Blobs(ctx, ids)
}

// LargeError says that the settings of a commit are larger than maxSettings.
type LargeError struct{ Size int64 }

// Error says how large they are.
func (e *LargeError) Error() string {
	return fmt.Sprintf("the base commit's are %d bytes: %v", e.Size, gitrepo.ErrTooLarge)
}

// clearWay puts aside a file that an agent wrote where the base has a directory.
func clearWay(workspace, launch, path string) error {
	for _, dir := range prefixes(filepath.Dir(path)) {
		info, err := os.Lstat(filepath.Join(workspace, dir))
		if err == nil && !info.IsDir() {
			return putAside(workspace, launch, dir)
		}
	}
	return nil
}

func writeSetting(root *os.Root, e gitrepo.Entry, data []byte) error {
	mode := fs.FileMode(0o644)
	if e.Mode == "100755" {
		mode = 0o755
	}
	if err := root.MkdirAll(filepath.Dir(e.Path), 0o755); err != nil {
		return err
	}
	return root.WriteFile(e.Path, data, mode)
}
