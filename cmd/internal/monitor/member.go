package monitor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Member is one agent of an agents file. The members of a View are in the order of their graph:
// each comes after all that it depends on.
type Member struct {
	Name   string
	Role   string
	State  string
	Spent  time.Duration // 0: not started
	Pull   string        // "#7"; empty before there is one
	Branch string
	Doing  string   // what it reported last, while it works
	After  []string // what it depends on
	Under  int      // index of the last of those, -1 for none
	Kind   MemberKind
}

// MemberKind is what a member is to the person who watches, the most pressing first: where not
// all have room, the first kinds have it.
type MemberKind int

// The kinds.
const (
	MemberAsks MemberKind = iota
	MemberFailed
	MemberWorks
	MemberInterrupted
	MemberReady
	MemberWaits
	MemberBlocked
	MemberDone
)

// memberKinds are the kinds of standings.
var memberKinds = map[story.Standing]MemberKind{
	story.Waits: MemberWaits, story.Ready: MemberReady, story.Works: MemberWorks, story.Idle: MemberWorks,
	story.Interrupted: MemberInterrupted, story.Done: MemberDone, story.Failed: MemberFailed, story.Blocked: MemberBlocked,
}

// members are the agents of an agents file. live are the agents at work.
func members(s *orchestrator.State, team []story.Member, live []Agent, now time.Time) []Member {
	atWork := map[string]Agent{}
	for _, a := range live {
		atWork[a.Key] = a
	}
	team, under := ordered(team)
	var out []Member
	for i := range team {
		of := &team[i]
		m := Member{Name: plain(of.Name), Role: plain(of.Role), Branch: plain(of.Branch), Under: under[i], Kind: memberKinds[of.Standing]}
		for _, name := range of.DependsOn {
			m.After = append(m.After, plain(name))
		}
		if of.PRNumber != 0 {
			m.Pull = "#" + strconv.Itoa(of.PRNumber)
		}
		m.State = memberState(of, m.After)
		if m.Kind < MemberInterrupted || m.Kind == MemberDone {
			m.Spent = of.Spent(now)
		}
		if m.Kind == MemberWorks {
			m.work(of, atWork[plain(string(of.Key))])
			if asks(s, of) {
				m.State, m.Kind = "needs help", MemberAsks
			}
		}
		out = append(out, m)
	}
	return out
}

func memberState(of *story.Member, after []string) string {
	switch of.Standing {
	case story.Waits:
		return "waits for " + plain(strings.Join(of.Open, ", "))
	case story.Ready:
		return "ready"
	case story.Interrupted:
		return "interrupted"
	case story.Blocked:
		by := plain(of.BlockedBy)
		if by == "" && len(after) == 0 { // its own marker
			return "blocked"
		}
		if by == "" {
			by = strings.Join(after, ", ")
		}
		return "blocked by " + by
	}
	return of.Word()
}

// work says what a member that was started does.
func (m *Member) work(of *story.Member, live Agent) {
	m.Doing = live.Doing
	switch {
	case of.Step != "":
		m.State = "handed in"
		if followUps[of.Step] {
			m.State += ", " + of.Step
		}
	case of.Standing == story.Idle:
		m.State = "waits: " + plain(of.Waiting)
	case live.State != "" && live.State != stateAtWork:
		m.State, m.Spent = live.State, live.Since
		if live.Alarm {
			m.Kind = MemberAsks
		}
	}
}

// followUps are the steps that the file asks for.
var followUps = map[string]bool{agents.StepTest: true, agents.StepPush: true, agents.StepPull: true}

// asks reports whether a person has to answer a question of the agent.
func asks(s *orchestrator.State, of *story.Member) bool {
	for _, q := range s.Questions {
		if q.Open() && q.Task == of.Name {
			return true
		}
	}
	return false
}

// kindWords are the words for several members of a kind.
var kindWords = [...]string{
	MemberAsks: "needing help", MemberFailed: "failed", MemberWorks: "running", MemberInterrupted: "interrupted",
	MemberReady: "ready", MemberWaits: "waiting", MemberBlocked: "blocked", MemberDone: "done",
}

// tally says how many of the members are done, and which of the others matter most.
func tally(list []Member) string {
	count := counted(list)
	parts := []string{fmt.Sprintf("%d of %d done", count[MemberDone], len(list))}
	return strings.Join(append(parts, said(count[:MemberInterrupted])...), ", ")
}

// counted counts members by their kinds.
func counted(list []Member) []int {
	count := make([]int, len(kindWords))
	for _, m := range list {
		count[m.Kind]++
	}
	return count
}

// said are the counts of kinds in words.
func said(count []int) (parts []string) {
	for kind, n := range count {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kindWords[kind]))
		}
	}
	return parts
}
