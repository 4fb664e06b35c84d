package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// byUnit is byWork for what an agent of an agents file has of its own: a branch and a pull
// request.
func byUnit(do step[*work.Work]) action {
	return func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
		w, s, err := r.unit(e.Args, s)
		if err != nil {
			return orchestrator.Result{}, err
		}
		return do(w, ctx, e, s)
	}
}

// unit returns the work that an effect is about, and the state as that work sees it: the
// session's, or under the name <session>--<agent> that of an agent of an agents file.
func (r *runner) unit(a orchestrator.Args, s *orchestrator.State) (*work.Work, *orchestrator.State, error) {
	if r.def.Team == nil || a.Task == "" {
		return r.work, s, nil
	}
	member := r.def.Team.Agent(a.Task)
	u := s.Clone()
	u.SessionID += "--" + a.Task
	if member == nil || !session.ValidName(u.SessionID) {
		return nil, nil, engine.Never(fmt.Errorf("%q is not the name of a session", u.SessionID))
	}
	p := s.Team[a.Task]
	u.FeatureBranch, u.IssueNumber = a.Branch, member.Issue
	title, _, _ := strings.Cut(strings.TrimSpace(member.Task), "\n")
	if p.Snapshot != "" {
		issue, err := r.work.SnapshotOf(p.Snapshot)
		if err != nil {
			return nil, nil, engine.Never(err)
		}
		title = issue.Title.String()
	}
	u.IssueTitle = orchestrator.Optional(title)
	if from := s.Team[member.From]; member.From != "" && from.Branch != "" {
		u.BaseBranch = from.Branch
	}
	u.Completion = orchestrator.Completion{Commit: p.Commit, Parent: p.Parent, Tree: p.Tree, AuthorDate: a.Date}
	return work.New(r.unitOptions, work.Spec{Session: r.sess, State: u, Workflow: r.def, Config: r.cfg, Project: r.project, Issue: p.Snapshot}), u, nil
}
