package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// runner carries out the effects of one session while its Run lasts.
type runner struct {
	*Host
	sess  *session.Session
	place place
	def   *workflows.Definition
	cfg   *config.Config
	repo  *gitrepo.Host // of project

	project   *Project
	panes     *panes
	recorders *recorders // while run lasts
	seals     seals
	signals   *signals
	dialogs   dialogs
	providers agent.Providers
	prompts   fs.FS // the project's own, or nil
	redactor  *redact.Redactor

	// state is the last committed one; the engine hands over each as it commits.
	state atomic.Pointer[orchestrator.State]
}

// action carries out one type of effect. s is the state as it was committed when the
// effect began; nobody changes it.
type action func(r *runner, ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error)

var actions = map[string]action{
	orchestrator.EffEnsureDirs:      (*runner).ensureDirs,
	orchestrator.EffWriteFile:       (*runner).writeFile,
	orchestrator.EffWriteMarker:     (*runner).writeMarker,
	orchestrator.EffMoveAside:       (*runner).moveAside,
	orchestrator.EffRemoveFiles:     (*runner).removeFiles,
	orchestrator.EffMaterialise:     (*runner).materialise,
	orchestrator.EffStartAgent:      (*runner).startAgent,
	orchestrator.EffStopAgent:       (*runner).stopAgent,
	orchestrator.EffEnsureWorkspace: (*runner).ensureWorkspace,
	orchestrator.EffRemoveWorkspace: (*runner).removeWorkspace,
	orchestrator.EffIntegrate:       (*runner).integrate,
	orchestrator.EffPreserve:        (*runner).preserve,
	orchestrator.EffDeliver:         (*runner).deliver,
	orchestrator.EffCommit:          (*runner).ensureCommit,
	orchestrator.EffPush:            (*runner).ensurePush,
	orchestrator.EffPR:              (*runner).ensurePR,
	orchestrator.EffLastCompletion:  (*runner).writeLastCompletion,
	orchestrator.EffAdopt:           (*runner).adoptBranch,
	orchestrator.EffCheckpoint:      (*runner).checkpoint,
	orchestrator.EffOrphan:          (*runner).orphan,
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
		return res, classed(err, r.redactor.Error(err))
	}
	r.redactResult(&res)
	return res, nil
}

// redactResult takes secrets out of what goes into the records and is the server's or an
// agent's: words of a refusal, names of files.
func (r *runner) redactResult(res *orchestrator.Result) {
	res.Refused = r.redactor.Redact(res.Refused)
	for i := range res.Scope {
		res.Scope[i].Path = r.redactor.Redact(res.Scope[i].Path)
	}
	for i := range res.Conflicts {
		res.Conflicts[i] = r.redactor.Redact(res.Conflicts[i])
	}
}

// hideCredentials has the redactor know the keys that agents get. What is shorter than it
// can look for is a stand-in for a service that wants none.
func (r *runner) hideCredentials() error {
	env := agent.EnvSpec{Lookup: r.Environ, Extra: r.allowedEnvironment()}
	for _, p := range r.providers {
		for _, value := range env.Secrets(p) {
			if err := r.redactor.Add("provider-key", value); err != nil && !errors.Is(err, redact.ErrShort) {
				return err
			}
		}
	}
	return nil
}
