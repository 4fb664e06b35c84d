package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// planners lists the starts of the planner as provider, or as provider for the one that it took over from.
func (r *rig) planners(dir string) (list []string) {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		e, err := orchestrator.ReadEvent([]byte(line))
		if err != nil {
			r.t.Fatal(err)
		}
		switch d, ok := e.Data.(orchestrator.AgentStartedRecord); {
		case !ok || d.Role != "planner" && d.FallbackFor == "":
		case d.FallbackFor != "":
			list = append(list, fmt.Sprintf("%s %s for %s", d.Role, d.Provider, d.FallbackFor))
		default:
			list = append(list, d.Role+" "+d.Provider)
		}
	}
	return list
}

// withFallback lets the scripted provider take over from the scripted claude of the planner.
func (r *rig) withFallback() {
	r.t.Helper()
	r.asClaude()
	r.config.Roles = map[string]config.Role{"planner": {Provider: "claude", Fallback: []string{"script"}}}
}

// A provider that refuses more for longer than the configuration allows, or refuses the login, has the next one take over: in the
// same session, with its records, and without a retry.
func TestProtocolP21AFallbackTakesOver(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		transport string
		script    func(*scenario)
		want      []string
	}{
		"limit in the pane": {"tui", func(sc *scenario) {
			sc.Limited, sc.Details = map[string]bool{"planner": true}, map[string]string{"planner": "try again in 2 hours"}
		}, []string{"planner claude", "planner script for claude"}},
		"login in the pane": {"tui", func(sc *scenario) { sc.Refused = map[string]bool{"planner": true} }, []string{"planner claude", "planner script for claude"}},
		"a wait that is short enough": {"tui", func(sc *scenario) {
			sc.Limited, sc.Details = map[string]bool{"planner": true}, map[string]string{"planner": "try again in 3 seconds"}
		}, []string{"planner claude", "planner claude"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "agents: {transport: "+c.transport+"}\n")
			r.withFallback()
			sc := simple()
			c.script(&sc)
			r.script(sc)
			dir := r.prepare(quick)
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			if got := r.planners(dir); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("started %q, want %q", got, c.want)
			}
			if a := s.Agents["planner"]; a.Retries != 0 || a.Provider != "" || a.Limited {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

// A start that the cool-down of its provider holds back is given to a fallback as soon as that takes more itself.
func TestProtocolP21AHeldStartGoesToTheFallback(t *testing.T) {
	t.Parallel()
	r := newRig(t, "agents: {transport: tui}\n")
	r.withFallback()
	cool := cooldown.In(r.host.StateHome)
	refused := time.Now().Add(-time.Minute)
	logins := map[string]cooldown.Login{}
	r.script(simple())
	dir := r.prepare(quick)
	for _, name := range []string{"claude", "script"} {
		logins[name] = r.login(name)
		if err := cool.Note(logins[name], cooldown.Refusal{Cause: "limit", At: refused, Until: refused.Add(time.Hour)}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	end := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner waits", func() bool { return r.state(dir).Agents["planner"].Limited })
	if a := r.state(dir).Agents["planner"]; a.Provider != "" {
		t.Errorf("given to one that refuses more itself: %+v", a)
	}
	if err := cool.Answered(logins["script"], "another", time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	s, err := end(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.planners(dir); len(got) != 1 || got[0] != "planner script for claude" {
		t.Errorf("started %q", got)
	}
}

// login is what the service of a provider knows the agents of unattended sessions by.
func (r *rig) login(name string) cooldown.Login {
	r.t.Helper()
	providers, err := host.Providers(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	env := agent.EnvSpec{Path: r.config.Sandbox.Path, Home: r.host.StateHome, Logins: filepath.Join(r.host.StateHome, "logins"), Lookup: r.host.Environ}
	return cooldown.Login{Provider: name, Account: providers[name].Account(env)}
}

// A ticket begins although the providers of all its roles refuse more, if another one takes over.
func TestGitHub80ATicketBeginsWithAFallback(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		wait    time.Duration
		command string // of the fallback
		cools   bool   // the fallback, too
		begins  bool
	}{
		"it takes over":        {30 * time.Minute, "", false, true},
		"it refuses more, too": {30 * time.Minute, "", true, false},
		"never":                {0, "", false, false},
		"it is not installed":  {30 * time.Minute, "absent-program", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.withFallback()
			r.config.Defaults.Provider, r.config.Limits.ProviderWait = "claude", c.wait
			if c.command != "" {
				r.config.Providers = map[string]config.Provider{"script": {Command: c.command}}
			}
			names := []string{"claude"}
			if c.cools {
				names = append(names, "script")
			}
			for _, name := range names {
				if err := cooldown.In(r.host.StateHome).Note(r.login(name), cooldown.Refusal{Cause: "limit", At: time.Now(), Until: time.Now().Add(time.Hour)}, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			project, err := r.host.Project(t.Context(), r.project, r.config)
			if err != nil {
				t.Fatal(err)
			}
			base, err := project.Base(t.Context(), r.config, "")
			if err != nil {
				t.Fatal(err)
			}
			spec := host.PrepareSpec{
				Project: project, Config: r.config, Files: os.DirFS(r.project), Source: "working tree", Base: base,
				Title: "greet the world", Request: "Write a greeting.", Identity: "0123456789abcdef",
			}
			quick(&spec)
			sess, err := r.host.Prepare(t.Context(), spec)
			if sess != nil {
				_ = sess.Close()
			}
			if waits := errors.As(err, new(*host.PreflightError)); waits == c.begins || err != nil && !waits {
				t.Errorf("prepared with %v", err)
			}
		})
	}
}
