package decide

import (
	"path"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/toolset"
)

// research are the topics that agents have others look into.
type research struct {
	*queue
	crew       *crew
	mail       *post.Office
	workspaces *workspaces
}

func (rs *research) dispatch(c duty.Call) {
	tool, _ := toolset.Find(c.Tool)
	kind := tool.Research
	topic := c.Payload.Topic
	dir := duty.ResearchDir(kind, topic)
	rs.set(kind, topic, orchestrator.ResearchDispatched)
	rs.event(orchestrator.ResearchDispatchedRecord{Topic: topic, ResearchType: kind, Owner: c.Role})
	rs.effect(orchestrator.EffEnsureDirs, dir, orchestrator.Args{Paths: []string{dir}})
	if duty.FromEarlierTool(rs.s) { // it would end the topic again at once
		marker := duty.ResearchMarker(kind, topic)
		rs.effect(orchestrator.EffRemoveFiles, marker, orchestrator.Args{Paths: []string{marker}, Visit: rs.s.Visit})
	}
	hash := rs.blob(duty.ResearchRequest(kind, c.Payload))
	file := path.Join(dir, "request.md")
	rs.effect(orchestrator.EffWriteFile, file, orchestrator.Args{Path: file, SHA256: hash}, rs.fsPending()...)
	o := duty.Researcher(kind, topic)
	a := rs.s.Agents[o.Key()]
	a.Owner = c.Role
	rs.s.Agents[o.Key()] = a
	rs.crew.launch(o, false)
}

func (rs *research) set(kind, topic, status string) {
	if kind == "web" {
		rs.s.WebResearchTasks = orchestrator.Filled(rs.s.WebResearchTasks)
		rs.s.WebResearchTasks[topic] = status
		return
	}
	rs.s.ResearchTasks = orchestrator.Filled(rs.s.ResearchTasks)
	rs.s.ResearchTasks[topic] = status
}

func (rs *research) done(c duty.Call) {
	kind, topic := c.Payload.Type, c.Payload.Topic
	key := orchestrator.KeyOf(duty.ResearchRole(kind), topic)
	rs.set(kind, topic, orchestrator.ResearchDone)
	rs.crew.accept(rs.artifact(), duty.ResearchRole(kind))
	file := path.Join(duty.ResearchDir(kind, topic), "summary.md")
	rs.event(orchestrator.ResearchDoneRecord{Topic: topic, ResearchType: kind, Path: file})
	owner := rs.s.Agents[key].Owner
	rs.crew.leave(key, "", nil)
	rs.removeView(key)
	rs.tell(owner, post.Researched+topic+" is done", "The research on "+topic+" is done. Read `"+file+"` first, then `detail.md` beside it where you need more.\n")
}

// failed ends a topic whose researcher was lost; the run continues.
func (rs *research) failed(key orchestrator.AgentKey, cause string) {
	role, topic := key.Split()
	kind, _ := duty.ResearchKind(role)
	owner := rs.s.Agents[key].Owner
	rs.set(kind, topic, orchestrator.ResearchFailed)
	rs.event(orchestrator.ResearchFailedRecord{Topic: topic, ResearchType: kind, Cause: cause})
	rs.crew.dismiss(key)
	rs.removeView(key)
	rs.tell(owner, post.Researched+topic+" failed", "The research on "+topic+" ended without a result ("+cause+"). Go on without it, or dispatch it again.\n")
}

func (rs *research) removeView(key orchestrator.AgentKey) {
	if view := duty.View(rs.s, key); rs.s.Workspaces[view] != (orchestrator.Workspace{}) {
		rs.workspaces.remove(view)
	}
}

// end gives up every topic that is still running.
func (rs *research) end(cause string) {
	for _, o := range duty.Researchers(rs.s) {
		rs.failed(o.Key(), cause)
	}
}

// tell sends the news to the agent of the current phase, if that may research.
func (rs *research) tell(owner, headline, body string) {
	phase, ok := rs.phase()
	if !ok || !phase.Research || rs.s.Gate != nil {
		return
	}
	key := orchestrator.AgentKey(phase.Role)
	rs.mail.Send(key, orchestrator.Message{From: post.System, Type: "update", Headline: headline}, body)
	if owner == phase.Role || owner == "" {
		rs.crew.wake(key)
	}
}
