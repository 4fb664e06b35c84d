package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/modeltest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// TestClaude takes an issue to its pull request with the real claude in every role and a
// scripted model behind it: claude reads its prompt, edits the workspace and writes its
// results with its own tools, and submits them through the tool server. One review fails,
// so that a fix round is part of it.
func TestClaude(t *testing.T) {
	for _, transport := range []agent.Transport{agent.TUI, agent.Headless} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			r, model := newClaudeRig(t, transport)
			res := r.agentmux("issue", "1", "--headless")
			t.Cleanup(func() { r.explain(model, res) })
			if res.code != exitDone {
				t.Fatalf("exit %d", res.code)
			}
			e := r.session()
			r.done(e)
			r.merged(e)
			checkModel(t, model)
			r.checkLaunches(e, transport)
		})
	}
}

// TestClaudeHearsPeople lets a planner ask and a coder be told something while both are
// the real claude: the answer and the word arrive, whatever way the program takes them.
func TestClaudeHearsPeople(t *testing.T) {
	for _, transport := range []agent.Transport{agent.TUI, agent.Headless} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			r, model := newClaudeRig(t, transport, claudeListeners()...)
			ended := make(chan result, 1)
			go func() { ended <- r.agentmux("issue", "1", "--headless") }()
			r.until("the planner waits for its answer", func(s *orchestrator.State) bool {
				gone := s.Agents["planner"].Launch == "" // a headless program ends with its turn
				return len(s.Questions) == 1 && s.Agents["planner"].Waiting != "" && gone == (transport == agent.Headless)
			})
			r.expect(exitDone, "answer", "2")
			r.until("a coder works", func(s *orchestrator.State) bool { return s.Agents["coder/1"].Launch != "" })
			r.expect(exitDone, "say", "write two, not 2", "--role", "coder/1")
			r.write(filepath.Join(r.dir, "go"), "")
			res := <-ended
			t.Cleanup(func() { r.explain(model, res) })
			if res.code != exitDone {
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

// claudeListeners ask and wait for word before they go on as claudeScripts do.
func claudeListeners() []modeltest.Script {
	plan := func(t claudeTask) []modeltest.Call {
		return []modeltest.Call{t.result("04_planning/plan.yaml", claudePlan), submit("submit_plan")}
	}
	return []modeltest.Script{
		onMessage("planner_prompt.md", plan),
		claudeScript("planner_prompt.md", func(t claudeTask) []modeltest.Call {
			if t.answered {
				return append([]modeltest.Call{use("Read", "file_path", t.prompt)}, plan(t)...)
			}
			return []modeltest.Call{submit("ask_human", "question", "Rewrite the files, or use edits?", "options", []string{"rewrite them", "use edits"})}
		}),
		claudeScript("coder_prompt_1.md", func(t claudeTask) []modeltest.Call {
			wait := "until [ -e " + filepath.Join(t.home, "go") + " ]; do sleep 0.05; done"
			calls := []modeltest.Call{
				use("Bash", "command", wait, "description", "Wait for word"), submit("report_status", "message", "waiting for word"),
				submit("msg_read", "file", t.announced()),
			}
			return append(append(calls, t.edit("a.txt", "one", "two")...), submit("submit_done", "subplan_index", 1))
		}),
	}
}

var messageName = regexp.MustCompile(`msgs/([^"]+\.md)`)

// announced is the message that the last result tells of.
func (t claudeTask) announced() string {
	for i := len(t.results) - 1; i >= 0; i-- {
		if m := messageName.FindStringSubmatch(t.results[i].Text); m != nil {
			return m[1]
		}
	}
	return ""
}

// onMessage serves the turn that a message begins: it is read, then steps follow.
func onMessage(prompt string, steps func(claudeTask) []modeltest.Call) modeltest.Script {
	next := claudeScript(prompt, steps)
	made := next.Make
	next.Name, next.Last = "message for "+prompt, "act on it."
	next.Make = func(p modeltest.Prompt) ([]modeltest.Step, error) {
		out, err := made(p)
		if err != nil {
			return nil, err
		}
		_, file, _ := strings.Cut(p.Last, "read @")
		file, _, _ = strings.Cut(file, " and act on it.")
		out[0] = modeltest.Step{Calls: []modeltest.Call{submit("msg_read", "file", filepath.Base(file))}}
		return out, nil
	}
	return next
}

// until waits for a state of the only session.
func (r *rig) until(what string, ok func(*orchestrator.State) bool) {
	r.t.Helper()
	limit := time.NewTimer(time.Minute)
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

// newClaudeRig is a rig whose only provider is the pinned claude, which asks a scripted
// model of this test.
// The given scripts are tried before those of the plain walk.
func newClaudeRig(t *testing.T, transport agent.Transport, first ...modeltest.Script) (*rig, *modeltest.Server) {
	t.Helper()
	program := modeltest.Claude(t)
	r := newRig(t, rigOptions{})
	model := modeltest.New(append(first, claudeScripts()...))
	t.Cleanup(model.Close)
	r.write(filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml"), fmt.Sprintf(`version: 2
defaults: {provider: claude}
providers: {claude: {command: %q}}
agents: {transport: %s}
`, program, transport))
	r.setEnv("ANTHROPIC_BASE_URL", model.URL())
	r.setEnv("ANTHROPIC_API_KEY", "sk-ant-api03-"+rand.Text()+rand.Text())
	return r, model
}

// claudeTask is what a script knows of the launch it serves.
type claudeTask struct {
	prompt, session, workspace string
	home                       string // of the rig
	iteration                  int
	answered                   bool               // the prompt holds an answer
	results                    []modeltest.Result // of the script's steps so far
}

func readTask(p modeltest.Prompt) (claudeTask, error) {
	text, err := p.Read()
	if err != nil {
		return claudeTask{}, err
	}
	task := claudeTask{prompt: p.File(), answered: strings.Contains(text, "Answer: "), results: p.Results}
	for line := range strings.Lines(text) {
		for head, value := range map[string]*string{"- Session directory: `": &task.session, "- Workspace: `": &task.workspace} {
			if rest, ok := strings.CutPrefix(line, head); ok {
				*value, _, _ = strings.Cut(rest, "`")
			}
		}
	}
	if task.session == "" || task.workspace == "" {
		return claudeTask{}, fmt.Errorf("%s names no directories", p.File())
	}
	task.home, _, _ = strings.Cut(task.session, "/widgets/")
	data, err := os.ReadFile(filepath.Join(task.session, session.StateFile))
	if err != nil {
		return claudeTask{}, err
	}
	var state struct {
		Iteration int `json:"review_iteration"`
	}
	err = json.Unmarshal(data, &state)
	task.iteration = state.Iteration
	return task, err
}

// claudeScript reads the prompt with claude's own tool, does what steps say, and ends.
func claudeScript(prompt string, steps func(claudeTask) []modeltest.Call) modeltest.Script {
	return modeltest.Script{Name: prompt, First: "/" + prompt, Make: func(p modeltest.Prompt) ([]modeltest.Step, error) {
		task, err := readTask(p)
		if err != nil {
			return nil, err
		}
		out := []modeltest.Step{{Text: "I read my instructions.", Calls: []modeltest.Call{use("Read", "file_path", p.File())}}}
		for _, call := range steps(task) {
			out = append(out, modeltest.Step{Calls: []modeltest.Call{call}})
		}
		return append(out, modeltest.Step{Text: "My part is done."}), nil
	}}
}

// use is a call with parameters as pairs of name and value.
func use(tool string, pairs ...any) modeltest.Call {
	input := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		input[pairs[i].(string)] = pairs[i+1]
	}
	return modeltest.Call{Tool: tool, Input: input}
}

func (t claudeTask) result(rel, text string) modeltest.Call {
	return use("Write", "file_path", filepath.Join(t.session, rel), "content", text)
}

// edit replaces the one line of a file of the workspace.
func (t claudeTask) edit(file, from, to string) []modeltest.Call {
	path := filepath.Join(t.workspace, file)
	return []modeltest.Call{use("Read", "file_path", path), use("Edit", "file_path", path, "old_string", from, "new_string", to)}
}

func submit(tool string, pairs ...any) modeltest.Call { return use("mcp__agentmux__"+tool, pairs...) }

// claudeScripts play the feature workflow: two coders side by side, of whom one makes a
// mistake.
func claudeScripts() modeltest.Scripts {
	return modeltest.Scripts{
		claudeScript("architect_prompt.md", func(t claudeTask) []modeltest.Call {
			return []modeltest.Call{
				t.result("02_architecting/architecture.md", "# Architecture\n\nTwo text files.\n"),
				submit("submit_architecture", "reviewers", []string{"reviewer_logic"}),
			}
		}),
		claudeScript("planner_prompt.md", func(t claudeTask) []modeltest.Call {
			return []modeltest.Call{t.result("04_planning/plan.yaml", claudePlan), submit("submit_plan")}
		}),
		claudeScript("coder_prompt_1.md", func(t claudeTask) []modeltest.Call {
			return append(t.edit("a.txt", "one", "two"), submit("submit_done", "subplan_index", 1))
		}),
		claudeScript("coder_prompt_2.md", func(t claudeTask) []modeltest.Call {
			return append(t.edit("b.txt", "one", "too"),
				use("Bash", "command", "git diff --stat && printf 'new\\n' > c.txt", "description", "Look and add a file"),
				submit("submit_done", "subplan_index", 2))
		}),
		claudeScript("review_logic_prompt.md", func(t claudeTask) []modeltest.Call {
			text := "verdict: fail\nsummary: b.txt has a typo.\nfindings: [{location: \"b.txt:1\", issue: It says too, severity: low, recommendation: Write two}]\n"
			if t.iteration > 0 {
				text = "verdict: pass\nsummary: Both say two.\n"
			}
			return []modeltest.Call{
				use("Grep", "pattern", "two", "path", t.workspace), t.result("07_review/review_reviewer_logic.yaml", text),
				submit("submit_review", "role", "reviewer_logic"),
			}
		}),
		claudeScript("fix_prompt.md", func(t claudeTask) []modeltest.Call {
			return append(t.edit("b.txt", "too", "two"), submit("submit_done", "subplan_index", 1))
		}),
		claudeScript("summary_prompt.md", func(t claudeTask) []modeltest.Call {
			return []modeltest.Call{
				t.result("08_completion/summary.md", "## What was implemented\n\nBoth say two.\n\n## Key decisions\n\nNone.\n\n## Deviations from plan\n\nNone.\n"),
				submit("submit_summary"),
			}
		}),
	}
}

const claudePlan = `version: 2
plan_overview: Say two
needs_design: false
needs_docs: false
doc_files: []
groups:
  - {group_id: both, mode: parallel, plans: [{index: 1, name: a}, {index: 2, name: b}]}
subplans:
  - {index: 1, title: a, scope: a, owned_files: [a.txt], dependencies: none, implementation_approach: edit,
     acceptance_criteria: two, tasks: [edit]}
  - {index: 2, title: b, scope: b, owned_files: [b.txt, c.txt], dependencies: none, implementation_approach: edit,
     acceptance_criteria: two, tasks: [edit]}
`

// merged checks what is on the branch.
func (r *rig) merged(e session.Entry) {
	r.t.Helper()
	r.git(r.clone, "fetch", "--quiet", "origin", e.State.FeatureBranch)
	for file, want := range map[string]string{"a.txt": "two", "b.txt": "two", "c.txt": "new"} {
		if got := r.git(r.clone, "show", "FETCH_HEAD:"+file); got != want {
			r.t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	if e.State.ReviewIteration != 1 {
		r.t.Errorf("%d fix rounds, want 1", e.State.ReviewIteration)
	}
}

// checkModel fails where a tool of claude failed or a request had no script.
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
func (r *rig) checkLaunches(e session.Entry, transport agent.Transport) {
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
		if record.Type != orchestrator.EvAgentStarted {
			continue
		}
		n++
		id, _ := record.Data["launch"].(string)
		launch, err := agent.ReadLaunch(s.Path(session.LaunchesDir, id))
		if err != nil {
			r.t.Error(err)
			continue
		}
		if launch.Provider != "claude" || launch.Transport != transport || !launch.Unattended || launch.Login != agent.LoginToken {
			r.t.Errorf("launch %s: %+v", id, launch)
		}
		if signals, _, err := agent.Signals(s.Path(session.LaunchesDir, id), 0); err != nil {
			r.t.Error(err)
		} else if slices.ContainsFunc(signals, func(s agent.Signal) bool { return s.Usage != nil }) {
			counted++
		}
	}
	if transport == agent.Headless && counted == 0 { // a busy machine may cut some off
		r.t.Error("no headless launch told what it used")
	}
	if want := 8; n != want { // architect, planner, two coders, two reviews, a fix, a summary
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
			r.t.Logf("%3d %s %-12s %-18s %.300s", record.Seq, record.TS.Format("05.000"), record.Phase, record.Type, data)
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
