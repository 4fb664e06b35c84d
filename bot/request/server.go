package request

import (
	"context"

	"github.com/agentmux/agentmux/ghsync"
)

// Server answers what the gate asks of GitHub.
type Server struct {
	*ghsync.Client
	Own ghsync.Account // of the program
	Met *Met           // nil: nothing was read before
}

// Record reads an issue, unless it was met a moment ago.
func (s Server) Record(ctx context.Context, repo ghsync.Repo, issue int) (ghsync.Record, error) {
	if record, ok := s.Met.take(issue, s.Now()); ok {
		return record, nil
	}
	return s.Client.Record(ctx, repo, issue)
}

// OpenPulls counts the open pull requests of the program.
func (s Server) OpenPulls(ctx context.Context, repo ghsync.Repo) (int, error) {
	pulls, err := ghsync.Intake{Client: s.Client}.OpenPulls(ctx, repo)
	n := 0
	for _, p := range pulls {
		if p.Author.ID == s.Own.ID {
			n++
		}
	}
	return n, err
}
