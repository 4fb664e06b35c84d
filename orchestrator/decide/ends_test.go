package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// An agent may be quicker than the answer that its window is there.
func TestASubmissionThatBeatsTheStartLeavesItsRecord(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Args.Launch == "2.coder.1.1" }
	m.planned("serial", 1)
	m.coded(1)
	m.hold = nil
	m.settle()
	m.phase("reviewing")
	var records []string
	for _, e := range m.events {
		started, _ := e.Data.(orchestrator.AgentStartedRecord)
		exited, _ := e.Data.(orchestrator.AgentExitedRecord)
		if started.Launch == "2.coder.1.1" || exited.Launch == "2.coder.1.1" {
			records = append(records, e.Type)
		}
	}
	if !slices.Equal(records, []string{orchestrator.EvAgentStarted, orchestrator.EvAgentExited}) {
		t.Errorf("records of the coder: %v", records)
	}
	t.Run("one that was not to be started yet is not started for that", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffEnsureWorkspace }
		m.planned("serial", 1)
		m.coded(1)
		m.hold = nil
		m.settle()
		m.phase("reviewing")
		if slices.Contains(m.ran(), "2.coder.1.1") {
			t.Error("the coder was started after its work was taken")
		}
	})
	t.Run("its start fails for good after it has spoken", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Args.Launch == "2.coder.1.1" }
		m.planned("serial", 1)
		m.coded(1)
		for _, e := range m.s.Pending {
			if e.Type == orchestrator.EffStartAgent && e.Args.Launch == "2.coder.1.1" {
				m.reduce(orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{ID: e.ID, Error: "no", Class: orchestrator.FailNever}})
			}
		}
		m.hold = nil
		m.settle()
		m.phase("reviewing")
	})
}

// A message that nobody read by the end is told by its file's name.
func TestMessagesThatReachedNobodyAreRenamedAtTheEnd(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
	m.command("say", map[string]any{"text": "hello"})
	file := m.s.Messages[0].File
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	renamed := m.effects(orchestrator.EffOrphan)
	if len(renamed) != 1 || !slices.Equal(renamed[0].Args.Paths, []string{file}) {
		t.Fatalf("renamed: %+v", renamed)
	}
	want := file[:len(file)-len(".md")] + "-orphan.md"
	if got := m.s.Messages[0]; got.State != orchestrator.MessageOrphan || got.File != want || m.last(orchestrator.EvMsgOrphaned).Data.(orchestrator.MsgOrphanedRecord).File != want {
		t.Errorf("message %+v", got)
	}
	m = newSim(t, "quick", nil)
	m.toEnd()
	if n := len(m.effects(orchestrator.EffOrphan)); n != 0 {
		t.Errorf("%d effects for no message", n)
	}
}

// Of a session that was only interrupted, messages wait for it to go on.
func TestMessagesOfAnInterruptedSessionWait(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
	m.command("say", map[string]any{"text": "hello"})
	m.command("stop", nil)
	if m.s.Messages[0].State != orchestrator.MessageQueued {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
	m.hold = nil
	m.resume("")
	if m.s.Messages[0].State != orchestrator.MessageDelivered {
		t.Errorf("message %+v", m.s.Messages[0])
	}
}

func TestProtocolA5AnIssueThatIsLockedOnTheWay(t *testing.T) {
	locked := orchestrator.Input{Kind: orchestrator.InLocked}
	asked := func(t *testing.T, change func(*orchestrator.State)) *sim {
		m := newSim(t, "quick", change)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q2", "question": "How?"}, nil)
		m.exit("planner", 0)
		return m
	}
	t.Run("what is open is decided at once, what comes later too", func(t *testing.T) {
		m := asked(t, nil)
		m.do(locked)
		for _, q := range m.s.Questions {
			if q.Open() || q.AnsweredBy != "system" {
				t.Errorf("question %+v", q)
			}
		}
		if a := m.s.Agents["planner"]; a.Launch != "1.planner.2" || a.Waiting != "" {
			t.Errorf("planner %+v", a)
		}
		before := m.s.Seq
		m.do(locked)
		if m.s.Seq != before {
			t.Error("the same lock is recorded again")
		}
		m.tool("ask_human", "planner", map[string]any{"id": "q3", "question": "When?"}, nil)
		if m.s.Questions[2].Open() {
			t.Error("a question waits for nobody")
		}
	})
	t.Run("park", func(t *testing.T) {
		m := asked(t, func(s *orchestrator.State) { s.Settings.QuestionTimeout = "park" })
		m.do(locked)
		m.parked(orchestrator.ReasonQuestion)
		m.command("answer", map[string]any{"id": "q1", "text": "this"}) // at a terminal
		if m.s.Ended() || m.s.Questions[0].Answer != "this" {
			t.Errorf("outcome %q, question %+v", m.s.Outcome, m.s.Questions[0])
		}
	})
	t.Run("while paused it waits, interactive it does not matter", func(t *testing.T) {
		m := asked(t, nil)
		m.command("pause", nil)
		m.do(locked)
		if !m.s.Questions[0].Open() {
			t.Error("decided in a pause")
		}
		m.command("resume", nil)
		m.do(locked)
		if m.s.Questions[0].Open() {
			t.Error("not decided after the pause")
		}
		m = asked(t, interactive)
		m.do(locked)
		if !m.s.Questions[0].Open() {
			t.Error("decided although a person is there")
		}
	})
}

// The answer may come between an agent's question and its end: that costs no retry, once.
func TestProtocolP12AnAnswerThatComesBeforeTheExit(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Reachable, s.Settings.AgentRetries = false, 0 })
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver } // a headless run takes none
	m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
	m.exit("planner", 0)
	if a := m.s.Agents["planner"]; m.s.Ended() || a.Launch != "1.planner.2" || a.Retries != 0 {
		t.Fatalf("outcome %q %q, planner %+v", m.s.Outcome, m.s.OutcomeReason, a)
	}
	m.exit("planner", 0)
	m.parked(orchestrator.ReasonAgentStalled)
	t.Run("research too", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
		m.tool("research_dispatch_code", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
		m.exit("code-researcher/auth", 1)
		m.exit("planner", 0)
		if m.s.Agents["planner"].Launch != "1.planner.2" {
			t.Errorf("planner %+v", m.s.Agents["planner"])
		}
	})
	t.Run("an end with an error is none", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Reachable, s.Settings.AgentRetries = false, 0 })
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 1)
		m.parked(orchestrator.ReasonAgentStalled)
	})
}

// A session that is told to go on and parks again at once is over as any other.
func TestARetryThatParksAtOnceLeavesNoDeadline(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApproveCompletion = true })
	m.toReview("serial", 1)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffMoveAside }
	m.fails("reviewer_logic")
	m.command("stop", nil)
	m.s.Settings.OnExhausted, m.s.Completion.Next = "stop", ""
	m.do(m.commandInput("retry", nil))
	m.parked(orchestrator.ReasonReviewExhausted)
	if len(m.s.Deadlines) != 0 {
		t.Errorf("deadlines %v", m.s.Deadlines)
	}
}

// What was handed in is saved at once, and so is, time and again, what agents have not handed in; a
// later checkpoint does not put off an earlier one, and one that did not get to the server is made up
// for.
func TestCheckpointsFollowTheWork(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.CheckpointEvery = orchestrator.Duration(time.Second) })
	m.planned("parallel", 2)
	m.settle()
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint }
	kept := func() orchestrator.Effect {
		i := slices.IndexFunc(m.s.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint })
		if i < 0 {
			t.Fatalf("no checkpoint: %+v", m.s.Pending)
		}
		return m.s.Pending[i]
	}
	m.timer("checkpoint")
	first := kept()
	if !slices.Equal(first.Args.Paths, []string{"2.1", "2.2"}) {
		t.Errorf("of agents at work: %v", first.Args.Paths)
	}
	m.timer("checkpoint")
	if next := kept(); next.ID == first.ID || next.NotBefore.After(first.NotBefore.Time) {
		t.Errorf("after %+v comes %+v", first, next)
	}
	before := kept().ID
	m.coded(1)
	if now := kept(); now.ID == before || now.Args.Paths == nil {
		t.Errorf("after a submission: %+v", now)
	}
	m.hold, m.result = nil, func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffCheckpoint {
			return orchestrator.Result{Path: "ref", Commit: "c", Skipped: "no network"}
		}
		return orchestrator.Result{}
	}
	m.settle()
	if at := m.s.Deadlines["checkpoint"]; at.Sub(m.now) > 20*time.Second {
		t.Errorf("the next one is made at %v", at)
	}
}

// A checkpoint lets agents go first, the next one replaces it, and the last one takes what
// was not submitted.
func TestCheckpoints(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Role == "coder" || e.Type == orchestrator.EffCheckpoint
	}
	m.planned("parallel", 2)
	kept := func() []orchestrator.Effect {
		return slices.DeleteFunc(slices.Clone(m.s.Pending), func(e orchestrator.Effect) bool { return e.Type != orchestrator.EffCheckpoint })
	}
	if got := kept(); len(got) != 1 || got[0].Args.Visit != 2 || len(got[0].After) != 2 || len(got[0].Args.Paths) != 0 {
		t.Fatalf("on entry: %+v", got)
	} else if pause := got[0].NotBefore.Sub(m.s.PhaseEnteredAt.Time); pause != time.Second {
		t.Errorf("it begins %s after the phase", pause)
	}
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint }
	m.settle()
	m.coded(1)
	m.command("stop", nil)
	if got := kept(); len(got) != 1 || !slices.Equal(got[0].Args.Paths, []string{"2.2"}) || !got[0].NotBefore.IsZero() {
		t.Errorf("at the end: %+v", got)
	}
}
