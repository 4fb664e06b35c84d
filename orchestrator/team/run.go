package team

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Signals is the directory of the markers, below that of the session.
const Signals = "signals"

// MarkerFile returns the path of an agent's marker, below the directory of the session.
func MarkerFile(name string) string { return path.Join(Signals, name+".done") }

// Session is what a run asks of the reducer.
type Session interface {
	Event(orchestrator.Record)
	Effect(kind, key string, args orchestrator.Args)
	Write(file, text string) // below the directory of the session
	Launch(name string)
	// Leave takes what an agent submitted, and lets its launch end its turn.
	Leave(name, tree string)
	Dismiss(name string) // ends its launch
	Remind(name string)
}

// Run is a run of an agents file at one moment.
type Run struct {
	Def   *workflows.Definition
	State *orchestrator.State // is changed
	Now   orchestrator.Time
	Do    Session
}

// Evidence is what came with a happening.
type Evidence struct {
	Exit     int                    // marker of a failure; 0 = 1
	By       string                 // who made a marker; "" = the host
	Cause    string                 // of a failure, in words
	Tail     string                 // the end of what its program printed
	Snapshot *orchestrator.Snapshot // work that is handed in; nil for a review
	Result   orchestrator.Result    // of a step
	Work     string                 // name of the workspace of the agent
	Corrupt  bool                   // a marker that is not an exit code
}

// Ended returns the evidence of a turn or a program that ended without a submission, and whether
// the program has ended. rep may be nil.
func Ended(rep *orchestrator.AgentReport, cause string) (ev Evidence, ended bool) {
	ev.Cause = cause
	if rep != nil {
		ev.Tail = rep.Tail
	}
	if rep != nil && rep.ExitCode != nil {
		ev.Exit = *rep.ExitCode
	}
	return ev, rep != nil && rep.Condition != orchestrator.AgentLive
}

// Marked returns what it means that a person made a marker.
func Marked(o *orchestrator.Observation) (Happening, Evidence) {
	m := agents.ParseMarker([]byte(o.Content))
	ev := Evidence{Exit: m.Exit, By: "person", Cause: "a person marked it", Snapshot: o.Snapshot, Corrupt: m.Corrupt}
	if m.Status() == agents.Done {
		return MarkedDone, ev
	}
	return MarkedFailed, ev
}

// Fails returns what happens to which agent when an effect fails for good; "" for an effect that
// belongs to no agent or that an agent does without.
func Fails(e orchestrator.Effect) (name string, h Happening) {
	switch {
	case e.Type == orchestrator.EffStartAgent, e.Type == orchestrator.EffEnsureWorkspace:
		return e.Args.Task, Exits
	case IsStep(e):
		return e.Args.Task, StepFails
	}
	return "", ""
}

// Status returns how far each agent is, by name.
func Status(def *workflows.Definition, s *orchestrator.State) map[string]agents.Status {
	of := make(map[string]agents.Status, len(def.Team.Agents))
	for i := range def.Team.Agents {
		a := &def.Team.Agents[i]
		of[a.Name] = s.Team[a.Name].Status(started(s, a))
	}
	return of
}

func started(s *orchestrator.State, a *agents.Agent) bool {
	return s.Team[a.Name].Started(string(s.Agents[key(a)].LastLaunch))
}

func key(a *agents.Agent) orchestrator.AgentKey { return orchestrator.KeyOf(a.Role, a.Name) }

// remindedRule names the counter of reminders of an agent. It belongs to the agent, not to its
// launch: the program of a headless one is started again to hear the reminder.
func remindedRule(name string) string { return "team/reminded/" + name }

// Stage returns where an agent is.
func (r *Run) Stage(a *agents.Agent) Stage {
	p := r.State.Team[a.Name]
	switch p.Status(started(r.State, a)) {
	case agents.Done:
		return Done
	case agents.Failed:
		return Failed
	case agents.Blocked:
		return Blocked
	case agents.Waiting:
		return Waiting
	}
	switch {
	case p.Step != "":
		return Submitted
	case r.State.Counters[remindedRule(a.Name)].N > 0:
		return Reminded
	}
	return Working
}

// Agent returns the agent called name, or nil.
func (r *Run) Agent(name string) *agents.Agent {
	i := slices.IndexFunc(r.Def.Team.Agents, func(a agents.Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Def.Team.Agents[i]
}

// Apply does what follows when h happens to the agent called name, and returns what that was.
func (r *Run) Apply(name string, h Happening, ev Evidence) Action {
	a := r.Agent(name)
	if a == nil {
		return Nothing
	}
	do := Follows(r.Stage(a), h)
	switch do {
	case Start:
		r.begin(a)
	case Remind:
		r.State.Counters[remindedRule(name)] = orchestrator.Counter{N: 1, Since: r.Now}
		r.Do.Remind(name)
	case Take:
		r.take(a, ev)
	case Step:
		r.stepDone(a, ev.Result)
	case Fail:
		r.fail(a, ev)
	case Finish:
		r.mark(name, agents.Marker{}, ev.By)
	case Block:
		p := r.State.Team[name]
		p.BlockedBy = ev.Cause
		r.State.Team[name] = p
		r.Do.Write(blockedFile(name), ev.Cause+"\n")
		r.Do.Event(orchestrator.AgentBlockedRecord{Agent: name, Dependency: ev.Cause})
		r.mark(name, agents.Marker{Exit: agents.ExitBlocked}, "")
	}
	return do
}

// begin starts an agent at the commit that its work is compared with from now on.
func (r *Run) begin(a *agents.Agent) {
	p := r.State.Team[a.Name]
	p.Base = cmp.Or(p.Base, r.tip(r.Agent(a.From)))
	r.State.Team[a.Name] = p
	r.Do.Launch(a.Name)
}

// tip is the commit at which those begin that continue the work of an agent: also if a person marked it
// done and it made none. Without an agent it is that of the run.
func (r *Run) tip(a *agents.Agent) string {
	if a == nil {
		return r.State.Integrated.Commit
	}
	p := r.State.Team[a.Name]
	return cmp.Or(p.Commit, p.Tip, p.Base, r.tip(r.Agent(a.From)))
}

// Advance starts what may start, passes failures on, and reports whether every agent has a
// marker. While the session is paused nothing starts.
func (r *Run) Advance() (over bool) {
	r.askAgain()
	for _, b := range r.Def.Team.Blocked(Status(r.Def, r.State)) {
		r.Apply(b.Agent, CannotStart, Evidence{Cause: b.By})
	}
	for _, name := range r.Def.Team.Ready(Status(r.Def, r.State), r.State.Settings.Parallel) {
		r.Apply(name, MayStart, Evidence{})
	}
	return !slices.ContainsFunc(r.Def.Team.Agents, func(a agents.Agent) bool { return r.State.Team[a.Name].Marker == "" })
}

// Failures names the agents that are not done, with why; "" if all are.
func (r *Run) Failures() string {
	var words []string
	for i := range r.Def.Team.Agents {
		name := r.Def.Team.Agents[i].Name
		p := r.State.Team[name]
		switch m := agents.ParseMarker([]byte(p.Marker)); {
		case p.Marker == "" || m.Status() == agents.Done:
		case m.Status() == agents.Blocked && p.BlockedBy != "":
			words = append(words, name+" (blocked by "+p.BlockedBy+")")
		case m.Status() == agents.Blocked:
			words = append(words, name+" (blocked)")
		default:
			words = append(words, fmt.Sprintf("%s (exit %d)", name, m.Exit))
		}
	}
	return strings.Join(words, ", ")
}

// mark ends an agent. Its marker is the last of what is written of it.
func (r *Run) mark(name string, m agents.Marker, by string) {
	p := r.State.Team[name]
	p.Marker, p.Step = m.String(), ""
	if m.Status() == agents.Done && p.Commit == "" && p.Tip != "" { // its work was on its branch before
		p.Commit, p.Parent, p.Branch = p.Tip, r.State.Integrated.Commit, r.Agent(name).Branch
	}
	r.State.Team[name] = p
	if by == "" {
		by = "host"
	}
	told := orchestrator.AgentMarkedRecord{Agent: name, By: by, Marker: p.Marker}
	if named := r.Agent(name).Branch; p.Branch != "" && p.Branch != named {
		told.Branch, told.Instead = p.Branch, named
	}
	r.Do.Event(told)
	r.Do.Write(MarkerFile(name), p.Marker+"\n")
}

// fail ends an agent that will not be done. What stands in its workspace stays there; what it
// handed in and was not committed is kept under a ref.
func (r *Run) fail(a *agents.Agent, ev Evidence) {
	p := r.State.Team[a.Name]
	tree := p.Tree
	if ev.Snapshot != nil {
		tree = ev.Snapshot.Tree
		if len(ev.Snapshot.Scope) > 0 {
			r.outOfScope(a, ev.Snapshot)
		}
	}
	if w, ok := r.State.Workspaces[ev.Work]; ok && tree != "" && p.Commit == "" {
		r.Do.Effect(orchestrator.EffPreserve, "team/"+a.Name, orchestrator.Args{
			Task: a.Name, Workspace: ev.Work, Dir: w.Path, Base: w.Base, Tree: tree, Date: r.Now,
		})
	}
	r.Do.Dismiss(a.Name)
	attempts := r.State.Agents[key(a)].Attempt
	r.Do.Event(orchestrator.AgentFailedRecord{Role: a.Role, Task: a.Name, Attempts: attempts, Cause: ev.Cause, Tail: ev.Tail})
	exit := ev.Exit
	if exit <= 0 || exit > 255 || exit == agents.ExitBlocked && ev.By == "" { // a program's own 99 does not mean blocked
		exit = 1
	}
	r.mark(a.Name, agents.Marker{Exit: exit}, ev.By)
}
