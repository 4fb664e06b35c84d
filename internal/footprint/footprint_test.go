package footprint_test

import (
	"runtime/debug"
	"testing"

	"github.com/agentmux/agentmux/internal/footprint"
)

func TestSaveLeavesWhatThePersonHasSet(t *testing.T) {
	for given, want := range map[string]int{"": 50, "300": 300} {
		t.Setenv("GOGC", given)
		former := debug.SetGCPercent(300)
		footprint.Save()
		if got := debug.SetGCPercent(former); got != want {
			t.Errorf("GOGC=%q: the heap grows by %d %%, want %d", given, got, want)
		}
	}
}
