package roster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Bring makes the branches of the agents that are done in the person's clone, after another machine had the run. One that
// is there moves only forward; another work of that name stays as it is, which the log tells.
func Bring(ctx context.Context, p *project.Project, s *orchestrator.State, log *slog.Logger) error {
	for _, name := range slices.Sorted(maps.Keys(s.Team)) {
		of := s.Team[name]
		if of.Commit == "" || agents.ParseMarker([]byte(of.Marker)).Status() != agents.Done || of.Marker == "" {
			continue
		}
		err := clone.Export(ctx, p.Store, p.Clone.Root, of.Branch, of.Commit)
		if errors.As(err, new(*clone.ExportError)) {
			log.Warn("the branch of an agent was not brought up to its work", "session", s.SessionID, "task", name, "err", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
