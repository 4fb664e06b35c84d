package trial_test

import (
	"io"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/trial"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
)

// A test asks a model that somebody pays for: only a yes, which Enter is, too, starts it.
func TestOnlyAYesStartsATest(t *testing.T) {
	for typed, starts := range map[string]bool{
		"\n": true, "y\n": true, "Yes\n": true, "n\n": false, "N\n": false, "no\n": false, "NO\n": false, "q\n": false, "yes?\n": false, "": false,
	} {
		a := &site.Finder{Console: console.New(console.Streams{In: strings.NewReader(typed), Out: io.Discard, Err: io.Discard, Terminal: true}, func() *redact.Redactor { return redact.New() })}
		may, err := trial.Consent(trial.Options{Limit: trial.Limit}, t.Context(), a, agent.Provider{Name: "script"})
		if may != starts || (err != nil) != (typed == "") {
			t.Errorf("%q: %t, %v", typed, may, err)
		}
	}
}
