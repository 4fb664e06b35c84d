package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/internal/redact"
)

// RefusalMarker is the key of the comment that refuses a trigger.
func RefusalMarker(t Trigger) ghsync.Marker {
	sum := sha256.Sum256([]byte(t.String()))
	return ghsync.Marker{Session: "refused-" + hex.EncodeToString(sum[:])[:12], Kind: ghsync.KindFinal}
}

// Limits of a refusal.
const (
	maxDetails = 20
	maxDetail  = 300 // UTF-16 units of one line

	refusalsOfIssue = 1  // in a day
	refusalsOfRepo  = 10 // in an hour
)

// MayComment reports whether another refusal may be written, by how many were written on the
// issue in the last day and in the repository in the last hour. The label goes off without one.
func MayComment(ofIssue, ofRepo int) bool {
	return ofIssue < refusalsOfIssue && ofRepo < refusalsOfRepo
}

// Refusal is the comment that says why a request was refused, and what to do next.
func Refusal(d Decision, n markdown.Neutralizer, r *redact.Redactor) markdown.Text {
	out := []string{"### agentmux: not started", "", "Cause: " + n.Inline(shown(d.Reason)) + "."}
	if details := d.Details; len(details) > 0 {
		out = append(out, "")
		for _, line := range details[:min(len(details), maxDetails)] {
			out = append(out, "- "+n.Name(string(shown(line))))
		}
		if more := len(details) - maxDetails; more > 0 {
			out = append(out, fmt.Sprintf("- and %d more", more))
		}
	}
	if who := d.Asked.By.Account.Login; who != "" {
		out = append(out, "", fmt.Sprintf("Asked for by %s at %s UTC.", n.Name(who), d.Asked.CutOff.UTC().Format("2006-01-02 15:04")))
	}
	if d.Remedy != "" {
		out = append(out, "", "Next: "+n.Inline(shown(d.Remedy))+".")
	}
	out = append(out, "", RefusalMarker(d.Asked.Trigger).String())
	return markdown.Finish(r, strings.Join(out, "\n"))
}

func shown(text string) markdown.Raw { return markdown.Shorten(markdown.Raw(text), maxDetail) }
