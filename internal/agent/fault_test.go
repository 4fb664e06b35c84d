package agent_test

import (
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
