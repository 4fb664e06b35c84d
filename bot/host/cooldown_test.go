package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// started returns when the launches of an agent began, as the records of its session say.
func started(t *testing.T, dir, role string) []time.Time {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Time
	for line := range strings.Lines(string(data)) {
		var e struct {
			Type string    `json:"type"`
			At   time.Time `json:"ts"`
			Data struct {
				Role string `json:"role"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == orchestrator.EvAgentStarted && e.Data.Role == role {
			times = append(times, e.At)
		}
	}
	return times
}

// A provider that refuses one session more for some seconds is asked by no session of the machine before. Then
// both continue by themselves, and nothing was counted against an agent.
func TestProtocolP21ACoolDownHoldsForEveryHost(t *testing.T) {
	t.Parallel()
	first, second := newRig(t, "agents: {transport: tui}\n"), newRig(t, "agents: {transport: tui}\n")
	second.host.StateHome = first.host.StateHome
	sc := simple()
	sc.Limited, sc.Details = map[string]bool{"planner": true}, map[string]string{"planner": "try again in 8 seconds"}
	first.script(sc)
	second.script(simple())
	refused, spared := first.prepare(quick), second.prepare(quick)
	endFirst := first.background(host.RunSpec{Dir: refused})
	var until time.Time
	first.eventually("the cool-down is noted", func() bool {
		all := cooldown.In(first.host.StateHome).All(time.Now())
		if len(all) == 1 {
			until = all[0].Until
		}
		return len(all) == 1
	})
	endSecond := second.background(host.RunSpec{Dir: spared})
	second.eventually("the other session waits", func() bool {
		a := second.state(spared).Agents["planner"]
		return a.Limited && a.Until.Equal(orchestrator.At(until).Time) || len(started(t, spared, "planner")) > 0
	})
	for _, end := range []func(error) (*orchestrator.State, error){endFirst, endSecond} {
		s, err := end(nil)
		if err != nil {
			t.Fatal(err)
		}
		mustEnd(t, s, orchestrator.OutcomeDone, "")
		if a := s.Agents["planner"]; a.Retries != 0 || a.Limited {
			t.Errorf("agent %+v", a)
		}
	}
	for dir, want := range map[string]int{refused: 2, spared: 1} {
		times := started(t, dir, "planner")
		if len(times) != want || times[len(times)-1].Before(until) {
			t.Errorf("the planner was started at %v, the provider refused until %s", times, until)
		}
	}
}

// A start that waits for its provider does not begin while a person has paused the session.
func TestAPausedSessionStaysPausedWhenItsProviderTakesMore(t *testing.T) {
	t.Parallel()
	paused, other := newRig(t, ""), newRig(t, "")
	other.host.StateHome = paused.host.StateHome
	cool, login := cooldown.In(paused.host.StateHome), cooldown.Login{Provider: "script", Account: agent.Provider{}.Account(agent.EnvSpec{})}
	refused := time.Now().Add(-time.Minute)
	if err := cool.Note(login, cooldown.Refusal{Cause: "limit", At: refused, Until: refused.Add(time.Hour)}, time.Now()); err != nil {
		t.Fatal(err)
	}
	begin := func(r *rig) (dir string, end func(error) (*orchestrator.State, error)) {
		r.script(simple())
		dir = r.prepare(quick)
		end = r.background(host.RunSpec{Dir: dir})
		r.eventually("its agent waits", func() bool { return r.state(dir).Agents["planner"].Limited })
		return dir, end
	}
	dir, end := begin(paused)
	_, endOther := begin(other)
	paused.command(dir, "1", "pause", orchestrator.CommandArgs{})
	paused.eventually("it is paused", func() bool { return paused.state(dir).Paused })
	if err := cool.Answered(login, "another", time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	s, err := endOther(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s := paused.state(dir); len(started(t, dir, "planner")) != 0 || !s.Paused {
		t.Errorf("it was started in a pause: %+v", s.Agents["planner"])
	}
	paused.command(dir, "2", "resume", orchestrator.CommandArgs{})
	if s, err = end(nil); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}
