package team

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Steps that follow a submission, in their order; the last three only where on_complete names them.
const (
	stepCommit = "commit"
	stepFetch  = "fetch" // the branch is in the person's clone
	stepTest   = agents.StepTest
	stepPush   = agents.StepPush
	stepPull   = agents.StepPull
)

// effects are the steps as effects.
var effects = map[string]string{
	stepCommit: orchestrator.EffCommit, stepFetch: orchestrator.EffFetchBranch, stepTest: orchestrator.EffTest, stepPush: orchestrator.EffPush, stepPull: orchestrator.EffPR,
}

// take takes the work of an agent. A review has no branch, so it is done with that.
func (r *Run) take(a *agents.Agent, ev Evidence) {
	if a.Role == agents.RoleReview {
		r.Do.Leave(a.Name, "")
		r.mark(a.Name, agents.Marker{}, ev.By)
		return
	}
	p := r.State.Team[a.Name]
	if ev.By != "" && (ev.Snapshot == nil || ev.Snapshot.Files == 0) { // a person says that nothing had to change
		r.Do.Dismiss(a.Name)
		if p.Tip == "" {
			r.mark(a.Name, agents.Marker{}, ev.By)
			return
		}
		p.Step = stepCommit // what its branch had is all of it
		r.State.Team[a.Name] = p
		r.ask(a)
		return
	}
	if ev.Snapshot == nil || ev.Snapshot.Tree == "" {
		ev.Cause = "its work could not be taken"
		r.fail(a, ev)
		return
	}
	p.Step, p.Tree = stepCommit, ev.Snapshot.Tree
	r.State.Team[a.Name] = p
	if w, ok := r.State.Workspaces[ev.Work]; ok {
		w.Snapshot = orchestrator.Optional(p.Tree)
		r.State.Workspaces[ev.Work] = w
	}
	if len(ev.Snapshot.Scope) > 0 {
		r.outOfScope(a, ev.Snapshot)
	}
	r.Do.Leave(a.Name, p.Tree)
	r.ask(a)
}

// outOfScope records what an agent changed outside of its scope.
func (r *Run) outOfScope(a *agents.Agent, snap *orchestrator.Snapshot) {
	r.Do.Event(orchestrator.ScopeViolationRecord{ID: a.Name, Agent: true, Policy: r.State.Settings.ScopePolicy, Paths: snap.Scope})
}

// askAgain asks for the steps of submitted agents that are not pending: the end of a run drops
// them, and a pause keeps them from being asked for.
func (r *Run) askAgain() {
	for i := range r.Def.Team.Agents {
		if a := &r.Def.Team.Agents[i]; r.Stage(a) == Submitted && !r.asked(a) {
			r.ask(a)
		}
	}
}

func (r *Run) asked(a *agents.Agent) bool {
	return slices.ContainsFunc(r.State.Pending, func(e orchestrator.Effect) bool {
		return IsStep(e) && e.Args.Task == a.Name
	})
}

// IsStep reports whether an effect is a step of an agent of an agents file: those of a session
// without such a file name no task.
func IsStep(e orchestrator.Effect) bool {
	if e.Args.Task == "" {
		return false
	}
	for _, step := range effects {
		if e.Type == step {
			return true
		}
	}
	return false
}

// ask issues the step that an agent is at. The steps of one agent have one key, so that they
// run in order.
func (r *Run) ask(a *agents.Agent) {
	p := r.State.Team[a.Name]
	branch := p.Branch
	if branch == "" {
		branch = a.Branch
	}
	args := orchestrator.Args{Role: a.Role, Task: a.Name, Branch: branch, Base: p.Base, Tree: p.Tree, Commit: p.Commit, Date: r.Now}
	if p.Step == stepCommit {
		args.Commit, args.Message = p.Base, subject(a)
	}
	args.Draft = p.Step == stepPull && r.State.Settings.Ready == "never"
	if p.Step == stepPush || p.Step == stepFetch {
		args.Base, args.Head = p.Parent, p.Tip
	}
	r.Do.Effect(effects[p.Step], "team/"+a.Name+"/"+p.Step, args)
}

// subject is the message of an agent's commit: the first line of its task; "" for one that works for
// an issue, whose title it is.
func subject(a *agents.Agent) string {
	line, _, _ := strings.Cut(strings.TrimSpace(a.Task), "\n")
	switch {
	case a.Issue != 0:
		return ""
	case line == "":
		return "feat: " + a.Name
	}
	return line
}

// stepDone notes what a step found, and takes the next one or writes the marker.
func (r *Run) stepDone(a *agents.Agent, res orchestrator.Result) {
	p := r.State.Team[a.Name]
	there := p.Step == stepCommit && res.Empty && p.Tip != "" // its branch had all of it before: what follows a commit is still owed
	if there {
		res.Empty, res.Commit, res.Parent = false, p.Tip, r.State.Integrated.Commit
	}
	if why := refusal(p.Step, res); why != "" {
		r.fail(a, Evidence{Cause: why})
		return
	}
	switch p.Step {
	case stepCommit:
		p.Commit, p.Tree, p.Parent, p.Branch = res.Commit, res.Tree, res.Parent, a.Branch
		if there {
			break
		}
		r.Do.Event(orchestrator.CommitCreatedRecord{Agent: a.Name, SHA: res.Commit, Branch: a.Branch, Subject: res.Subject, Files: res.Files})
	case stepFetch, stepPush:
		if res.Branch != "" {
			p.Branch = res.Branch
		}
		if res.Commit != "" { // commits of people were merged in
			p.Commit = res.Commit
		}
		if p.Step == stepPush {
			r.Do.Event(orchestrator.BranchPushedRecord{Agent: a.Name, Branch: p.Branch, SHA: p.Commit, Skipped: res.Skipped, Withheld: res.Withheld})
		}
	case stepPull:
		if res.Skipped == "" {
			p.PRNumber, p.PRURL = res.Number, res.URL
			r.Do.Event(orchestrator.PROpenedRecord{Agent: a.Name, Number: res.Number, URL: res.URL, Draft: res.Draft, Adopted: res.Adopted})
		}
	}
	p.Step = next(a, p.Step, res)
	r.State.Team[a.Name] = p
	if p.Step == "" {
		r.mark(a.Name, agents.Marker{}, "")
		return
	}
	if !r.State.Paused {
		r.ask(a)
	}
}

// refusal says why the result of a step is a failure; "" if it is not one.
func refusal(step string, res orchestrator.Result) string {
	switch {
	case step == stepCommit && res.Empty:
		return "its work changed nothing"
	case len(res.Findings) > 0:
		return "the output gate found: " + res.Findings[0]
	}
	return res.Refused
}

// next returns the step after one, "" after the last. What was not pushed gets no pull request.
func next(a *agents.Agent, step string, res orchestrator.Result) string {
	has := func(steps ...string) bool {
		return slices.ContainsFunc(steps, func(step string) bool { return slices.Contains(a.OnComplete, step) })
	}
	switch {
	case step == stepCommit:
		return stepFetch
	case step == stepFetch && has(stepTest):
		return stepTest
	case (step == stepFetch || step == stepTest) && has(stepPush, stepPull):
		return stepPush
	case step == stepPush && has(stepPull) && res.Skipped == "":
		return stepPull
	}
	return ""
}

// Refusal says why work that an agent hands in is not taken; what is "" if it is. final tells
// that another try would not help: the scope of an agents file is not a hint.
func (r *Run) Refusal(name string, snap *orchestrator.Snapshot) (what string, problems []string, final bool) {
	a := r.Agent(name)
	switch {
	case a == nil || a.Role == agents.RoleReview || snap == nil:
	case snap.Problem != "":
		return "Your work could not be taken.", []string{snap.Problem}, false
	case len(snap.Scope) > 0 && r.State.Settings.ScopePolicy == "fail":
		for _, p := range snap.Scope {
			problems = append(problems, p.Path+" is outside of your scope")
		}
		return "Your work changes paths outside of your scope.", problems, true
	case snap.Files == 0 && r.State.Team[name].Tip == "":
		return "Nothing in your workspace differs from what you started with.", []string{"there is no change to take"}, false
	case len(snap.Findings) > 0:
		return "The output gate blocks what you changed: it must not leave this machine.", snap.Findings, false
	}
	return "", nil, false
}
