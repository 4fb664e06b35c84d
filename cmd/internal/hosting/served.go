package hosting

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// madeRecords is how many records a session has that did not begin.
const madeRecords = 2

// unserved is what a tenure asks under the claim of a session in dir, see tenure.Spec.Newer: it also fails if another host
// has served the issue between the question of the person who started this one and the claim. next is asked first.
func unserved(s *site.Site, of claimedIssue, dir string, next func(context.Context, claim.Note) error) func(context.Context, claim.Note) error {
	return func(ctx context.Context, last claim.Note) error {
		if err := next(ctx, last); err != nil || len(last.Claims) > 0 { // an earlier host of the session was told
			return err
		}
		sess, err := session.Open(dir)
		if err != nil {
			return err
		}
		state, err := sess.ReadState()
		if err != nil || state.Seq > madeRecords || !state.Mirror { // one that is not shown leaves the label alone
			return err
		}
		record, err := s.Host.GitHub.Record(ctx, of.repo, of.number)
		if err != nil {
			return err
		}
		if asked, _ := request.Asked(dir); !request.Served(record, s.Config.Bot.Label, asked) {
			return nil
		}
		_, host, _, err := s.Host.GitHub.StatusOf(ctx, record)
		if err != nil {
			return err
		}
		if host == "" {
			host = "of another machine"
		}
		s.Host.Log.Warn("nothing begins", "session", state.SessionID, "err",
			fmt.Errorf("another host has served %s since you asked; agentmux issue %d --new works on it once more", of, of.number))
		return &checkpoint.OtherHostError{Session: state.SessionID, Host: host}
	}
}
