package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
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
	testfull.Only(t)
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
		records, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
		told := fmt.Sprintf(`"until":"%s"`, orchestrator.At(until).Format("2006-01-02T15:04:05.000Z"))
		if err != nil || !strings.Contains(string(records), `"for":"rate_limit"`) || !strings.Contains(string(records), told) {
			t.Errorf("no record says %s: %v\n%s", told, err, records)
		}
	}
}

// A start that waits for its provider does not begin while a person has paused the session.
func TestAPausedSessionStaysPausedWhenItsProviderTakesMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
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

// An agent that ends with words about limits was not refused: it is started again at once, as any other.
func TestAnAnswerAboutALimitCoolsNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\n")
	r.asClaude()
	sc := simple()
	sc.Print, sc.Gone = map[string]string{"planner": "The client retries after rate_limit.\nretry-after: 3600"}, map[string]int{"planner": 1}
	r.script(sc)
	dir := r.prepare(quick)
	end := r.background(host.RunSpec{Dir: dir})
	r.eventually("it is started again", func() bool { return len(started(t, dir, "planner")) == 2 })
	s, err := end(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if all, err := os.ReadDir(filepath.Join(r.host.StateHome, "cooldown")); len(all) > 0 || s.Agents["planner"].Attempt != 2 {
		t.Errorf("cool-downs %v, %v; agent %+v", all, err, s.Agents["planner"])
	}
}

// A start that waits for its provider holds nothing up: a stop and the move to another host come at once, and no agent begins
// behind them.
func TestAStartThatWaitsForItsProviderIsGivenUp(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, give := range map[string]func(r *rig, dir string) error{
		"stop":      func(r *rig, dir string) error { r.command(dir, "1", "stop", orchestrator.CommandArgs{}); return nil },
		"signal":    func(*rig, string) error { return engine.Signal{Name: "INT"} },
		"hand over": func(*rig, string) error { return host.ErrHandOver },
		"exit":      func(*rig, string) error { return errors.New("the machine goes down") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			cool, login := cooldown.In(r.host.StateHome), cooldown.Login{Provider: "script", Account: agent.Provider{}.Account(agent.EnvSpec{})}
			refused := time.Now().Add(-time.Minute)
			if err := cool.Note(login, cooldown.Refusal{Cause: "limit", At: refused, Until: refused.Add(time.Hour)}, time.Now()); err != nil {
				t.Fatal(err)
			}
			r.script(simple())
			dir := r.prepare(quick)
			end := r.background(host.RunSpec{Dir: dir})
			r.eventually("its agent waits", func() bool { return r.state(dir).Agents["planner"].Limited })
			began := time.Now()
			cause := give(r, dir)
			s, err := end(cause)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			if owed := cause != nil && !errors.As(cause, new(engine.Signal)); owed == s.Ended() || len(started(t, dir, "planner")) != 0 {
				t.Errorf("ended %v, %v; its planner %+v", s.Ended(), err, s.Agents["planner"])
			}
			if !s.Ended() && name == "exit" { // the next host waits on, and begins once the provider takes more
				end := r.background(host.RunSpec{Dir: dir})
				if err := cool.Answered(login, "another", time.Now(), time.Now()); err != nil {
					t.Fatal(err)
				}
				r.eventually("it begins", func() bool { return len(started(t, dir, "planner")) == 1 })
				if s, err := end(nil); err != nil || s.Agents["planner"].Attempt != 1 {
					t.Errorf("%v, %+v", err, s.Agents["planner"])
				}
			}
		})
	}
}

// What refuses an agent is the login that it began with, also when a person has given another one meanwhile.
func TestACoolDownIsOfTheLoginThatWasRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "agents: {transport: tui}\n")
	r.asClaude()
	var other atomic.Bool
	environ := r.host.Environ
	r.host.Environ = func(name string) (string, bool) {
		if name == "ANTHROPIC_API_KEY" && other.Load() {
			return "another key", true
		}
		return environ(name)
	}
	sc := simple()
	sc.Hold, sc.Says = map[string]bool{"planner": true}, map[string]string{"planner": "API Error: 429 try again in 2 hours"}
	r.script(sc)
	dir := r.prepare(quick)
	end := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner runs", func() bool { return len(started(t, dir, "planner")) == 1 })
	launch, err := agent.ReadLaunch(filepath.Join(dir, session.LaunchesDir, string(r.state(dir).Agents["planner"].Launch)))
	if err != nil || launch.Account == "" {
		t.Fatalf("launch %+v, %v", launch, err)
	}
	other.Store(true)
	if err := os.WriteFile(filepath.Join(r.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all []cooldown.CoolDown
	r.eventually("the cool-down is noted", func() bool {
		all = cooldown.In(r.host.StateHome).All(time.Now())
		return len(all) > 0
	})
	if all[0].Account != launch.Account || len(all) != 1 {
		t.Errorf("noted %+v, it was %s", all, launch.Account)
	}
	if _, err := end(errors.New("the machine goes down")); err == nil {
		t.Error("it has ended")
	}
}

// Who removes the cool-downs, as after more was bought, has an agent that waits in its pane try again: it does not note its
// refusal a second time.
func TestACoolDownThatIsRemovedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\n")
	var ahead atomic.Int64
	r.host.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	sc := simple()
	sc.Limited, sc.Details = map[string]bool{"planner": true}, map[string]string{"planner": "try again in 2 hours"}
	r.script(sc)
	dir := r.prepare(quick)
	end := r.background(host.RunSpec{Dir: dir})
	cool := cooldown.In(r.host.StateHome)
	r.eventually("the cool-down is noted", func() bool { return len(cool.All(time.Now())) == 1 })
	if err := os.RemoveAll(string(cool)); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(2 * time.Minute))
	r.eventually("it is started again", func() bool { return len(started(t, dir, "planner")) == 2 })
	s, err := end(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}
