package mcp

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopGrace is how long a server may take to end after its input was closed.
const stopGrace = time.Second

// Client is a connection to a tool server in a process of its own.
type Client struct{ session *sdk.ClientSession }

// Dial starts argv and talks MCP with it over its standard input and output.
// The caller closes the Client, which ends the process.
func Dial(ctx context.Context, argv []string) (*Client, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "agentmux-client", Version: "1"}, nil)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: stopGrace}, nil)
	if err != nil {
		return nil, fmt.Errorf("start tool server: %w", err)
	}
	return &Client{session: session}, nil
}

// Tools lists the names of the tools the server offers.
func (c *Client) Tools(ctx context.Context) ([]string, error) {
	res, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	names := make([]string, 0, len(res.Tools))
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

// Call calls a tool. refused reports that the session did not take the call;
// answer says why and what to do. An error means that the server did not answer.
func (c *Client) Call(ctx context.Context, tool string, params tools.Params) (answer string, refused bool, err error) {
	res, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: params})
	if err != nil {
		return "", false, fmt.Errorf("call %s: %w", tool, err)
	}
	var text strings.Builder
	for _, content := range res.Content {
		if t, ok := content.(*sdk.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String(), res.IsError, nil
}

// Close ends the server.
func (c *Client) Close() error { return c.session.Close() }
