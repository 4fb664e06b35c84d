package request_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/ghsync"
)

// A label that was on when a person asked at a terminal was served if a host put a state label in its place since.
func TestALabelIsServedIfAStateLabelTookItsPlace(t *testing.T) {
	asked := time.Date(2026, 11, 21, 10, 5, 0, 900, time.UTC)
	for name, c := range map[string]struct {
		events string // <seconds after it was asked><+ or -><label>
		served bool
	}{
		"served":                        {"-60+agentmux 5+agentmux:running 5-agentmux 9+agentmux:done", true},
		"served, by its workflow":       {"-60+agentmux:quick 5+agentmux:running 6-agentmux:quick", true},
		"served in that second":         {"-60+agentmux 0+agentmux:queued 0-agentmux", true},
		"set and served in that second": {"0+agentmux 0+agentmux:queued 0-agentmux", true},
		"without a label":               {"", false},
		"withdrawn by a person":         {"-60+agentmux 5-agentmux", false},
		"still on":                      {"-60+agentmux 5+agentmux:running", false},
		"set again":                     {"-60+agentmux 5+agentmux:done 5-agentmux 9+agentmux", false},
		"served before":                 {"-60+agentmux -50+agentmux:running -50-agentmux -9+agentmux:done", false},
		"another label":                 {"-60+bug 5-bug 5+agentmux:done", false},
		"withdrawn, and the state of an older one": {"-90+agentmux:done -60+agentmux 5-agentmux", false},
		"set later": {"5+agentmux 6+agentmux:done 6-agentmux", false},
	} {
		t.Run(name, func(t *testing.T) {
			var r ghsync.Record
			for _, text := range strings.Fields(c.events) {
				i := 1 + strings.IndexAny(text[1:], "+-") // the first character may be the sign of the seconds
				d, err := time.ParseDuration(text[:i] + "s")
				if err != nil {
					t.Fatal(err)
				}
				e := ghsync.LabelEvent{Name: text[i+1:], Added: text[i] == '+', At: asked.Truncate(time.Second).Add(d)}
				r.Labels = append(r.Labels, e)
				r.Issue.Labels = slices.DeleteFunc(r.Issue.Labels, func(n string) bool { return n == e.Name })
				if e.Added {
					r.Issue.Labels = append(r.Issue.Labels, e.Name)
				}
			}
			if got := request.Served(r, "agentmux", asked); got != c.served {
				t.Errorf("served %v, labels %q", got, r.Issue.Labels)
			}
		})
	}
}
