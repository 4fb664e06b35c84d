package monitor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Facts are what a View shows beside the state and the records of a session.
type Facts struct {
	Phases  []string     // ids of the phases of the workflow, in their order
	Team    *agents.Team // of a run of an agents file, else nil
	Running bool         // some process hosts the session
	Sandbox string       // what the agents are kept from, in a few words
}

// Build makes the picture of a session from its state, its committed records, oldest
// first, and a few facts. now decides how long everything lasts and in which location times are shown.
func Build(s *orchestrator.State, f Facts, records []orchestrator.Event, now time.Time) View {
	st := story.Tell(s, records, story.Facts{Name: s.SessionID, Running: true})
	v := View{
		Session: plain(s.SessionID), Title: title(s), Workflow: plain(s.Workflow),
		Branch: plain(s.FeatureBranch), Base: plain(s.BaseBranch), PR: pullRequest(s),
		Sandbox: f.Sandbox, Elapsed: elapsed(s, st, now), Paused: s.Paused, Parked: s.Parked(), Running: f.Running,
		More:   s.Phase == orchestrator.PhaseDone && s.Completion.PRNumber > 0,
		Phases: phaseRows(s, f.Phases, st.Phases, now), Groups: groups(s), Agents: atWork(s, st.Agents, now),
		Reviews: reviews(s), Research: research(s), Recent: recent(records, now.Location()),
		Question: question(s), Outcome: outcome(s, st),
	}
	if s.Kind == orchestrator.KindAgents { // each agent has a branch of its own
		v.Branch = ""
	}
	if f.Team != nil {
		v.Members = members(s, story.Members(s, f.Team, records, f.Running), v.Agents, now)
		v.Agents = slices.DeleteFunc(v.Agents, func(a Agent) bool {
			return slices.ContainsFunc(v.Members, func(m Member) bool { return a.Key == string(orchestrator.KeyOf(m.Role, m.Name)) })
		})
	}
	if s.Gate != nil && !s.Ended() {
		v.Gate, v.Digest = story.GateNoun(s.Gate.Name), s.GateDigest()
		v.Why = plain(story.GateWhy(s.Gate.Reason))
	}
	if s.Schedule != nil && s.SubplanCount > 0 {
		v.Plan = fmt.Sprintf("%d of %d done", len(s.CompletedSubplans), s.SubplanCount)
	}
	v.Headline = headline(s, v)
	return v
}

func title(s *orchestrator.State) string {
	if s.IssueNumber == 0 {
		return plain(string(s.IssueTitle))
	}
	return plain(fmt.Sprintf("%s#%d %s", s.Repo, s.IssueNumber, s.IssueTitle))
}

func pullRequest(s *orchestrator.State) string {
	c := s.Completion
	if c.PRNumber == 0 {
		return ""
	}
	text := fmt.Sprintf("#%d %s", c.PRNumber, c.PRURL)
	if c.Draft {
		text += " (draft)"
	}
	return plain(text)
}

func elapsed(s *orchestrator.State, st story.Story, now time.Time) time.Duration {
	if s.Ended() && !st.Ended.IsZero() {
		now = st.Ended
	}
	return since(s.CreatedAt, now)
}

// headline says what happens now, the most pressing first.
func headline(s *orchestrator.State, v View) string {
	switch {
	case v.Outcome != nil:
		return v.Outcome.Word
	case v.Gate != "":
		return "the " + v.Gate + " waits for you"
	case v.Question != nil:
		return "a question waits for you"
	case s.Paused:
		return "paused in " + plain(s.Phase)
	case s.AwaitingSummary:
		return "summing up"
	}
	return plain(s.Phase)
}

// outcome is told as status tells it.
func outcome(s *orchestrator.State, st story.Story) *Outcome {
	if !s.Ended() {
		return nil
	}
	o := &Outcome{Word: strings.ReplaceAll(plain(string(s.Outcome)), "_", " "), Good: s.Outcome == orchestrator.OutcomeDone}
	reason := st.Sentence
	if reason == "" {
		reason = strings.ReplaceAll(string(s.OutcomeReason), "_", " ")
	}
	o.Reason, o.Next = plain(reason), plain(st.Next())
	return o
}

func question(s *orchestrator.State) *Question {
	var found *Question
	if s.Ended() && !s.Parked() {
		return nil
	}
	for _, q := range s.Questions {
		switch {
		case !q.Open():
		case found != nil:
			found.More++
		default:
			found = &Question{ID: q.ID, From: plain(string(orchestrator.KeyOf(q.Role, q.Task))), Text: plain(q.Text)}
			for _, o := range q.Options {
				found.Options = append(found.Options, plain(o))
			}
		}
	}
	return found
}

// phaseRows marks each phase. Phases behind the current one that were never
// visited were skipped; those in front of it are to come, unless this round has
// visited them already, as in review and fixing.
func phaseRows(s *orchestrator.State, ids []string, times story.Phases, now time.Time) []Phase {
	current := s.Phase
	if s.Phase == orchestrator.PhaseFailed {
		current = string(s.InterruptedPhase)
	}
	at := slices.Index(ids, current)
	if s.Phase == orchestrator.PhaseDone {
		at = len(ids)
	}
	ended := times.Spent(ids)
	var rows []Phase
	for i, id := range ids {
		spent, visited := ended[id]
		row := Phase{ID: plain(id), Mark: MarkPending, Spent: spent}
		switch {
		case i == at && s.Phase == orchestrator.PhaseFailed, i == at && s.Parked():
			row.Mark = MarkFailed
		case i == at:
			row.Mark = MarkCurrent
			row.Spent += since(s.PhaseEnteredAt, now)
			row.Note = phaseNote(s)
		case visited:
			row.Mark = MarkDone
		case i < at:
			row.Mark = MarkSkipped
		}
		rows = append(rows, row)
	}
	return rows
}

// since returns the span from t to now; 0 if t is not set.
func since(t orchestrator.Time, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return now.Sub(t.Time)
}

func phaseNote(s *orchestrator.State) string {
	if s.AwaitingSummary {
		return "summary"
	}
	if s.ReviewIteration > 0 && !s.Ended() && s.Gate == nil {
		return fmt.Sprintf("round %d", s.ReviewIteration+1)
	}
	return ""
}

// subplanMarks show the state of a subplan.
var subplanMarks = map[string]string{
	orchestrator.SubplanRunning: MarkCurrent, orchestrator.SubplanSubmitted: MarkCurrent,
	orchestrator.SubplanConflict: MarkFailed, orchestrator.SubplanDone: MarkDone,
}

func groups(s *orchestrator.State) []Group {
	if s.Schedule == nil {
		return nil
	}
	var out []Group
	for _, g := range s.Schedule.Groups {
		group := Group{Name: plain(g.ID + " (" + g.Mode + ")")}
		for _, id := range g.Plans {
			status := s.SubplanStatus[id]
			row := Row{Mark: MarkPending, Text: plain(id + " " + s.Schedule.Titles[id])}
			if mark, ok := subplanMarks[status]; ok {
				row.Mark = mark
			}
			if status != "" && status != orchestrator.SubplanPending && status != orchestrator.SubplanDone {
				row.Right = plain(status)
			}
			group.Plans = append(group.Plans, row)
		}
		out = append(out, group)
	}
	return out
}

func reviews(s *orchestrator.State) []Row {
	var rows []Row
	for _, role := range slices.Sorted(maps.Keys(s.ReviewResults)) {
		r := s.ReviewResults[role]
		row := Row{Mark: MarkDone, Text: plain(role), Right: "pass, round " + strconv.Itoa(r.Iteration+1)}
		if r.Verdict != "pass" {
			row.Mark = MarkFailed
			row.Right = fmt.Sprintf("%d findings, round %d", r.Findings, r.Iteration+1)
		}
		rows = append(rows, row)
	}
	return rows
}

func research(s *orchestrator.State) []Row {
	var rows []Row
	for _, kind := range []struct {
		name   string
		topics map[string]string
	}{{"code", s.ResearchTasks}, {"web", s.WebResearchTasks}} {
		for _, topic := range slices.Sorted(maps.Keys(kind.topics)) {
			row := Row{Mark: MarkCurrent, Text: plain(topic), Right: kind.name}
			switch kind.topics[topic] {
			case orchestrator.ResearchDone:
				row.Mark = MarkDone
			case orchestrator.ResearchFailed:
				row.Mark = MarkFailed
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func atWork(s *orchestrator.State, told story.Agents, now time.Time) []Agent {
	var out []Agent
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		a := s.Agents[key]
		again := s.Deadlines[orchestrator.RelaunchTimer(key)]
		if s.Ended() || a.Launch == "" && a.Waiting == "" && again.IsZero() {
			continue
		}
		know := told[key]
		row := Agent{Key: plain(string(key)), Provider: plain(know.Provider), State: stateAtWork, Doing: plain(know.Doing)}
		if !know.Started.IsZero() {
			row.Since = now.Sub(know.Started)
		}
		switch {
		case a.Waiting != "":
			row.State = "waits: " + plain(string(a.Waiting))
		case a.Limited && a.Until.After(now):
			row.State, row.Alarm = "waits for its provider, again in "+lasted(a.Until.Sub(now)), true
		case !again.IsZero():
			row.State, row.Alarm = "again in "+lasted(again.Sub(now)), true
		case know.Launch != a.Launch:
			row.State, row.Since, row.Doing = "starting", 0, ""
		case know.Silent > 0:
			row.State, row.Alarm = "silent "+lasted(know.Silent), true
		}
		out = append(out, row)
	}
	return out
}

// markInks are the inks of marks.
var markInks = map[string]paint.Ink{
	MarkCurrent: paint.Busy, MarkDone: paint.Good, MarkFailed: paint.Bad, MarkSkipped: paint.Faint, MarkPending: paint.Faint,
}
