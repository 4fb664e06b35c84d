package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// coders is a session with two coders side by side that do nothing by themselves, each in its
// own workspace. The take of a task's work waits until let(task).
type coders struct {
	*world
	*host
	free map[string]chan struct{}
}

const coder2, coder3 orchestrator.Launch = "2.coder.2.1", "2.coder.3.1"

func twoCoders(t *testing.T, o engine.Options) *coders {
	t.Helper()
	w := newWorld(t, "quick", nil)
	c := &coders{world: w, free: map[string]chan struct{}{"1": make(chan struct{}), "2": make(chan struct{}), "3": make(chan struct{})}}
	c.let("1")
	w.take = c.slow
	w.play = func(w *world, e orchestrator.Effect) {
		if l := e.Args.Launch; l != coder2 && l != coder3 {
			honest(w, e)
		}
	}
	c.host = w.start(o)
	c.until("at work", func(*orchestrator.State) bool {
		return slices.Contains(w.launches(), coder2) && slices.Contains(w.launches(), coder3)
	})
	c.pass(5 * time.Second)
	return c
}

func (c *coders) slow(ctx context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error) {
	select {
	case <-c.free[t.Task]:
		return snapshotOf(t), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *coders) let(task string) { close(c.free[task]) }

// handIn submits the work of a coder with an id of its own for the line.
func (w *world) handIn(launch orchestrator.Launch, id, more string) {
	parts, _ := launch.Parts()
	w.append(fmt.Sprintf(`{"tool":"submit_done","payload":{"subplan_index":%s},"id":%q,"role":"coder","task":%q,"launch":%q,"visit":%d%s}`,
		parts.Task, id, parts.Task, launch, parts.Visit, more) + "\n")
}

// takenOf returns how often the work of a task was taken.
func (w *world) takenOf(task string) int {
	n := 0
	for _, t := range w.taken() {
		if t.Task == task {
			n++
		}
	}
	return n
}

// submissions returns "task tree" of what coders handed in and the session took.
func (w *world) submissions() []string {
	var out []string
	for _, e := range w.events(orchestrator.EvSubmission) {
		if d := e.Data.(orchestrator.SubmissionRecord); d.Role == "coder" {
			out = append(out, d.Task+" "+d.Tree)
		}
	}
	return out
}

func (c *coders) wantSubmissions(want ...string) {
	c.t.Helper()
	if got := c.submissions(); !slices.Equal(got, want) {
		c.t.Errorf("submissions are %q, want %q", got, want)
	}
}

// wantDone waits for the end of the session, which no agent was lost in.
func (c *coders) wantDone() {
	c.t.Helper()
	if st := c.host.wait(); st.Outcome != orchestrator.OutcomeDone {
		c.t.Errorf("ended %s %s: %s", st.Outcome, st.OutcomeReason, st.Cause)
	}
	for _, launch := range c.launches() {
		if parts, _ := launch.Parts(); parts.Role == "coder" && parts.Attempt != 1 {
			c.t.Errorf("%s was started", launch)
		}
	}
}

func (w *world) has(entry string) bool {
	return slices.ContainsFunc(w.entries(), func(s string) bool { return strings.HasPrefix(s, entry) })
}

func TestSubmissionsWaitForTheirWorkAndCountInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		c.let("3")
		before := c.state().ToolCursor
		c.submit(coder2, "submit_done", `{"subplan_index":2}`)
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.pass(time.Minute)
		c.wantSubmissions("1 work of 2.1")
		if c.takenOf("2") != 1 || c.takenOf("3") != 1 || c.has("end take 2.2") || !c.has("end take 2.3") || c.state().ToolCursor != before {
			t.Errorf("takes %v, cursor %+v, before %+v", c.taken(), c.state().ToolCursor, before)
		}
		c.let("2")
		c.wantDone()
		c.wantSubmissions("1 work of 2.1", "2 work of 2.2", "3 work of 2.3")
		if n := len(c.taken()); n != 3 {
			t.Errorf("work is taken %d times", n)
		}
	})
}

// Of one workspace only one submission is taken at a time: if the first is refused, the second
// is taken as it stands then. Else it is "already submitted".
func TestSubmissionsOfOneWorkspaceAreTakenOneAfterTheOther(t *testing.T) {
	for name, row := range map[string]struct {
		problem string
		takes   int
	}{"the first is refused": {"the disk is full", 2}, "the first is taken": {"", 1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := twoCoders(t, engine.Options{})
				running := make(chan struct{}, 1)
				c.take = func(ctx context.Context, taking orchestrator.Taking) (*orchestrator.Snapshot, error) {
					if taking.Task == "3" {
						return c.slow(ctx, taking)
					}
					running <- struct{}{} // has room for one
					snapshot, err := c.slow(ctx, taking)
					<-running
					if c.takenOf("2") == 1 && row.problem != "" {
						return nil, errors.New(row.problem)
					}
					return snapshot, err
				}
				c.submit(coder3, "submit_done", `{"subplan_index":3}`) // in front of them, so that they wait when they are taken
				for i := range 5 {
					c.handIn(coder2, fmt.Sprint("line ", i), "")
				}
				c.pass(time.Minute)
				if n := c.takenOf("2"); n != 1 {
					t.Errorf("%d takes of one workspace side by side", n)
				}
				c.let("2")
				c.pass(time.Minute)
				if n := c.takenOf("2"); n != 1 {
					t.Errorf("%d takes of one workspace before the first is decided about", n)
				}
				c.let("3")
				c.wantDone()
				if n := c.takenOf("2"); n != row.takes {
					t.Errorf("%d takes, want %d", n, row.takes)
				}
			})
		})
	}
}

// The next submission of a workspace does not wait for anything but the decision about the one
// before.
func TestASubmissionBehindARefusedOneIsTakenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		var begun []time.Time
		c.take = func(_ context.Context, taking orchestrator.Taking) (*orchestrator.Snapshot, error) {
			if taking.Task == "2" {
				begun = append(begun, time.Now())
			}
			if len(begun) == 1 {
				c.pass(time.Second) // ends between two looks
				return nil, errors.New("no space left")
			}
			return snapshotOf(taking), nil
		}
		now := fmt.Sprintf(`,"timestamp":%q`, time.Now().UTC().Format(time.RFC3339)) // the tool waits, so no message is sent
		c.handIn(coder2, "first", now)
		c.handIn(coder2, "second", now)
		c.until("taken", func(*orchestrator.State) bool { return len(c.submissions()) == 2 })
		if len(begun) != 2 || begun[1].Sub(begun[0]) > time.Second {
			t.Errorf("the takes begin at %v", begun)
		}
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.wantDone()
	})
}

// C5: an agent that ends while its work is taken is not lost.
func TestProtocolC5AnExitWhileItsWorkIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		c.let("3")
		c.submit(coder2, "submit_done", `{"subplan_index":2}`)
		c.pass(5 * time.Second)
		code := 1
		c.pane(coder2, func(rep *orchestrator.AgentReport) { rep.Condition, rep.ExitCode = orchestrator.AgentDead, &code })
		c.pass(10 * time.Minute)
		if a := c.state().Agents["coder/2"]; a.Launch != coder2 || a.Retries != 0 {
			t.Errorf("the agent counts as lost: %+v", a)
		}
		c.let("2")
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.wantDone()
	})
}

// Work that cannot be taken is refused with the cause, and may be handed in again.
func TestWorkThatCannotBeTakenIsRefused(t *testing.T) {
	for name, end := range map[string]func() (*orchestrator.Snapshot, error){
		"fails":  func() (*orchestrator.Snapshot, error) { return nil, errors.New("no space left") },
		"panics": func() (*orchestrator.Snapshot, error) { panic("no space left") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := twoCoders(t, engine.Options{})
				c.take = func(ctx context.Context, taking orchestrator.Taking) (*orchestrator.Snapshot, error) {
					if c.takenOf("2") == 1 && taking.Task == "2" {
						return end()
					}
					return snapshotOf(taking), nil
				}
				c.handIn(coder2, "first", "")
				c.pass(5 * time.Second)
				found := c.events(orchestrator.EvInputRejected)
				if len(found) != 1 {
					t.Fatalf("%d refusals", len(found))
				}
				if d := found[0].Data.(orchestrator.InputRejectedRecord); d.Line != "first" || len(d.Errors) != 1 || !strings.Contains(d.Errors[0], "no space left") {
					t.Errorf("the refusal is %+v", d)
				}
				c.handIn(coder2, "second", "")
				c.submit(coder3, "submit_done", `{"subplan_index":3}`)
				c.wantDone()
			})
		})
	}
}

// J11: a host that ends while it takes work says nothing about it; the next one takes it.
func TestProtocolJ11AnInterruptedTakeIsDoneAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		c.submit(coder2, "submit_done", `{"subplan_index":2}`)
		c.pass(5 * time.Second)
		before := c.state().Seq
		c.stop()
		if seq := c.state().Seq; seq != before || c.takenOf("2") != 1 {
			t.Errorf("%d records, before %d; %d takes", seq, before, c.takenOf("2"))
		}
		c.let("2")
		c.let("3")
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.host = c.start(engine.Options{})
		c.wantDone()
		if n := c.takenOf("2"); n != 2 {
			t.Errorf("%d takes, want 2", n)
		}
		c.wantSubmissions("1 work of 2.1", "2 work of 2.2", "3 work of 2.3")
	})
}

// J11: what was taken while the session is paused counts when it goes on.
func TestProtocolJ11APauseWhileWorkIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		c.submit(coder2, "submit_done", `{"subplan_index":2}`)
		c.pass(5 * time.Second)
		c.command(`{"name":"pause","actor":"ann","source_id":"1"}`)
		c.until("paused", func(st *orchestrator.State) bool { return st.Paused })
		c.let("2")
		c.pass(time.Minute)
		c.wantSubmissions("1 work of 2.1")
		c.command(`{"name":"resume","actor":"ann","source_id":"2"}`)
		c.until("going on", func(st *orchestrator.State) bool { return !st.Paused })
		c.pass(5 * time.Second)
		c.wantSubmissions("1 work of 2.1", "2 work of 2.2")
		if n := c.takenOf("2"); n != 1 {
			t.Errorf("%d takes, want 1", n)
		}
		c.let("3")
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.wantDone()
	})
}

// R6: a resume takes what was submitted before it starts an agent.
func TestProtocolR6AResumeTakesWorkBeforeItLaunches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		c.stop()
		clear(c.panes) // the machine went down
		before := c.launches()
		c.submit(coder2, "submit_done", `{"subplan_index":2}`)
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.host = c.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
		c.pass(time.Minute)
		if got := c.launches(); !slices.Equal(got, before) {
			t.Errorf("launches are %v, before %v", got, before)
		}
		c.let("2")
		c.let("3")
		c.wantDone()
	})
}

// Nobody waits any more for the answer to an old line of a tool: its launch ends first.
func TestOldSubmissionsEndTheirLaunchFirst(t *testing.T) {
	at := func(age time.Duration) string {
		return fmt.Sprintf(`,"timestamp":%q`, time.Now().Add(-age).UTC().Format(time.RFC3339))
	}
	for name, row := range map[string]struct {
		line func(w *world)
		end  bool
	}{
		"old":            {func(w *world) { w.handIn(coder2, "a", at(11*time.Second)) }, true},
		"young":          {func(w *world) { w.handIn(coder2, "a", at(2*time.Second)) }, false},
		"without a time": {func(w *world) { w.handIn(coder2, "a", "") }, false},
		"old and by hand": {func(w *world) {
			w.append(`{"tool":"submit_done","payload":{"subplan_index":2},"role":"coder","task":"2","launch":"2.coder.2.1"` + at(time.Hour) + "}\n")
		}, false},
		"old and of a person's tool": {func(w *world) {
			w.append(`{"tool":"submit_done","payload":{"subplan_index":2},"id":"a"` + at(time.Hour) + "}\n")
		}, false},
		"old and of nobody": {func(w *world) {
			w.append(`{"tool":"submit_done","payload":{"subplan_index":2}` + at(time.Hour) + "}\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := twoCoders(t, engine.Options{})
				c.let("2")
				c.let("3")
				row.line(c.world)
				c.until("taken", func(*orchestrator.State) bool { return len(c.submissions()) == 2 })
				if all := c.taken(); all[1].Task != "2" || all[1].End != row.end || all[1].Launch != coder2 {
					t.Errorf("the takes are %+v", all)
				}
				c.submit(coder3, "submit_done", `{"subplan_index":3}`)
				c.wantDone()
			})
		})
	}
}

func TestWorkOfAMarkerThatAPersonMadeIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		c.write("06_implementation/done_2", "")
		c.pass(time.Minute)
		c.wantSubmissions("1 work of 2.1")
		c.let("2")
		c.until("taken", func(*orchestrator.State) bool { return len(c.submissions()) == 2 })
		c.wantSubmissions("1 work of 2.1", "2 work of 2.2")
		c.let("3")
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		c.wantDone()
		if n := c.takenOf("2"); n != 1 {
			t.Errorf("%d takes, want 1", n)
		}
	})
}

// A line that is there no more when its work is taken holds nothing back: neither the report of
// its agent nor a new line.
func TestALineThatIsGoneIsHeldNoMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{})
		data, err := os.ReadFile(c.s.Path(session.ToolEvents))
		if err != nil {
			t.Fatal(err)
		}
		c.handIn(coder2, "gone", "")
		c.pass(5 * time.Second)
		if err := c.s.Replace(session.ToolEvents, data); err != nil {
			t.Fatal(err)
		}
		c.let("2")
		c.let("3")
		c.pass(5 * time.Second)
		code := 1
		c.pane(coder2, func(rep *orchestrator.AgentReport) { rep.Condition, rep.ExitCode = orchestrator.AgentDead, &code })
		c.until("lost", func(st *orchestrator.State) bool { return st.Agents["coder/2"].Retries == 1 })
		c.wantSubmissions("1 work of 2.1")
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		if st := c.host.wait(); st.Outcome != orchestrator.OutcomeDone {
			t.Errorf("ended %s: %s", st.Outcome, st.Cause)
		}
	})
}

// Lines that do not count take no work, however many they are.
func TestAFloodOfSubmissionsTakesNoWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		forged := func(l orchestrator.Line) bool { return strings.HasPrefix(l.ID, "forged") }
		c := twoCoders(t, engine.Options{Forged: forged})
		c.let("2")
		c.let("3")
		for i := range 300 {
			c.handIn(coder2, fmt.Sprint("forged ", i), "")
			c.handIn("1.coder.2.1", fmt.Sprint("former ", i), "")
		}
		c.pass(time.Minute)
		if n := c.takenOf("2"); n != 0 {
			t.Fatalf("%d takes for lines that do not count", n)
		}
		c.submit(coder3, "submit_done", `{"subplan_index":3}`)
		for range 300 {
			c.handIn(coder2, "the same", "")
		}
		c.wantDone()
		if n := c.takenOf("2"); n != 1 {
			t.Errorf("%d takes for one line and its copies", n)
		}
	})
}

// What agents hand in until they have ended is decided about before the session goes to another host, which cannot believe
// such a line. What follows from it begins there.
func TestWhatIsHandedInUntilTheAgentsEndIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *coders
		vacated := 0
		c = twoCoders(t, engine.Options{Vacate: func(s *orchestrator.State) bool {
			vacated++
			c.handIn(coder3, "second", "")
			c.let("2")
			c.let("3")
			return true
		}})
		c.handIn(coder2, "first", "")
		c.pass(time.Second)
		c.wantSubmissions("1 work of 2.1")
		begun, started := len(c.entries()), len(c.launches())
		c.host.stop()
		c.wantSubmissions("1 work of 2.1", "2 work of 2.2", "3 work of 2.3")
		for _, e := range c.entries()[begun:] {
			if !strings.Contains(e, "take ") {
				t.Errorf("after the agents: %s", e)
			}
		}
		if s := c.state(); vacated != 1 || s.Ended() || len(s.Pending) == 0 || len(c.launches()) != started {
			t.Errorf("vacated %d times, outcome %q, pending %v, launches %q", vacated, s.Outcome, s.Pending, c.launches())
		}
	})
}

// A host that stops and leaves its agents at work leaves their lines to the next one.
func TestAHostThatStopsLeavesLinesToTheNextOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{Vacate: func(*orchestrator.State) bool { return false }})
		c.handIn(coder2, "first", "")
		c.pass(time.Second)
		c.host.stop()
		c.wantSubmissions("1 work of 2.1")
	})
}

// What agents of a paused session have handed in is taken when the session is handed over, too: the next host cannot tell
// who wrote their lines. The session stays paused, and nothing starts.
func TestWhatIsHandedInDuringAPauseIsTakenBeforeAHandOver(t *testing.T) {
	for name, vacates := range map[string]bool{"handed over": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var c *coders
				c = twoCoders(t, engine.Options{Vacate: func(*orchestrator.State) bool {
					c.let("2")
					c.let("3")
					return vacates
				}})
				c.command(`{"name":"pause","actor":"ann","source_id":"1"}`)
				c.until("paused", func(st *orchestrator.State) bool { return st.Paused })
				c.handIn(coder2, "first", "")
				c.handIn(coder3, "second", "")
				c.pass(time.Second)
				started := len(c.launches())
				c.host.stop()
				want := []string{"1 work of 2.1"}
				if vacates {
					want = append(want, "2 work of 2.2", "3 work of 2.3")
				}
				c.wantSubmissions(want...)
				if s := c.state(); !s.Paused || s.Ended() || len(c.launches()) != started {
					t.Errorf("paused %v, outcome %q, launches %q", s.Paused, s.Outcome, c.launches())
				}
			})
		})
	}
}

// A host that is killed hands nothing over, and the next one cannot tell who wrote the lines of its checkpoint. So what agents of a
// paused session have handed in is taken before each checkpoint that others may continue from; the session stays paused.
func TestWhatIsHandedInDuringAPauseIsTakenBeforeACheckpoint(t *testing.T) {
	for name, leaves := range map[string]bool{"others may continue": true, "here alone": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := twoCoders(t, engine.Options{Leaves: leaves})
				c.command(`{"name":"pause","actor":"ann","source_id":"1"}`)
				c.until("paused", func(st *orchestrator.State) bool { return st.Paused })
				c.handIn(coder2, "first", "")
				started, every := len(c.launches()), c.state().Settings.CheckpointEvery.D()
				c.pass(every + time.Minute) // the work is being taken: the checkpoint waits for it
				c.let("2")
				c.let("3")
				c.pass(time.Second)
				want := []string{"1 work of 2.1"}
				if leaves {
					want = append(want, "2 work of 2.2")
				}
				c.wantSubmissions(want...)
				c.handIn(coder3, "second", "")
				c.pass(every + time.Minute)
				if leaves {
					want = append(want, "3 work of 2.3")
				}
				c.wantSubmissions(want...)
				if s := c.state(); !s.Paused || s.Ended() || len(c.launches()) != started {
					t.Errorf("paused %v, outcome %q, launches %q", s.Paused, s.Outcome, c.launches())
				}
				c.command(`{"name":"resume","actor":"ann","source_id":"2"}`)
				c.wantDone()
			})
		})
	}
}

// Row R7: what an agent of a paused session hands in is taken at once where others may continue, and the session is saved behind it: a host
// that is killed before a checkpoint is due has lost nothing that was handed in. What an agent only says waits.
func TestProtocolR7WhatIsHandedInDuringAPauseIsSavedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := twoCoders(t, engine.Options{Leaves: true})
		c.command(`{"name":"pause","actor":"ann","source_id":"1"}`)
		c.until("paused", func(st *orchestrator.State) bool { return st.Paused })
		saved := func() int {
			return len(slices.DeleteFunc(c.entries(), func(e string) bool { return !strings.HasPrefix(e, "begin checkpoint") }))
		}
		before, cursor := saved(), c.state().ToolCursor
		c.append(`{"tool":"ask_human","payload":{"question":"Which?"},"id":"asked","role":"coder","task":"2","launch":"` + string(coder2) + `"}` + "\n")
		c.pass(time.Second)
		if c.state().ToolCursor != cursor || saved() != before {
			t.Errorf("a question is taken in a pause")
		}
		c.handIn(coder2, "first", "")
		c.pass(time.Second)
		c.let("2")
		c.pass(5 * time.Second)
		c.wantSubmissions("1 work of 2.1", "2 work of 2.2")
		if n := saved(); n != before+1 || !c.state().Paused {
			t.Errorf("saved %d times, paused %v", n-before, c.state().Paused)
		}
	})
}
