package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
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

	crew *crew
	work *work

	// state is the last committed one; the engine hands over each as it commits.
	state atomic.Pointer[orchestrator.State]
}

// gather makes the parts of a runner and starts nothing.
func (h *Host) gather(of workSpec, providers agent.Providers) *runner {
	w := newWork(h.workOptions(of.Config), of)
	c := newCrew(h.crewOptions(), crewSpec{
		Session: of.Session, State: of.State, Workflow: of.Workflow, Config: of.Config, Project: of.Project, Providers: providers, Sources: w,
	})
	return &runner{Host: h, sess: of.Session, def: of.Workflow, cfg: of.Config, project: of.Project, crew: c, work: w}
}

// An action carries out one type of effect. s is the state as it was committed when the
// effect began; nobody changes it.
type action func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error)

var actions = map[string]action{
	orchestrator.EffEnsureDirs:      byWork((*work).ensureDirs),
	orchestrator.EffWriteFile:       byWork((*work).writeFile),
	orchestrator.EffWriteMarker:     byWork((*work).writeMarker),
	orchestrator.EffMoveAside:       byWork((*work).moveAside),
	orchestrator.EffRemoveFiles:     byWork((*work).removeFiles),
	orchestrator.EffMaterialise:     byWork((*work).materialise),
	orchestrator.EffStartAgent:      byCrew((*crew).startAgent),
	orchestrator.EffStopAgent:       byCrew((*crew).stopAgent),
	orchestrator.EffEnsureWorkspace: (*runner).ensureWorkspace,
	orchestrator.EffRemoveWorkspace: byWork((*work).removeWorkspace),
	orchestrator.EffIntegrate:       byWork((*work).integrate),
	orchestrator.EffPreserve:        byWork((*work).preserve),
	orchestrator.EffDeliver:         byCrew((*crew).deliver),
	orchestrator.EffCommit:          byWork((*work).ensureCommit),
	orchestrator.EffPush:            byWork((*work).ensurePush),
	orchestrator.EffPR:              byWork((*work).ensurePull),
	orchestrator.EffLastCompletion:  byWork((*work).writeLastCompletion),
	orchestrator.EffAdopt:           byWork((*work).adoptBranch),
	orchestrator.EffCheckpoint:      byWork((*work).checkpoint),
	orchestrator.EffOrphan:          byWork((*work).orphan),
}

// A step carries out an effect with one part of a runner.
type step[T any] func(part T, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error)

func byCrew(do step[*crew]) action {
	return func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
		return do(r.crew, ctx, e, s)
	}
}

func byWork(do step[*work]) action {
	return func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
		return do(r.work, ctx, e, s)
	}
}

// ensureWorkspace makes a workspace and prepares it for its first agent.
func (r *runner) ensureWorkspace(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	res, err := r.work.ensureWorkspace(ctx, e, s)
	if err != nil {
		return res, err
	}
	return res, r.crew.setUp(ctx, res.Path)
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
		return res, classed(err, r.Redactor.Error(err))
	}
	r.redactResult(&res)
	return res, nil
}

// redactResult takes secrets out of what goes into the records and is the server's or an
// agent's: words of a refusal, names of files.
func (r *runner) redactResult(res *orchestrator.Result) {
	res.Refused = r.Redactor.Redact(res.Refused)
	for i := range res.Scope {
		res.Scope[i].Path = r.Redactor.Redact(res.Scope[i].Path)
	}
	for i := range res.Conflicts {
		res.Conflicts[i] = r.Redactor.Redact(res.Conflicts[i])
	}
}
