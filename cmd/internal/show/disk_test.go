package show_test

import (
	"os"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A session that has not ended names its disk where too little is free: nothing is in /proc, for one.
func TestAFullDiskIsNamed(t *testing.T) {
	const full = "/proc"
	if _, err := os.Stat(full + "/self"); err != nil {
		t.Skip("this system has no file system that is always full")
	}
	const space = "0.0 GiB of 2.0 GiB are free in /proc: "
	works := &orchestrator.State{Phase: "implementing"}
	for name, c := range map[string]struct {
		e    session.Entry
		want string
	}{
		"one that runs": {session.Entry{Dir: full, Running: true, State: works},
			space + "where a disk is full a session waits, and after some minutes its host ends; make room there, as with agentmux clean"},
		"one that does not run": {session.Entry{Dir: full, State: works}, space + "make room there before the session continues, as with agentmux clean"},
		"one that has ended":    {session.Entry{Dir: full, State: &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}}, ""},
		"one that is damaged":   {session.Entry{Dir: full}, ""},
	} {
		if got := show.DiskNote(c.e); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
