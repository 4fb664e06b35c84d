package gate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

// BenchmarkDecision judges an issue with 500 events and 1,000 comments, from the reading to the
// last row, with the server's answers there.
func BenchmarkDecision(b *testing.B) {
	f := wanted()
	f.Record.Labels = nil
	for i := range 250 {
		at := time.Duration(i-500) * time.Second
		f.Record.Labels = append(f.Record.Labels, label(fmt.Sprintf("agentmux:w%d", i%40), mia, at), unlabel(fmt.Sprintf("agentmux:w%d", i%40), at))
	}
	f.Record.Labels = append(f.Record.Labels, label("agentmux", mia, 0))
	for i := range 1000 {
		f.Record.Comments = append(f.Record.Comments, ghsync.Comment{ID: int64(i), Author: eve, CreatedAt: asked, EditedAt: asked})
	}
	for i := range 100 {
		f.Record.BodyEdits = append(f.Record.BodyEdits, ghsync.Edit{At: asked.Add(time.Duration(i) * time.Second), Editor: olga})
	}
	for b.Loop() {
		if d, _ := gate.Judge(f); d.What != gate.Start {
			b.Fatal(verdict(d))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "decision-ms")
}
