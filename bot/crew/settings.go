package crew

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// TellSettings names the agent settings of the repository at the start of a host, in its log
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

// replaceSettings takes the agents' settings out of a workspace before a launch, and puts
// those of the session's base commit there if they are to be loaded.
func (r *Crew) replaceSettings(ctx context.Context, s *orchestrator.State, workspace, launch string) error {
	moved, err := project.ClearSettings(workspace, launch)
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
