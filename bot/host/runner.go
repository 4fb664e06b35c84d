package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// runner carries out the effects of one session while its Run lasts.
type runner struct {
	*Host
	sess    *session.Session
	def     *workflows.Definition
	cfg     *config.Config
	project *project.Project

	crew *crew.Crew
	work *work.Work

	unitOptions work.Options // of the work of an agent of an agents file
	guarding    guarding

	// state is the last committed one; the engine stores each one here when it commits.
	state atomic.Pointer[orchestrator.State]
}

// gather makes the parts of a runner and starts nothing.
func (h *Host) gather(of work.Spec, providers agent.Providers, g guarding) *runner {
	o := h.workOptions(of.Config)
	if g.guard != nil {
		o.Guard = g.check
		o.Away = g.away
	}
	o.MayPush = g.mayPush
	w := work.New(o, of)
	r := &runner{Host: h, sess: of.Session, def: of.Workflow, cfg: of.Config, project: of.Project, work: w, unitOptions: o, guarding: g}
	r.state.Store(of.State)
	r.crew = crew.New(h.crewOptions(), crew.Spec{
		Session: of.Session, State: of.State, Now: r.state.Load, Workflow: of.Workflow, Config: of.Config, Project: of.Project,
		Providers: providers, Sources: w,
	})
	return r
}

// An action carries out one type of effect. s is the state as it was committed when the
// effect began, and must not be changed.
type action func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error)

var actions = map[string]action{
	orchestrator.EffEnsureDirs:      byWork((*work.Work).EnsureDirs),
	orchestrator.EffWriteFile:       byWork((*work.Work).WriteFile),
	orchestrator.EffWriteMarker:     byWork((*work.Work).WriteMarker),
	orchestrator.EffMoveAside:       byWork((*work.Work).MoveAside),
	orchestrator.EffRemoveFiles:     byWork((*work.Work).RemoveFiles),
	orchestrator.EffMaterialise:     byWork((*work.Work).Materialise),
	orchestrator.EffStartAgent:      byCrew((*crew.Crew).StartAgent),
	orchestrator.EffStopAgent:       byCrew((*crew.Crew).StopAgent),
	orchestrator.EffEnsureWorkspace: (*runner).ensureWorkspace,
	orchestrator.EffRemoveWorkspace: byWork((*work.Work).RemoveWorkspace),
	orchestrator.EffIntegrate:       byWork((*work.Work).Integrate),
	orchestrator.EffPreserve:        byWork((*work.Work).Preserve),
	orchestrator.EffKeepLate:        byWork((*work.Work).KeepLate),
	orchestrator.EffDeliver:         byCrew((*crew.Crew).Deliver),
	orchestrator.EffAnswerDialog:    byCrew((*crew.Crew).AnswerDialog),
	orchestrator.EffInspect:         (*runner).inspect,
	orchestrator.EffCommit:          byUnit((*work.Work).EnsureCommit),
	orchestrator.EffPush:            byUnit((*work.Work).EnsurePush),
	orchestrator.EffPR:              byUnit((*work.Work).EnsurePull),
	orchestrator.EffFetchBranch:     byUnit((*work.Work).FetchBranch),
	orchestrator.EffTest:            byCrew((*crew.Crew).Test),
	orchestrator.EffLastCompletion:  byWork((*work.Work).WriteLastCompletion),
	orchestrator.EffAdopt:           byWork((*work.Work).AdoptBranch),
	orchestrator.EffCheckpoint:      byWork((*work.Work).Checkpoint),
	orchestrator.EffOrphan:          byWork((*work.Work).Orphan),
}

// A step carries out an effect with one part of a runner.
type step[T any] func(part T, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error)

func byCrew(do step[*crew.Crew]) action {
	return func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
		return do(r.crew, ctx, e, s)
	}
}

func byWork(do step[*work.Work]) action {
	return func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
		return do(r.work, ctx, e, s)
	}
}

// ensureWorkspace makes a workspace and prepares it for its first agent.
func (r *runner) ensureWorkspace(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	res, err := r.work.EnsureWorkspace(ctx, e, s)
	if err != nil {
		return res, err
	}
	return res, r.crew.SetUp(ctx, res.Path)
}

// inspect asks the output gate about the work of the round, before a person is asked.
func (r *runner) inspect(ctx context.Context, _ orchestrator.Effect, s *orchestrator.State) (res orchestrator.Result, err error) {
	d, err := r.work.Difference(ctx, s, false)
	if err == nil {
		res.Held, res.Findings, err = d.Held(ctx)
	}
	return res, err
}

// Ensure makes an effect true. It is safe to call again after any error, and from
// several goroutines for different keys.
func (r *runner) Ensure(ctx context.Context, e orchestrator.Effect) (orchestrator.Result, error) {
	act, ok := actions[e.Type]
	if !ok {
		return orchestrator.Result{}, engine.Never(fmt.Errorf("unknown effect %q", e.Type))
	}
	res, err := act(r, ctx, e, r.state.Load())
	if err != nil {
		return res, r.classed(err, r.Redactor.Error(err))
	}
	r.redactResult(&res)
	return res, nil
}

// Take takes what an agent hands in. A launch for which nobody waits is ended before.
func (r *runner) Take(ctx context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error) {
	if t.End {
		if err := r.crew.EndSubmitted(ctx, orchestrator.KeyOf(t.Role, t.Task), t.Launch); err != nil {
			return nil, r.Redactor.Error(err)
		}
	}
	snap, err := r.work.Take(ctx, t)
	if err != nil {
		return nil, r.Redactor.Error(err)
	}
	for i := range snap.Scope {
		snap.Scope[i].Path = r.Redactor.Redact(snap.Scope[i].Path)
	}
	for _, list := range [][]string{snap.Findings, snap.Held, snap.Left} {
		for i := range list {
			list[i] = r.Redactor.Redact(list[i])
		}
	}
	return snap, nil
}

// redactResult removes secrets from texts of the server and of agents that go into the records:
// the words of a refusal and the names of files.
func (r *runner) redactResult(res *orchestrator.Result) {
	res.Refused = r.Redactor.Redact(res.Refused)
	for i := range res.Scope {
		res.Scope[i].Path = r.Redactor.Redact(res.Scope[i].Path)
	}
	for _, list := range [][]string{res.Conflicts, res.Late, res.Held} {
		for i := range list {
			list[i] = r.Redactor.Redact(list[i])
		}
	}
}
