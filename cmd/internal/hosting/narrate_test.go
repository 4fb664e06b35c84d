package hosting_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// A command whose session has ended says what it waits for, once, where that takes longer than two seconds.
func TestAPersonIsToldOfTheWaitForTheLastCheckpoint(t *testing.T) {
	_, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Name: "s", Request: "x", Definition: definition, State: orchestrator.State{Settings: orchestrator.DefaultSettings()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	saving := []orchestrator.Effect{{ID: "1", Type: orchestrator.EffCheckpoint}}
	for name, c := range map[string]struct {
		states []orchestrator.State // one a second
		then   time.Duration
		told   int
	}{
		"paced":                 {[]orchestrator.State{{Outcome: orchestrator.OutcomeDone, Pending: saving}, {Outcome: orchestrator.OutcomeDone, Pending: saving}}, time.Minute, 1},
		"at once":               {[]orchestrator.State{{Outcome: orchestrator.OutcomeDone, Pending: saving}, {Outcome: orchestrator.OutcomeDone}}, time.Minute, 0},
		"in the middle":         {[]orchestrator.State{{Pending: saving}}, time.Minute, 0},
		"the command has ended": {[]orchestrator.State{{Outcome: orchestrator.OutcomeDone, Pending: saving}}, time.Second / 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				a := &site.Finder{Console: console.New(console.Streams{Out: &said, Err: &said}, func() *redact.Redactor { return redact.New() })}
				spec := host.RunSpec{Dir: sess.Dir}
				told, err := hosting.Narrate(a, &site.Site{Log: &hostlog.Log{}}, &spec)
				if err != nil {
					t.Fatal(err)
				}
				for i := range c.states {
					if i > 0 {
						time.Sleep(time.Second)
					}
					spec.OnCommit(&c.states[i])
				}
				time.Sleep(c.then)
				told()
				if n := strings.Count(said.String(), "waiting up to 90 s for the push of its last checkpoint"); n != c.told {
					t.Errorf("told %d times, want %d: %s", n, c.told, said.String())
				}
			})
		})
	}
}
