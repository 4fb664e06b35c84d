package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/agentexec"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/internal/testplain"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
)

// TestMain lets the test binary act as the program itself: its hidden commands and the scripted
// agent run in panes.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "agent-exec":
			testexit.Exit(agentexec.Run(context.Background(), os.Args[2], os.Args[3:]...))
		case "monitor":
			select {}
		case "transcript":
			if err := transcript.Send(context.Background(), os.Stdin, os.Args[2], os.Args[3]); err != nil {
				testexit.Exit(1)
			}
			testexit.Exit(0)
		case "play":
			testexit.Exit(play(os.Args[2:]))
		case "scribble":
			testexit.Exit(scribble(os.Args[2]))
		}
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", sideBySide); err != nil {
			panic(err)
		}
	}
	os.Exit(runTests(m))
}

// sideBySide is how many tests of this package run at once. They wait for agents in terminals half
// of their time.
const sideBySide = "4"

// inPanes returns the program whose hidden commands run in panes. runTests sets it; the first
// rig has it built.
var inPanes func() (string, error)

func runTests(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	inPanes = sync.OnceValues(func() (string, error) { return testplain.Build(context.Background(), dir) })
	return m.Run()
}

// hole is a file of zeros.
type hole struct {
	Name string
	MiB  int
}

// scenario is what the scripted agents of a test do; it lies beside the project.
type scenario struct {
	Plan    string              // content of plan.yaml
	Files   map[string][]string // task -> "path=content" written to the workspace
	Remove  map[string][]string // task -> paths it deletes first
	Quiet   bool                // reviewers propose no commit message
	Message string              // that they propose; empty = the usual one
	Verdict map[string][]string // role -> verdict of each round; pass after the last
	Gone    map[string]int      // agent key -> how many launches exit without submitting
	Ask     map[string]string   // agent key -> question asked at the first launch, then exit 0
	Topic   map[string]string   // agent key -> topic its first two launches dispatch, then exit 0
	Litter  bool                // coders leave a nested repository and a FIFO behind
	Scrawl  bool                // reviewers list and change their workspace
	Listen  map[string]bool     // agent key -> end the turn first, go on when a line is typed
	Limited map[string]bool     // agent key -> Listen, with a turn that the provider ended
	Details map[string]string   // agent key -> what the provider adds to its refusal of a Limited turn
	Broken  map[string]bool     // agent key -> Listen, with a turn that ends by an error and without a word to us
	Refused map[string]bool     // agent key -> Listen, with a turn whose login the provider refused
	Says    map[string]string   // agent key -> the last words of its first launches, which exit 1 without submitting
	Hold    map[string]bool     // agent key -> go on only when the file "go" is there
	Print   map[string]string   // agent key -> what it prints first
	Dialog  map[string]int      // agent key -> show a dialog that takes this key press, and go on when no other comes
	Menu    map[string]int      // agent key -> show a dialog for a person, which takes that many lines, before what it does
	Hooked  map[string]bool     // agent key -> its Menu is told by hooks until Hold lets it continue, and something on the screen moves
	Forge   map[string]string   // agent key -> error of the exit record that its first launch writes itself
	Holes   map[string][]hole   // task -> files that hold nothing
	Again   map[string]int      // agent key -> how often a launch submits again when it is refused
	Mend    map[string][]string // agent key -> "path=content" written, "-path" removed before it submits again
	Then    map[string]string   // agent key -> what its launches do after their submission, see after
}

// player is one scripted agent at work.
type player struct {
	who  tools.Caller
	what scenario
	st   struct {
		Phase     string `json:"phase"`
		Iteration int    `json:"review_iteration"`
		Awaiting  bool   `json:"awaiting_summary"`
	}
}

func play(args []string) int {
	var p player
	fs := flag.NewFlagSet("play", flag.ContinueOnError)
	fs.StringVar(&p.who.Dir, "session", "", "")
	fs.StringVar(&p.who.Role, "role", "", "")
	fs.StringVar(&p.who.Task, "task", "", "")
	launch := fs.String("launch", "", "")
	prompt := fs.String("prompt", "", "")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	p.who.Launch = orchestrator.Launch(*launch)
	file := strings.TrimPrefix(*prompt, "Read and follow the instructions in ")
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), p.who.Dir) {
		fmt.Println("no prompt", file, err)
		return 3
	}
	if err := p.read(); err != nil {
		fmt.Println(err)
		return 4
	}
	p.tell(heard{Launch: p.who.Launch, PID: os.Getpid(), Home: os.Getenv("HOME")}.place())
	return p.run()
}

func (p *player) read() error {
	data, err := os.ReadFile(filepath.Join(p.who.Dir, session.StateFile))
	if err == nil {
		err = json.Unmarshal(data, &p.st)
	}
	if err != nil {
		return err
	}
	if data, err = os.ReadFile(filepath.Join(filepath.Dir(p.project()), "scenario.json")); err != nil {
		return err
	}
	return json.Unmarshal(data, &p.what)
}

func (p *player) key() string {
	if p.who.Task == "" {
		return p.who.Role
	}
	return p.who.Role + "/" + p.who.Task
}

func (p *player) run() int {
	launch, _ := p.who.Launch.Parts()
	attempt := launch.Attempt
	if p.what.Hold[p.key()] && !p.what.Hooked[p.key()] {
		p.hold()
	}
	fmt.Println(p.what.Print[p.key()])
	if takes := p.what.Dialog[p.key()]; takes > 0 && !p.dialog(takes) {
		return 9
	}
	if takes := p.what.Menu[p.key()]; takes > 0 && attempt == 1 {
		p.menu(takes)
	}
	if text := p.what.Forge[p.key()]; text != "" {
		p.write(filepath.Join(session.LaunchesDir, string(p.who.Launch), "exit.json"), `{"version":1,"code":127,"error":"`+text+`"}`)
		select {}
	}
	if text := p.what.Says[p.key()]; text != "" {
		fmt.Println(text)
		return 1
	}
	if (p.what.Listen[p.key()] || p.what.Limited[p.key()] || p.what.Broken[p.key()] || p.what.Refused[p.key()]) && attempt == 1 {
		if code := p.listen(); code != 0 {
			return code
		}
	}
	switch {
	case p.what.Gone[p.key()] >= attempt:
		return 0
	case p.what.Ask[p.key()] != "" && attempt == 1:
		return p.call("ask_human", map[string]any{"question": p.what.Ask[p.key()], "options": []any{"a", "b"}})
	case p.what.Topic[p.key()] != "" && attempt <= 2:
		return p.call("research_dispatch_code", map[string]any{
			"topic": p.what.Topic[p.key()], "context": "the project", "questions": []any{"Who greets?"},
		})
	}
	switch role := p.who.Role; {
	case role == "architect":
		p.write("02_architecting/architecture.md", "# Architecture\n\nOne file.\n")
		return p.submit("submit_architecture", map[string]any{"reviewers": []any{"reviewer_logic"}})
	case role == "planner":
		p.write("04_planning/plan.yaml", p.what.Plan)
		return p.submit("submit_plan", nil)
	case role == "coder", role == "build", role == "plan":
		return p.code()
	case role == "review": // of an agents file
		return p.submit("submit_done", nil)
	case role == "code-researcher":
		p.write("03_research/code-"+p.who.Task+"/summary.md", "1. Nobody greets.\n")
		return p.submit("submit_research_done", nil)
	case p.st.Awaiting:
		p.write("08_completion/summary.md", "## What was implemented\n\nIt.\n\n## Key decisions\n\n- One.\n\n## Deviations from plan\n\nNone.\n")
		return p.submit("submit_summary", nil)
	case strings.HasPrefix(role, "reviewer"):
		return p.review()
	}
	fmt.Println("no script for", p.who.Role)
	return 5
}

// hook tells of an event.
func (p *player) hook(event, data string) {
	dir := filepath.Join(p.who.Dir, session.LaunchesDir, string(p.who.Launch))
	if _, err := signal.Record(dir, event, strings.NewReader(data), time.Now(), nil); err != nil {
		fmt.Println(err)
	}
}

// listen is a program with hooks whose turn ends without a submission, and which then
// takes one line.
func (p *player) listen() int {
	say, hook := p.hook, func(event string) { p.hook(event, "{}") }
	hook("SessionStart")
	hook("UserPromptSubmit")
	sender := "system"
	switch {
	case p.what.Limited[p.key()]:
		sender = "core/core"
		say("StopFailure", `{"error": "rate_limit", "error_details": "`+p.what.Details[p.key()]+`"}`)
	case p.what.Refused[p.key()]:
		say("StopFailure", `{"error": "authentication_failed"}`)
	case p.what.Broken[p.key()]:
		fmt.Print("the answer was cut off\n? for shortcuts\n")
	default:
		hook("Stop")
	}
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println("esc to interrupt") // it is at work again
	hook("UserPromptSubmit")
	_, file, _ := strings.Cut(strings.TrimSuffix(line, " and act on it.\n"), "read @")
	if _, readErr := os.Stat(file); err != nil || readErr != nil || !strings.HasPrefix(line, "New update from "+sender+": ") {
		fmt.Printf("unexpected line %q: %v %v\n", line, err, readErr)
		return 8
	}
	return 0
}

// dialog shows one whose text stays on the screen when it is over, and reports that no key
// was pressed after that.
func (p *player) dialog(takes int) bool {
	lines := make(chan string)
	go func() {
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	fmt.Println("Do you trust this directory?")
	for range takes {
		<-lines
	}
	fmt.Println("trusted")
	over := time.NewTimer(4 * time.Second)
	defer over.Stop()
	select {
	case <-over.C:
		return true
	case <-lines:
		return false
	}
}

// menu shows a dialog until it has taken that many lines, each of which looks as if it was lost.
func (p *player) menu(takes int) {
	fmt.Print("Run this command?\n$ rm -r build\n> yes\n  no\n")
	if p.what.Hooked[p.key()] {
		for _, event := range []string{"SessionStart", "UserPromptSubmit", "PermissionRequest"} {
			p.hook(event, "{}")
		}
		defer func() {
			if p.what.Hold[p.key()] {
				p.hold()
			}
			p.hook("PostToolUse", "{}")
		}()
		answered := make(chan struct{})
		defer close(answered)
		go func() {
			for tick := time.NewTicker(50 * time.Millisecond); ; {
				select {
				case now := <-tick.C:
					fmt.Print("\x1b7\x1b[12;1Hat " + now.Format(time.StampMilli) + "\x1b8")
				case <-answered:
					return
				}
			}
		}()
	}
	in := bufio.NewReader(os.Stdin)
	for range takes {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
	}
	fmt.Print("\x1b[2J\x1b[Hpermitted\n")
}

// hold waits for the test's word.
func (p *player) hold() {
	word := filepath.Join(filepath.Dir(p.project()), "go")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(word); err == nil {
			return
		}
		<-tick.C
	}
}

func (p *player) project() string { return filepath.Dir(filepath.Dir(filepath.Dir(p.who.Dir))) }

func (p *player) code() int {
	task, index := p.who.Task, strings.TrimPrefix(p.who.Task, "resolve-")
	if task == "" {
		task, index = "fix", "1"
	}
	for _, name := range p.what.Remove[task] {
		if err := os.Remove(name); err != nil {
			fmt.Println(err)
			return 6
		}
	}
	if err := put(p.what.Files[task]); err != nil {
		fmt.Println(err)
		return 6
	}
	for _, f := range p.what.Holes[task] {
		p.who.Wait = time.Minute // a slow machine takes longer over them than an agent waits
		if err := errors.Join(os.WriteFile(f.Name, nil, 0o644), os.Truncate(f.Name, int64(f.MiB)<<20)); err != nil {
			fmt.Println(err)
			return 6
		}
	}
	if p.what.Litter {
		_ = os.MkdirAll("lib/.git", 0o755)
		_ = os.WriteFile("lib/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644)
		_ = os.WriteFile("lib/code.txt", []byte("code\n"), 0o644)
		_ = syscall.Mkfifo("pipe", 0o600)
	}
	if p.who.Role == "build" || p.who.Role == "plan" {
		return p.submit("submit_done", nil)
	}
	var n float64
	_, _ = fmt.Sscan(index, &n)
	return p.submit("submit_done", map[string]any{"subplan_index": n})
}

func (p *player) review() int {
	if p.what.Scrawl {
		names, _ := filepath.Glob("*")
		_ = os.WriteFile(filepath.Join(filepath.Dir(p.project()), "seen"), []byte(strings.Join(names, "\n")), 0o600)
		_ = os.WriteFile("a.txt", []byte("of a reviewer\n"), 0o644)
		_ = os.WriteFile("scrawl.txt", nil, 0o644)
	}
	verdict := "pass"
	if rounds := p.what.Verdict[p.who.Role]; p.st.Iteration < len(rounds) {
		verdict = rounds[p.st.Iteration]
	}
	text := "verdict: pass\nsummary: Good.\ncommit_message: \"feat: greet the world.\"\n"
	if p.what.Quiet {
		text = "verdict: pass\nsummary: Good.\n"
	}
	if p.what.Message != "" {
		text = "verdict: pass\nsummary: Good.\ncommit_message: " + strconv.Quote(p.what.Message) + "\n"
	}
	if verdict == "fail" {
		text = "verdict: fail\nsummary: Not good.\nfindings: [{issue: Wrong, recommendation: Do it right, location: a.txt}]\n"
	}
	p.write("07_review/review_"+p.who.Role+".yaml", text)
	return p.submit("submit_review", nil)
}

func (p *player) write(rel, text string) {
	if err := os.WriteFile(filepath.Join(p.who.Dir, rel), []byte(text), 0o600); err != nil {
		fmt.Println(err)
	}
}

func (p *player) call(tool string, params map[string]any) int {
	p.who.Seal = agent.Seal()
	answer := tools.Call(context.Background(), p.who, tool, params)
	fmt.Println(answer.Text)
	p.tell(heard{Launch: p.who.Launch, Tool: tool, OK: answer.OK, Text: answer.Text})
	if !answer.OK {
		return 7
	}
	return 0
}
