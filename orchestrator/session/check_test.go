package session_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// entered returns a session whose first phase was entered by a host.
func entered(t *testing.T) (*session.Session, *orchestrator.State) {
	t.Helper()
	s := fresh(t)
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	return s, reduce(t, s, st, orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
}

func reduce(t *testing.T, s *session.Session, st *orchestrator.State, in orchestrator.Input) *orchestrator.State {
	t.Helper()
	def, err := s.Definition()
	if err != nil {
		t.Fatal(err)
	}
	in.At = noon
	step, err := decide.Reduce(def, st, in)
	if err != nil {
		t.Fatal(err)
	}
	return commit(t, s, step)
}

func TestCheckDirFindsBrokenPromises(t *testing.T) {
	cases := map[string]struct {
		damage func(t *testing.T, s *session.Session, st *orchestrator.State)
		want   string
	}{
		"sound": {func(*testing.T, *session.Session, *orchestrator.State) {}, ""},
		"no session": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			os.Remove(s.Path("state.json"))
		}, "state.json is missing; try agentmux resume"},
		"state ahead of its records": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			all := read(t, s, "events.jsonl")
			write(t, s.Path("events.jsonl"), all[:strings.LastIndex(strings.TrimSuffix(all, "\n"), "\n")+1])
		}, "the state is at"},
		"no records": {func(_ *testing.T, s *session.Session, _ *orchestrator.State) {
			os.Remove(s.Path("events.jsonl"))
		}, "events.jsonl holds no record, the state is at 3"},
		"no definition": {func(_ *testing.T, s *session.Session, _ *orchestrator.State) {
			os.Remove(s.Path("definition.yaml"))
		}, "is corrupt: definition.yaml is missing; put the workflow"},
		"a record is missing": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			_, rest, _ := strings.Cut(read(t, s, "events.jsonl"), "\n")
			write(t, s.Path("events.jsonl"), rest)
		}, "does not follow"},
		"state says something else": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			write(t, s.Path("state.json"), strings.Replace(edited(read(t, s, "state.json")), `"visit": 1`, `"visit": 4`, 1))
		}, "differ in visit: 1, 4"},
		"a phase that does not follow": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			line := `{"seq":3,"type":"phase_left","phase":"architecting","visit":1,"data":{"phase":"architecting","next":"reviewing"}}`
			lines := strings.Split(read(t, s, "events.jsonl"), "\n")
			lines[2] = line
			write(t, s.Path("events.jsonl"), strings.Join(lines, "\n"))
		}, "architecting does not lead to reviewing"},
		"a kept text is gone": {func(t *testing.T, s *session.Session, st *orchestrator.State) {
			st = reduce(t, s, st, orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{
				Tool: "command", ID: "x", Payload: []byte(`{"name":"say","args":{"text":"hi"}}`)}})
			os.Remove(s.Path("blobs", st.Messages[0].SHA256))
		}, "read blob"},
		"a broken invariant": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			write(t, s.Path("state.json"), strings.Replace(edited(read(t, s, "state.json")), `"outcome": null`, `"outcome": "done"`, 1))
		}, `phase architecting with outcome "done"`},
		"created twice": {func(t *testing.T, s *session.Session, _ *orchestrator.State) {
			log := read(t, s, "created_files.log")
			write(t, s.Path("created_files.log"), log+log)
		}, "names state.json twice"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, st := entered(t)
			c.damage(t, s, st)
			got := strings.Join(session.CheckDir(s.Dir).Problems, "\n")
			if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("problems are %q, want %q", got, c.want)
			}
		})
	}
}
