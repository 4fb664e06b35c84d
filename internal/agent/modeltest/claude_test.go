package modeltest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/agentexec"
	"github.com/agentmux/agentmux/internal/agent/modeltest"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/tmux"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain lets this binary stand for our own program: the first process of a pane, the
// hooks and a tool server with the one tool "note".
func TestMain(m *testing.M) {
	if len(os.Args) < 3 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "agent-exec":
		os.Exit(agentexec.Run(context.Background(), os.Args[2]))
	case "hook":
		os.Exit(hook())
	case "mcp":
		os.Exit(serveNote())
	}
	os.Exit(m.Run())
}

// flagged returns the value behind a flag of our own command line.
func flagged(name string) string {
	for i, arg := range os.Args[:len(os.Args)-1] {
		if arg == name {
			return os.Args[i+1]
		}
	}
	return ""
}

// hook records an event. At the end of a turn it hands out the instruction in the file
// "next" of the session, once.
func hook() int {
	session := flagged("--session")
	dir := filepath.Join(session, "launches", flagged("--launch"))
	answer, err := signal.Record(dir, os.Args[len(os.Args)-1], os.Stdin, time.Now(), func() (signal.Instruction, error) {
		next := filepath.Join(session, "next")
		text, err := os.ReadFile(next)
		if errors.Is(err, os.ErrNotExist) {
			return signal.Instruction{}, nil
		}
		return signal.Instruction{Text: string(text), ID: "1"}, errors.Join(err, os.Remove(next))
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_, _ = os.Stdout.Write(answer)
	return 0
}

// serveNote is a tool server that writes what it is told into the session.
func serveNote() int {
	type params struct {
		Text string `json:"text"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "note", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "note", Description: "keep a note"}, func(_ context.Context, _ *mcp.CallToolRequest, p params) (*mcp.CallToolResult, any, error) {
		line := flagged("--role") + "/" + flagged("--task") + " " + flagged("--launch") + ": " + p.Text
		err := os.WriteFile(filepath.Join(flagged("--session"), "note"), []byte(line), 0o600)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted"}}}, nil, err
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	return 0
}

// stage is one launch of the real claude against a scripted model.
type stage struct {
	t      *testing.T
	model  *modeltest.Server
	spec   agent.LaunchSpec
	server *tmux.Server
	pane   tmux.Pane
}

// newStage prepares the launch as it is prepared for users: the built-in provider, a
// private home, a key made for this test.
func newStage(t *testing.T, transport agent.Transport, scripts ...modeltest.Script) *stage {
	t.Helper()
	program := modeltest.Program(t, "claude")
	known, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	provider := known["claude"]
	provider.Command = program
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "amx") // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	s := &stage{t: t, model: start(t, scripts...)}
	session, work := filepath.Join(root, "session"), filepath.Join(root, "work")
	for _, dir := range []string{session, work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", work).CombinedOutput(); err != nil { // as workspaces are
		t.Fatalf("git init: %v: %s", err, out)
	}
	vars := map[string]string{"ANTHROPIC_BASE_URL": s.model.URL(), "ANTHROPIC_API_KEY": "sk-ant-api03-" + rand.Text() + rand.Text()}
	s.spec = agent.LaunchSpec{
		Dir: filepath.Join(session, "launches", "3.coder.2.1"), Session: session, Launch: "3.coder.2.1", Role: "coder", Task: "2",
		Self: self, Provider: provider, Transport: transport, Unattended: true, AllowUnsafe: true,
		Line: "Read and follow the instructions in " + filepath.Join(session, "coder_prompt_2.md"), Workdir: work, TrustDir: root,
		Runtime: filepath.Join(root, "run"), Now: time.Now(),
		Env: agent.EnvSpec{
			Path: os.Getenv("PATH"), Home: filepath.Join(root, "home"),
			Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		},
	}
	return s
}

// run starts the launch in a pane.
func (s *stage) run() {
	s.t.Helper()
	launch, err := agent.Prepare(s.spec)
	if err != nil {
		s.t.Fatal(err)
	}
	environment, err := launch.Offer(s.spec.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.server == nil {
		s.server, err = tmux.New(tmux.Options{Socket: filepath.Join(filepath.Dir(s.spec.Session), "s.sock"), Tags: []string{"@launch"}})
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { // also what the launch left
			if err := s.server.KillServer(context.Background()); err != nil {
				s.t.Error(err)
			}
			s.exit()
		})
	}
	_, err = s.server.Ensure(s.t.Context(), tmux.SessionSpec{Name: "work", Window: tmux.WindowSpec{
		Name: "agent", Command: []string{s.spec.Self, "agent-exec", s.spec.Dir}, Dir: s.spec.Workdir,
		Options: map[string]string{"@launch": s.spec.Launch},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	panes, err := s.server.Panes(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range panes {
		if p.Options["@launch"] == s.spec.Launch {
			s.pane = p
		}
	}
	if err := environment.Serve(s.t.Context(), s.pane.PID); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) screen() string {
	out, err := s.server.Capture(context.Background(), s.pane.ID, 200)
	if err != nil {
		return err.Error()
	}
	return out
}

// until waits, and shows everything when it waits in vain.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(60 * time.Second)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			s.t.Fatalf("waited in vain: %s\n%s\n%s", what, s.screen(), s.asked())
		}
	}
}

// asked lists the requests of the model, one line each.
func (s *stage) asked() string {
	var b strings.Builder
	for _, r := range s.model.Requests() {
		fmt.Fprintf(&b, "%s %s aux=%t status=%d script=%q step=%d fault=%s tools=%d results=%v\n  first %.200q\n  last %.200q\n",
			r.Path, r.Model, r.Aux, r.Status, r.Script, r.Step, r.Fault, len(r.Prompt.Tools), r.Prompt.Results, r.Prompt.First, r.Prompt.Last)
	}
	return b.String()
}

// exit waits for the end of the launch and everything that belongs to it.
func (s *stage) exit() agent.Exit {
	s.t.Helper()
	var e agent.Exit
	eventually(s.t, "exit.json", func() bool {
		var ended bool
		var err error
		if e, ended, err = agent.ReadExit(s.spec.Dir); err != nil {
			s.t.Fatal(err)
		}
		return ended
	})
	return e
}

func (s *stage) file(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// status is what the hooks of the launch add up to.
func (s *stage) status() signal.Status {
	signals, _, err := signal.Read(s.spec.Dir, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	var st signal.Status
	for _, signal := range signals {
		st = st.Apply(signal)
	}
	return st
}

// work is a script that writes a file, keeps a note and ends its turn.
func work(name string) modeltest.Script {
	return modeltest.Script{Name: "work", First: "coder_prompt_2.md", Make: func(p modeltest.Prompt) ([]modeltest.Step, error) {
		work := filepath.Join(filepath.Dir(filepath.Dir(p.File())), "work")
		return []modeltest.Step{
			{Text: "I write the file.", Calls: []modeltest.Call{
				{Tool: "Write", Input: map[string]string{"file_path": filepath.Join(work, name), "content": "hello\n"}},
			}},
			{Calls: []modeltest.Call{{Tool: "mcp__agentmux__note", Input: map[string]string{"text": "it is there"}}}},
			{Text: "ALL IS DONE"},
		}, nil
	}}
}

// worked checks what the script of work leads to.
func (s *stage) worked(name string) {
	s.t.Helper()
	if got := s.file(s.spec.Workdir, name); got != "hello\n" {
		s.t.Errorf("%s holds %q", name, got)
	}
	if got, want := s.file(s.spec.Session, "note"), "coder/2 3.coder.2.1: it is there"; got != want {
		s.t.Errorf("note %q, want %q", got, want)
	}
	for _, r := range s.model.Requests() {
		if !r.Aux && r.Script == "" {
			s.t.Errorf("no script fitted: first %q, last %q", r.Prompt.First, r.Prompt.Last)
		}
		for _, result := range r.Prompt.Results {
			if result.Error {
				s.t.Errorf("a tool failed: %s", result.Text)
			}
		}
	}
	if s.t.Failed() {
		s.t.Logf("%s\n%s", s.screen(), s.asked())
	}
}

func TestReleasesAreKnownToTheProviders(t *testing.T) {
	known, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for name, release := range modeltest.Releases() {
		if !slices.Contains(known[name].Versions, release.Version) {
			t.Errorf("%s: the provider knows %v, the tests run %s", name, known[name].Versions, release.Version)
		}
	}
}

func TestClaudeHeadlessWritesAndCallsATool(t *testing.T) {
	s := newStage(t, agent.Headless, work("a.txt"))
	s.run()
	s.until("the launch ends", func() bool { _, ended, _ := agent.ReadExit(s.spec.Dir); return ended })
	if e := s.exit(); e.Code == nil || *e.Code != 0 || e.Stopped {
		t.Errorf("exit %+v", e)
	}
	s.worked("a.txt")
	if screen := s.screen(); !strings.Contains(screen, "ALL IS DONE") {
		t.Errorf("the stream is not shown:\n%s", screen)
	}
	st := s.status()
	spent, err := agent.Spent(s.spec.Dir)
	if err != nil || st.Failure != "" || spent == nil || spent.Output == 0 || st.Session == "" || st.TurnEnds != 1 {
		t.Errorf("status %+v, usage %+v, %v", st, spent, err)
	}
}

func TestClaudeInItsTerminalWritesCallsAToolAndTakesALine(t *testing.T) {
	line := "New update from core: read @/s/msgs/1.md and act on it."
	s := newStage(t, agent.TUI, modeltest.Script{
		Name: "line", Last: line, Steps: []modeltest.Step{{Text: "LINE TAKEN"}},
	}, work("b.txt"))
	s.run()
	s.until("the turn ends", func() bool { return s.status().State == signal.Idle })
	s.worked("b.txt")
	s.until("the screen is idle", func() bool { return s.spec.Provider.Screen(s.screen()) == signal.Idle })
	out, err := s.server.Submit(t.Context(), s.pane.ID, line, tmux.SubmitOptions{
		Pause: s.spec.Provider.Pause, Confirm: func() bool { return s.status().Prompts == 2 },
	})
	if err != nil || out.Delivery != tmux.Sent {
		t.Fatalf("%+v, %v\n%s", out, err, s.screen())
	}
	s.until("the answer to the line", func() bool { return strings.Contains(s.screen(), "LINE TAKEN") })
	s.stop()
}

// stop ends the launch from outside.
func (s *stage) stop() {
	s.t.Helper()
	start, err := process.StartTime(s.pane.PID)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := agent.Stop(s.t.Context(), process.Process{PID: s.pane.PID, Start: start}, s.spec.Dir); err != nil {
		s.t.Fatal(err)
	}
	if e := s.exit(); !e.Stopped {
		s.t.Errorf("exit %+v", e)
	}
}

func TestClaudeGoesOnWhenItsStopHookSaysSo(t *testing.T) {
	for _, transport := range []agent.Transport{agent.TUI, agent.Headless} {
		t.Run(string(transport), func(t *testing.T) {
			line := "New ask from coder/1: read @/s/msgs/7.md and act on it."
			s := newStage(t, transport, modeltest.Script{
				Name: "ask", Last: line, Steps: []modeltest.Step{{Text: "ASK ANSWERED"}},
			}, work("c.txt"))
			if err := os.WriteFile(filepath.Join(s.spec.Session, "next"), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			s.run()
			s.until("the answer to the hook", func() bool { return strings.Contains(s.screen(), "ASK ANSWERED") })
			s.until("the second turn ends", func() bool { return s.status().TurnEnds == 1 })
			if st := s.status(); len(st.Messages) != 1 {
				t.Errorf("status %+v", st)
			}
			s.worked("c.txt")
			if transport == agent.TUI {
				s.stop()
			}
		})
	}
}

func TestClaudeGoesOnAfterPassingFaults(t *testing.T) {
	for _, fault := range []modeltest.Fault{modeltest.RateLimited, modeltest.Overloaded, modeltest.Broken, modeltest.Cut} {
		t.Run(string(fault), func(t *testing.T) {
			script := work("d.txt")
			made := script.Make
			script.Make = func(p modeltest.Prompt) ([]modeltest.Step, error) {
				steps, err := made(p)
				steps[1].Fault, steps[1].Times = fault, 1
				return steps, err
			}
			s := newStage(t, agent.Headless, script)
			s.run()
			s.until("the launch ends", func() bool { _, ended, _ := agent.ReadExit(s.spec.Dir); return ended })
			s.worked("d.txt")
			if !slices.ContainsFunc(s.model.Requests(), func(r modeltest.Request) bool { return r.Fault == fault }) {
				t.Error("the fault did not occur")
			}
		})
	}
}

func TestClaudeTellsOfAFaultThatStays(t *testing.T) {
	for _, c := range []struct {
		transport agent.Transport
		fault     modeltest.Fault
		state     signal.State // in the terminal; a headless run ends
	}{
		{agent.TUI, modeltest.Unauthorized, signal.Idle}, {agent.TUI, modeltest.RateLimited, signal.RateLimited},
		{agent.Headless, modeltest.Unauthorized, ""}, {agent.Headless, modeltest.RateLimited, ""},
	} {
		t.Run(string(c.transport)+" "+string(c.fault), func(t *testing.T) {
			s := newStage(t, c.transport, modeltest.Script{Name: "refuse", Steps: []modeltest.Step{{Fault: c.fault}}})
			s.spec.Provider.Set = maps.Clone(s.spec.Provider.Set)
			s.spec.Provider.Set["CLAUDE_CODE_MAX_RETRIES"] = "1" // by itself it tries for minutes
			s.run()
			s.until("the turn fails", func() bool { return s.status().Failure != "" })
			want := map[modeltest.Fault]agent.Fault{modeltest.Unauthorized: agent.FaultLogin, modeltest.RateLimited: agent.FaultLimit}[c.fault]
			if got := s.spec.Provider.Fault(s.status().Failure); got != want {
				t.Errorf("%q is the fault %q, want %q", s.status().Failure, got, want)
			}
			if c.transport == agent.TUI {
				if st := s.status(); st.State != c.state {
					t.Errorf("status %+v, want %s", st, c.state)
				}
				s.stop()
				return
			}
			if e := s.exit(); e.Code == nil || *e.Code == 0 {
				t.Errorf("exit %+v", e)
			}
		})
	}
}

func TestClaudeGoesOnWithItsSession(t *testing.T) {
	s := newStage(t, agent.Headless, modeltest.Script{
		Name: "again", Last: "again_prompt.md", Steps: []modeltest.Step{{Text: "I REMEMBER"}},
	}, work("e.txt"))
	s.run()
	s.until("the launch ends", func() bool { _, ended, _ := agent.ReadExit(s.spec.Dir); return ended })
	s.worked("e.txt")
	s.spec.Resume = s.status().Session
	s.spec.Launch = "3.coder.2.2"
	s.spec.Dir = filepath.Join(filepath.Dir(s.spec.Dir), s.spec.Launch)
	s.spec.Line = "Read and follow the instructions in /s/again_prompt.md"
	s.run()
	s.until("the second launch ends", func() bool { _, ended, _ := agent.ReadExit(s.spec.Dir); return ended })
	newest := s.model.Requests()[len(s.model.Requests())-1]
	if !strings.Contains(newest.Prompt.First, "coder_prompt_2.md") || newest.Script != "again" {
		t.Errorf("the conversation was not resumed:\n%s\n%s", s.screen(), s.asked())
	}
}

func TestClaudeIsStoppedWhileItWaitsForTheModel(t *testing.T) {
	s := newStage(t, agent.Headless, modeltest.Script{Steps: []modeltest.Step{{Fault: modeltest.Hang}}})
	s.run()
	s.until("the model is asked", func() bool {
		return slices.ContainsFunc(s.model.Requests(), func(r modeltest.Request) bool { return r.Fault == modeltest.Hang })
	})
	s.stop()
	// An older tmux may miss a child's end until it is asked for its panes.
	s.until("agent-exec is gone", func() bool {
		if _, err := s.server.Panes(t.Context()); err != nil {
			t.Error(err)
		}
		return syscall.Kill(s.pane.PID, 0) != nil
	})
}
