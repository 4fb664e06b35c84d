// Package mcp offers a session's tools over the Model Context Protocol, and is
// the client that the scripted agent and the tests call them with.
//
// The server is one process per agent, started by the agent's CLI; who calls
// comes from its arguments alone. It offers the tools the agent's role may use,
// answers a refusal as a tool error (so that the model reads it), and holds no
// state between calls: everything it says comes from the session directory.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/agentmux/agentmux/orchestrator/tools"
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
	for _, spec := range offered {
		tool := &sdk.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.Schema()}
		server.AddTool(tool, handler(who, spec.Name))
	}
	server.AddReceivingMiddleware(refuseUnoffered(who, offered))
	return server, nil
}

// refuseUnoffered answers calls of tools that are not the caller's as the command line does.
// The library would answer with a protocol error, which a model may never see.
func refuseUnoffered(who tools.Caller, offered []tools.Spec) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || slices.ContainsFunc(offered, func(s tools.Spec) bool { return s.Name == call.Params.Name }) {
				return next(ctx, method, req)
			}
			return handler(who, call.Params.Name)(ctx, call)
		}
	}
}

func handler(who tools.Caller, name string) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		params := map[string]any{}
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &params); err != nil {
				return failed("the arguments are no JSON object: " + err.Error()), nil
			}
		}
		answer := tools.Call(ctx, who, name, params)
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: answer.Text}},
			StructuredContent: structured{Text: answer.Text, Answer: answer},
			IsError:           !answer.OK,
		}, nil
	}
}

// structured is the answer for programs. It holds the text too: some of them show their
// model the structured part instead of the text beside it, and a message's words must not
// get lost.
type structured struct {
	Text string `json:"text"`
	tools.Answer
}

func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: true}
}
