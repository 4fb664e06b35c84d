package story_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// An agent of an agents file is told as a session of its own: what others of its run do, and the end
// of the run, is not of it.
func TestProtocolM5AnAgentAloneIsTold(t *testing.T) {
	u := &story.Unit{Agent: "auth", Issue: 7, Branch: "shop/auth"}
	var p story.Progress
	seq := 0
	tell := func(d orchestrator.Record) bool {
		seq++
		e, ok := u.See(orchestrator.Event{Seq: seq, Type: d.Type(), Phase: "implementing", Visit: 1, Data: d})
		if ok {
			p.Fold(e)
		}
		return ok
	}
	for _, own := range []orchestrator.Record{
		orchestrator.SessionCreatedRecord{SessionID: "shop", Repo: "acme/widgets", Branch: "agentmux/shop"},
		orchestrator.PhaseEnteredRecord{Phase: "implementing", Kind: "team"},
		orchestrator.AgentStartedRecord{Role: "build", Task: "auth"},
		orchestrator.QuestionAskedRecord{ID: "q1", Task: "auth", Text: "Why?"},
		orchestrator.CommitCreatedRecord{Agent: "auth", SHA: "a"},
		orchestrator.BranchPushedRecord{Agent: "auth", Branch: "shop/auth", SHA: "a"},
		orchestrator.PROpenedRecord{Agent: "auth", Number: 4},
	} {
		if !tell(own) {
			t.Errorf("%T of the agent is not told", own)
		}
	}
	for _, other := range []orchestrator.Record{
		orchestrator.AgentStartedRecord{Role: "build", Task: "basket"},
		orchestrator.AgentFailedRecord{Role: "build", Task: "basket", Tail: "no"},
		orchestrator.QuestionAskedRecord{ID: "q2", Task: "basket", Text: "What?"},
		orchestrator.QuestionAnsweredRecord{ID: "q2"},
		orchestrator.CommitCreatedRecord{Agent: "basket", SHA: "b"},
		orchestrator.BranchPushedRecord{Agent: "basket", Branch: "shop/basket", SHA: "b"},
		orchestrator.PROpenedRecord{Agent: "basket", Number: 5},
		orchestrator.AgentMarkedRecord{Agent: "basket", Marker: "1"},
		orchestrator.CommandAppliedRecord{Name: "say"},
	} {
		if tell(other) {
			t.Errorf("%T of another agent is told", other)
		}
	}
	if p.Identity.Issue != 7 || p.Result.Branch != "shop/auth" || p.Result.Pull != 4 || p.Result.Commit != "a" || len(p.Asks.Questions) != 1 || !p.Live() {
		t.Fatalf("told %+v", p)
	}
	tell(orchestrator.AgentMarkedRecord{Agent: "auth", Marker: "0"})
	if tell(orchestrator.FailedRecord{Cause: "not done: basket (exit 1)"}) || p.End.Outcome != orchestrator.OutcomeDone {
		t.Errorf("the end is told as %+v", p.End)
	}
	if tell(orchestrator.ResumedRecord{To: "implementing"}) || p.Live() {
		t.Error("an agent that is done is told as live once the run continues")
	}
	if !tell(orchestrator.AgentStartedRecord{Role: "build", Task: "auth"}) || !p.Live() {
		t.Error("another try is not told as live")
	}
	tell(orchestrator.AgentBlockedRecord{Agent: "auth", Dependency: "plan"})
	tell(orchestrator.AgentMarkedRecord{Agent: "auth", Marker: "99"})
	if p.End.Outcome != orchestrator.OutcomeFailed || p.End.Cause() != "blocked by plan" {
		t.Errorf("blocked is told as %+v", p.End)
	}
}

// Of the commands of people those are told that are for the agent, and what became of what they said to it.
func TestProtocolM5CommandsForAnAgentAreToldOfItAlone(t *testing.T) {
	u := &story.Unit{Agent: "auth", Issue: 7}
	var c story.Commands
	for i, told := range []struct {
		record orchestrator.Record
		want   bool
	}{
		{orchestrator.CommandAppliedRecord{Name: "say", Agent: "basket", SourceID: "comment/1"}, false},
		{orchestrator.MsgQueuedRecord{Seq: 1, To: "shop/basket"}, false},
		{orchestrator.CommandAppliedRecord{Name: "say", Agent: "auth", SourceID: "comment/2"}, true},
		{orchestrator.MsgQueuedRecord{Seq: 2, To: "shop/auth"}, true},
		{orchestrator.MsgQueuedRecord{Seq: 3, To: "shop/auth"}, false}, // of another agent
		{orchestrator.MsgDeliveredRecord{Seq: 1}, false},
		{orchestrator.MsgDeliveredRecord{Seq: 3}, false},
		{orchestrator.MsgDeliveredRecord{Seq: 2}, true},
		{orchestrator.CommandRefusedRecord{Name: "answer", Agent: "basket"}, false},
		{orchestrator.CommandRefusedRecord{Name: "retry", Agent: "auth", Reason: "auth has not failed"}, true},
		{orchestrator.CommandAppliedRecord{Name: "pause"}, false},
	} {
		e, ok := u.See(orchestrator.Event{Seq: i + 1, Type: told.record.Type(), Data: told.record})
		if ok != told.want {
			t.Errorf("record %d, %+v: told %v", i, told.record, ok)
		}
		if ok {
			c.Fold(e)
		}
	}
	if len(c) != 2 || c[0].SourceID != "comment/2" || c[0].Result != story.CommandDelivered || c[1].Result != story.CommandRefused {
		t.Errorf("commands %+v", c)
	}
}
