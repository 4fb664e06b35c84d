package story

import (
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Wish is one part of the change request that the next plan is for: what somebody asked for, in their words.
type Wish struct{ Author, Text string }

// Wishes are the parts since the last plan, in their order.
type Wishes []Wish

// Fold takes in one record.
func (w *Wishes) Fold(e orchestrator.Event) {
	d, ok := e.Data.(orchestrator.EventRecord)
	switch {
	case !ok:
	case d.Event == orchestrator.LastPlanWritten:
		*w = nil
	case d.Event == orchestrator.LastChanges:
		one := Wish{Text: d.Text}
		if d.Actor != nil {
			one.Author = *d.Actor
		}
		*w = append(*w, one)
	}
}

// Request is the change request that the parts are of.
func (w Wishes) Request() string {
	texts := make([]string, len(w))
	for i, one := range w {
		texts[i] = one.Text
	}
	return strings.Join(texts, "\n\n")
}
