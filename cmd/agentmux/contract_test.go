package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// TestContractMCP has somebody else's client of the Model Context Protocol list the tools
// of an agent and call one.
func TestContractMCP(t *testing.T) {
	contract := os.Getenv("AGENTMUX_TEST_CONTRACT")
	if contract == "" {
		t.Skip("uses the inspector of the Model Context Protocol: make test-contract")
	}
	dir := planning(t)
	own, err := site.Self()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"agentmux": map[string]any{
		"command": own, "args": []string{"mcp", "--session", dir, "--role", "planner", "--launch", "1.planner.1"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	inspect := func(args ...string) string {
		cmd := exec.Command(filepath.Join(contract, "node_modules", ".bin", "mcp-inspector"),
			append([]string{"--cli", "--config", file, "--server", "agentmux"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("inspector %v: %v\n%s", args, err, out)
		}
		return string(out)
	}

	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct{ Type string }
		}
	}
	if text := inspect("--method", "tools/list"); json.Unmarshal([]byte(text), &list) != nil {
		t.Fatalf("the list is %s", text)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
		if tool.Description == "" || tool.InputSchema.Type != "object" {
			t.Errorf("tool %+v", tool)
		}
	}
	if !names["submit_plan"] || !names["report_status"] || names["submit_review"] {
		t.Errorf("the planner is offered %v", names)
	}

	text := inspect("--method", "tools/call", "--tool-name", "report_status", "--tool-arg", "message=half way")
	if !strings.Contains(text, "recorded") || strings.Contains(text, `"isError": true`) {
		t.Errorf("the call answers %s", text)
	}
	lines, err := os.ReadFile(filepath.Join(dir, session.ToolEvents))
	if err != nil || !strings.Contains(string(lines), `"half way"`) {
		t.Errorf("the lines are %q, %v", lines, err)
	}
	if text := inspect("--method", "tools/call", "--tool-name", "submit_plan"); !strings.Contains(text, "plan.yaml") || !strings.Contains(text, `"isError": true`) {
		t.Errorf("a submission without a plan answers %s", text)
	}
}

// planning makes a session in which a planner is at work.
func planning(t *testing.T) (dir string) {
	t.Helper()
	_, data, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: now, Source: "tokens", Request: "Refuse expired tokens.", Definition: data,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	def, err := s.Definition()
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Recover(now)
	if err != nil {
		t.Fatal(err)
	}
	step, err := decide.Reduce(def, st, orchestrator.Input{
		Kind: orchestrator.InStart, At: now, Start: &orchestrator.Start{Mode: orchestrator.StartNew},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(step); err != nil {
		t.Fatal(err)
	}
	for _, phase := range def.Phases {
		if err := s.EnsureDirs(phase.Dir); err != nil {
			t.Fatal(err)
		}
	}
	return s.Dir
}
