package comment

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/ghsync/markdown"
)

// Waiting is what a ticket waits for.
type Waiting struct {
	Place, Of int    // in the queue, from 1; 0: its turn has come
	Reason    string // why it waits, as a part of a sentence; empty: for a slot
	Dropped   string // why it will not start; empty: it will
	Begun     bool   // it had started, on a host that is gone
	Slot      bool   // it has one, and begins as soon as its reason is over
}

// placesTold is how far from its turn a ticket learns its exact place.
const placesTold = 10

// MovedOnly reports whether w differs from an earlier one in nothing but the place.
func (w Waiting) MovedOnly(earlier Waiting) bool {
	return w.Reason == earlier.Reason && w.Dropped == earlier.Dropped && (w.Place == 0) == (earlier.Place == 0)
}

// QueueText is the status comment of a ticket without its marker.
func (v *View) QueueText(w Waiting) string {
	out := []string{"### agentmux: " + v.queueHeadline(w), ""}
	if w.Reason != "" {
		out = append(out, v.n.Inline(markdown.Shorten(markdown.Raw("Waits: "+w.Reason), 500)))
	}
	if line := v.askedLine(); line != "" {
		out = append(out, line)
	}
	if v.Host != "" {
		out = append(out, "Host "+markdown.CodeSpan(v.Host))
	}
	if w.Dropped == "" && !v.Deaf {
		out = append(out, "`/agentmux stop` takes it out of the queue.")
	}
	return strings.Join(out, "\n")
}

func (v *View) queueHeadline(w Waiting) string {
	switch {
	case w.Begun:
		return "lost: " + v.n.Inline(markdown.Shorten(markdown.Raw(w.Dropped), 300))
	case w.Dropped != "":
		return "not started: " + v.n.Inline(markdown.Shorten(markdown.Raw(w.Dropped), 200))
	case w.Place == 0:
		return "starting"
	case w.Place > placesTold:
		return fmt.Sprintf("queued: behind the first %d of %d", placesTold, w.Of)
	}
	return fmt.Sprintf("queued: %s of %d", ordinal(w.Place), w.Of)
}

// ordinal is 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}
