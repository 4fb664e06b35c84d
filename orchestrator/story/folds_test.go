package story_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// at gives records numbers from 1 and times a minute apart.
func at(data ...orchestrator.Record) []orchestrator.Event {
	var records []orchestrator.Event
	for i, d := range data {
		records = append(records, orchestrator.Event{Seq: i + 1, TS: orchestrator.At(minute(i + 1)), Type: d.Type(), Data: d})
	}
	return records
}

func minute(n int) time.Time { return time.Unix(int64(n)*60, 0).UTC() }

func TestTimesOfPhasesBehindANewPlanBeginAgain(t *testing.T) {
	enter := func(phase, kind string) orchestrator.Record {
		return orchestrator.PhaseEnteredRecord{Phase: phase, Kind: kind}
	}
	leave := func(phase string, seconds int) orchestrator.Record {
		return orchestrator.PhaseLeftRecord{Phase: phase, Seconds: seconds}
	}
	once := []orchestrator.Record{
		leave("intake", 9), enter("planning", "plan"), leave("planning", 2), enter("coding", "implement"), leave("coding", 5),
	}
	replanned := append(once[:len(once):len(once)], enter("planning", "plan"), leave("planning", 3))
	for name, c := range map[string]struct {
		records []orchestrator.Record
		want    map[string]time.Duration
	}{
		"none":              {nil, nil},
		"one round":         {once, map[string]time.Duration{"planning": 2 * time.Second, "coding": 5 * time.Second}},
		"a second plan":     {replanned, map[string]time.Duration{"planning": 5 * time.Second}},
		"coding once again": {append(replanned[:len(replanned):len(replanned)], enter("coding", "implement")), map[string]time.Duration{"planning": 5 * time.Second, "coding": 5 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			var p story.Phases
			for _, e := range at(c.records...) {
				p.Fold(e)
			}
			if got := p.Spent([]string{"intake", "planning", "coding"}); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestAnAgentIsItsNewestLaunch(t *testing.T) {
	var a story.Agents
	for _, e := range at(
		orchestrator.AgentStalledRecord{Role: "coder", Task: "1", Seconds: 30},
		orchestrator.AgentStartedRecord{Role: "coder", Task: "1", Launch: "2.coder.1", Provider: "script"},
		orchestrator.AgentStatusRecord{Role: "coder", Task: "1", CurrentTask: "reads"},
		orchestrator.AgentStalledRecord{Role: "coder", Task: "1", Seconds: 60},
	) {
		a.Fold(e)
	}
	want := story.Agents{orchestrator.KeyOf("coder", "1"): {
		Launch: "2.coder.1", Provider: "script", Doing: "reads", Started: minute(2), Silent: time.Minute,
	}}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, want %+v", a, want)
	}
}

// The line of a failure says what failed and why, also where a file names no reader, and for the records
// of earlier versions.
func TestALineSaysWhatFailed(t *testing.T) {
	for want, record := range map[string]orchestrator.Record{
		"build/words failed: exit 3; it printed last: no words": orchestrator.AgentFailedRecord{Role: "build", Task: "words", Cause: "exit 3", Tail: "start\n  no words \n"},
		"build/words failed: stopped by a person":               orchestrator.AgentFailedRecord{Role: "build", Task: "words", Cause: "stopped by a person"},
		"coder/1 failed: boom":                                  orchestrator.AgentFailedRecord{Role: "coder", Task: "1", Tail: "boom\nlast"},
		"message to shop/page failed: no pane":                  orchestrator.MsgFailedRecord{To: "shop/page", File: "msgs/x.md", Reason: "no pane"},
		"message x.md failed: the keys have no end":             orchestrator.MsgFailedRecord{File: "msgs/x.md", Reason: "the keys have no end"},
	} {
		if got := story.Line(orchestrator.Event{Type: record.Type(), Data: record}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A message belongs to the say of its commit; what becomes of it becomes of the say.
func TestALineNamesTheProviderThatTookOver(t *testing.T) {
	for want, d := range map[string]orchestrator.AgentStartedRecord{
		"coder/1 started": {Role: "coder", Task: "1", Provider: "claude"},
		"coder/1 started with codex, which takes over from claude": {Role: "coder", Task: "1", Provider: "codex", FallbackFor: "claude"},
	} {
		if got := story.Line(orchestrator.Event{Type: orchestrator.EvAgentStarted, Data: d}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An agent waits for its provider until it is heard of, or its phase is over. Earlier versions had another word for it.
func TestAnAgentIsLimitedUntilItIsHeardOf(t *testing.T) {
	waits := func(reason string) orchestrator.Record {
		return orchestrator.AgentWaitingRecord{Role: "coder", Task: "1", Launch: "2.coder.1.1", For: reason, Until: orchestrator.At(minute(90))}
	}
	for name, c := range map[string]struct {
		then    orchestrator.Record
		limited bool
	}{
		"at first":    {orchestrator.AgentStatusRecord{Role: "coder", Task: "2"}, true},
		"a report":    {orchestrator.AgentStatusRecord{Role: "coder", Task: "1"}, false},
		"a start":     {orchestrator.AgentStartedRecord{Role: "coder", Task: "1", Launch: "2.coder.1.2"}, false},
		"its end":     {orchestrator.AgentExitedRecord{Role: "coder", Task: "1"}, false},
		"its work":    {orchestrator.SubmissionRecord{Role: "coder", Task: "1"}, false},
		"a question":  {waits("question"), false},
		"a new phase": {enter("reviewing", "review"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, word := range []string{"rate_limit", "provider"} {
				a := told(2, waits(word), c.then).Agents["coder/1"]
				if a.Limited != c.limited || c.limited && !a.Until.Equal(minute(90)) {
					t.Errorf("%s: %+v", word, a)
				}
				if got := story.Line(orchestrator.Event{Type: orchestrator.EvAgentWaiting, Data: waits(word)}); got != "coder/1 waits for its provider until "+minute(90).Format("15:04 MST") {
					t.Errorf("%s is told as %q", word, got)
				}
			}
		})
	}
}

func TestASayIsWhatBecomesOfItsMessage(t *testing.T) {
	say := orchestrator.CommandAppliedRecord{Actor: "mia", Name: "say"}
	queued := orchestrator.MsgQueuedRecord{Seq: 7, To: "pipeline/coder"}
	for name, c := range map[string]struct {
		then   orchestrator.Record
		result story.CommandResult
		reason string
	}{
		"delivered":         {orchestrator.MsgDeliveredRecord{Seq: 7}, story.CommandDelivered, ""},
		"read":              {orchestrator.MsgAckedRecord{Seq: 7}, story.CommandDelivered, ""},
		"failed":            {orchestrator.MsgFailedRecord{Seq: 7, Reason: "no pane"}, story.CommandLost, "no pane"},
		"orphaned":          {orchestrator.MsgOrphanedRecord{Seq: 7, Reason: "it ended"}, story.CommandLost, "it ended"},
		"another's message": {orchestrator.MsgDeliveredRecord{Seq: 8}, story.CommandQueued, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var all story.Commands
			for _, e := range at(orchestrator.CommandRefusedRecord{Actor: "mia", Name: "approve", Reason: "no gate"}, say, queued, c.then) {
				all.Fold(e)
			}
			if len(all) != 2 || all[0].Result != story.CommandRefused || all[0].Reason != "no gate" {
				t.Fatalf("%+v", all)
			}
			if got := all[1]; got.Result != c.result || got.Reason != c.reason || got.To != "coder" || got.At != minute(2) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWhatWasAskedIsClosedOnce(t *testing.T) {
	var a story.Asks
	for _, e := range at(
		orchestrator.GateClosedRecord{Gate: "plan", Action: "approve", Actor: "nobody"}, // of a gate that no record opened
		orchestrator.QuestionAskedRecord{ID: "q1", Role: "coder", Text: "v1 or v2?"},
		orchestrator.QuestionAskedRecord{ID: "q2", Role: "coder", Text: "now?"},
		orchestrator.QuestionAnsweredRecord{ID: "q1", Actor: "mia"},
		orchestrator.QuestionAnsweredRecord{ID: "q1", Actor: "noa"},
		orchestrator.GateOpenedRecord{Gate: "completion"},
		orchestrator.GateClosedRecord{Gate: "completion", Action: "approve", Actor: "mia"},
	) {
		a.Fold(e)
	}
	if open := a.Open(); len(open) != 1 || open[0].ID != "q2" || open[0].Seq != 3 {
		t.Errorf("open: %+v", open)
	}
	if len(a.Closed) != 2 || a.Closed[0].Actor != "mia" || a.Closed[0].Seq != 2 || a.Closed[1].Gate == nil || a.Closed[1].Seq != 6 {
		t.Errorf("closed: %+v", a.Closed)
	}
}

func TestAPersonAtAPaneIsToldOnce(t *testing.T) {
	var p story.Persons
	for _, e := range at(
		orchestrator.PersonTypedRecord{Role: "coder", Task: "1", Turn: 1}, orchestrator.PersonTypedRecord{Role: "coder", Task: "1", Turn: 2},
		orchestrator.PersonTypedRecord{Role: "planner", Turn: 1}, orchestrator.PersonTypedRecord{},
	) {
		p.Fold(e)
	}
	if got := p.Lines(); !reflect.DeepEqual(got, []string{"a person typed to coder/1, planner"}) {
		t.Errorf("%q", got)
	}
	if got := p.Of("1").Lines(); !reflect.DeepEqual(got, []string{"a person typed to coder/1"}) {
		t.Errorf("of a task: %q", got)
	}
	if got := p.Of("2").Lines(); got != nil {
		t.Errorf("of a task without a person: %q", got)
	}
}
