package orchestrator

import (
	"slices"
	"time"
)

// results handle what a finished effect found; effects that are not named need
// nothing but the removal of their record.
var results = map[string]func(*reducer, Effect, Result){
	EffStartAgent:      (*reducer).started,
	EffStopAgent:       (*reducer).stopped,
	EffEnsureWorkspace: (*reducer).workspaceMade,
	EffIntegrate:       (*reducer).integrated,
	EffPreserve:        (*reducer).preserved,
	EffDeliver:         (*reducer).delivered,
	EffCommit:          (*reducer).committed,
	EffPush:            (*reducer).pushed,
	EffPR:              (*reducer).opened,
	EffLastCompletion:  (*reducer).completed,
	EffAdopt:           (*reducer).adopted,
	EffCheckpoint: func(r *reducer, _ Effect, res Result) {
		if res.Path != "" {
			data := map[string]any{"ref": res.Path, "sha": res.Commit}
			if len(res.Findings) > 0 {
				data["left_out"] = res.Findings
			}
			r.event(EvCheckpointSaved, data)
		}
	},
}

// take removes the record of a pending effect and returns it.
func (r *reducer) take(id string) (Effect, bool) {
	i := slices.IndexFunc(r.s.Pending, func(e Effect) bool { return e.ID == id })
	if i < 0 {
		return Effect{}, false
	}
	e := r.s.Pending[i]
	r.s.Pending = slices.Delete(r.s.Pending, i, i+1)
	for j := range r.s.Pending {
		r.s.Pending[j].After = slices.DeleteFunc(r.s.Pending[j].After, func(after string) bool { return after == id })
	}
	r.changed = true
	return e, true
}

// effectDone takes a result. A result of an effect that was dropped meanwhile
// serves nobody and is only noted.
func (r *reducer) effectDone() {
	e, ok := r.take(r.in.Effect.ID)
	if !ok {
		r.unwanted()
		return
	}
	if handle, ok := results[e.Type]; ok {
		handle(r, e, r.in.Effect.Result)
	}
}

func (r *reducer) unwanted() {
	r.ignore(Call{Tool: r.in.Kind}, "effect "+r.in.Effect.ID+" is not pending")
}

func (r *reducer) started(e Effect, res Result) {
	key := AgentKey(e.Args.Role, e.Args.Task)
	if a := r.s.Agents[key]; res.CLISession != "" && string(a.LastLaunch) == e.Args.Launch {
		a.CLISession = Optional(res.CLISession)
		r.s.Agents[key] = a
	}
	_, _, _, attempt, _ := LaunchParts(e.Args.Launch)
	r.event(EvAgentStarted, map[string]any{
		"role": e.Args.Role, "task": e.Args.Task, "provider": res.Provider, "model": res.Model, "launch": e.Args.Launch,
		"attempt": attempt, "prompt": e.Args.PromptFile, "prompt_sha256": res.PromptSHA256,
	})
}

func (r *reducer) stopped(e Effect, res Result) {
	if e.Args.Gone {
		return
	}
	data := map[string]any{
		"role": e.Args.Role, "task": e.Args.Task, "launch": e.Args.Launch, "signal": res.Signal, "expected": true, "exit_code": nil,
	}
	if res.ExitCode != nil {
		data["exit_code"] = *res.ExitCode
	}
	r.event(EvAgentExited, data)
}

func (r *reducer) workspaceMade(e Effect, res Result) {
	w := r.s.Workspaces[e.Args.Workspace]
	if w.Base == e.Args.Base {
		w.Path = res.Path
		r.s.Workspaces[e.Args.Workspace] = w
	}
	for i := range r.s.Pending {
		p := &r.s.Pending[i]
		if p.Args.Workspace == e.Args.Workspace && p.Args.Dir == "" {
			p.Args.Dir = res.Path
		}
	}
}

func (r *reducer) preserved(e Effect, res Result) {
	w := r.s.Workspaces[e.Args.Workspace]
	w.Preserved = Optional(res.Commit)
	r.s.Workspaces[e.Args.Workspace] = w
}

// localPauses are the pauses before a local effect is tried again.
var localPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// maxRemotePause bounds the pause between tries of a remote effect.
const maxRemotePause = 5 * time.Minute

// effectFailed notes a failed try, plans the next, or gives up.
func (r *reducer) effectFailed() {
	o := r.in.Effect
	i := slices.IndexFunc(r.s.Pending, func(e Effect) bool { return e.ID == o.ID })
	if i < 0 {
		r.unwanted()
		return
	}
	e := &r.s.Pending[i]
	e.Attempt++
	if e.Since.IsZero() {
		e.Since = r.now
	}
	pause, final := r.nextTry(*e, o)
	if !final {
		e.NotBefore = r.now.Later(pause)
	}
	r.event(EvEffectFailed, map[string]any{"id": e.ID, "effect": e.Type, "error": o.Error, "attempt": e.Attempt, "final": final})
	if final {
		r.giveUp(o.ID, o.Error)
	}
}

func (r *reducer) nextTry(e Effect, o *Outcome) (pause time.Duration, final bool) {
	switch {
	case o.Class == FailNever:
		return 0, true
	case o.Class == FailRemote || remoteEffects[e.Type]:
		if limit := r.s.Settings.LimitRemote.D(); limit > 0 && r.now.Sub(e.Since.Time) >= limit {
			return 0, true
		}
		if o.Wait > 0 {
			return o.Wait.D(), false
		}
		return min(firstRedelivery<<min(e.Attempt-1, 8), maxRemotePause), false
	case e.Attempt > len(localPauses):
		return 0, true
	}
	return localPauses[e.Attempt-1], false
}

// giveUp removes an effect that will never be true, and what waited for it.
func (r *reducer) giveUp(id, cause string) {
	waiting := r.pending(func(e Effect) bool { return slices.Contains(e.After, id) })
	failed, ok := r.take(id)
	if !ok {
		return
	}
	r.gaveUp(failed, cause)
	for _, dependant := range waiting {
		why := "what it needs failed: " + cause
		if i := slices.IndexFunc(r.s.Pending, func(e Effect) bool { return e.ID == dependant }); i >= 0 {
			e := r.s.Pending[i]
			r.event(EvEffectFailed, map[string]any{"id": e.ID, "effect": e.Type, "error": why, "attempt": e.Attempt, "final": true})
		}
		r.giveUp(dependant, why)
	}
}

// gaveUp decides what a final failure means.
func (r *reducer) gaveUp(e Effect, cause string) {
	if r.s.Ended() {
		return
	}
	switch e.Type {
	case EffStopAgent, EffRemoveWorkspace, EffCheckpoint, EffPreserve, EffOrphan:
		return // recorded; nothing depends on it that a person cannot see
	case EffStartAgent:
		if r.s.Agents[AgentKey(e.Args.Role, e.Args.Task)].Launch == e.Args.Launch {
			r.fail(e.Type + ": " + cause)
		} // else it has done its work already
	case EffDeliver:
		if m := r.findMessage(e.Args.Seq); m != nil {
			r.messageFailed(m, cause)
		}
	case EffAdopt:
		r.launchOwed() // the push meets these commits again
	case EffCommit:
		r.park(ReasonCommitRefused, cause, "resume to try again")
	case EffPush:
		r.park(ReasonPushRejected, cause, "resume to push again")
	case EffPR:
		r.park(ReasonPRRefused, cause, "resume to try again")
	case EffLastCompletion:
		r.completed(e, Result{})
	default:
		r.fail(e.Type + ": " + cause)
	}
}
