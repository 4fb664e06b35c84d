package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Standing is how far an agent of an agents file is, for people.
type Standing int

// The standings. An agent that is Done, Failed or Blocked has a marker.
const (
	Waits       Standing = iota // for agents that are not done
	Ready                       // not started, although all that it depends on is done
	Works                       // its launch runs
	Idle                        // its launch waits for a person or for another agent
	Interrupted                 // it was started, and nothing hosts the session
	Done
	Failed
	Blocked // never started, because of another agent
)

// Member is what the state and the records tell of one agent of an agents file.
type Member struct {
	Name      string
	Role      string
	Branch    string // as it is called in the end; empty for a review
	DependsOn []string
	Key       orchestrator.AgentKey

	Standing    Standing
	Waiting     string   // what an idle one waits for, in the word of the state
	Open        []string // dependencies that are not done, of one that waits
	Exit        int      // of its marker
	BlockedBy   string
	Step        string // what the host does with its submission; empty before and after
	Commit      string
	PRNumber    int
	PullRequest string // address

	Told    Agent     // of its newest launch
	Used    Spent     // by its launches that have ended
	Ended   time.Time // when it got the marker that it has
	Reason  string    // of its failure
	Printed string    // by its program, before that
}

// Marked reports whether it has a marker.
func (m Member) Marked() bool { return m.Standing >= Done }

// Word is its standing in the words of a status.
func (m Member) Word() string {
	switch m.Standing {
	case Waits:
		return "waiting (" + strings.Join(m.Open, ", ") + ")"
	case Works:
		return "running"
	case Idle:
		return "idle"
	case Done:
		return agents.Done.String()
	case Failed:
		return fmt.Sprintf("failed (exit %d)", m.Exit)
	case Blocked:
		return agents.Blocked.String()
	}
	return "no pane"
}

// Spent is the time from its newest launch to its marker, or to now; 0 if it was never launched.
func (m Member) Spent(now time.Time) time.Duration {
	if m.Told.Started.IsZero() {
		return 0
	}
	if m.Ended.After(m.Told.Started) {
		now = m.Ended
	}
	return now.Sub(m.Told.Started)
}

// MemberOf is what the state tells of an agent, without what only records tell. running reports
// whether some process hosts the session.
func MemberOf(s *orchestrator.State, a *agents.Agent, running bool) Member {
	p := s.Team[a.Name]
	m := Member{
		Name: a.Name, Role: a.Role, Branch: a.Branch, DependsOn: a.DependsOn, Key: orchestrator.KeyOf(a.Role, a.Name),
		BlockedBy: p.BlockedBy, Step: p.Step, Commit: p.Commit, PRNumber: p.PRNumber, PullRequest: p.PRURL,
	}
	if p.Branch != "" {
		m.Branch = p.Branch
	}
	agent := s.Agents[m.Key]
	started := p.Started(string(agent.LastLaunch))
	switch status := p.Status(started); {
	case p.Marker != "":
		m.Standing = map[agents.Status]Standing{agents.Done: Done, agents.Failed: Failed, agents.Blocked: Blocked}[status]
		m.Exit = agents.ParseMarker([]byte(p.Marker)).Exit
	case started && !running:
		m.Standing = Interrupted
	case started && agent.Waiting != "":
		m.Standing, m.Waiting = Idle, string(agent.Waiting)
	case started:
		m.Standing = Works
	default:
		m.Open = slices.DeleteFunc(slices.Clone(a.DependsOn), func(name string) bool {
			return s.Team[name].Status(false) == agents.Done
		})
		if len(m.Open) == 0 {
			m.Standing = Ready
		}
	}
	return m
}

// Members are the agents of an agents file in its order, with what records tell of them. running
// reports whether some process hosts the session.
func Members(s *orchestrator.State, team *agents.Team, records []orchestrator.Event, running bool) []Member {
	var told memberRecords
	for _, e := range records {
		told.fold(s, e)
	}
	members := make([]Member, 0, len(team.Agents))
	for i := range team.Agents {
		m := MemberOf(s, &team.Agents[i], running)
		m.Told, m.Used, m.Ended = told.agents[m.Key], told.usages.Of(m.Name).Spent, told.marked[m.Name]
		if m.Standing == Failed {
			m.Reason, m.Printed = told.reasons[m.Name], told.printed[m.Name]
		}
		members = append(members, m)
	}
	return members
}

// memberRecords is what the records tell of the agents, by their names.
type memberRecords struct {
	agents  Agents
	usages  Usages
	marked  map[string]time.Time // when they got the markers that they have
	reasons map[string]string    // why those failed that did
	printed map[string]string    // what their programs printed last
}

func (t *memberRecords) fold(s *orchestrator.State, e orchestrator.Event) {
	if t.marked == nil {
		t.marked, t.reasons, t.printed = map[string]time.Time{}, map[string]string{}, map[string]string{}
	}
	t.agents.Fold(e)
	t.usages.Fold(e)
	switch d := e.Data.(type) {
	case orchestrator.AgentStartedRecord:
		delete(t.reasons, d.Task)
		delete(t.printed, d.Task)
	case orchestrator.AgentFailedRecord:
		t.reasons[d.Task], t.printed[d.Task] = WhyFailed(d)
	case orchestrator.AgentMarkedRecord:
		if s.Team[d.Agent].Marker != "" {
			t.marked[d.Agent] = e.TS.Time
		}
	}
}
