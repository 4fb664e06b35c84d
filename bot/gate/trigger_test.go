package gate_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

func TestTriggersAreTheSameWrittenAndRead(t *testing.T) {
	for want, trigger := range map[string]gate.Trigger{
		"label/agentmux/2026-11-21T10:04:31Z/9":            gate.LabelTrigger(label("AgentMux", mia, 0)),
		"label/agentmux/2026-11-21T10:04:31Z/0":            gate.LabelTrigger(label("agentmux", ghsync.Account{}, 0)),
		"label/agentmux:do/this/2026-11-21T10:04:31Z/9":    gate.LabelTrigger(label("agentmux:do/this", mia, 0)),
		"label/agentmux:\U0001F680/2026-11-21T10:04:32Z/9": gate.LabelTrigger(label("agentmux:\U0001F680", mia, time.Second)),
		"comment/77":                   gate.CommentTrigger(77),
		"review/77":                    gate.ReviewTrigger(77),
		"cli/20261121-100512-issue-12": gate.CLITrigger("20261121-100512-issue-12"),
	} {
		back, err := gate.ParseTrigger(want)
		if trigger.String() != want || err != nil || back != trigger {
			t.Errorf("%q and %+v, %v, want %q", trigger, back, err, want)
		}
		data, err := json.Marshal(map[string]gate.Trigger{"t": trigger})
		var read map[string]gate.Trigger
		if err != nil || json.Unmarshal(data, &read) != nil || read["t"] != trigger {
			t.Errorf("%s: %+v, %v", data, read, err)
		}
	}
	for _, bad := range []string{
		"", "label", "label/", "label/agentmux", "label/agentmux/2026-11-21T10:04:31Z", "label//2026-11-21T10:04:31Z/9", "label/AgentMux/2026-11-21T10:04:31Z/9",
		"label/agentmux/2026-11-21T10:04:31.5Z/9", "label/agentmux/2026-11-21T11:04:31+01:00/9", "label/agentmux/yesterday/9", "label/agentmux/2026-11-21T10:04:31Z/-1",
		"label/agentmux/2026-11-21T10:04:31Z/09", "label/a\nb/2026-11-21T10:04:31Z/9", "comment/", "comment/0", "comment/-7", "comment/7x", "comment/007", "cli/", "cli/../x", "review/", "review/07", "reviews/7",
	} {
		if got, err := gate.ParseTrigger(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
	if _, err := json.Marshal(gate.Trigger{}); err == nil {
		t.Error("no trigger was written")
	}
}

// One label is one trigger, whichever interface told of it and in whatever zone.
func TestGitHub21OneLabelIsOneTrigger(t *testing.T) {
	zone := time.FixedZone("there", 3600)
	a, b := label("agentmux", mia, 0), label("Agentmux", mia, 500*time.Millisecond)
	b.At = b.At.In(zone)
	if gate.LabelTrigger(a) != gate.LabelTrigger(b) {
		t.Errorf("%s and %s", gate.LabelTrigger(a), gate.LabelTrigger(b))
	}
}

func FuzzTrigger(f *testing.F) {
	for _, text := range []string{"label/agentmux/2026-11-21T10:04:31Z/9", "comment/77", "cli/x", "label/\x80/2026-11-21T10:04:31Z/9", "label/\u0130/0000-01-01T00:00:00Z/1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if trigger, err := gate.ParseTrigger(text); err == nil && trigger.String() != text {
			t.Errorf("%q was read and is %q", text, trigger)
		}
		of := gate.LabelTrigger(ghsync.LabelEvent{Name: text, At: asked, Actor: mia})
		if back, err := gate.ParseTrigger(of.String()); text != "" && (err != nil || back != of) {
			t.Errorf("the label %q is %q, and read %+v, %v", text, of, back, err)
		}
	})
}
