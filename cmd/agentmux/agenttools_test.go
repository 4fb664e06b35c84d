package main

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A tool typed as a command says what the tool says: flags that are not given are left to
// it, those that are given reach it.
func TestACommandOfAnAgentSaysWhatItsToolSays(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	s, err := session.Create(session.CreateSpec{
		Project: r.clone, Now: time.Now(), Name: "one", Request: "x", Definition: []byte(definitionText(t)),
		State: orchestrator.State{Settings: orchestrator.DefaultSettings()},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"report", "--message", "m", "--percent", "-5", "--role", "planner"}, "percent: expected 0 to 100, found -5"},
		{[]string{"report", "--message", "m", "--percent", "101", "--role", "planner"}, "percent: expected 0 to 100, found 101"},
		{[]string{"submit", "research", "auth", "--role", "web-researcher"}, `no web research "auth" is running`},
		{[]string{"submit", "research", "auth", "--role", "code-researcher"}, `no code research "auth" is running`},
		{[]string{"submit", "research", "auth", "--type", "code", "--role", "web-researcher"}, "you are the web-researcher"},
	} {
		if res := r.expect(1, append(c.args, "--session", s.Dir)...); !strings.Contains(res.out, c.says) {
			t.Errorf("%v: %s", c.args, res.out)
		}
	}
	r.expect(0, "report", "--message", "m", "--percent", "0", "--role", "planner", "--session", s.Dir)
	lines, _, err := s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil || len(lines) != 1 || !strings.Contains(string(lines[0].Payload), `"percent":0`) {
		t.Errorf("lines %+v, %v", lines, err)
	}
}
