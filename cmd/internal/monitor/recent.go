package monitor

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// maxRecent bounds how many records a View carries.
const maxRecent = 100

func recent(records []orchestrator.Event, loc *time.Location) []Recent {
	var out []Recent
	for _, e := range records {
		if line := plain(story.Line(e)); line != "" {
			out = append(out, Recent{At: e.TS.In(loc), Text: line})
		}
	}
	return out[max(0, len(out)-maxRecent):]
}
