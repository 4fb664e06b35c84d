package decide_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// walker gives a session random inputs and checks what must hold after each.
type walker struct {
	*sim
	r      *rand.Rand
	first  []byte // the state the walk began with
	every  int    // how many steps apart states are written and read
	inputs []orchestrator.Input
	blobs  map[string]bool
	ids    map[string]bool
}

func newWalker(t *testing.T, seed uint64) *walker {
	r := rand.New(rand.NewPCG(seed, 7))
	def, _, _ := workflows.Load([]string{"feature", "quick"}[r.IntN(2)], nil)
	if seed%2 == 1 {
		def = randomDefinition(t, r)
	}
	s, err := orchestrator.Decode([]byte(`{"schema_version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	s.SessionID, s.BaseSHA = "s1", "base"
	s.ProductManager, s.Interactive = r.IntN(2) == 0, r.IntN(3) == 0
	yes := r.IntN(2) == 0
	s.GHAvailable = &yes
	set := &s.Settings
	set.MaxReviewIterations, set.AgentRetries = r.IntN(4), r.IntN(3)
	set.Parallel, set.Research = 1+r.IntN(3), r.IntN(3)
	set.SkipFinalApproval, set.ApprovePlan, set.ApproveCompletion = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(3) == 0
	set.Reachable = r.IntN(4) > 0
	set.QuestionTimeout = []string{"decide", "park"}[r.IntN(2)]
	set.ReviewRerun = []string{"failed", "all", "trust"}[r.IntN(3)]
	set.OnExhausted = []string{"draft_pr", "stop"}[r.IntN(2)]
	set.ScopePolicy = []string{"report", "fail"}[r.IntN(2)]
	s.Phase = decide.FirstPhase(def, s)
	first, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m := &sim{t: t, def: def, s: s, now: time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)}
	w := &walker{sim: m, r: r, first: first, every: 1, blobs: map[string]bool{}, ids: map[string]bool{}}
	if testing.Short() {
		w.every = 16
	}
	m.work = w.someWork
	return w
}

// someWork is what an agent might hand in, most of it in order.
func (w *walker) someWork(t orchestrator.Taking) *orchestrator.Snapshot {
	snap := &orchestrator.Snapshot{Tree: fmt.Sprint("work", w.r.IntN(1000)), Files: 1}
	switch w.r.IntN(16) {
	case 0:
		return nil
	case 1:
		return &orchestrator.Snapshot{Problem: "no space"}
	case 2:
		return strays("x")(t)
	case 3:
		snap.Findings = []string{"secret"}
	case 4:
		snap.Files = 0
	case 5:
		snap.Held, snap.Left = []string{"go.sum"}, []string{"vendor/x"}
	}
	return snap
}

func pick[T any](r *rand.Rand, items []T) T { return items[r.IntN(len(items))] }

// step reduces one input and checks the result against the state before.
func (w *walker) step(in orchestrator.Input) {
	w.t.Helper()
	w.now = w.now.Add(time.Duration(w.r.IntN(90_000)) * time.Millisecond)
	in.At = w.now
	in = w.taken(in)
	before := w.s
	written := len(w.inputs)%w.every == 0
	var was []byte
	if written {
		was = w.encoded(before)
	}
	step, err := decide.Reduce(w.def, before, in)
	if err != nil {
		w.t.Fatalf("step %d, %s in %s: %v", len(w.inputs), in.Kind, before.Phase, err)
	}
	if written && !bytes.Equal(was, w.encoded(before)) {
		w.t.Fatalf("step %d: %s changed the state it was given", len(w.inputs), in.Kind)
	}
	w.inputs = append(w.inputs, in)
	if !step.Changed {
		return
	}
	for sum := range step.Blobs {
		w.blobs[sum] = true
	}
	w.records(before, step)
	if written {
		w.reads(step.State)
	}
	w.s = step.State
	w.counters(before, in)
	w.running(before, step)
	w.effects(step)
}

func (w *walker) records(before *orchestrator.State, step decide.Step) {
	w.t.Helper()
	for i, e := range step.Events {
		if e.Seq != before.Seq+i+1 {
			w.t.Fatalf("record %d follows %d", e.Seq, before.Seq+i)
		}
	}
	if step.State.Seq != before.Seq+len(step.Events) {
		w.t.Fatalf("seq %d after %d records behind %d", step.State.Seq, len(step.Events), before.Seq)
	}
}

func (w *walker) encoded(s *orchestrator.State) []byte {
	w.t.Helper()
	data, err := s.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// reads checks that a state is read as it was written.
func (w *walker) reads(s *orchestrator.State) {
	w.t.Helper()
	data := w.encoded(s)
	back, err := orchestrator.Decode(data)
	if err != nil {
		w.t.Fatal(err)
	}
	if !bytes.Equal(data, w.encoded(back)) {
		w.t.Fatal("the state does not survive a write and a read")
	}
}

// counters checks that nothing runs back and that an end is left only on request.
func (w *walker) counters(before *orchestrator.State, in orchestrator.Input) {
	w.t.Helper()
	s := w.s
	if s.Visit < before.Visit || s.EffectSeq < before.EffectSeq || s.ChangeRound < before.ChangeRound || s.ResumeCount < before.ResumeCount {
		w.t.Fatalf("a counter ran back at %s", in.Kind)
	}
	if s.ReviewIteration < before.ReviewIteration && s.PlanSHA256 != before.PlanSHA256 && s.ReviewIteration != 0 {
		w.t.Fatalf("review iteration %d after %d", s.ReviewIteration, before.ReviewIteration)
	}
	if before.Ended() && !s.Ended() && in.Kind != orchestrator.InCommand && in.Kind != orchestrator.InStart {
		w.t.Fatalf("%s ended the end", in.Kind)
	}
	if before.ReviewExhausted && !s.ReviewExhausted && s.PlanSHA256 == before.PlanSHA256 {
		w.t.Fatal("an exhausted review was forgotten without a new plan")
	}
}

// running checks who may be at work.
func (w *walker) running(before *orchestrator.State, step decide.Step) {
	w.t.Helper()
	s := w.s
	if (s.Ended() || s.Gate != nil) && len(w.live()) > 0 {
		w.t.Fatalf("phase %s, outcome %q, gate %v: at work %v", s.Phase, s.Outcome, s.Gate, w.live())
	}
	if s.Ended() && (len(s.Deadlines) > 0 || !s.StillSince.IsZero()) {
		w.t.Fatalf("deadlines after the end: %v", s.Deadlines)
	}
	if before.Paused && s.Paused {
		if s.Visit != before.Visit {
			w.t.Fatalf("from %s to %s while paused", before.Phase, s.Phase)
		}
		for _, e := range step.Effects {
			if e.Type == orchestrator.EffStartAgent || e.Type == orchestrator.EffDeliver {
				w.t.Fatalf("%s while paused", e.Type)
			}
		}
	}
	for key, a := range s.Agents {
		if a.Launch != "" && a.LastLaunch != a.Launch {
			w.t.Fatalf("%s: %+v", key, a)
		}
	}
	for launch, l := range s.Leaving {
		if !slices.ContainsFunc(s.Pending, func(e orchestrator.Effect) bool {
			return e.Args.Launch == launch && (e.Type == orchestrator.EffStopAgent || e.Type == orchestrator.EffKeepLate)
		}) {
			w.t.Fatalf("%s leaves for ever", launch)
		}
		if a := s.Agents[orchestrator.KeyOf(l.Role, l.Task)]; a.Launch != "" && a.Home == l.Home {
			w.t.Fatalf("%s shares the home %q with %s, which leaves", a.Launch, a.Home, launch)
		}
	}
	if duty.StandsStill(w.def, s) == s.StillSince.IsZero() {
		w.t.Fatalf("still since %v, stands still %v", s.StillSince, duty.StandsStill(w.def, s))
	}
}

func (w *walker) effects(step decide.Step) {
	w.t.Helper()
	for _, e := range step.Effects {
		if w.ids[e.ID] {
			w.t.Fatalf("effect %s was issued twice", e.ID)
		}
		w.ids[e.ID] = true
		if e.Type == orchestrator.EffWriteFile && !w.blobs[e.Args.SHA256] {
			w.t.Fatalf("%s names a text nobody kept", e.ID)
		}
	}
	pending := map[string]bool{}
	for _, e := range w.s.Pending {
		pending[e.ID] = true
		if e.Type == orchestrator.EffStartAgent && !w.wanted(e.Args) {
			w.t.Fatalf("a launch nobody wants is to be started: %s", e.Args.Launch)
		}
	}
	for _, e := range w.s.Pending {
		for _, id := range e.After {
			if !pending[id] {
				w.t.Fatalf("%s waits for %s, which is not pending", e.ID, id)
			}
		}
	}
	if len(w.s.Pending) > 0 && !slices.ContainsFunc(w.s.Pending, func(e orchestrator.Effect) bool { return len(e.After) == 0 }) {
		w.t.Fatal("every effect waits for another")
	}
}

// wanted reports whether a launch is the agent's present one, or is stopped as soon as
// the start of one that has spoken already is on record.
func (w *walker) wanted(a orchestrator.Args) bool {
	stops := slices.ContainsFunc(w.s.Pending, func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStopAgent && e.Args.Launch == a.Launch
	})
	return stops || w.s.Agents[orchestrator.KeyOf(a.Role, a.Task)].Launch == a.Launch
}

// next invents an input.
func (w *walker) next() orchestrator.Input {
	switch n := w.r.IntN(100); {
	case n < 40:
		if e, ok := w.runnable(); ok {
			return w.effectInput(e)
		}
		return w.toolInput()
	case n < 65:
		return w.toolInput()
	case n < 78:
		return w.agentInput()
	case n < 88:
		return pick(w.r, attempts).input(w.sim)
	case n < 93 && len(w.s.Deadlines) > 0:
		name := pick(w.r, slices.Sorted(maps.Keys(w.s.Deadlines)))
		if at := w.s.Deadlines[name]; at.After(w.now) {
			w.now = at.Time
		}
		return orchestrator.Input{Kind: orchestrator.InTimer, Timer: name}
	}
	return w.personInput()
}

func (w *walker) effectInput(e orchestrator.Effect) orchestrator.Input {
	if w.r.IntN(25) == 0 {
		return orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{
			ID: e.ID, Error: "no", Class: pick(w.r, []string{orchestrator.FailLocal, orchestrator.FailRemote, orchestrator.FailAway, orchestrator.FailNever}),
		}}
	}
	var res orchestrator.Result
	if w.r.IntN(6) == 0 {
		res = pick(w.r, []orchestrator.Result{
			{Conflicts: []string{"a"}}, {Scope: []orchestrator.ScopePath{{Path: "x"}}, Commit: "c", Tree: "t"},
			{Empty: true, Commit: "c", Tree: "t"}, {Late: []string{"late.go"}, Path: "refs/late"}, {Findings: []string{"secret"}}, {Refused: "never"}, {Skipped: "none"},
			{Delivery: orchestrator.DeliveryRefused}, {Delivery: orchestrator.DeliverySent, Mode: orchestrator.ModeHook},
		})
	}
	w.done = append(w.done, e)
	return orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: e.ID, Result: w.fill(e, res)}}
}

// toolInput is what an agent at work would hand in.
func (w *walker) toolInput() orchestrator.Input {
	owed := duty.Owed(w.def, w.s)
	if len(owed) == 0 {
		return pick(w.r, attempts).input(w.sim)
	}
	o := pick(w.r, owed)
	phase, _ := w.def.Phase(w.s.Phase)
	var tool, payload string
	var artifact *orchestrator.Artifact
	switch {
	case w.r.IntN(6) == 0 && phase.Research && o.Role == phase.Role:
		tool, payload = "research_dispatch_web", fmt.Sprintf(`{"topic": "t%d", "questions": ["?"]}`, w.r.IntN(3))
	case w.r.IntN(8) == 0:
		tool, payload = "ask_human", `{"question": "?"}`
	case o.Headless:
		tool, artifact = "submit_research_done", textArtifact("s")
		payload = fmt.Sprintf(`{"topic": %q, "type": %q}`, o.Task, o.Role[:len(o.Role)-len("-researcher")])
	case phase.Kind == workflows.KindAuthor:
		tool, artifact = phase.Tool, textArtifact(phase.Artifact)
		payload = pick(w.r, []string{`{}`, `{"reviewers": ["reviewer_logic", "reviewer_quality"]}`})
	case phase.Kind == workflows.KindPlan:
		tool, payload, artifact = "submit_plan", `{}`, plan(pick(w.r, []string{"serial", "parallel"}), 1+w.r.IntN(4), w.r.IntN(2) == 0)
		artifact.SHA256 = fmt.Sprint("plan", w.r.Uint64())
	case phase.Kind == workflows.KindImplement, phase.Kind == workflows.KindFix:
		tool, payload = "submit_done", fmt.Sprintf(`{"subplan_index": %d}`, 1+w.r.IntN(4))
	case w.s.AwaitingSummary:
		tool, payload, artifact = "submit_summary", `{}`, textArtifact("08_completion/summary.md")
	default:
		tool, payload, artifact = "submit_review", `{}`, review(o.Role, pick(w.r, []string{"pass", "pass", "fail"}))
	}
	in := byTool(tool, payload, artifact)(w.sim)
	w.line++
	in.Line.ID, in.Line.Role, in.Line.Task, in.Line.Launch = fmt.Sprint("walk", w.line), o.Role, o.Task, w.s.Agents[o.Key()].Launch
	in.Line.Cursor = orchestrator.Cursor{Offset: int64(w.line), Seq: w.line}
	return in
}

func (w *walker) agentInput() orchestrator.Input {
	var keys []orchestrator.AgentKey
	for _, key := range slices.Sorted(maps.Keys(w.s.Agents)) {
		if w.s.Agents[key].Launch != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return w.personInput()
	}
	code, long := w.r.IntN(2), orchestrator.At(w.now.Add(2*time.Hour))
	rep := pick(w.r, []orchestrator.AgentReport{
		{Condition: orchestrator.AgentLive}, {Condition: orchestrator.AgentLive, RateLimited: true},
		{Condition: orchestrator.AgentLive, Silence: orchestrator.Duration(time.Hour)},
		{Condition: orchestrator.AgentLive, TurnEnded: fmt.Sprint("turn ", w.r.IntN(3))},
		{Condition: orchestrator.AgentDead, ExitCode: &code}, {Condition: orchestrator.AgentAbsent, ServerLost: true},
		{Condition: orchestrator.AgentLive, RateLimited: true, Until: long, Fallbacks: []string{"other"}},
		{Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceLimit},
		{Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceOutage, Until: long, Fallbacks: []string{"other"}},
		{Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceLogin, Fallbacks: []string{"other"}},
	})
	rep.Key = pick(w.r, keys)
	rep.Launch = w.s.Agents[rep.Key].Launch
	return orchestrator.Input{Kind: orchestrator.InAgent, Agent: &rep}
}

// personInput is what people do, most of all to a session that needs them.
func (w *walker) personInput() orchestrator.Input {
	switch {
	case w.s.Ended() && w.r.IntN(2) == 0:
		return byStart(orchestrator.StartResume)(w.sim)
	case w.s.Ended():
		return w.commandInput(pick(w.r, []string{"retry", "resume", "changes", "stop", "approve"}), map[string]any{"text": "x"})
	case w.s.Paused:
		return w.commandInput("resume", nil)
	case w.s.Gate != nil:
		return w.commandInput(pick(w.r, []string{"approve", "approve", "changes"}), map[string]any{"text": "x"})
	}
	for _, q := range w.s.Questions {
		if q.Open() {
			return w.commandInput("answer", map[string]any{"id": q.ID, "text": pick(w.r, []string{"1", "x"})})
		}
	}
	if w.r.IntN(3) == 0 {
		return orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: w.live()}}
	}
	return w.commandInput(pick(w.r, []string{"pause", "say", "retry"}), map[string]any{"text": "x"})
}

// S5: whatever happens in whatever order, the rules of a session hold; and the same
// inputs lead to the same state, byte for byte.
func TestProtocolS5RandomWalks(t *testing.T) {
	const first = 20   // from here on a few are enough to come to every phase
	walks := uint64(6) // every other one of a workflow nobody has thought of
	if testing.Short() {
		walks = 4
	}
	if n, err := strconv.ParseUint(os.Getenv("AGENTMUX_WALKS"), 10, 64); err == nil {
		walks = n
	}
	ends, phases := map[string]int{}, map[string]int{}
	for seed := uint64(first); seed < first+walks; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWalker(t, seed)
			w.step(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
			for range 250 {
				w.step(w.next())
				phases[w.s.Phase]++
			}
			ends[string(w.s.Outcome)]++
			w.replay()
		})
	}
	for _, phase := range []string{"planning", "implementing", "reviewing", "fixing", "completing", "done", "failed"} {
		if phases[phase] == 0 {
			t.Errorf("no walk came to %s: %v", phase, phases)
		}
	}
	t.Logf("outcomes %v, steps %v", ends, phases)
}

func (w *walker) replay() {
	w.t.Helper()
	s, err := orchestrator.Decode(w.first)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, in := range w.inputs {
		if i%(5*w.every) == 0 { // a host that ended, and its successor
			if s, err = orchestrator.Decode(w.encoded(s)); err != nil {
				w.t.Fatal(err)
			}
		}
		step, err := decide.Reduce(w.def, s, in)
		if err != nil {
			w.t.Fatal(err)
		}
		if step.Changed {
			s = step.State
		}
	}
	if !bytes.Equal(w.encoded(w.s), w.encoded(s)) {
		w.t.Fatal("the same inputs led to another state")
	}
}
