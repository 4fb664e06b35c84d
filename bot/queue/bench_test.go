package queue_test

import (
	"testing"

	"github.com/agentmux/agentmux/bot/ticket"
)

// BenchmarkQueue drains 1,000 tickets of five repositories through 20 slots, of which one comes back
// at a time. out-of-order counts those that began at another place than the order gives them.
func BenchmarkQueue(b *testing.B) {
	all := thousand()
	want := ticket.Order(all, ticket.Turns{})
	wrong := 0
	for b.Loop() {
		w := newWorld(20, free)
		for _, t := range all {
			w.Add(asEntry{&entry{Ticket: t, w: w}})
		}
		w.turn()
		got := w.begun
		for i := 0; len(got) < len(all); i++ {
			w.Yield(got[i].Key())
			w.turn()
			got = append(got, w.begun...)
		}
		for i := range got {
			if got[i].Key() != want[i].Key() {
				wrong++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(all)), "us/ticket")
	b.ReportMetric(float64(wrong), "out-of-order")
}
