package signal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/signal"
)

// render returns what people see of a stream, and the signals of it.
func render(text string) (shown string, signals []signal.Signal) {
	var out bytes.Buffer
	signal.Render(strings.NewReader(text), &out, func(s signal.Signal) { signals = append(signals, s) })
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
