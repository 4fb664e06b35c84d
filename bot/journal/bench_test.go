package journal_test

import (
	"testing"

	"github.com/agentmux/agentmux/bot/journal"
)

// BenchmarkAppend writes records to a journal on disk.
func BenchmarkAppend(b *testing.B) {
	d := newDesk(b)
	for n := 0; b.Loop(); n++ {
		d.add(accepted(12, n))
	}
}

// BenchmarkOpen reads a journal of 10,000 records.
func BenchmarkOpen(b *testing.B) {
	d := newDesk(b)
	text := make([]byte, 0, 2<<20)
	for n := range 10_000 {
		line, err := journal.Line(accepted(12, n), noon)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, line...)
	}
	d.write(string(text))
	for b.Loop() {
		d.reopen()
	}
}
