package mcp_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/mcp"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/agentmux/agentmux/workflows"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect serves the tools of a new session's architect and returns a client of them.
func connect(t *testing.T) *sdk.ClientSession {
	t.Helper()
	_, definition, problems := workflows.Load("feature", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Source: "x", Request: "x", Definition: definition,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseBranch: "main", BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		served <- mcp.Serve(ctx, tools.Caller{Dir: s.Dir, Role: "architect"}, "1", fromClient, toClient)
	}()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = client.Close()
		<-served
	})
	return client
}

// A program may show its model only the structured part of an answer.
func TestStructuredAnswersHoldTheText(t *testing.T) {
	client := connect(t)
	for tool, refused := range map[string]bool{"submit_architecture": true, "report_status": false} {
		t.Run(tool, func(t *testing.T) {
			res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"message": "reading"}})
			if err != nil {
				t.Fatal(err)
			}
			text, ok := res.Content[0].(*sdk.TextContent)
			if !ok || strings.TrimSpace(text.Text) == "" {
				t.Fatalf("%s: content %+v", tool, res.Content)
			}
			structured, ok := res.StructuredContent.(map[string]any)
			if !ok || structured["text"] != text.Text || structured["ok"] != !refused || res.IsError != refused {
				t.Errorf("%s: error %t, structured %+v, text %q", tool, res.IsError, res.StructuredContent, text.Text)
			}
		})
	}
}

// A tool of another role and an unknown tool are refused in words that the model reads.
func TestToolsThatAreNotOfferedAreRefused(t *testing.T) {
	client := connect(t)
	for tool, says := range map[string]string{
		"submit_plan": "submit_plan is not a tool of the architect; yours: research_dispatch_code",
		"submit_all":  `there is no tool "submit_all"; tools: research_dispatch_code`,
	} {
		t.Run(tool, func(t *testing.T) {
			res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool})
			if err != nil {
				t.Fatalf("%s: %v", tool, err)
			}
			text, ok := res.Content[0].(*sdk.TextContent)
			if !ok || !res.IsError || !strings.Contains(text.Text, says) {
				t.Errorf("%s: error %t, content %+v", tool, res.IsError, res.Content[0])
			}
		})
	}
}

// Arguments that are no object are answered as any refusal is.
func TestArgumentsThatAreNoObject(t *testing.T) {
	res, err := connect(t).CallTool(t.Context(), &sdk.CallToolParams{Name: "report_status", Arguments: []string{"reading"}})
	if err != nil {
		t.Fatal(err)
	}
	structured, ok := res.StructuredContent.(map[string]any)
	if !ok || structured["ok"] != false || structured["messages"] == nil || !res.IsError {
		t.Errorf("error %t, structured %+v", res.IsError, res.StructuredContent)
	}
}
