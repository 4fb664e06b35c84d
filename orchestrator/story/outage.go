package story

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// OutageKind says what does not answer.
type OutageKind string

// Kinds of outages.
const (
	OutageStep     OutageKind = "step"     // a step of the session fails and is tried again
	OutageMirror   OutageKind = "mirror"   // the session is not shown on its issue
	OutageProvider OutageKind = "provider" // a model's service lets an agent wait
	OutageAgent    OutageKind = "agent"    // an agent was lost and is started again
)

// Outage is something that keeps a session from continuing, and is tried again by itself.
type Outage struct {
	Kind  OutageKind `json:"kind"`
	What  string     `json:"what"`
	Since time.Time  `json:"since,omitzero"`
	Tries int        `json:"tries,omitempty"` // that failed
	Error string     `json:"error,omitempty"`
	Again time.Time  `json:"again,omitzero"` // the next try
}

// stepWords say what a step is for; others are named by their type.
var stepWords = map[string]string{
	orchestrator.EffPush: "the push of the branch", orchestrator.EffPR: "the pull request", orchestrator.EffTest: "the test", orchestrator.EffAdopt: "reading the branch on the server",
	orchestrator.EffCommit: "the commit", orchestrator.EffStartAgent: "the start of an agent", orchestrator.EffCheckpoint: "the checkpoint",
	orchestrator.EffDeliver: "a message to an agent", orchestrator.EffIntegrate: "the merge of an agent's work",
}

// stepName says what an effect is for.
func stepName(effect string) string {
	if name, ok := stepWords[effect]; ok {
		return name
	}
	return strings.ReplaceAll(effect, "_", " ")
}

func outages(s *orchestrator.State, errors map[string]string, f Facts) []Outage {
	var list []Outage
	for _, e := range s.Pending {
		if e.Attempt == 0 {
			continue
		}
		list = append(list, Outage{
			Kind: OutageStep, What: stepName(e.Type), Since: e.Since.Time, Tries: e.Attempt, Error: errors[e.ID], Again: e.NotBefore.Time,
		})
	}
	if f.Running && !s.Ended() {
		list = append(list, waitingAgents(s)...)
	}
	if f.Running && f.Away.Tries > 0 {
		list = append(list, Outage{Kind: OutageMirror, What: "GitHub", Since: f.Away.Since, Tries: f.Away.Tries, Error: f.Trouble})
	}
	return list
}

func waitingAgents(s *orchestrator.State) []Outage {
	var list []Outage
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		a := s.Agents[key]
		again := s.Deadlines[orchestrator.RelaunchTimer(key)]
		switch {
		case a.Limited:
			list = append(list, Outage{Kind: OutageProvider, What: string(key), Again: a.Until.Time})
		case !again.IsZero():
			list = append(list, Outage{Kind: OutageAgent, What: string(key), Tries: a.Retries, Again: again.Time})
		}
	}
	return list
}
