// Package mcp offers a session's tools over the Model Context Protocol. It also has the
// client with which the scripted agent and the tests call them.
//
// The server is one process per agent, started by the agent's CLI. Its arguments alone say
// who calls. It offers the tools that the agent's role may use, and answers a refusal as a
// tool error, so that the model reads it. It holds no state between calls: its answers come
// from the session directory.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// instructions tell a model what the tools are for.
const instructions = `These tools connect you to the agentmux session you work in. Write your files first, then submit them with the tool your prompt names; a submission ends your task. Refusals say what to do instead.`

// Serve answers MCP requests on in and out until in ends or ctx is done. in and
// out are closed.
func Serve(ctx context.Context, who tools.Caller, version string, in io.ReadCloser, out io.WriteCloser) error {
	server, err := newServer(who, version)
	if err != nil {
		return err
	}
	if err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve tools: %w", err)
	}
	return nil
}

func newServer(who tools.Caller, version string) (*sdk.Server, error) {
	offered, err := tools.Offered(who)
	if err != nil {
		return nil, err
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "agentmux", Version: version}, &sdk.ServerOptions{Instructions: instructions})
	for _, t := range offered {
		tool := &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema()}
		server.AddTool(tool, handler(who, t.Name))
	}
	server.AddReceivingMiddleware(refuseUnoffered(who, offered))
	return server, nil
}

// refuseUnoffered answers calls of tools that are not the caller's as the command line does.
// The library would answer with a protocol error, which a model may never see.
func refuseUnoffered(who tools.Caller, offered []toolset.Tool) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || slices.ContainsFunc(offered, func(t toolset.Tool) bool { return t.Name == call.Params.Name }) {
				return next(ctx, method, req)
			}
			return handler(who, call.Params.Name)(ctx, call)
		}
	}
}

func handler(who tools.Caller, name string) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		params := tools.Params{}
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &params); err != nil {
				return told(tools.Misread(who, "the arguments are not a JSON object: "+err.Error())), nil
			}
		}
		return told(tools.Call(ctx, who, name, params)), nil
	}
}

// told is the answer of a tool as the protocol carries it.
func told(answer tools.Answer) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: answer.Text}},
		StructuredContent: structured{Text: answer.Text, Answer: answer},
		IsError:           !answer.OK,
	}
}

// structured is the answer for programs. It holds the text too: some programs show their
// model the structured part instead of the text, and the words of a message must not get
// lost.
type structured struct {
	Text string `json:"text"`
	tools.Answer
}
