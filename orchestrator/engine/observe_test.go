package engine_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// only lets one kind of agent sit idle.
func only(idles func(e orchestrator.Effect) bool) func(*world, orchestrator.Effect) {
	return func(w *world, e orchestrator.Effect) {
		if !idles(e) {
			honest(w, e)
		}
	}
}

func isCoder(e orchestrator.Effect) bool { return e.Args.Role == "coder" }

func isSummary(e orchestrator.Effect) bool {
	return strings.HasSuffix(e.Args.PromptFile, "summary_prompt.md")
}

// P3: a marker made by hand counts like a submission, the host's own does not.
func TestProtocolP3AMarkerMadeByHandCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = only(isCoder)
		h := w.start(engine.Options{})
		for _, id := range []string{"1", "2", "3"} {
			w.until("at subplan "+id, func(st *orchestrator.State) bool { return st.SubplanStatus[id] == "running" && len(st.Pending) == 0 })
			w.write("06_implementation/done_"+id, "")
		}
		st := h.wait()
		if st.Outcome != "done" || len(w.events(orchestrator.EvSubplanDone)) != 3 {
			t.Errorf("ended %s, %d subplans", st.Outcome, len(w.events(orchestrator.EvSubplanDone)))
		}
	})
}

// P3: a marker made before the turn of its subplan counts then, and nobody is started.
func TestProtocolP3AMarkerMadeBeforeItsDispatchCountsThen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = only(isCoder)
		h := w.start(engine.Options{})
		w.until("at subplan 1", func(st *orchestrator.State) bool { return st.SubplanStatus["1"] == "running" && len(st.Pending) == 0 })
		w.write("06_implementation/done_2", "")
		w.write("06_implementation/done_3", "")
		w.pass(5 * time.Second)
		if err := os.Remove(w.s.Path("06_implementation/done_3")); err != nil {
			t.Fatal(err)
		}
		w.pass(5 * time.Second)
		if st := w.state(); st.SubplanStatus["2"] != "pending" || st.SubplanStatus["3"] != "pending" {
			t.Fatalf("subplans %v", st.SubplanStatus)
		}
		w.write("06_implementation/done_1", "")
		w.until("at subplan 3", func(st *orchestrator.State) bool { return st.SubplanStatus["3"] == "running" && len(st.Pending) == 0 })
		if got := w.launches(); slices.Contains(got, "2.coder.2.1") || !slices.Contains(got, "2.coder.3.1") {
			t.Errorf("launches are %v", got)
		}
		w.write("06_implementation/done_3", "")
		if st := h.wait(); st.Outcome != "done" {
			t.Errorf("ended %s", st.Outcome)
		}
	})
}

// K5: a verdict of a role that does not run leaves one record and nothing else.
func TestProtocolK5AVerdictNobodyAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = only(func(e orchestrator.Effect) bool { return strings.HasPrefix(e.Args.Role, "reviewer") })
		w.start(engine.Options{})
		w.until("reviewing", func(st *orchestrator.State) bool { return st.Phase == "reviewing" && len(st.Pending) == 0 })
		w.write("07_review/review.yaml", "verdict: pass\nsummary: Fine.\n")
		w.pass(time.Minute)
		if st := w.state(); st.AwaitingSummary || len(w.events(orchestrator.EvInputIgnored)) != 1 {
			t.Errorf("awaiting %v, %d records", st.AwaitingSummary, len(w.events(orchestrator.EvInputIgnored)))
		}
	})
}

// C7: markers the host made itself complete no fix round.
func TestProtocolC7OldMarkersCompleteNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", nil)
		reviewed := 0
		w.play = func(w *world, e orchestrator.Effect) {
			switch {
			case strings.HasSuffix(e.Args.PromptFile, "fix_prompt.md"):
			case strings.HasPrefix(e.Args.Role, "reviewer") && reviewed == 0:
				reviewed++
				w.write(artifact.ReviewFile("07_review", e.Args.Role), "verdict: fail\nsummary: No.\nfindings: [{issue: a, recommendation: b}]\n")
				w.submit(e.Args.Launch, "submit_review", `{"role":"`+e.Args.Role+`","verdict":"fail"}`)
			default:
				honest(w, e)
			}
		}
		h := w.start(engine.Options{})
		w.until("fixing", func(st *orchestrator.State) bool { return st.Phase == "fixing" && len(st.Pending) == 0 })
		w.pass(time.Minute)
		if st := w.state(); st.Phase != "fixing" {
			t.Fatalf("phase is %s", st.Phase)
		}
		if _, err := os.Stat(w.s.Path("06_implementation/done_1")); err == nil {
			t.Error("the old marker is still there")
		}
		w.write("06_implementation/done_1", "")
		if st := h.wait(); st.Outcome != "done" || len(w.events(orchestrator.EvFixRound)) != 1 {
			t.Errorf("ended %s, %d rounds", st.Outcome, len(w.events(orchestrator.EvFixRound)))
		}
	})
}

// A new plan, with the markers of the former one on disk: they complete no subplan, also
// when the host is killed before they are removed.
func TestProtocolC7MarkersOfAFormerPlanAndAKill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", func(st *orchestrator.State) { st.Interactive = true })
		h := w.start(engine.Options{})
		w.until("at the gate", func(st *orchestrator.State) bool { return st.Gate != nil && len(st.Pending) == 0 })
		for _, done := range []string{"1", "2", "3"} {
			if _, err := os.Stat(w.s.Path("06_implementation/done_" + done)); err != nil {
				t.Fatal(err)
			}
		}
		w.play = func(w *world, e orchestrator.Effect) {
			if e.Args.Role == "planner" {
				honest(w, e)
			}
		}
		never := make(chan struct{})
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			if e.Type == orchestrator.EffRemoveFiles {
				return never
			}
			return nil
		}
		w.command(`{"name":"changes","actor":"ann","args":{"text":"more"}}`)
		w.until("implementing", func(st *orchestrator.State) bool { return st.Phase == "implementing" })
		w.pass(time.Minute)
		untouched := func(when string) {
			t.Helper()
			if st := w.state(); st.Phase != "implementing" || len(st.CompletedSubplans) != 0 || st.SubplanStatus["1"] == "done" {
				t.Fatalf("%s: phase %s, subplans %v", when, st.Phase, st.SubplanStatus)
			}
		}
		untouched("with the markers there")
		h.stop()
		w.start(engine.Options{})
		w.pass(time.Minute)
		untouched("after a kill")
		close(never)
		w.pass(time.Minute)
		untouched("with the markers gone")
		if _, err := os.Stat(w.s.Path("06_implementation/done_1")); err == nil {
			t.Error("the old marker is still there")
		}
	})
}

// P2: a file counts when it has stopped changing, not before, and not blank.
func TestProtocolP2AStableSummaryCountsWithoutATool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = only(isSummary)
		h := w.start(engine.Options{})
		w.until("awaiting the summary", func(st *orchestrator.State) bool { return st.AwaitingSummary && len(st.Pending) == 0 })
		waits := func(why string) {
			t.Helper()
			if st := w.state(); !st.AwaitingSummary {
				t.Fatalf("accepted %s", why)
			}
		}
		w.write("08_completion/summary.md", " \n")
		w.pass(10 * time.Second)
		waits("a blank file")
		for i := range 20 {
			w.write("08_completion/summary.md", strings.Repeat("more ", i+1))
			w.pass(400 * time.Millisecond)
			waits("a file that is being written")
		}
		w.pass(3 * time.Second)
		if st := h.wait(); st.Outcome != "done" || len(w.events(orchestrator.EvArtifactAccepted)) != 3 {
			t.Errorf("ended %s, %d artifacts", st.Outcome, len(w.events(orchestrator.EvArtifactAccepted)))
		}
	})
}

// C4: what does not change is recorded once, however often it is looked at.
func TestProtocolC4ALevelInputIsRecordedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", func(st *orchestrator.State) { st.Interactive = true })
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		code := 3
		w.pane("1.planner.1", func(r *orchestrator.AgentReport) { r.Condition, r.ExitCode = orchestrator.AgentDead, &code })
		w.pass(5 * time.Second)
		before := len(w.events(""))
		for range 100 {
			w.pass(time.Second)
		}
		if n := len(w.events("")); n != before {
			t.Errorf("%d records more", n-before)
		}
		if n := len(w.events(orchestrator.EvQuestionAsked)); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

const askingFirst = `version: 1
name: asking
start: asking
phases:
  - {id: asking, kind: author, dir: 01_product_management, role: product-manager, artifact: requirements.md,
     tool: submit_pm_done, file_accepts: true, event: pm_completed, next: {submitted: planning}}
  - {id: planning, kind: plan, dir: 04_planning, next: {accepted: implementing}}
  - {id: implementing, kind: implement, dir: 06_implementation, next: {completed: completing}}
  - {id: completing, kind: complete, dir: 08_completion, next: {approved: done, changes_requested: planning}}
`

// P2: where the request itself is the artifact, it stays for the prompts, and only what the
// phase made of it is taken without the tool, also after a resume.
func TestProtocolP2TheRequestIsNoAnswerToItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, err := session.Create(session.CreateSpec{
			Project: t.TempDir(), Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.", Definition: []byte(askingFirst),
			State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "c0"},
		})
		if err != nil {
			t.Fatal(err)
		}
		request := s.Path(session.RequirementsFile)
		if err := os.Chtimes(request, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		w := worldOf(t, s)
		w.play = idle
		w.pass(time.Second)
		for _, mode := range []string{orchestrator.StartNew, orchestrator.StartResume} {
			h := w.start(engine.Options{Start: orchestrator.Start{Mode: mode}})
			w.pass(time.Minute)
			if _, err := os.Stat(request); err != nil || w.state().Phase != "asking" {
				t.Fatalf("%s: phase %s, request %v", mode, w.state().Phase, err)
			}
			if mode == orchestrator.StartResume {
				w.write(session.RequirementsFile, "# Requirements\n\nAsked and answered.\n")
				w.until("planning", func(st *orchestrator.State) bool { return st.Phase == "planning" })
			}
			h.stop()
		}
	})
}
