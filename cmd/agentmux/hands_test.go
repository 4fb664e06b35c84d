package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/modeltest"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// hands are the tools that a program gives its model: how each is named and what it takes.
type hands struct {
	read   func(path string) modeltest.Call
	write  func(path, text string) modeltest.Call
	edit   func(path, from, to string) modeltest.Call
	shell  func(command string) modeltest.Call
	submit func(tool string, input map[string]any) modeltest.Call // a tool of the session
	// vars are the variables that lead the program to a model at url, with a key.
	vars  func(url, key string) map[string]string
	model string // "" is the program's own choice
	env   string // variables its provider passes on instead of the usual ones
	slow  bool   // in its terminal: an everyday run has it walk the short way
}

// call is a call with parameters as pairs of name and value.
func call(tool string, pairs ...any) modeltest.Call {
	return modeltest.Call{Tool: tool, Input: pairs2map(pairs)}
}

func pairs2map(pairs []any) map[string]any {
	input := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		input[pairs[i].(string)] = pairs[i+1]
	}
	return input
}

// prefixed are the session's tools of programs that put a prefix before their names.
func prefixed(prefix string) func(string, map[string]any) modeltest.Call {
	return func(tool string, input map[string]any) modeltest.Call {
		return modeltest.Call{Tool: prefix + tool, Input: input}
	}
}

// knownHands are the hands of the programs, by the names of their providers.
func knownHands() map[string]hands {
	return map[string]hands{
		"claude": {
			read:  func(path string) modeltest.Call { return call("Read", "file_path", path) },
			write: func(path, text string) modeltest.Call { return call("Write", "file_path", path, "content", text) },
			edit: func(path, from, to string) modeltest.Call {
				return call("Edit", "file_path", path, "old_string", from, "new_string", to)
			},
			shell: func(command string) modeltest.Call {
				return call("Bash", "command", command, "description", "Do it")
			},
			submit: prefixed("mcp__agentmux__"),
			vars: func(url, key string) map[string]string {
				return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-api03-" + key, "CLAUDE_CODE_MAX_RETRIES": "1"}
			},
			env: "ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, CLAUDE_CODE_MAX_RETRIES", // by itself it tries for minutes
		},
		"codex": codexHands(),
		"copilot": {
			read:  func(path string) modeltest.Call { return call("view", "path", path) },
			write: func(path, text string) modeltest.Call { return call("create", "path", path, "file_text", text) },
			edit: func(path, from, to string) modeltest.Call {
				return call("edit", "path", path, "old_str", from, "new_str", to)
			},
			shell: func(command string) modeltest.Call {
				return call("bash", "command", command, "description", "Do it", "mode", "sync", "initial_wait", 30)
			},
			submit: prefixed("agentmux-"),
			vars: func(url, key string) map[string]string {
				return map[string]string{
					"COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_API_KEY": key, "COPILOT_PROVIDER_TYPE": "openai",
					"COPILOT_OFFLINE": "true",
					// Else it unpacks itself into each of eight homes.
					"COPILOT_PKG_CACHE_HOME": filepath.Join(modeltest.Cache(), "copilot-unpacked"),
				}
			},
			model: "gpt-5",
		},
		"gemini": {
			read:  func(path string) modeltest.Call { return call("read_file", "file_path", path) },
			write: func(path, text string) modeltest.Call { return call("write_file", "file_path", path, "content", text) },
			edit: func(path, from, to string) modeltest.Call {
				return call("replace", "file_path", path, "old_string", from, "new_string", to, "instruction", "Say it")
			},
			shell: func(command string) modeltest.Call {
				return call("run_shell_command", "command", command, "description", "Do it")
			},
			submit: prefixed("mcp_agentmux_"),
			vars: func(url, key string) map[string]string {
				return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": key}
			},
			model: "gemini-2.5-pro",
		},
		"opencode": {
			read:  func(path string) modeltest.Call { return call("read", "filePath", path) },
			write: func(path, text string) modeltest.Call { return call("write", "filePath", path, "content", text) },
			edit: func(path, from, to string) modeltest.Call {
				return call("edit", "filePath", path, "oldString", from, "newString", to)
			},
			shell: func(command string) modeltest.Call {
				return call("bash", "command", command, "description", "Do it")
			},
			submit: prefixed("agentmux_"),
			vars: func(url, key string) map[string]string {
				return map[string]string{
					"ANTHROPIC_BASE_URL": url + "/v1", "ANTHROPIC_API_KEY": "sk-ant-api03-" + key, "OPENCODE_DISABLE_MODELS_FETCH": "1",
				}
			},
			slow:  true,
			model: "anthropic/claude-sonnet-4-5",
		},
		"qwen": {
			read:  func(path string) modeltest.Call { return call("read_file", "file_path", path) },
			write: func(path, text string) modeltest.Call { return call("write_file", "file_path", path, "content", text) },
			edit: func(path, from, to string) modeltest.Call {
				return call("edit", "file_path", path, "old_string", from, "new_string", to)
			},
			shell: func(command string) modeltest.Call {
				return call("run_shell_command", "command", command, "description", "Do it", "is_background", false)
			},
			submit: prefixed("mcp__agentmux__"),
			vars: func(url, key string) map[string]string {
				return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": key, "OPENAI_MODEL": "qwen3-coder-plus"}
			},
			slow: true,
		},
	}
}

// What a prompt calls a tool is what its model may call: the name that the real program was seen to take.
func TestPromptsNameToolsAsTheProgramsTakeThem(t *testing.T) {
	t.Parallel()
	known, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for name, h := range knownHands() {
		call := h.submit("submit_plan", nil)
		want := call.Tool
		if call.Space != "" {
			want = call.Space + "__" + call.Tool
		}
		if got := known[name].Shown("submit_plan"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// codexHands do everything by commands: codex has no other tools for files but its patches.
func codexHands() hands {
	shell := func(command string) modeltest.Call { return call("exec_command", "cmd", command) }
	return hands{
		read:  func(path string) modeltest.Call { return shell("cat " + quote(path)) },
		write: func(path, text string) modeltest.Call { return shell("printf %s " + quote(text) + " >" + quote(path)) },
		edit: func(path, from, to string) modeltest.Call {
			return shell("grep -qx " + quote(from) + " " + quote(path) + " && echo " + quote(to) + " >" + quote(path))
		},
		shell: shell,
		submit: func(tool string, input map[string]any) modeltest.Call {
			return modeltest.Call{Tool: tool, Space: "mcp__agentmux", Input: input}
		},
		vars: func(url, key string) map[string]string {
			return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "sk-proj-" + key}
		},
		model: "gpt-5.1", // newer ones get their tools from a script of theirs
	}
}

// fullAgents asks for every case of the tests with real programs, as a night has time for.
func fullAgents() bool { return os.Getenv("AGENTMUX_TEST_AGENTS_FULL") == "1" }

// quote makes one word of a shell's command line.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// newModelRig is a rig whose only provider is the pinned program, which asks a scripted
// model of this test.
func newModelRig(t *testing.T, provider string, transport agent.Transport, scripts ...modeltest.Script) (*rig, *modeltest.Server) {
	t.Helper()
	program, h := modeltest.Program(t, provider), knownHands()[provider]
	r := newRig(t, rigOptions{})
	model := modeltest.New(scripts)
	t.Cleanup(model.Close)
	env := ""
	if h.env != "" {
		env = ", env: [" + h.env + "]"
	}
	r.write(filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml"), fmt.Sprintf(`version: 2
defaults: {provider: %s, model: %q}
providers: {%s: {command: %q%s}}
agents: {transport: %s}
sandbox: {unsafe_flags: true}
`, provider, h.model, provider, program, env, transport))
	for name, value := range h.vars(model.URL(), rand.Text()+rand.Text()) {
		r.setEnv(name, value)
	}
	return r, model
}

// modelTask is what a script knows of the launch it serves.
type modelTask struct {
	hands
	prompt, session, workspace string
	home                       string // of the rig
	iteration                  int
	answered                   bool               // the prompt holds an answer
	results                    []modeltest.Result // of the script's steps so far
}

func readTask(h hands, p modeltest.Prompt) (modelTask, error) {
	text, err := p.Read()
	if err != nil {
		return modelTask{}, err
	}
	task := modelTask{hands: h, prompt: p.File(), answered: strings.Contains(text, "Answer: "), results: p.Results}
	for line := range strings.Lines(text) {
		for head, value := range map[string]*string{"- Session directory: `": &task.session, "- Workspace: `": &task.workspace} {
			if rest, ok := strings.CutPrefix(line, head); ok {
				*value, _, _ = strings.Cut(rest, "`")
			}
		}
	}
	if task.session == "" || task.workspace == "" {
		return modelTask{}, fmt.Errorf("%s names no directories", p.File())
	}
	task.home, _, _ = strings.Cut(task.session, "/widgets/")
	data, err := os.ReadFile(filepath.Join(task.session, session.StateFile))
	if err != nil {
		return modelTask{}, err
	}
	var state struct {
		Iteration int `json:"review_iteration"`
	}
	err = json.Unmarshal(data, &state)
	task.iteration = state.Iteration
	return task, err
}

// walk reads the prompt with the program's own tool, does what steps say, and ends.
func walk(h hands, prompt string, steps func(modelTask) []modeltest.Call) modeltest.Script {
	return modeltest.Script{Name: prompt, First: "/" + prompt, Make: func(p modeltest.Prompt) ([]modeltest.Step, error) {
		task, err := readTask(h, p)
		if err != nil {
			return nil, err
		}
		out := []modeltest.Step{{Text: "I read my instructions.", Calls: []modeltest.Call{task.read(p.File())}}}
		for _, call := range steps(task) {
			out = append(out, modeltest.Step{Calls: []modeltest.Call{call}})
		}
		return append(out, modeltest.Step{Text: "My part is done."}), nil
	}}
}

func (t modelTask) result(rel, text string) modeltest.Call {
	return t.write(filepath.Join(t.session, rel), text)
}

// change replaces the one line of a file of the workspace.
func (t modelTask) change(file, from, to string) []modeltest.Call {
	path := filepath.Join(t.workspace, file)
	return []modeltest.Call{t.read(path), t.edit(path, from, to)}
}

// tool uses a tool of the session, with parameters as pairs of name and value.
func (t modelTask) tool(name string, pairs ...any) modeltest.Call {
	return t.submit(name, pairs2map(pairs))
}

// way is what a session is to do with a program in every role, and what comes of it.
type way struct {
	workflow string
	scripts  func(hands) []modeltest.Script
	launches int
	fixes    int
	files    map[string]string // on the branch
}

var (
	// whole is the feature workflow: two coders side by side, of whom one makes a mistake.
	// Architect, planner, two coders, two reviews, a fix, a summary.
	whole = way{"feature", straightRoad, 8, 1, map[string]string{"a.txt": "two", "b.txt": "two", "c.txt": "new"}}
	// short is the quick one: planner, coder, review, summary.
	short = way{"quick", shortRoad, 4, 0, map[string]string{"a.txt": "two", "b.txt": "one"}}
)

func shortRoad(h hands) []modeltest.Script {
	one, _, _ := strings.Cut(twoPlans, "  - {index: 2, title")
	one = strings.Replace(one, "mode: parallel, plans: [{index: 1, name: a}, {index: 2, name: b}]", "mode: serial, plans: [{index: 1, name: a}]", 1)
	return append([]modeltest.Script{
		walk(h, "planner_prompt.md", func(t modelTask) []modeltest.Call {
			return []modeltest.Call{t.result("04_planning/plan.yaml", one), t.tool("submit_plan")}
		}),
		walk(h, "review_logic_prompt.md", func(t modelTask) []modeltest.Call {
			return []modeltest.Call{
				t.result("07_review/review_reviewer_logic.yaml", "verdict: pass\nsummary: It says two.\n"), t.tool("submit_review", "role", "reviewer_logic"),
			}
		}),
	}, straightRoad(h)...)
}

func straightRoad(h hands) []modeltest.Script {
	return []modeltest.Script{
		walk(h, "architect_prompt.md", func(t modelTask) []modeltest.Call {
			return []modeltest.Call{
				t.result("02_architecting/architecture.md", "# Architecture\n\nTwo text files.\n"),
				t.tool("submit_architecture", "reviewers", []string{"reviewer_logic"}),
			}
		}),
		walk(h, "planner_prompt.md", func(t modelTask) []modeltest.Call {
			return []modeltest.Call{t.result("04_planning/plan.yaml", twoPlans), t.tool("submit_plan")}
		}),
		walk(h, "coder_prompt_1.md", func(t modelTask) []modeltest.Call {
			return append(t.change("a.txt", "one", "two"), t.tool("submit_done", "subplan_index", 1))
		}),
		walk(h, "coder_prompt_2.md", func(t modelTask) []modeltest.Call {
			return append(t.change("b.txt", "one", "too"),
				t.shell("git diff --stat && printf 'new\\n' > c.txt"), t.tool("submit_done", "subplan_index", 2))
		}),
		walk(h, "review_logic_prompt.md", func(t modelTask) []modeltest.Call {
			text := "verdict: fail\nsummary: b.txt has a typo.\nfindings: [{location: \"b.txt:1\", issue: It says too, severity: low, recommendation: Write two}]\n"
			if t.iteration > 0 {
				text = "verdict: pass\nsummary: Both say two.\n"
			}
			return []modeltest.Call{
				t.read(filepath.Join(t.workspace, "b.txt")), t.result("07_review/review_reviewer_logic.yaml", text),
				t.tool("submit_review", "role", "reviewer_logic"),
			}
		}),
		walk(h, "fix_prompt.md", func(t modelTask) []modeltest.Call {
			return append(t.change("b.txt", "too", "two"), t.tool("submit_done", "subplan_index", 1))
		}),
		walk(h, "summary_prompt.md", func(t modelTask) []modeltest.Call {
			return []modeltest.Call{
				t.result("08_completion/summary.md", "## What was implemented\n\nBoth say two.\n\n## Key decisions\n\nNone.\n\n## Deviations from plan\n\nNone.\n"),
				t.tool("submit_summary"),
			}
		}),
	}
}

const twoPlans = `version: 2
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
