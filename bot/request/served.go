package request

import (
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// Served reports whether a host has served the request label that an issue had when a person at a terminal asked for
// it, at a time of the server: the label is off, and a state label was put on since. Without a claim that is all that
// tells of a session which has ended. That a person took the label off does not count: a start at a terminal
// needs no label.
func Served(r ghsync.Record, label string, asked time.Time) bool {
	if _, on := r.Request(label); on {
		return false
	}
	asked = asked.Truncate(time.Second) // as events have it; what is of that second counts as later
	on, shown := map[string]bool{}, false
	for _, e := range r.Labels {
		name := strings.ToLower(e.Name)
		if _, is := ghsync.RequestLabel(e.Name, label); is && (e.At.Before(asked) || e.Added && e.At.Equal(asked)) {
			on[name] = e.Added
		}
		shown = shown || e.Added && !e.At.Before(asked) && slices.ContainsFunc(ghsync.StateLabels(label), func(l ghsync.Label) bool { return strings.EqualFold(l.Name, name) })
	}
	for _, was := range on {
		if was {
			return shown
		}
	}
	return false
}
