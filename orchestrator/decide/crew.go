package decide

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/decide/ending"
	"github.com/agentmux/agentmux/orchestrator/decide/substitute"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// crew are the agents of a session: who is started, what each waits for, who is stopped.
type crew struct {
	*queue
	clock      *clock
	mail       *post.Office
	questions  *questions
	workspaces *workspaces
}

// launchOwed starts every owed agent that has no launch and waits for nothing, not even for the end of a pause.
func (c *crew) launchOwed() {
	for _, o := range duty.Owed(c.def, c.s) {
		if a := c.s.Agents[o.Key()]; a.Launch == "" && a.Waiting == "" && !c.clock.comesBack(o.Key()) {
			c.launch(o, false)
		}
	}
}

// launch starts an agent. With resume the program continues its own session.
// While the session is paused, and after its end, nothing starts: the agent stays
// owed.
func (c *crew) launch(o duty.Agent, resume bool) {
	if c.s.Paused || c.s.Ended() || c.adopting() && !duty.Researches(o.Role) {
		return
	}
	key := o.Key()
	a := c.s.Agents[key]
	if !a.LastLaunch.Of(c.s.Visit) {
		a.Attempt, a.Retries, a.CLISession, a.Home = 0, 0, "", ""
		c.s.Agents[key] = a
	}
	if a.Launch != "" {
		c.stop(key)
		a = c.s.Agents[key]
	}
	if a.Attempt > 0 {
		c.removeMarker(o)
	}
	c.clock.disarm(orchestrator.RelaunchTimer(key))
	if q := duty.HostQuestion(c.s, key); q != nil {
		c.questions.withdraw(q)
	}
	c.closeDialog(key) // of a machine that this session has left
	c.chooseHome(key, &a)
	a.Attempt++
	a.Launch = orchestrator.LaunchParts{Visit: c.s.Visit, Role: o.Role, Task: o.Task, Attempt: a.Attempt}.Launch()
	a.LastLaunch = a.Launch
	a.Waiting, a.Limited, a.Until, a.Heard = "", false, orchestrator.Time{}, c.now
	c.s.Agents[key] = a
	after := append(c.fsPending(), c.workspaces.ensure(o.Workspace))
	after = append(after, c.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStopAgent && !e.Args.Leaving && orchestrator.KeyOf(e.Args.Role, e.Args.Task) == key
	})...)
	c.effect(orchestrator.EffStartAgent, string(a.Launch), orchestrator.Args{
		Launch: a.Launch, Role: o.Role, Task: o.Task, Template: o.Template, PromptFile: o.PromptFile,
		Headless: o.Headless, Continue: resume, Since: o.Since, Workspace: o.Workspace, Visit: c.s.Visit,
		Home: a.Home, Provider: a.Provider,
	}, after...)
	c.mail.DeliverQueued(key)
}

// chooseHome gives the next launch of an agent another home while one that leaves is in its own:
// two programs do not share one. The program's session lies in the home that it was made in.
func (c *crew) chooseHome(key orchestrator.AgentKey, a *orchestrator.Agent) {
	taken := map[string]bool{}
	for _, l := range c.s.Leaving {
		if orchestrator.KeyOf(l.Role, l.Task) == key {
			taken[l.Home] = true
		}
	}
	for n := 2; taken[a.Home]; n++ {
		a.Home, a.CLISession = strconv.Itoa(n), ""
	}
}

// removeMarker takes away the marker of a coder that is started again: only one
// made after this moment counts.
func (c *crew) removeMarker(o duty.Agent) {
	id := "1"
	switch phase, _ := c.phase(); {
	case phase.Role != o.Role:
		return
	case phase.Kind == workflows.KindImplement:
		id = duty.SubplanOf(o.Task)
	case phase.Kind != workflows.KindFix:
		return
	}
	c.effect(orchestrator.EffRemoveFiles, c.marker(id), orchestrator.Args{Paths: []string{c.marker(id)}, Visit: c.s.Visit})
}

// relaunch starts an agent again once its pause is over: one that was lost the first time with
// the program's own session, one that waited for its provider each time.
func (c *crew) relaunch(key orchestrator.AgentKey) {
	a := c.s.Agents[key]
	if o, ok := duty.OwedBy(c.def, c.s, key); ok && a.Launch == "" {
		c.launch(o, a.Limited || a.Retries <= 1)
	}
}

func (c *crew) started(e orchestrator.Effect, res orchestrator.Result) {
	key := orchestrator.KeyOf(e.Args.Role, e.Args.Task)
	if a := c.s.Agents[key]; a.LastLaunch == e.Args.Launch {
		a.CLISession, a.ToolName = cmp.Or(orchestrator.Optional(res.CLISession), a.CLISession), res.ToolName
		if a.Limited && a.Launch == e.Args.Launch { // it waited for its provider
			a.Limited, a.Until, a.Heard = false, orchestrator.Time{}, c.now
		}
		c.s.Agents[key] = a
	}
	parts, _ := e.Args.Launch.Parts()
	c.event(orchestrator.AgentStartedRecord{
		Role: e.Args.Role, Task: e.Args.Task, Provider: res.Provider, FallbackFor: res.FallbackFor, Model: res.Model, Effort: res.Effort, Launch: e.Args.Launch,
		Attempt: parts.Attempt, Prompt: e.Args.PromptFile, PromptSHA256: res.PromptSHA256,
	})
}

// stop ends the current launch of an agent, if it has one.
func (c *crew) stop(key orchestrator.AgentKey) string {
	c.clock.disarm(orchestrator.RelaunchTimer(key))
	a, ok := c.s.Agents[key]
	if !ok {
		return ""
	}
	launch := a.Launch
	if a.Limited, a.Until = false, (orchestrator.Time{}); launch != "" {
		a.Launch, a.Waiting = "", ""
	}
	c.s.Agents[key] = a
	c.closeDialog(key)
	if launch == "" {
		return ""
	}
	c.dropPending(dialog.Answers(launch))
	role, task := key.Split()
	if l := c.in.Line; l == nil || l.Launch != launch || c.s.Ended() {
		c.dropPending(starts(launch))
	} else { // it speaks, so it runs: its start gets its record, before its end under the same key
		c.dropPending(func(e orchestrator.Effect) bool { return starts(launch)(e) && len(e.After) > 0 })
	}
	return c.effect(orchestrator.EffStopAgent, string(launch), orchestrator.Args{
		Launch: launch, Role: role, Task: task, Workspace: c.workspaces.of(role, task), Gone: c.s.Seen[ending.Seen(launch)] != "",
	})
}

// leave takes what an agent handed in and lets its launch go: it may end its turn beside what
// comes next. tree is its work, empty for an agent of a view.
func (c *crew) leave(key orchestrator.AgentKey, tree string, warnings []string) {
	role, task := key.Split()
	a := c.s.Agents[key]
	record := orchestrator.SubmissionRecord{Launch: a.Launch, Role: role, Task: task, Tool: c.handedInBy(role), Tree: tree, Warnings: warnings}
	if l := c.in.Line; l != nil {
		record.Line = l.ID
	}
	c.event(record)
	in := c.workspaces.of(role, task)
	stop := c.stop(key)
	c.forget(key)
	if stop == "" {
		return
	}
	for _, list := range [][]orchestrator.Effect{c.s.Pending, c.effs} {
		for i := range list {
			list[i].Args.Leaving = list[i].Args.Leaving || list[i].ID == stop
		}
	}
	c.s.Leaving[a.Launch] = orchestrator.Leaving{Role: role, Task: task, Workspace: in, Tree: tree, Since: c.now, Home: a.Home}
	if w := c.s.Workspaces[in]; tree != "" {
		c.effect(orchestrator.EffKeepLate, string(a.Launch), orchestrator.Args{
			Launch: a.Launch, Role: role, Task: task, Workspace: in, Dir: w.Path, Base: w.Base, Tree: tree, Date: c.now,
		}, stop)
	}
}

// handedInBy names the tool of a submission; that of a file made by hand is the one that would
// have said the same.
func (c *crew) handedInBy(role string) string {
	if c.in.Line != nil {
		return c.in.Line.Tool
	}
	if duty.Researches(role) {
		return toolset.SubmitResearchDone
	}
	phase, _ := c.phase()
	tool, _ := toolset.Ending(phase, c.s.AwaitingSummary)
	return tool.Name
}

// left notes that nothing is to be done any more for a launch that leaves.
func (c *crew) left(launch orchestrator.Launch) {
	owed := c.pending(func(e orchestrator.Effect) bool {
		return e.Args.Launch == launch && (e.Type == orchestrator.EffStopAgent || e.Type == orchestrator.EffKeepLate)
	})
	if len(owed) == 0 {
		delete(c.s.Leaving, launch)
	}
}

// keptLate records what a launch wrote after its submission.
func (c *crew) keptLate(e orchestrator.Effect, res orchestrator.Result) {
	c.left(e.Args.Launch)
	if len(res.Late) > 0 {
		c.event(orchestrator.LateChangesRecord{Launch: e.Args.Launch, Paths: res.Late, Ref: res.Path, Role: e.Args.Role, Task: e.Args.Task})
	}
}

// starts matches the effect that starts a launch.
func starts(launch orchestrator.Launch) func(orchestrator.Effect) bool {
	return func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	}
}

// stopWaiting ends the current launch of an agent that still waits, if it does.
func (c *crew) stopWaiting(key orchestrator.AgentKey) {
	waiting := c.s.Agents[key].Waiting
	c.stop(key)
	if a, ok := c.s.Agents[key]; ok && (waiting != "question" || c.waitsFor(key) != "") { // a dialog ends with its program
		a.Waiting = waiting
		c.s.Agents[key] = a
	}
}

func (c *crew) stopped(e orchestrator.Effect, res orchestrator.Result) {
	c.left(e.Args.Launch)
	if e.Args.Gone {
		return
	}
	c.event(orchestrator.AgentExitedRecord{
		Role: e.Args.Role, Task: e.Args.Task, Launch: e.Args.Launch, Signal: res.Signal, Expected: true, ExitCode: res.ExitCode, Usage: res.Usage,
	})
}

// dismiss ends the current launch of an agent that has done its part.
func (c *crew) dismiss(key orchestrator.AgentKey) {
	c.stop(key)
	c.forget(key)
}

// forget ends what an agent still expected: it has done its part.
func (c *crew) forget(key orchestrator.AgentKey) {
	if a, ok := c.s.Agents[key]; ok {
		a.Waiting, a.Provider, a.LimitedSince = "", "", orchestrator.Time{}
		c.s.Agents[key] = a
	}
	c.mail.Forget(key)
	for i := range c.s.Questions {
		if q := &c.s.Questions[i]; q.Open() && orchestrator.KeyOf(q.Role, q.Task) == key {
			c.questions.withdraw(q)
		}
	}
}

// waits marks an agent whose turn ended, or that fell silent, while something it waits
// for is open.
func (c *crew) waits(rep *orchestrator.AgentReport) bool {
	what := c.waitsFor(rep.Key)
	if what == "" {
		return false
	}
	a := c.s.Agents[rep.Key]
	if a.Waiting == "" {
		a.Waiting = orchestrator.Optional(what)
		c.s.Agents[rep.Key] = a
		role, task := rep.Key.Split()
		c.event(orchestrator.AgentWaitingRecord{Role: role, Task: task, Launch: rep.Launch, For: what})
	}
	return true
}

// waitsFor tells what an agent waits for, or "".
func (c *crew) waitsFor(key orchestrator.AgentKey) string {
	role, task := key.Split()
	for _, q := range c.s.Questions {
		if q.Open() && q.Role == role && q.Task == task && !duty.OfHost(q) {
			return "question"
		}
	}
	if post.Asks(c.def, c.s, key) {
		return "ask"
	}
	if phase, ok := c.phase(); ok && phase.Research && string(key) == phase.Role && c.researches(role) {
		return "research"
	}
	return ""
}

// researches reports whether research that a role asked for is running. Sessions of
// the earlier tool do not say who asked.
func (c *crew) researches(role string) bool {
	return slices.ContainsFunc(duty.Researchers(c.s), func(o duty.Agent) bool {
		owner := c.s.Agents[o.Key()].Owner
		return owner == role || owner == ""
	})
}

// wake lets an agent continue that waited; one that has ended is started again.
func (c *crew) wake(key orchestrator.AgentKey) {
	a := c.s.Agents[key]
	if a.Waiting == "" || c.s.Paused || c.s.Ended() {
		return
	}
	a.Waiting, a.Heard = "", c.now
	c.s.Agents[key] = a
	if a.Launch != "" {
		return
	}
	if o, ok := duty.OwedBy(c.def, c.s, key); ok {
		c.launch(o, true)
	}
}

// wakeAnswered lets the agents continue whose asks were answered.
func (c *crew) wakeAnswered() {
	for _, key := range slices.Sorted(maps.Keys(c.s.Agents)) {
		if c.s.Agents[key].Waiting != "" && c.waitsFor(key) == "" {
			c.wake(key)
		}
	}
}

// noLongerWaits clears the mark of an agent for which all has come that it waited for: while
// the session was paused no agent was woken. A mark that stayed would keep its limits still.
func (c *crew) noLongerWaits(key orchestrator.AgentKey) {
	a := c.s.Agents[key]
	if a.Waiting == "" || c.waitsFor(key) != "" {
		return
	}
	a.Waiting, a.Heard = "", c.now
	c.s.Agents[key] = a
	c.changed = true
}

// noteCondition keeps what later decisions need of a report.
func (c *crew) noteCondition(rep *orchestrator.AgentReport) {
	a := c.s.Agents[rep.Key]
	before := a
	if rep.CLISession != "" {
		a.CLISession = orchestrator.Optional(rep.CLISession)
	}
	limited := rep.RateLimited && rep.Condition == orchestrator.AgentLive
	if a.Limited && !limited {
		a.Heard, a.Limited, a.Until = c.now, false, orchestrator.Time{}
	}
	if rep.Answered && !limited && rep.Fault == "" {
		a.LimitedSince = orchestrator.Time{}
	}
	if a != before {
		c.s.Agents[rep.Key] = a
		c.changed = true
	}
	if limited {
		c.limit(rep.Key, rep.Launch, rep.Until)
	}
	if rule := "person/" + string(rep.Launch); rep.PersonTurn > c.s.Counters[rule].N {
		c.s.Counters[rule] = orchestrator.Counter{N: rep.PersonTurn, Since: c.now}
		role, task := rep.Key.Split()
		c.event(orchestrator.PersonTypedRecord{Role: role, Task: task, Launch: rep.Launch, Turn: rep.PersonTurn})
	}
}

// coolingPause is the least time between two tries to start an agent whose provider refuses more.
const coolingPause = 2 * time.Second

// cools has an agent wait that cannot be started because its provider refuses more until about a
// time. Its start stays owed, and nothing counts against it, unless another provider takes over.
func (c *crew) cools(start *orchestrator.Effect, o *orchestrator.Outcome) {
	start.NotBefore = c.now.Later(coolingPause)
	c.changed = true
	key, launch := orchestrator.KeyOf(start.Args.Role, start.Args.Task), start.Args.Launch
	if c.s.Agents[key].Launch == launch {
		c.limit(key, launch, o.Until)
		c.replace(key, substitute.Of(c.s, key, o.Until, o.Fallbacks))
	}
}

// replace starts an agent afresh with another provider, which it keeps until it ends, and reports
// whether there is one. No retry is counted.
func (c *crew) replace(key orchestrator.AgentKey, provider string) bool {
	o, owed := duty.OwedBy(c.def, c.s, key)
	if provider == "" || !owed {
		return false
	}
	a := c.s.Agents[key]
	a.Provider, a.CLISession, a.LimitedSince = provider, "", orchestrator.Time{}
	c.s.Agents[key] = a
	delete(c.s.Counters, limitRule(key))
	c.launch(o, false)
	return true
}

// limitRule counts how often the provider of an agent refused it more, for the pause before the next try.
func limitRule(key orchestrator.AgentKey) string { return "service/" + string(key) }

// limit is await, and tells until when.
func (c *crew) limit(key orchestrator.AgentKey, launch orchestrator.Launch, until orchestrator.Time) {
	a := c.s.Agents[key]
	if !a.Limited || a.Until != until {
		role, task := key.Split()
		c.event(orchestrator.AgentWaitingRecord{Role: role, Task: task, Launch: launch, For: orchestrator.WaitsForProvider, Until: until})
	}
	c.await(key, until)
}

// await marks an agent that waits for its provider.
func (c *crew) await(key orchestrator.AgentKey, until orchestrator.Time) {
	a := c.s.Agents[key]
	a.Limited, a.Until = true, until
	if a.LimitedSince.IsZero() {
		a.LimitedSince = c.now
	}
	c.s.Agents[key] = a
}

// accept records an artifact that was taken.
func (c *crew) accept(a *orchestrator.Artifact, role string) {
	c.event(orchestrator.ArtifactAcceptedRecord{
		Artifact: path.Base(a.Path), Path: a.Path, SHA256: a.SHA256, Role: role,
	})
	if phase, ok := c.phase(); ok {
		c.clock.armPhase(phase)
	}
}

func (c *crew) adopted(res orchestrator.Result) {
	switch {
	case len(res.Conflicts) > 0:
		c.event(orchestrator.MergeConflictRecord{ID: "", Paths: res.Conflicts, Task: ""})
	case res.Commit != "":
		c.s.Integrated = orchestrator.Integrated{Commit: res.Commit, Tree: res.Tree}
	}
	c.launchOwed()
}

func (c *crew) enterAuthor(phase workflows.Phase) {
	if phase.FileAccepts && phase.Artifact != workflows.RequirementsFile { // every prompt holds the request
		c.moveAside(phase.Artifact)
	}
	c.launchOwed()
}
