package signal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/signal"
)

// render returns what people see of a stream, and the signals of it.
func render(text string) (shown string, signals []signal.Signal) { return renderAs("claude", text) }

func renderAs(format, text string) (shown string, signals []signal.Signal) {
	var out bytes.Buffer
	signal.Render(format, strings.NewReader(text), &out, func(s signal.Signal) { signals = append(signals, s) })
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), signals
}

func TestStreamIsShownForPeople(t *testing.T) {
	shown, signals := render(strings.Join([]string{
		`{"type":"system","subtype":"init","session_id":"u-1","model":"opus"}`,
		`{"type":"system","subtype":"hook_started"}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"One\ntwo"},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","content":"a file"},{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"no"}]}]}}`,
		`{"type":"user","message":{"content":"plain"}}`,
		`plain words`,
		`{"type":"result","subtype":"success","num_turns":2,"total_cost_usd":0.25,"session_id":"u-1","usage":{"input_tokens":7,"cache_read_input_tokens":3}}`,
	}, "\n"))
	want := "* session u-1 opus\nOne\ntwo\n> Bash {\"command\":\"ls\"}\n< a file\n! no\nplain\nplain words\n* success after 2 turns, $0.2500\n"
	if shown != want {
		t.Errorf("shown:\n%s\nwant:\n%s", shown, want)
	}
	if len(signals) != 1 || *signals[0].Usage != (signal.Usage{Input: 7, CacheRead: 3, USD: 0.25, Turns: 2}) || signals[0].Text != "" {
		t.Errorf("signals: %+v", signals)
	}
}

// What a model writes must not control the terminal of the person who watches.
func TestSecurity21StreamShowsNoControlCharacters(t *testing.T) {
	shown, _ := render("raw \x1b[2J\x07\u009b1m\n" + `{"type":"assistant","message":{"content":[{"type":"text","text":"a\u001b]52;c;x\u0007\rb\tc"}]}}`)
	if shown != "raw [2J1m\na]52;c;xb c\n" {
		t.Errorf("shown: %q", shown)
	}
}

func TestStreamOfAnyLengthIsReadToItsEnd(t *testing.T) {
	shown, signals := render(strings.Repeat("x", 9<<20) + "\n" + `{"type":"result","subtype":"error_during_execution","is_error":true,"result":"API Error: 529 overloaded"}`)
	if !strings.HasPrefix(shown, "[a line of 9437185 bytes]\n") || !strings.HasSuffix(shown, "! API Error: 529 overloaded\n") {
		t.Errorf("shown: %.200s", shown)
	}
	if len(signals) != 1 || signals[0].Kind != signal.KindRateLimit {
		t.Errorf("signals: %+v", signals)
	}
}

// The streams of other programs, as they were seen: codex 0.169.0, gemini 0.61.0, opencode 1.18.33, qwen 0.15.10.
func TestStreamsOfOtherPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		format, shown string
		lines         []string
		kind          signal.Kind // of the last signal
		text          string
		usage         *signal.Usage
	}{
		"codex": {"codex", "* session t-1\nI read.\n> run /bin/bash -lc \"cat a\"\n< # Summary\n> agentmux.submit_summary {}\n< submitted\n> update b.txt\n! not found\n* the turn is over\n", []string{
			`{"type":"thread.started","thread_id":"t-1"}`, `{"type":"turn.started"}`,
			`{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"I read."}}`,
			`{"type":"item.started","item":{"id":"item_4","type":"command_execution","command":"/bin/bash -lc \"cat a\"","aggregated_output":"","exit_code":null,"status":"in_progress"}}`,
			`{"type":"item.completed","item":{"id":"item_4","type":"command_execution","command":"/bin/bash -lc \"cat a\"","aggregated_output":"# Summary\n","exit_code":0,"status":"completed"}}`,
			`{"type":"item.started","item":{"id":"item_6","type":"mcp_tool_call","server":"agentmux","tool":"submit_summary","arguments":{},"result":null,"error":null,"status":"in_progress"}}`,
			`{"type":"item.completed","item":{"id":"item_6","type":"mcp_tool_call","server":"agentmux","tool":"submit_summary","arguments":{},"result":{"content":[{"type":"text","text":"submitted"}]},"error":null,"status":"completed"}}`,
			`{"type":"item.completed","item":{"id":"item_7","type":"file_change","changes":[{"path":"b.txt","kind":"update"}],"status":"completed"}}`,
			`{"type":"item.completed","item":{"id":"item_2","type":"error","message":"not found"}}`,
			`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20}}`,
		}, signal.KindResult, "", nil},
		"codex, refused": {"codex", "! Reconnecting... 5/5 (401)\n! unexpected status 401 Unauthorized\n", []string{
			`{"type":"error","message":"Reconnecting... 5/5 (401)"}`,
			`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}`,
		}, signal.KindResult, "unexpected status 401 Unauthorized", nil},
		"gemini": {"gemini", "* session g-1 gemini-2.5-pro\nRead and follow\nI read\nmy part.\n> read_file {\"file_path\":\"a\"}\n< one\n! no such file\nDone.\n* success, 400 tokens in, 80 out\n", []string{
			`{"type":"init","timestamp":"2026-11-28T07:04:39.875Z","session_id":"g-1","model":"gemini-2.5-pro"}`,
			`{"type":"message","role":"user","content":"Read and follow"}`,
			`{"type":"message","role":"assistant","content":"I re","delta":true}`, `{"type":"message","role":"assistant","content":"ad\nmy part.","delta":true}`,
			`{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"file_path":"a"}}`,
			`{"type":"tool_result","tool_id":"1","status":"success","output":"one"}`,
			`{"type":"tool_result","tool_id":"2","status":"error","error":{"type":"not_found","message":"no such file"}}`,
			`{"type":"message","role":"assistant","content":"Done.","delta":true}`,
			`{"type":"result","status":"success","stats":{"total_tokens":480,"input_tokens":400,"output_tokens":80,"cached":100,"input":300}}`,
		}, signal.KindResult, "", &signal.Usage{Input: 300, CacheRead: 100, Output: 80}},
		"gemini, refused": {"gemini", "* error, 0 tokens in, 0 out\n! [API Error: 401]\n", []string{
			`{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: 401]"},"stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0}}`,
		}, signal.KindResult, "[API Error: 401]", &signal.Usage{}},
		"opencode": {"opencode", "I read.\n> read {\"filePath\":\"a\"}\n< one\n> bash {}\n! denied\n", []string{
			`{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}`,
			`{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"I read."}}`,
			`{"type":"tool_use","part":{"type":"tool","tool":"read","state":{"status":"completed","input":{"filePath":"a"},"output":"one"}}}`,
			`{"type":"tool_use","part":{"type":"tool","tool":"bash","state":{"status":"error","input":{},"error":"denied"}}}`,
			`{"type":"step_finish","part":{"reason":"tool-calls","type":"step-finish","tokens":{"total":150,"input":100,"output":20,"reasoning":5,"cache":{"write":3,"read":22}},"cost":0.0006}}`,
		}, signal.KindWorking, "", &signal.Usage{Input: 100, Output: 25, Reasoning: 5, CacheRead: 22, CacheWrite: 3, TurnUSD: 0.0006, Turns: 1}},
		"opencode, the end of its turn": {"opencode", "", []string{
			`{"type":"step_finish","part":{"reason":"stop","type":"step-finish"}}`,
		}, signal.KindResult, "", nil},
		"opencode, refused": {"opencode", "! scripted 429 \"statusCode\":429, retry-after: 30\n", []string{
			`{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"scripted 429","statusCode":429,"isRetryable":true,"responseHeaders":{"retry-after":"30"}}}}`,
		}, signal.KindResult, `scripted 429 "statusCode":429, retry-after: 30`, nil},
		"qwen": {"claude", "* session q-1 qwen3\n[API Error: 500 x]\n* success after 1 turns\n", []string{
			`{"type":"system","subtype":"init","session_id":"q-1","model":"qwen3"}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"[API Error: 500 x]"}],"usage":{"input_tokens":0,"output_tokens":0}}}`,
			`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"[API Error: 500 x]","usage":{"input_tokens":400,"output_tokens":80,"cache_read_input_tokens":100,"total_tokens":480}}`,
		}, signal.KindResult, "", &signal.Usage{Input: 300, CacheRead: 100, Output: 80, Turns: 1}},
		"qwen, failed": {"claude", "* error_during_execution after 1 turns\n! no such model\n", []string{
			`{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"error":{"message":"no such model"}}`,
		}, signal.KindResult, "no such model", nil},
		"claude, which tries again": {"claude", "I wait.\n", []string{
			`{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"error":"overloaded"}`,
			`{"type":"assistant","error":"rate_limit","message":{"role":"assistant","content":[{"type":"text","text":"I wait."}]}}`,
		}, "", "", nil},
		"a program without a format": {"other", "{\"type\":\"result\"}\n", []string{`{"type":"result"}`}, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			shown, signals := renderAs(c.format, strings.Join(c.lines, "\n"))
			if shown != c.shown {
				t.Errorf("shown:\n%s\nwant:\n%s", shown, c.shown)
			}
			var last signal.Signal
			if len(signals) > 0 {
				last = signals[len(signals)-1]
			}
			if last.Kind != c.kind || last.Text != c.text || (last.Usage == nil) != (c.usage == nil) || c.usage != nil && *last.Usage != *c.usage {
				t.Errorf("signal %+v, usage %+v", last, last.Usage)
			}
		})
	}
}

// Each format shows what is not an event of it as it is, without control characters, and reads any length to its end.
func TestSecurity21StreamsOfAllFormats(t *testing.T) {
	for _, format := range signal.Streams() {
		shown, _ := renderAs(format, "raw \x1b[2J\x07\n{\"type\":\"\"}\n[1]\n"+strings.Repeat("x", 9<<20)+"\n"+
			`{"type":"text","part":{"text":"a\u001b]52;c;x\u0007"}}`+"\n"+`{"type":"message","role":"assistant","content":"a\u001b]52;c;x\u0007"}`+"\n"+
			`{"type":"item.completed","item":{"type":"agent_message","text":"a\u001b]52;c;x\u0007"}}`)
		if !strings.HasPrefix(shown, "raw [2J\n{\"type\":\"\"}\n[1]\n[a line of 9437185 bytes]\n") || strings.ContainsAny(shown, "\x1b\x07") {
			t.Errorf("%s shows %.200q", format, shown)
		}
	}
}
