package agent_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

func TestLastWordsNameTheFaultOfTheService(t *testing.T) {
	for name, c := range map[string]struct {
		provider, words string
		want            agent.Fault
	}{
		"codex, limit":         {"codex", "ERROR: exceeded retry limit, last status: 429 Too Many Requests", agent.FaultLimit},
		"codex, login":         {"codex", "ERROR: unexpected status 401 Unauthorized: bad key", agent.FaultLogin},
		"codex, outage":        {"codex", "We’re currently experiencing high demand, which may cause temporary errors.", agent.FaultOutage},
		"codex, its own fault": {"codex", "error: the argument is wrong", ""},
		"qwen, outage":         {"qwen", `"result":"[API Error: 500 scripted]"`, agent.FaultOutage},
		"qwen, login":          {"qwen", "[API Error: 401 no]", agent.FaultLogin},
		"qwen, a number alone": {"qwen", "wrote 500 lines", ""},
		"copilot, outage":      {"copilot", "Failed to get response from the AI model; retried 5 times Last error: 500 x", agent.FaultOutage},
		"copilot, limit":       {"copilot", "Failed to get response from the AI model; retried 5 times Last error: 429 x", agent.FaultLimit},
		"copilot, login":       {"copilot", "Authentication failed with provider at http://127.0.0.1/v1 (HTTP 401).", agent.FaultLogin},
		"claude, limit":        {"claude", "API Error: Request rejected (429) · scripted 429", agent.FaultLimit},
		"claude, login":        {"claude", "authentication_failed", agent.FaultLogin},
		"claude, outage":       {"claude", "API Error: 529 overloaded", agent.FaultOutage},
	} {
		t.Run(name, func(t *testing.T) {
			if got := providers(t)[c.provider].Fault(c.words); got != c.want {
				t.Errorf("%q is %q, want %q", c.words, got, c.want)
			}
		})
	}
}

// A program that ends without an error may have answered anything: about limits, too. A refusal that it shows as its answer counts.
func TestAnAnswerAboutAFaultIsNone(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct {
		provider, words string
		answered        bool
		want            agent.Fault
		around          string
	}{
		"a task about it":             {"claude", "Done: a rate_limit is retried, overloaded too.\nThe client honours retry-after: 3600.", true, "", ""},
		"quoted":                      {"claude", `The server says "rate_limit" and {\"text\":\"rate_limit\"}`, true, "", ""},
		"a task about the usage":      {"codex", `{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"The usage limit is shown: try again in 2 hours"}}`, true, "", ""},
		"a task about logins":         {"claude", "I map authentication_error to 401.", true, "", ""},
		"a code in its text":          {"opencode", `{"type":"text","part":{"text":"it logs {\"statusCode\":429}"}}`, true, "", ""},
		"a code in its words":         {"opencode", `it logs "statusCode":429 and {"type":"error","statusCode":429}`, true, "", ""},
		"the answer":                  {"qwen", `{"type":"result","is_error":false,"result":"[API Error: 429 slow]"}`, true, agent.FaultLimit, `{"type":"result","is_error":false,"result":"[API Error: 429 slow]"}`},
		"the whole line":              {"qwen", "some work\n  [API Error: 500 x]", true, agent.FaultOutage, "  [API Error: 500 x]"},
		"behind a mark":               {"claude", "  ⎿ Error: API Error: 429 busy", true, agent.FaultLimit, "  ⎿ Error: API Error: 429 busy"},
		"an event":                    {"codex", `{"type":"turn.failed","error":{"message":"exceeded, last status: 429 Too Many Requests"}}`, true, agent.FaultLimit, `{"type":"turn.failed","error":{"message":"exceeded, last status: 429 Too Many Requests"}}`},
		"a code":                      {"opencode", `{"type":"error","error":{"data":{"isRetryable":true,"statusCode":429}}}`, true, agent.FaultLimit, `{"type":"error","error":{"data":{"isRetryable":true,"statusCode":429}}}`},
		"with an error, in its words": {"claude", "waits: try again in 5 hours\nsaw a rate_limit, resets 3pm (Europe/Berlin)\nbye", false, agent.FaultLimit, "saw a rate_limit, resets 3pm (Europe/Berlin)"},
		"in a long line":              {"codex", "try again in 5 hours " + long + " usage limit, try again in 2 hours " + long, false, agent.FaultLimit, long[:399] + " usage limit, try again in 2 hours " + long[:377]},
	} {
		t.Run(name, func(t *testing.T) {
			p := providers(t)[c.provider]
			if strings.HasPrefix(c.words, "{") {
				p.Stream = "" // its events are shown as they are
			}
			got, around := p.LastWords(c.words, c.answered)
			if got != c.want || around != c.around {
				t.Errorf("%q, %q; want %q, %q", got, around, c.want, c.around)
			}
		})
	}
}

// At the end of a run without an error whose stream is shown as text, what its agent and its tools said is no refusal.
func TestTheEndOfARunAboutAFault(t *testing.T) {
	for name, c := range map[string]struct {
		provider, stream, tail string
		answered               bool
		want                   agent.Fault
	}{
		"codex, a bullet of its agent":  {"codex", "codex", "Done:\n- 429 Too Many Requests is retried", true, ""},
		"codex, an answer of a tool":    {"codex", "codex", "< 401 Unauthorized", true, ""},
		"gemini, an error of a tool":    {"gemini", "gemini", "! fetch failed", true, ""},
		"opencode, words of its agent":  {"opencode", "opencode", `"statusCode":429 is retried`, true, ""},
		"qwen, a bullet of its agent":   {"qwen", "claude", "* Rate limit exceeded, try again in 6 hours", true, ""},
		"qwen, an answer of a tool":     {"qwen", "claude", "< [API Error: 429 x]", true, ""},
		"qwen, a refusal as its answer": {"qwen", "claude", "[API Error: 429 slow]\n* success after 1 turns", true, agent.FaultLimit},
		"codex, with an error":          {"codex", "codex", "! exceeded retry limit, last status: 429 Too Many Requests", false, agent.FaultLimit},
		"codex, in its terminal":        {"codex", "", "■ 429 Too Many Requests", true, agent.FaultLimit},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := providers(t)[c.provider].AtEnd(agent.Launch{Stream: c.stream}, c.tail, c.answered); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// On the screen of a program that waits for input a fault counts where the program itself shows one, in its last turn.
func TestAFaultOnTheScreen(t *testing.T) {
	const box = "\n\n╭────╮\n│ >  │\n╰────╯\n  ? for shortcuts\n"
	for name, c := range map[string]struct {
		provider, screen string
		want             agent.Fault
	}{
		"claude":                 {"claude", "> Read and follow the instructions in /x\n  ⎿ API Error: 429 slow" + box, agent.FaultLimit},
		"codex":                  {"codex", "■ unexpected status 401 Unauthorized: bad key" + box, agent.FaultLogin},
		"codex, broken":          {"codex", "■ exceeded retry limit, last status:\n429 Too Many Requests" + box, agent.FaultLimit},
		"gemini":                 {"gemini", "✕ [API Error: got status: 503 Service Unavailable]" + box, agent.FaultOutage},
		"qwen":                   {"qwen", "✕ [API Error: 401 no]" + box, agent.FaultLogin},
		"copilot":                {"copilot", "● Failed to get response from the AI model; retried 5 times" + box, agent.FaultOutage},
		"work on it":             {"codex", "• I retry on 429 Too Many Requests and 401 Unauthorized." + box, ""},
		"another error":          {"codex", "■ the file is not there\n\n• 429 is retried" + box, ""},
		"of the turn before":     {"claude", "  ⎿ API Error: 429 slow\n> Read and follow the instructions in /x\n● Done." + box, ""},
		"before what was typed":  {"claude", "  ⎿ API Error: 429 slow\n> New update from system: read @/x and act on it.\n● Done." + box, ""},
		"long before":            {"claude", "  ⎿ API Error: 429 slow" + strings.Repeat("\nwork", 20) + box, ""},
		"a program without them": {"cursor", "✕ [API Error: 401 no]" + box, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, around := providers(t)[c.provider].OnScreen(c.screen); got != c.want || (around == "") != (got == "") {
				t.Errorf("%q, %q; want %q", got, around, c.want)
			}
		})
	}
}

func TestWhatGivesAProgramALogin(t *testing.T) {
	for name, want := range map[string]string{
		"claude": "agentmux providers login claude", "gemini": "set GEMINI_API_KEY or GOOGLE_API_KEY", "script": "log script in",
	} {
		if got := providers(t)[name].Repair(); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
