package crew

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// TellSettings reports the agent settings of the repository at the start of a host, in the log
// and for status.
func (r *Crew) TellSettings(ctx context.Context, s *orchestrator.State) error {
	if s.BaseSHA == "" {
		return nil // of the earlier tool
	}
	found, err := r.project.AgentSettings(ctx, r.cfg, s.BaseSHA, s.Interactive)
	if err != nil {
		r.Log.Warn("agent settings of the repository cannot be listed", "session", r.sess.Name(), "err", err)
		return ctx.Err()
	}
	if _, told := os.Lstat(r.sess.Path(project.AgentSettingsFile)); len(found.Paths) == 0 && told != nil {
		return nil
	}
	if note := found.Note(); note != "" {
		r.Log.Warn(note, "session", r.sess.Name())
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return r.sess.Replace(project.AgentSettingsFile, data)
}

// replaceSettings removes the agents' settings from a workspace before a launch, and writes
// those of the session's base commit there if agents may load them.
func (r *Crew) replaceSettings(ctx context.Context, s *orchestrator.State, spec agent.LaunchSpec) error {
	workspace, launch := spec.Workdir, spec.Launch
	moved, err := project.ClearSettings(workspace, launch, spec.Provider.MCP)
	if err != nil {
		return err
	}
	if len(moved) > 0 {
		r.Log.Warn("agent settings in the workspace are put aside", "session", r.sess.Name(), "launch", launch, "paths", moved)
	}
	if r.cfg.Agents.ProjectConfig != project.ProjectConfigBase || s.BaseSHA == "" {
		return nil
	}
	found, err := r.project.AgentSettings(ctx, r.cfg, s.BaseSHA, s.Interactive)
	if err != nil || !found.Loaded {
		return err
	}
	err = r.project.LoadSettings(ctx, found, workspace, launch)
	if errors.As(err, new(*project.LargeError)) {
		return engine.Never(err)
	}
	return err
}
