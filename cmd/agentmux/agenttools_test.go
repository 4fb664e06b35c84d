package main

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/toolset"
)

// A command takes every parameter of its tool but the caller's own role.
func TestEveryToolHasACommand(t *testing.T) {
	t.Parallel()
	for _, tool := range toolset.All() {
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			cmd, rest, err := newRootCmd(newApp(console.Streams{})).Find(strings.Fields(tool.Command.Words))
			if err != nil || len(rest) > 0 {
				t.Fatalf("%q: %v, %v", tool.Command.Words, rest, err)
			}
			for _, p := range tool.Params {
				given := p.Arg != "" && (strings.HasSuffix(cmd.Use, " "+p.Arg) || strings.HasSuffix(cmd.Use, " ["+p.Arg+"]")) || p.Flag != "" && cmd.Flags().Lookup(p.Flag) != nil
				if !given && p.Name != "role" {
					t.Errorf("%s cannot be given to %q", p.Name, cmd.UseLine())
				}
			}
		})
	}
}

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
		r.row(strings.Join(c.args, " "), func(t *testing.T) {
			if res := r.expect(1, append(c.args, "--session", s.Dir)...); !strings.Contains(res.out, c.says) {
				t.Errorf("%v: %s", c.args, res.out)
			}
		})
	}
	r.expect(0, "report", "--message", "m", "--percent", "0", "--role", "planner", "--session", s.Dir)
	lines, _, err := s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil || len(lines) != 1 || !strings.Contains(string(lines[0].Payload), `"percent":0`) {
		t.Errorf("lines %+v, %v", lines, err)
	}
}

// An agent without MCP finds its messages and says that it has read one.
func TestAMessageIsReadByCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	const name = "1122090000-status-core-core--pipeline-coder-1-m3.md"
	s, err := session.Create(session.CreateSpec{
		Project: r.clone, Now: time.Now(), Name: "one", Request: "x", Definition: []byte(definitionText(t)),
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), Messages: []orchestrator.Message{{
			Seq: 3, File: "msgs/" + name, To: "pipeline/coder-1", From: "core/core", Type: "status", Headline: "Use the helper", State: orchestrator.MessageDelivered,
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	r.write(s.Path("msgs/"+name), "Use the helper in net.\n")
	agent := []string{"--session", s.Dir, "--role", "coder", "--task", "1"}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"list"}, 0, "- " + name + ": status from core/core, delivered: Use the helper"},
		{[]string{"list", "--unread", "--limit", "1"}, 0, "1 message\n"},
		{[]string{"list", "--limit", "0"}, 1, "limit: expected 1 to 200, found 0"},
		{[]string{"read", "none.md"}, 1, "there is no message none.md for you"},
	} {
		r.row(strings.Join(c.args, " "), func(t *testing.T) {
			if res := r.expect(c.code, append(append([]string{"msg"}, c.args...), agent...)...); !strings.Contains(res.out, c.says) {
				t.Errorf("%v: %s", c.args, res.out)
			}
		})
	}
	if res := r.expect(0, append([]string{"msg", "read", s.Path("msgs/" + name)}, agent...)...); !strings.Contains(res.out, "Use the helper in net.") {
		t.Errorf("msg read: %s", res.out)
	}
	lines, _, err := s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil || len(lines) != 1 || lines[0].Tool != "msg_read" || !strings.Contains(string(lines[0].Payload), name) {
		t.Errorf("lines %+v, %v", lines, err)
	}
	r.expect(2, "msg")
}
