package decide

import (
	"fmt"
	"path"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// researchHeadline begins the headline of every message about a topic's end.
const researchHeadline = "research "

// research are the topics that agents have others look into.
type research struct {
	*queue
	crew       *crew
	mail       *mailbox
	workspaces *workspaces
}

func (rs *research) dispatch(c Call) {
	kind := strings.TrimPrefix(c.Tool, "research_dispatch_")
	topic := c.Payload.Topic
	dir := orchestrator.ResearchDir(kind, topic)
	rs.set(kind, topic, orchestrator.ResearchDispatched)
	rs.event(orchestrator.ResearchDispatchedRecord{Topic: topic, ResearchType: kind, Owner: c.Role})
	rs.effect(orchestrator.EffEnsureDirs, dir, orchestrator.Args{Paths: []string{dir}})
	if fromEarlierTool(rs.s) { // it would end the topic again at once
		marker := researchMarker(kind, topic)
		rs.effect(orchestrator.EffRemoveFiles, marker, orchestrator.Args{Paths: []string{marker}, Visit: rs.s.Visit})
	}
	hash := rs.blob(ResearchRequest(kind, c.Payload))
	file := path.Join(dir, "request.md")
	rs.effect(orchestrator.EffWriteFile, file, orchestrator.Args{Path: file, SHA256: hash}, rs.fsPending()...)
	o := researcher(kind, topic)
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

func (rs *research) done(c Call) {
	kind, topic := c.Payload.Type, c.Payload.Topic
	key := orchestrator.AgentKey(researchRole(kind), topic)
	rs.set(kind, topic, orchestrator.ResearchDone)
	rs.crew.accept(rs.artifact(), researchRole(kind))
	file := path.Join(orchestrator.ResearchDir(kind, topic), "summary.md")
	rs.event(orchestrator.ResearchDoneRecord{Topic: topic, ResearchType: kind, Path: file})
	owner := rs.s.Agents[key].Owner
	rs.leave(key)
	rs.tell(owner, researchHeadline+topic+" is done", "The research on "+topic+" is done. Read `"+file+"` first, then `detail.md` beside it where you need more.\n")
}

// failed ends a topic whose researcher is gone; the run goes on.
func (rs *research) failed(key, cause string) {
	role, topic := orchestrator.SplitKey(key)
	kind := strings.TrimSuffix(role, "-researcher")
	owner := rs.s.Agents[key].Owner
	rs.set(kind, topic, orchestrator.ResearchFailed)
	rs.event(orchestrator.ResearchFailedRecord{Topic: topic, ResearchType: kind, Cause: cause})
	rs.leave(key)
	rs.tell(owner, researchHeadline+topic+" failed", "The research on "+topic+" ended without a result ("+cause+"). Go on without it, or dispatch it again.\n")
}

func (rs *research) leave(key string) {
	rs.crew.stop(key)
	rs.crew.forget(key)
	if _, made := rs.s.Workspaces[orchestrator.WorkspaceView+key]; made {
		rs.workspaces.remove(orchestrator.WorkspaceView + key)
	}
}

// end gives up every topic that is still running.
func (rs *research) end(cause string) {
	for _, o := range runningResearchers(rs.s) {
		rs.failed(o.Key(), cause)
	}
}

// tell sends the news to the agent of the current phase, if that may research.
func (rs *research) tell(owner, headline, body string) {
	phase, ok := rs.phase()
	if !ok || !phase.Research || rs.s.Gate != nil {
		return
	}
	rs.mail.send(phase.Role, orchestrator.Message{From: systemAddress, Type: "update", Headline: headline}, body)
	if owner == phase.Role || owner == "" {
		rs.crew.wake(phase.Role)
	}
}

// ResearchRequest is the text of request.md: what the researcher has to answer.
func ResearchRequest(kind string, p orchestrator.Payload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Research request: %s\n\nType: %s\n\n## Context\n\n%s\n\n## Questions\n\n", p.Topic, kind, p.Context)
	for i, q := range p.Questions {
		fmt.Fprintf(&b, "%d. %s\n", i+1, q)
	}
	if len(p.ScopeHints) > 0 {
		b.WriteString("\n## Where to look\n\n")
		for _, hint := range p.ScopeHints {
			fmt.Fprintf(&b, "- %s\n", hint)
		}
	}
	return b.String()
}
