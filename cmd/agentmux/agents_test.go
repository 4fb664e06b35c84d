package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/modeltest"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// TestAgents takes an issue to its pull request with the real program of each provider in
// every role and a scripted model behind it: it reads its prompt, edits the workspace and
// writes its results with its own tools, and submits them through the tool server. One
// review fails, so that a fix round is part of it.
func TestAgents(t *testing.T) {
	testfull.Only(t)
	table := newSeenTable(t)
	for _, provider := range slices.Sorted(maps.Keys(knownHands())) {
		for _, transport := range []agent.Transport{agent.Headless, agent.TUI} {
			t.Run(provider+"/"+string(transport), func(t *testing.T) {
				t.Parallel()
				way := whole
				if transport == agent.TUI && knownHands()[provider].slow && !fullAgents() {
					way = short
				}
				r, model := newModelRig(t, provider, transport, way.scripts(knownHands()[provider])...)
				t.Cleanup(func() { table.saw(t, provider, string(transport)) })
				res := r.agentmux("issue", "1", "--headless", "--workflow", way.workflow)
				t.Cleanup(func() { r.explain(model, res) })
				if res.code != exit.Done {
					t.Fatalf("exit %d", res.code)
				}
				e := r.session()
				r.done(e)
				r.merged(e, way)
				checkModel(t, model)
				r.checkLaunches(e, provider, transport, way.launches)
			})
		}
	}
}

// TestAgentsNameTheFault lets the service of each program refuse its key, and in the full
// form also every request for a while, or fail: the last words of the program tell which.
func TestAgentsNameTheFault(t *testing.T) {
	faults := map[modeltest.Fault]orchestrator.ServiceFault{modeltest.Unauthorized: orchestrator.ServiceLogin}
	if fullAgents() {
		faults[modeltest.RateLimited], faults[modeltest.Broken] = orchestrator.ServiceLimit, orchestrator.ServiceOutage
	}
	table := newSeenTable(t)
	for _, provider := range slices.Sorted(maps.Keys(knownHands())) {
		for fault, want := range faults {
			t.Run(provider+"/"+string(fault), func(t *testing.T) {
				t.Parallel()
				r, model := newModelRig(t, provider, agent.Headless, modeltest.Script{
					Name: "fault", First: "/architect_prompt.md", Steps: []modeltest.Step{{Fault: fault}},
				})
				t.Cleanup(func() { table.saw(t, provider, string(fault)) })
				ended := make(chan result, 1)
				go func() { ended <- r.agentmux("issue", "1", "--headless") }()
				var res result
				if want == orchestrator.ServiceLogin {
					res = <-ended
				} else {
					r.until("the session waits for the provider", func(s *orchestrator.State) bool {
						return s.Counters["service/architect"].N == 1
					})
					r.expect(exit.Done, "stop")
					res = <-ended
				}
				t.Cleanup(func() { r.explain(model, res) })
				if s := r.session().State; want == orchestrator.ServiceLogin && string(s.OutcomeReason) != orchestrator.ReasonLogin {
					t.Errorf("ended with %s", s.OutcomeReason)
				}
			})
		}
	}
}

// TestClaudeHearsPeople lets a planner ask and a coder be told something while both are
// the real claude: the answer and the word arrive, whatever way the program takes them.
func TestClaudeHearsPeople(t *testing.T) {
	for _, transport := range []agent.Transport{agent.TUI, agent.Headless} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			r, model := newModelRig(t, "claude", transport, append(listeners(knownHands()["claude"]), whole.scripts(knownHands()["claude"])...)...)
			ended := make(chan result, 1)
			go func() { ended <- r.agentmux("issue", "1", "--headless") }()
			r.until("the planner waits for its answer", func(s *orchestrator.State) bool {
				ended := s.Agents["planner"].Launch == "" // a headless program ends with its turn
				return len(s.Questions) == 1 && s.Agents["planner"].Waiting != "" && ended == (transport == agent.Headless)
			})
			r.expect(exit.Done, "answer", "2")
			r.asked.Add(1) // a question costs a comment, its edit, and labels there and back
			r.until("a coder works", func(s *orchestrator.State) bool { return s.Agents["coder/1"].Launch != "" })
			r.expect(exit.Done, "say", "write two, not 2", "--role", "coder/1")
			r.write(filepath.Join(r.dir, "go"), "")
			res := <-ended
			t.Cleanup(func() { r.explain(model, res) })
			if res.code != exit.Done {
				t.Fatalf("exit %d", res.code)
			}
			r.done(r.session())
			checkModel(t, model)
			heard := ""
			for _, q := range model.Requests() {
				for _, result := range q.Prompt.Results {
					heard += result.Text
				}
			}
			for _, word := range []string{"use edits", "write two, not 2"} {
				if !strings.Contains(heard, word) {
					t.Errorf("%q never reached the model", word)
				}
			}
			if n := r.launches("planner"); transport == agent.TUI && n != 1 || transport == agent.Headless && n != 2 {
				t.Errorf("%d launches of the planner", n)
			}
		})
	}
}

// listeners ask and wait for word before they go on as on the straight road.
func listeners(h hands) []modeltest.Script {
	plan := func(t modelTask) []modeltest.Call {
		return []modeltest.Call{t.result("04_planning/plan.yaml", twoPlans), t.tool("submit_plan")}
	}
	return []modeltest.Script{
		onMessage(h, "planner_prompt.md", plan),
		walk(h, "planner_prompt.md", func(t modelTask) []modeltest.Call {
			if t.answered {
				return append([]modeltest.Call{t.read(t.prompt)}, plan(t)...)
			}
			return []modeltest.Call{t.tool("ask_human", "question", "Rewrite the files, or use edits?", "options", []string{"rewrite them", "use edits"})}
		}),
		walk(h, "coder_prompt_1.md", func(t modelTask) []modeltest.Call {
			wait := "until [ -e " + filepath.Join(t.home, "go") + " ]; do sleep 0.05; done"
			calls := []modeltest.Call{
				t.shell(wait), t.tool("report_status", "message", "waiting for word"),
				t.tool("msg_read", "file", t.announced()),
			}
			return append(append(calls, t.change("a.txt", "one", "two")...), t.tool("submit_done", "subplan_index", 1))
		}),
	}
}

var messageName = regexp.MustCompile(`msgs/([^"]+\.md)`)

// announced is the message that the last result tells of.
func (t modelTask) announced() string {
	for i := len(t.results) - 1; i >= 0; i-- {
		if m := messageName.FindStringSubmatch(t.results[i].Text); m != nil {
			return m[1]
		}
	}
	return ""
}

// onMessage serves the turn that a message begins: it is read, then steps follow.
func onMessage(h hands, prompt string, steps func(modelTask) []modeltest.Call) modeltest.Script {
	next := walk(h, prompt, steps)
	made := next.Make
	next.Name, next.Last = "message for "+prompt, "act on it."
	next.Make = func(p modeltest.Prompt) ([]modeltest.Step, error) {
		out, err := made(p)
		if err != nil {
			return nil, err
		}
		_, file, _ := strings.Cut(p.Last, "read @")
		file, _, _ = strings.Cut(file, " and act on it.")
		out[0] = modeltest.Step{Calls: []modeltest.Call{h.submit("msg_read", map[string]any{"file": filepath.Base(file)})}}
		return out, nil
	}
	return next
}

// until waits for a state of the only session.
func (r *rig) until(what string, ok func(*orchestrator.State) bool) {
	r.t.Helper()
	limit := time.NewTimer(3 * time.Minute) // programs try by themselves for a while
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if entries, err := session.List(r.clone); err == nil && len(entries) == 1 && entries[0].State != nil && ok(entries[0].State) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			r.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// launches counts the starts of a role.
func (r *rig) launches(role string) int {
	found, err := filepath.Glob(filepath.Join(r.session().Dir, session.LaunchesDir, "*."+role+".*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return len(found)
}

// merged checks what is on the branch.
func (r *rig) merged(e session.Entry, w way) {
	r.t.Helper()
	r.git(r.clone, "fetch", "--quiet", "origin", e.State.FeatureBranch)
	for file, want := range w.files {
		if got := r.git(r.clone, "show", "FETCH_HEAD:"+file); got != want {
			r.t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	if e.State.ReviewIteration != w.fixes {
		r.t.Errorf("%d fix rounds, want %d", e.State.ReviewIteration, w.fixes)
	}
}

// checkModel fails where a tool of the program failed or a request had no script.
func checkModel(t *testing.T, model *modeltest.Server) {
	t.Helper()
	for _, q := range model.Requests() {
		if !q.Aux && q.Script == "" {
			t.Errorf("no script for %q, last %q", q.Prompt.First, q.Prompt.Last)
		}
		for _, result := range q.Prompt.Results {
			if result.Error {
				t.Errorf("%s, step %d: a tool failed: %s", q.Script, q.Step, result.Text)
			}
		}
	}
}

// checkLaunches fails unless every agent was needed once and ran as it was asked to.
func (r *rig) checkLaunches(e session.Entry, provider string, transport agent.Transport, want int) {
	r.t.Helper()
	s, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	records, _, err := s.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	n, counted := 0, 0
	for _, record := range records {
		if ended, ok := record.Data.(orchestrator.AgentExitedRecord); ok && ended.Usage != nil && ended.Usage.Output > 0 {
			counted++
		}
		started, ok := record.Data.(orchestrator.AgentStartedRecord)
		if !ok {
			continue
		}
		n++
		id := started.Launch
		launch, err := agent.ReadLaunch(s.Path(session.LaunchesDir, string(id)))
		if err != nil {
			r.t.Error(err)
			continue
		}
		if launch.Provider != provider || launch.Transport != transport || !launch.Unattended || launch.Login != agent.LoginToken {
			r.t.Errorf("launch %s: %+v", id, launch)
		}
	}
	if counted == 0 { // a busy machine may cut some off
		r.t.Error("no launch told what it used")
	}
	if n != want {
		r.t.Errorf("%d launches, want %d", n, want)
	}
}

// explain shows, after a failure, what everybody did.
func (r *rig) explain(model *modeltest.Server, res result) {
	if !r.t.Failed() {
		return
	}
	r.t.Logf("%s%s", res.out, res.err)
	for _, q := range model.Requests() {
		r.t.Logf("%s aux=%t script=%q step=%d last=%.80q results=%.300v", q.Path, q.Aux, q.Script, q.Step, q.Prompt.Last, q.Prompt.Results)
	}
	for _, e := range r.sessions() {
		s, err := session.Open(e.Dir)
		if err != nil {
			continue
		}
		records, _, _ := s.Events(0)
		for _, record := range records {
			data, _ := json.Marshal(record.Data)
			r.t.Logf("%3d %s %-12s %-18s %.2000s", record.Seq, record.TS.Format("05.000"), record.Phase, record.Type, data)
		}
		r.t.Log(screens(s.ReadRuntime()))
	}
}

// screens are what the panes of a session show.
func screens(runtime session.Runtime) string {
	server, err := tmux.New(tmux.Options{Socket: runtime.Socket})
	if err != nil {
		return err.Error()
	}
	panes, err := server.Panes(context.Background())
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, p := range panes {
		text, err := server.Capture(context.Background(), p.ID, 0)
		fmt.Fprintf(&b, "--- %s %s dead=%t %v\n%s\n", p.ID, p.Window, p.Dead, err, strings.TrimSpace(text))
	}
	return b.String()
}
