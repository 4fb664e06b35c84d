package decide

import (
	"fmt"
	"path"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// researchHeadline begins the headline of every message about a topic's end.
const researchHeadline = "research "

func (r *reducer) applyDispatch(c Call) {
	kind := strings.TrimPrefix(c.Tool, "research_dispatch_")
	topic := c.Payload.Topic
	dir := orchestrator.ResearchDir(kind, topic)
	r.setResearch(kind, topic, orchestrator.ResearchDispatched)
	r.event(orchestrator.ResearchDispatchedRecord{Topic: topic, ResearchType: kind, Owner: c.Role})
	r.effect(orchestrator.EffEnsureDirs, dir, orchestrator.Args{Paths: []string{dir}})
	if fromEarlierTool(r.s) { // it would end the topic again at once
		marker := researchMarker(kind, topic)
		r.effect(orchestrator.EffRemoveFiles, marker, orchestrator.Args{Paths: []string{marker}, Visit: r.s.Visit})
	}
	hash := r.blob(ResearchRequest(kind, c.Payload))
	file := path.Join(dir, "request.md")
	r.effect(orchestrator.EffWriteFile, file, orchestrator.Args{Path: file, SHA256: hash}, r.fsPending()...)
	o := researcher(kind, topic)
	a := r.s.Agents[o.Key()]
	a.Owner = c.Role
	r.s.Agents[o.Key()] = a
	r.launch(o, false)
}

func (r *reducer) setResearch(kind, topic, status string) {
	if kind == "web" {
		r.s.WebResearchTasks = orchestrator.Filled(r.s.WebResearchTasks)
		r.s.WebResearchTasks[topic] = status
		return
	}
	r.s.ResearchTasks = orchestrator.Filled(r.s.ResearchTasks)
	r.s.ResearchTasks[topic] = status
}

func (r *reducer) applyResearchDone(c Call) {
	kind, topic := c.Payload.Type, c.Payload.Topic
	key := orchestrator.AgentKey(researchRole(kind), topic)
	r.setResearch(kind, topic, orchestrator.ResearchDone)
	r.accept(r.artifact(), researchRole(kind))
	file := path.Join(orchestrator.ResearchDir(kind, topic), "summary.md")
	r.event(orchestrator.ResearchDoneRecord{Topic: topic, ResearchType: kind, Path: file})
	owner := r.s.Agents[key].Owner
	r.researcherEnds(key)
	r.tellResearch(owner, researchHeadline+topic+" is done", "The research on "+topic+" is done. Read `"+file+"` first, then `detail.md` beside it where you need more.\n")
}

// researchFailed ends a topic whose researcher is gone; the run goes on.
func (r *reducer) researchFailed(key, cause string) {
	role, topic := orchestrator.SplitKey(key)
	kind := strings.TrimSuffix(role, "-researcher")
	owner := r.s.Agents[key].Owner
	r.setResearch(kind, topic, orchestrator.ResearchFailed)
	r.event(orchestrator.ResearchFailedRecord{Topic: topic, ResearchType: kind, Cause: cause})
	r.researcherEnds(key)
	r.tellResearch(owner, researchHeadline+topic+" failed", "The research on "+topic+" ended without a result ("+cause+"). Go on without it, or dispatch it again.\n")
}

func (r *reducer) researcherEnds(key string) {
	r.stop(key)
	r.forget(key)
	if _, made := r.s.Workspaces[orchestrator.WorkspaceView+key]; made {
		r.removeWorkspace(orchestrator.WorkspaceView + key)
	}
}

// endResearch gives up every topic that is still running.
func (r *reducer) endResearch(cause string) {
	for _, o := range runningResearchers(r.s) {
		r.researchFailed(o.Key(), cause)
	}
}

// tellResearch sends the news to the agent of the current phase, if that may research.
func (r *reducer) tellResearch(owner, headline, body string) {
	phase, ok := r.phase()
	if !ok || !phase.Research || r.s.Gate != nil {
		return
	}
	r.message(phase.Role, orchestrator.Message{From: systemAddress, Type: "update", Headline: headline}, body)
	if owner == phase.Role || owner == "" {
		r.wake(phase.Role)
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
