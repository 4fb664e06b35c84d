package request

import (
	"context"

	"github.com/agentmux/agentmux/ghsync"
)

// Server answers what the gate asks of GitHub.
type Server struct {
	*ghsync.Client
	Own ghsync.Account // of the program
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
