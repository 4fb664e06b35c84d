package host

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
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// projectConfigBase is the value of agents.project_config that loads settings.
const projectConfigBase = "base"

// AgentSettings are what the base commit of a session tells the agents' programs beside
// instructions, and whether that is loaded.
type AgentSettings struct {
	Paths  []string `json:"paths"`  // of agent.ProjectSettings that are there, or a link on the way to one
	Wanted bool     `json:"wanted"` // agents.project_config says so
	Loaded bool     `json:"loaded"` // Wanted, and allowed where a person is asked

	files   []gitrepo.Entry // the regular files of them
	allowed string          // is there once a person has allowed these files
}

// AgentSettings looks into a base commit. An interactive session loads what was allowed on
// this machine, content by content; without a terminal nobody is asked, and the person's own
// key is the word.
func (h *Host) AgentSettings(ctx context.Context, c *config.Config, p *Project, base string, interactive bool) (AgentSettings, error) {
	entries, err := p.repo.Entries(ctx, base)
	if err != nil {
		return AgentSettings{}, fmt.Errorf("look for agent settings: %w", err)
	}
	s := AgentSettings{Wanted: c.Agents.ProjectConfig == projectConfigBase}
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
	s.allowed = allowedFile(h.StateHome, content...)
	s.Loaded = s.Wanted && (!interactive || exists(s.allowed))
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
		for _, known := range agent.ProjectSettings() {
			if strings.HasPrefix(known, e.Path+"/") {
				return e.Path, true
			}
		}
	}
	return "", false
}

// Open reports whether a person is to be asked.
func (s AgentSettings) Open() bool { return s.Wanted && !s.Loaded && len(s.files) > 0 }

// Allow remembers that these settings may be loaded on this machine.
func (s AgentSettings) Allow() error { return allow(s.allowed) }

// Note says what was found and what becomes of it; "" if nothing was found.
func (s AgentSettings) Note() string {
	list := strings.Join(s.Paths, ", ")
	switch {
	case len(s.Paths) == 0:
		return ""
	case s.Loaded:
		return "agent settings of the base commit are loaded: " + list
	case s.Wanted:
		return "agent settings of the repository are not loaded, nobody has allowed them on this machine: " + list + "; a run at a terminal asks"
	}
	return "agent settings of the repository are not loaded: " + list +
		"; \"agents: {project_config: base}\" in your own configuration loads those of the base commit"
}

// agentSettingsFile of a session holds what its last host found.
const agentSettingsFile = "agent-settings.json"

// FoundAgentSettings is what the last host of a session found, without a look into the
// repository; nothing if there is no telling.
func FoundAgentSettings(dir string) AgentSettings {
	var s AgentSettings
	data, err := session.ReadFile(filepath.Join(dir, agentSettingsFile))
	if err != nil || json.Unmarshal(data, &s) != nil {
		return AgentSettings{}
	}
	s.Paths = slices.DeleteFunc(s.Paths, func(path string) bool { // it is shown at a terminal
		return !slices.ContainsFunc(agent.ProjectSettings(), func(known string) bool { return known == path || strings.HasPrefix(known, path+"/") })
	})
	return s
}

// tellSettings names the agent settings of the repository at the start of a host, in its log
// and for status.
func (r *runner) tellSettings(ctx context.Context, s *orchestrator.State) error {
	if s.BaseSHA == "" {
		return nil // of the earlier tool
	}
	found, err := r.AgentSettings(ctx, r.cfg, r.project, s.BaseSHA, s.Interactive)
	if err != nil {
		r.Log.Warn("agent settings of the repository cannot be listed", "session", r.sess.Name(), "err", err)
		return ctx.Err()
	}
	if len(found.Paths) == 0 && !exists(r.sess.Path(agentSettingsFile)) {
		return nil
	}
	if note := found.Note(); note != "" {
		r.Log.Warn(note, "session", r.sess.Name())
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return r.sess.Replace(agentSettingsFile, data)
}

// loadSettings writes the agents' settings of the session's base commit into a workspace
// whose own were taken out. Links are not among them: what they point to is an agent's to
// write.
func (r *runner) loadSettings(ctx context.Context, workspace, launch string) error {
	s := r.state.Load()
	if r.cfg.Agents.ProjectConfig != projectConfigBase || s.BaseSHA == "" {
		return nil
	}
	found, err := r.AgentSettings(ctx, r.cfg, r.project, s.BaseSHA, s.Interactive)
	if err != nil || !found.Loaded {
		return err
	}
	blobs, err := r.blobsOf(ctx, found.files)
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

// blobsOf reads what entries hold, within the bound of one commit's settings.
func (r *runner) blobsOf(ctx context.Context, entries []gitrepo.Entry) (map[string][]byte, error) {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	sizes, err := r.repo.Sizes(ctx, ids)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, id := range ids {
		total += sizes[id]
	}
	if total > maxSettings {
		return nil, never(fmt.Errorf("the base commit's are %d bytes: %w", total, gitrepo.ErrTooLarge))
	}
	return r.repo.Blobs(ctx, ids)
}

// clearWay puts aside what an agent has put where a directory of the base is.
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
