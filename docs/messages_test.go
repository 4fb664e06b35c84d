package docs_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows/message"
)

// The examples of the page of messages are read without a problem; the page has each type.
func TestMessagesPage(t *testing.T) {
	text := documents(t)["docs/messages.md"]
	_, example, _ := strings.Cut(text, "```markdown\n")
	example, rest, _ := strings.Cut(example, "```")
	m, problems := message.Parse("0115100500-ask-coder-2--planner-ask-timeouts-001.md", []byte(example), nil)
	if len(problems) > 0 || m.ID != "ask-timeouts-001" || m.To.String() != "pipeline/planner" || string(m.Body) != "plan_2 names two values.\n" {
		t.Errorf("the example is %+v, %v", m, problems.Lines())
	}
	if name, err := message.FileName(m.At, &m); err != nil || !strings.Contains(text, "`"+name+"`") {
		t.Errorf("the page does not have the name %s, %v", name, err)
	}
	_, table, _ := strings.Cut(rest, "```json\n")
	table, _, _ = strings.Cut(table, "```")
	r, problems := message.ParseRouting(message.RoutingFile("tdd"), []byte(table), "tdd", []string{"red", "green", "refactor"})
	if r == nil || len(problems) > 0 || r.Refused("red", "complete", "green") != "" || r.Refused("red", "complete", "refactor") == "" {
		t.Errorf("the table is wrong: %v", problems.Lines())
	}
	for _, word := range message.Types() {
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("no %s", word)
		}
	}
}
