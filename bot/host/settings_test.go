package host_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestGitHub76OnlyWhatIsSavedElsewhereIsParked is part of row 76 of github section 15: a job gives its runner back only if the
// job of the answer finds the session.
func TestGitHub76OnlyWhatIsSavedElsewhereIsParked(t *testing.T) {
	const after = 10 * time.Minute
	for name, c := range map[string]struct {
		config config.Config
		want   time.Duration
	}{
		"saved on the server": {config.Config{Checkpoint: config.Checkpoint{Remote: true}}, after},
		"saved here":          {config.Config{}, 0},
		"locked here":         {config.Config{Checkpoint: config.Checkpoint{Remote: true}, Bot: config.Bot{SingleHost: true}}, 0},
	} {
		if got := host.SettingsOf(host.Options{ParkAfter: after}, &c.config).ParkAfter; got != orchestrator.Duration(c.want) {
			t.Errorf("%s: parked after %s", name, got.D())
		}
	}
}
