package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// record is one record of a test: its type and what it says.
type record struct {
	kind string
	data map[string]any
}

// read returns what it says as a file has it.
func (r record) read(t *testing.T) orchestrator.Record {
	t.Helper()
	line, err := json.Marshal(r.data)
	if err != nil {
		t.Fatal(err)
	}
	return orchestrator.ReadRecord(r.kind, line)
}

// reviewed returns a session that has something of everything a replay looks at.
func reviewed(t *testing.T) (*session.Session, *orchestrator.State) {
	t.Helper()
	s, st := entered(t)
	var sums []string
	for _, text := range []string{"the plan", "the verdict", "the message", "the file", "one source"} {
		sha, err := s.PutBlob([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sha)
	}
	c := st.Clone()
	c.PlanSHA256 = sums[0]
	c.Schedule = &orchestrator.Schedule{Groups: []orchestrator.Group{{ID: "a", Mode: "serial", Plans: []string{"1", "2"}}}}
	c.SubplanCount, c.CompletedSubplans, c.CompletedGroups = 2, []string{"1", "2"}, []string{"a"}
	c.GroupTotal, c.GroupIndex, c.ReviewIteration = 1, 1, 2
	c.ReviewResults["reviewer_logic"] = orchestrator.ReviewResult{Verdict: "pass", Iteration: 1, Tree: "t1", SHA256: sums[1]}
	c.Questions = []orchestrator.Question{{ID: "q2", AskedAt: orchestrator.At(noon)}, {ID: "q1", AnsweredAt: orchestrator.At(noon)}, {ID: "q0"}}
	c.Gate, c.Completion.PRNumber = &orchestrator.Gate{Name: "plan"}, 5
	c.Messages = append(c.Messages, orchestrator.Message{Seq: 9, File: "msgs/x.md", SHA256: sums[2]})
	c.Pending = append(c.Pending, orchestrator.Effect{ID: "1.98", Key: "k", Type: orchestrator.EffWriteFile, Args: orchestrator.Args{SHA256: sums[3]}},
		orchestrator.Effect{ID: "1.99", Key: "l", Type: orchestrator.EffMaterialise, Args: orchestrator.Args{Sources: map[string]string{"a": sums[4]}}})
	step := decide.Step{State: c, Changed: true}
	for _, r := range []record{
		{orchestrator.EvArtifactAccepted, map[string]any{"sha256": sums[0]}},
		{orchestrator.EvSchedule, nil},
		{orchestrator.EvSubplanDone, map[string]any{"id": "2"}},
		{orchestrator.EvSubplanDone, map[string]any{"id": "1"}},
		{orchestrator.EvGroupDone, map[string]any{"group_id": "a"}},
		{orchestrator.EvVerdict, map[string]any{"role": "reviewer_logic", "verdict": "pass", "iteration": 1, "tree": "t1"}},
		{orchestrator.EvFixRound, map[string]any{"iteration": 2}},
		{orchestrator.EvQuestionAsked, map[string]any{"id": "q2"}},
		{orchestrator.EvQuestionAsked, map[string]any{"id": "q1"}},
		{orchestrator.EvQuestionAsked, map[string]any{"id": "q0"}},
		{orchestrator.EvQuestionAnswered, map[string]any{"id": "q1"}},
		{orchestrator.EvGateOpened, map[string]any{"gate": "plan"}},
		{orchestrator.EvPROpened, map[string]any{"number": 5}},
	} {
		c.Seq++
		step.Events = append(step.Events, orchestrator.Event{
			Seq: c.Seq, TS: orchestrator.At(noon), Type: r.kind, Phase: c.Phase, Visit: c.Visit, Data: r.read(t),
		})
	}
	return s, commit(t, s, step)
}

// One damage of a state, one finding.
func TestTheCheckerFindsEachKeyThatIsNotWhatTheRecordsSay(t *testing.T) {
	s, st := reviewed(t)
	if problems := session.CheckDir(s.Dir).Problems; len(problems) > 0 {
		t.Fatalf("before any damage: %q", problems)
	}
	for want, damage := range map[string]func(*orchestrator.State){
		"phase: architecting, planning":                   func(c *orchestrator.State) { c.Phase = "planning" },
		"visit: 1, 2":                                     func(c *orchestrator.State) { c.Visit = 2 },
		"last_event: feature_created, plan_written":       func(c *orchestrator.State) { c.LastEvent = "plan_written" },
		"outcome: , needs_human":                          func(c *orchestrator.State) { c.Outcome = "needs_human" },
		"fix rounds: 2, 0":                                func(c *orchestrator.State) { c.ReviewIteration = 0 },
		"subplans: [1 2], [1]":                            func(c *orchestrator.State) { c.CompletedSubplans = []string{"1"} },
		"groups: [a], []":                                 func(c *orchestrator.State) { c.CompletedGroups = nil },
		"verdict of reviewer_logic: pass in round 1 of t": func(c *orchestrator.State) { c.ReviewResults = nil },
		"verdict of reviewer_expert: , fail": func(c *orchestrator.State) {
			c.ReviewResults["reviewer_expert"] = orchestrator.ReviewResult{Verdict: "fail"}
		},
		"open questions: [q0 q2], [q0 q1 q2]": func(c *orchestrator.State) { c.Questions[1].AnsweredAt = orchestrator.Time{} },
		"gate: plan, ":                        func(c *orchestrator.State) { c.Gate = nil },
		"pull request: 5, 6":                  func(c *orchestrator.State) { c.Completion.PRNumber = 6 },
	} {
		t.Run(want, func(t *testing.T) {
			c := st.Clone()
			damage(c)
			finds(t, s, c, "records and state differ in "+want)
		})
	}
	for want, damage := range map[string]func(*orchestrator.State){
		"the state is at 90":            func(c *orchestrator.State) { c.Seq = 90 },
		"outcome \"done\"":              func(c *orchestrator.State) { c.Outcome = "done" },
		"group":                         func(c *orchestrator.State) { c.GroupIndex = 7 },
		"tool_events.jsonl: the cursor": func(c *orchestrator.State) { c.ToolCursor.Offset = 4096 },
		"commands.jsonl: the cursor":    func(c *orchestrator.State) { c.CommandCursor.Offset = -1 },
		"verdict of reviewer_logic: read blob": func(c *orchestrator.State) {
			c.ReviewResults["reviewer_logic"] = orchestrator.ReviewResult{Verdict: "pass", Iteration: 1, Tree: "t1", SHA256: strings.Repeat("a", 64)}
		},
		"plan: read blob: \"nonsense\" is not a ha": func(c *orchestrator.State) { c.PlanSHA256 = "nonsense" },
	} {
		t.Run(want, func(t *testing.T) {
			c := st.Clone()
			damage(c)
			finds(t, s, c, want)
		})
	}
}

// The records are read no further than they have to be where they begin as a host writes them; any other
// spelling of them says the same.
func TestRecordsInAnySpellingSayTheSame(t *testing.T) {
	s, st := reviewed(t)
	written, err := os.ReadFile(s.Path(session.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, spell := range map[string]func(line string) string{
		"as it was written": func(line string) string { return line },
		"with spaces":       func(line string) string { return strings.Replace(line, `"seq":`, ` "seq" : `, 1) },
		"by name": func(line string) string {
			var keys map[string]any
			if err := json.Unmarshal([]byte(line), &keys); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(keys)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		},
		"with an escape": func(line string) string {
			before, kind, _ := strings.Cut(line, `"type":"`)
			return before + fmt.Sprintf(`"type":"\u%04x`, kind[0]) + kind[1:]
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines strings.Builder
			for line := range strings.Lines(string(written)) {
				lines.WriteString(spell(strings.TrimSuffix(line, "\n")) + "\n")
			}
			committed := lines.String()
			beyond := fmt.Sprintf(`{"seq":%d,"ts":"2026-01-15T12:00:00.000Z","type":"canceled","phase":"","visit":1,"data":{}}`, st.Seq+1)
			write(t, s.Path(session.EventsFile), committed+spell(beyond)+"\n")
			if got, err := s.Recover(noon); err != nil || got.Seq != st.Seq {
				t.Fatalf("%v, %v", got, err)
			}
			if left, err := os.ReadFile(s.Path(session.EventsFile)); err != nil || string(left) != committed {
				t.Errorf("%v: not what was committed, and no more:\n%s", err, left)
			}
			c := st.Clone()
			c.Completion.PRNumber = 6
			if same, other := s.Differences(st), s.Differences(c); len(same) > 0 || !slices.Equal(other, []string{"pull request: 5, 6"}) {
				t.Errorf("differences %q, of another state %q", same, other)
			}
		})
	}
}

// finds puts a state in the place of the session's and looks for a finding.
func finds(t *testing.T, s *session.Session, c *orchestrator.State, want string) {
	t.Helper()
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.Path(session.StateFile), string(data))
	report := session.CheckDir(s.Dir)
	if !slices.ContainsFunc(report.Problems, func(p string) bool { return strings.Contains(p, want) }) {
		t.Errorf("no finding %q in %q", want, report.Problems)
	}
	if report.Err() == nil {
		t.Error("the report is no error")
	}
}

func TestTheCheckerFindsEachTextThatIsGone(t *testing.T) {
	s, _ := reviewed(t)
	for text, want := range map[string]string{
		"the plan": "plan: ", "the verdict": "verdict of reviewer_logic: ", "the message": "message msgs/x.md: ",
		"the file": "effect 1.98: ", "one source": "effect 1.99: ",
	} {
		t.Run(text, func(t *testing.T) {
			sha, err := s.PutBlob([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			write(t, s.Path("blobs", sha), "another")
			if got := fmt.Sprint(session.CheckDir(s.Dir).Problems); !strings.Contains(got, want+"read blob: "+sha+" holds other content") {
				t.Errorf("%s: %s", text, got)
			}
			os.Remove(s.Path("blobs", sha))
			if got := fmt.Sprint(session.CheckDir(s.Dir).Problems); !strings.Contains(got, want) {
				t.Errorf("%s gone: %s", text, got)
			}
			if _, err := s.PutBlob([]byte(text)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTheCheckerFollowsTheWorkflow(t *testing.T) {
	for name, c := range map[string]struct{ lines, want string }{
		"visits run back": {`{"seq":2,"type":"event","visit":3}
{"seq":3,"type":"event","visit":1}`, "visit 1 after visit 3"},
		"another phase than the next": {`{"seq":2,"type":"phase_left","data":{"phase":"planning","next":"implementing"}}
{"seq":3,"type":"phase_entered","data":{"phase":"reviewing"}}`, "phase reviewing entered, implementing was next"},
		"back to the plan is always allowed": {`{"seq":2,"type":"phase_left","data":{"phase":"reviewing","next":"planning"}}
{"seq":3,"type":"phase_entered","data":{"phase":"planning"}}`, ""},
		"over a phase that is passed by": {`{"seq":2,"type":"phase_left","data":{"phase":"planning","next":"implementing"}}
{"seq":3,"type":"phase_left","data":{"phase":"dreaming","next":"reviewing"}}`, "phase dreaming does not lead to reviewing"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := entered(t)
			first, _, _ := strings.Cut(read(t, s, session.EventsFile), "\n")
			write(t, s.Path(session.EventsFile), first+"\n"+c.lines+"\n")
			got := strings.Join(session.CheckDir(s.Dir).Problems, "\n")
			follows := strings.Contains(got, "visit 1 after") || strings.Contains(got, "was next") || strings.Contains(got, "does not lead")
			if c.want != "" && !strings.Contains(got, c.want) || c.want == "" && follows {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}
