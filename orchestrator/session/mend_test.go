package session_test

import (
	"os"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// What a session is told by its first files and by its lines, it can write again.
func TestMendWritesLostFilesAgain(t *testing.T) {
	s := fresh(t)
	st := state(t, s)
	request, about := read(t, s, "requirements.md"), read(t, s, "context.md")
	payload := orchestrator.Payload{Topic: "greetings", Context: "the project", Questions: []string{"Who greets?"}, ScopeHints: []string{"src"}}
	write(t, s.Path("tool_events.jsonl"), `{"tool":"research_dispatch_code","payload":{"topic":"other","context":"x","questions":["y"]}}`+"\n"+
		`{"tool":"research_dispatch_code","payload":{"topic":"greetings","context":"the project","questions":["Who greets?"],"scope_hints":["src"]}}`+"\n")
	st.ResearchTasks = map[string]string{"greetings": orchestrator.ResearchDispatched, "unasked": orchestrator.ResearchDispatched, "done": orchestrator.ResearchDone}
	for _, rel := range []string{"requirements.md", "context.md"} {
		if err := os.Remove(s.Path(rel)); err != nil {
			t.Fatal(err)
		}
	}
	mended, lost, err := s.Mend(st)
	if err != nil || !slices.Equal(mended, []string{"context.md", "requirements.md", "03_research/code-greetings/request.md"}) ||
		!slices.Equal(lost, []string{"03_research/code-unasked/request.md"}) {
		t.Fatalf("mended %q, lost %q, %v", mended, lost, err)
	}
	for rel, want := range map[string]string{
		"requirements.md": request, "context.md": about,
		"03_research/code-greetings/request.md": duty.ResearchRequest("code", payload),
	} {
		if got := read(t, s, rel); got != want {
			t.Errorf("%s is %q, was %q", rel, got, want)
		}
	}
	if mended, _, err := s.Mend(st); err != nil || len(mended) > 0 {
		t.Errorf("mended again: %q, %v", mended, err)
	}
}
