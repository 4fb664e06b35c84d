package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/notice"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// CheckTeam is [roster.Check], and says what of programs, logins and permissions is missing, too.
// former is the state of a session that is removed first, or nil.
func CheckTeam(ctx context.Context, h *Host, spec PrepareSpec, team *agents.Team, former *orchestrator.State) (problems []string, tips map[string]string, err error) {
	problems, tips, err = roster.Check(ctx, roster.Spec{Project: spec.Project, Base: spec.Base, Team: team, Register: h.register(), Former: former})
	if err != nil {
		return nil, nil, err
	}
	var asking []string
	for _, a := range team.Agents {
		if a.AutoAccept {
			asking = append(asking, a.Name)
		}
	}
	if len(asking) > 0 && !spec.Interactive && !MayActFreely(h, spec.Config) {
		problems = append(problems, "auto_accept of "+strings.Join(asking, ", ")+" needs your yes on this machine: add \"sandbox: {unsafe_flags: true}\" to your own configuration")
	}
	err = h.Preflight(ctx, spec.Config, workflows.OfTeam(team), spec.Interactive)
	var preflight *PreflightError
	if errors.As(err, &preflight) {
		return append(problems, preflight.Problems...), tips, nil
	}
	return problems, tips, err
}

// MayActFreely reports whether the owner of this machine lets programs of agents act without
// asking for permission.
func MayActFreely(h *Host, c *config.Config) bool {
	return crew.NewSandbox(h.crewOptions(), c).MayActFreely()
}

// Changelog returns what the agents of a run did, see [roster.Log].
func Changelog(ctx context.Context, h *Host, dir string, s *orchestrator.State, c *config.Config) (string, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return "", err
	}
	p, err := h.projectOf(ctx, sess, c)
	if err != nil {
		return "", err
	}
	def, err := sess.Definition()
	if err != nil {
		return "", err
	}
	return h.gather(work.Spec{Session: sess, State: s, Workflow: def, Config: c, Project: p}, nil, guarding{}).changelog(ctx, s)
}

func (r *runner) changelog(ctx context.Context, s *orchestrator.State) (string, error) {
	if r.def == nil || r.def.Team == nil {
		return "", nil
	}
	return roster.Log{Session: r.sess, Team: r.def.Team, Store: r.project.Store, Redact: r.Redactor.Redact}.Text(ctx, s)
}

// ClearTeam removes the workspaces of a run of an agents file that has ended, its tmux server and
// its link at .dmux/signals. Work that is in no branch is kept first, but for that of the agents
// in discard. The session, its branches and its changelogs stay. Errors are those of [Host.Remove].
func ClearTeam(ctx context.Context, h *Host, dir string, c *config.Config, discard []string) (out work.Removed, err error) {
	r, s, err := h.ended(ctx, dir, c)
	if err != nil {
		return out, err
	}
	defer func() { _ = r.sess.Close() }()
	if r.def == nil || r.def.Team == nil {
		return out, fmt.Errorf("%s is not a run of an agents file", r.sess.Name())
	}
	for _, name := range discard {
		if r.def.Team.Agent(name) == nil {
			return out, fmt.Errorf("no agent of %s is called %s", r.sess.Name(), name)
		}
	}
	if _, err := r.changelog(ctx, s); err != nil {
		return out, err
	}
	if err := r.work.KeepWorkspaces(ctx, s, discard...); err != nil {
		return out, err
	}
	if out, err = r.work.Preserved(ctx); err != nil {
		return out, err
	}
	if err := r.crew.RemoveServer(ctx); err != nil {
		return out, err
	}
	roster.Unlink(r.sess)
	return out, r.work.DropPlaces(s)
}

// board tells the person who started a run of an agents file at a terminal what becomes of it.
func (r *runner) board(s *orchestrator.State) *notice.Board {
	if r.def.Team == nil || !r.def.Team.Notifications || !s.Interactive {
		return &notice.Board{}
	}
	return notice.New(s, r.Environ)
}

// Team says which run of an agents file is restored.
type Team struct {
	Agents *agents.Team // as this machine has them
	Issues []int        // that they work for
	Files  [][]byte     // what its agents file may hold
}

func (t *Team) files() [][]byte {
	if t == nil {
		return nil
	}
	return t.Files
}

// wants has the output gate of this machine judge the commits of agents, whoever pushed them.
func (t *Team) wants(w checkpoint.Wanted, h *Host, spec RestoreSpec) checkpoint.Wanted {
	if t == nil {
		return w
	}
	w.Issues = t.Issues
	w.Judge = func(ctx context.Context, base string, parents []string) ([]string, error) {
		gate := work.Gate(spec.Config, h.Redactor)
		gate.Base = base
		return new(checkpoint.Away).Inspect(ctx, spec.Project.Store, gate, parents...)
	}
	return w
}
