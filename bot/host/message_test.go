package host_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A turn that ends without a submission gets one reminder, typed into the idle
// program.
func TestProtocolP12AnIdleAgentIsRemindedByALineInItsTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, "agents: {transport: tui}\nproviders: {script: {tool_name: \"of_agentmux__{tool}\"}}\n")
	sc := simple()
	sc.Listen = map[string]bool{"planner": true}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if text, err := os.ReadFile(filepath.Join(dir, s.Messages[0].File)); err != nil || !strings.Contains(string(text), "or ask with of_agentmux__ask_human.") {
		t.Errorf("the reminder does not name the tool as the program shows it: %q, %v", text, err)
	}
	if len(s.Messages) != 1 || s.Messages[0].State != orchestrator.MessageDelivered {
		t.Errorf("messages: %+v", s.Messages)
	}
	if s.Agents["planner"].Retries != 0 {
		t.Errorf("agent: %+v", s.Agents["planner"])
	}
	notes, _ := filepath.Glob(filepath.Join(dir, "launches", "*", "typed"))
	if len(notes) != 1 {
		t.Fatalf("notes of what is typed: %q", notes)
	}
	if id, err := os.ReadFile(notes[0]); err != nil || !regexp.MustCompile(`^\d+\.\d+$`).Match(id) {
		t.Errorf("the note names the effect %q, %v", id, err)
	}
}

// asClaude plays the planner behind the name, the marks and the hooks of claude.
func (r *rig) asClaude() {
	r.t.Helper()
	bin := filepath.Join(r.root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		r.t.Fatal(err)
	}
	script := `#!/bin/sh
session=${1##* in }; session=${session%/*/*}
for word; do case $word in /*|Read*) line=${line:-$word} ;; esac; done
exec ` + r.host.Self + ` play --session "$session" --role planner --launch "$AGENTMUX_LAUNCH" --prompt "$line"
`
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(script), 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.config.Sandbox.Path = bin + ":" + os.Getenv("PATH")
	r.config.Roles = map[string]config.Role{"planner": {Provider: "claude"}}
	key := rand.Text()
	r.host.Environ = func(name string) (string, bool) {
		if name == "ANTHROPIC_API_KEY" {
			return key, true
		}
		return os.LookupEnv(name)
	}
}

// A turn that ends by an error may end without a word of the program's hooks: its prompt on
// a screen that has printed nothing for a while tells.
func TestATurnThatEndsWithoutAWordIsSeenOnTheScreen(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\n")
	r.asClaude()
	r.host.Now = func() time.Time { return time.Now().Add(20 * time.Second) } // most of the wait is over
	sc := simple()
	sc.Broken = map[string]bool{"planner": true}
	r.script(sc)
	s := r.run(host.RunSpec{Dir: r.prepare(quick)})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(s.Messages) != 1 || s.Messages[0].State != orchestrator.MessageDelivered || s.Agents["planner"].Retries != 0 {
		t.Errorf("agent %+v, messages: %+v", s.Agents["planner"], s.Messages)
	}
}

// A program that says in its terminal that its login is refused is not reminded for ever.
func TestARefusedLoginParksTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "agents: {transport: tui}\n")
	r.asClaude()
	sc := simple()
	sc.Refused = map[string]bool{"planner": true}
	r.script(sc)
	s := r.run(host.RunSpec{Dir: r.prepare(quick)})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonLogin)
	if len(s.Messages) > 0 || s.Agents["planner"].Attempt != 1 {
		t.Errorf("agent %+v, messages: %+v", s.Agents["planner"], s.Messages)
	}
}

// A program that shows a refusal on its screen, and tells nothing by its hooks, was stopped by its service: it is neither
// reminded nor lost, and a person hears what gives it a login.
func TestARefusalOnTheScreenIsNamed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct{ shows, reason string }{
		"a refusal":           {"  ⎿ API Error: 401 no", orchestrator.ReasonLogin},
		"what the work is on": {"I map API Error: 401 to a login.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "agents: {transport: tui}\n")
			r.asClaude()
			r.host.Now = func() time.Time { return time.Now().Add(20 * time.Second) } // most of the wait is over
			sc := simple()
			sc.Broken, sc.Print = map[string]bool{"planner": true}, map[string]string{"planner": c.shows}
			r.script(sc)
			dir := r.prepare(quick)
			s := r.run(host.RunSpec{Dir: dir})
			if c.reason == "" {
				mustEnd(t, s, orchestrator.OutcomeDone, "")
				return
			}
			mustEnd(t, s, orchestrator.OutcomeNeedsHuman, c.reason)
			text, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
			if err != nil || !strings.Contains(string(text), `"next":"agentmux providers login claude, then resume"`) || !strings.Contains(string(text), `API Error: 401 no\n`) {
				t.Errorf("records %s, %v", text, err)
			}
			if len(s.Messages) > 0 || s.Agents["planner"].Attempt != 1 {
				t.Errorf("agent %+v, messages: %+v", s.Agents["planner"], s.Messages)
			}
		})
	}
}

// The last words of a program that failed are kept, without the empty lines of a dead pane.
func TestTheLastWordsOfAFailedAgentAreKept(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.config.Limits.AgentRetries = 0
	sc := simple()
	sc.Says = map[string]string{"planner": "one thing\n\n\n  another thing\n\n"}
	r.script(sc)
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
	text, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
	if err != nil || !strings.Contains(string(text), `"tail":"one thing\n  another thing"`) {
		t.Errorf("records %s, %v", text, err)
	}
}

// An agent whose turn the provider ended is told what a person says: nothing else would make
// it continue.
func TestALimitedAgentHearsThePerson(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\n")
	sc := simple()
	sc.Limited = map[string]bool{"planner": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner is limited", func() bool { return r.state(dir).Agents["planner"].Limited })
	r.command(dir, "1", "say", orchestrator.CommandArgs{Text: "go on"})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if a := s.Agents["planner"]; a.Retries != 0 || a.Attempt != 1 || len(s.Messages) != 1 {
		t.Errorf("agent %+v, messages %+v", a, s.Messages)
	}
}

// A known dialog is answered until it takes the key, and never again: its text stays on the
// screen while the program reads something else.
func TestAKnownDialogIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, takes := range map[string]int{"at once": 1, "the first key is lost": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "agents: {transport: tui}\nproviders: {script: {trust: [{text: Do you trust, key: Enter}]}}\n")
			sc := simple()
			sc.Dialog = map[string]int{"planner": takes}
			r.script(sc)
			s := r.run(host.RunSpec{Dir: r.prepare(quick)})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			if a := s.Agents["planner"]; a.Retries != 0 || a.Attempt != 1 {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

// A host that takes over does not press what the one before it pressed: the dialog's text may still be on the screen.
func TestADialogIsNotAnsweredAgainByTheNextHost(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\nproviders: {script: {trust: [{text: Do you trust, key: Enter}]}}\n")
	sc := simple()
	sc.Dialog = map[string]int{"planner": 1}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the dialog is answered", func() bool {
		panes, err := r.server(dir).Panes(t.Context())
		for _, p := range panes {
			if p.Options["@agentmux_launch"] == "1.planner.1" {
				text, _ := r.server(dir).Capture(t.Context(), p.ID, 0)
				return err == nil && strings.Contains(text, "\ntrusted")
			}
		}
		return false
	})
	if _, err := stop(errors.New("enough")); err == nil {
		t.Fatal("the run was not stopped")
	}
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if a := s.Agents["planner"]; a.Retries != 0 || a.Attempt != 1 {
		t.Errorf("agent %+v", a)
	}
}

// A program without hooks has started when it shows its prompt: what it prints later is not a dialog of its start.
func TestAPromptOnTheScreenEndsTheStart(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\nproviders: {cursor: {trust: [{text: Do you trust, key: Enter}]}}\nroles: {planner: {provider: cursor}}\n")
	r.asProgram("cursor-agent", "CURSOR_API_KEY", "/ commands")
	sc := simple()
	sc.Hold, sc.Print = map[string]bool{"planner": true}, map[string]string{"planner": "Do you trust this directory?"}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	noted := filepath.Join(dir, session.LaunchesDir, "1.planner.1", "pressed")
	r.eventually("the start is over", func() bool {
		text, err := os.ReadFile(noted)
		return err == nil && strings.Contains(string(text), `"started":true`)
	})
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if text, err := os.ReadFile(noted); err != nil || string(text) != `{"dialogs":null,"started":true}`+"\n" {
		t.Errorf("noted %s, %v", text, err)
	}
}

// What an exit record says is as little to be trusted as what the program printed.
func TestSecurity7TheTextOfAnExitIsRedacted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	secret := "ghp_" + strings.Repeat("aB3", 12)
	sc.Forge = map[string]string{"planner": "cannot start with " + secret}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
	text, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), "cannot start with [redacted:github-token]") {
		t.Errorf("records %q, %v", text, err)
	}
}

// An agent that ends with a question open waits, and continues with the answer.
func TestProtocolP12AnAgentThatAskedContinuesWithTheAnswer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Ask = map[string]string{"planner": "Which of the two?"}
	r.script(sc)
	dir := r.prepare(func(p *host.PrepareSpec) {
		quick(p)
		p.Interactive = true
		p.Config.Defaults.Completion.SkipFinalApproval = true
	})
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner waits", func() bool { return r.count(dir, orchestrator.EvAgentWaiting) == 1 })
	if _, err := command.Append(dir, orchestrator.Payload{
		Name: "answer", Args: orchestrator.CommandArgs{Text: "2"}, Actor: "me", Source: "cli", SourceID: "cli/1",
	}); err != nil {
		t.Fatal(err)
	}
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if a := s.Agents["planner"]; a.Retries != 0 || a.Attempt != 2 {
		t.Errorf("agent: %+v", a)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "04_planning", "planner_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "Which of the two?") || !strings.Contains(string(prompt), "\nAnswer: b\n") {
		t.Errorf("the prompt lacks the answer: %v", err)
	}
}

// An agent that exits without submitting, with no relaunch left, parks the session.
func TestProtocolP12AnAgentThatNeverSubmitsParksTheSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.config.Limits.AgentRetries = 0
	sc := simple()
	sc.Gone = map[string]int{"planner": 1}
	r.script(sc)
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
	if n := r.count(dir, orchestrator.EvAgentFailed); n != 1 {
		t.Errorf("%d agent_failed", n)
	}
	s := r.run(host.RunSpec{Dir: dir, Resume: true})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

// Reviewers see all results together, and nothing they write is integrated.
func TestProtocolP18ReviewersWorkInAViewOfTheWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := scenario{
		Plan:   plan("  - {group_id: one, mode: parallel, plans: [{index: 1, name: A}, {index: 2, name: B}]}\n", "a.txt", "b.txt"),
		Files:  map[string][]string{"1": {"a.txt=1"}, "2": {"b.txt=2"}},
		Scrawl: true,
	}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	seen, err := os.ReadFile(filepath.Join(r.root, "seen"))
	if err != nil || !slices.Equal(strings.Fields(string(seen)), []string{".git", "README.md", "a.txt", "b.txt"}) {
		t.Errorf("the reviewer saw %q, %v", seen, err)
	}
	if got := r.git("ls-tree", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("files: %q", got)
	}
	if left := names(t, filepath.Join(r.root, "s", "workspaces", r.key(dir))); len(left) > 0 || len(s.Workspaces) > 0 {
		t.Errorf("left: %q, state: %v", left, s.Workspaces)
	}
}

// One stray file does not cost the work: it is left out and named.
func TestWhatMayNotBeTakenIsLeftOut(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Litter = true
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nlib/code.txt" {
		t.Errorf("files: %q", got)
	}
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		t.Fatal(err)
	}
	named := slices.ContainsFunc(events, func(e orchestrator.Event) bool {
		strayed, _ := e.Data.(orchestrator.ScopeViolationRecord)
		return slices.ContainsFunc(strayed.Paths, func(p orchestrator.ScopePath) bool { return strings.HasPrefix(p.Path, "pipe") })
	})
	if !named {
		t.Error("nobody is told")
	}
}

// A message that was not read by the end is marked by its name.
func TestAnUndeliveredMessageIsAnOrphan(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: headless}\n")
	dir, stop := r.coding()
	r.command(dir, "1", "say", orchestrator.CommandArgs{Text: "Look at the tests, too."})
	r.eventually("the message is queued", func() bool { return r.count(dir, orchestrator.EvMsgQueued) == 1 })
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	files, err := filepath.Glob(filepath.Join(dir, "msgs", "*"))
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], "-orphan.md") || files[0] != filepath.Join(dir, s.Messages[0].File) {
		t.Fatalf("messages: %v, %v; the state has %+v", files, err, s.Messages)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), "Look at the tests, too.") {
		t.Errorf("%q, %v", text, err)
	}
}

// asProgram has a program be the scripted agent of a role, or of a role with a task; it shows a text first.
func (r *rig) asProgram(name, credential, shows string) {
	r.t.Helper()
	bin := filepath.Join(r.root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		r.t.Fatal(err)
	}
	script := `#!/bin/sh
for word; do case $word in Read*) line=$word ;; esac; done
file=${line##* in }; below=${file#*/.sessions/}
role=${AGENTMUX_LAUNCH#*.}; task=${role#*.}
case $task in *.*) task=${task%%.*} ;; *) task= ;; esac
echo "` + shows + `"
exec ` + r.host.Self + ` play --session "${file%%/.sessions/*}/.sessions/${below%%/*}" --role "${role%%.*}" --task "$task" --launch "$AGENTMUX_LAUNCH" --prompt "$line"
`
	if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.config.Sandbox.Path = bin + ":" + os.Getenv("PATH")
	key := rand.Text()
	r.host.Environ = func(name string) (string, bool) {
		if name == credential {
			return key, true
		}
		return os.LookupEnv(name)
	}
}

// A program that may act only with a person's word has a terminal in a session with a person, also where others wait for it.
func TestProtocolP13AProgramThatAsksHasATerminal(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		launch  string
		prepare func(*rig, *host.PrepareSpec)
	}{
		"a researcher": {"1.code-researcher.greetings.1", func(r *rig, spec *host.PrepareSpec) {
			r.config.Roles = map[string]config.Role{"code-researcher": {Provider: "gemini"}}
			quick(spec)
		}},
		"an agent with dependants": {"1.build.words.1", func(_ *rig, spec *host.PrepareSpec) {
			spec.Request, spec.Name = "", "greet"
			spec.Agents = []byte(strings.Replace(twoAgents, "    task: Write the words.\n", "    task: Write the words.\n    provider: gemini\n", 1))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.asProgram("gemini", "GEMINI_API_KEY", "")
			sc := simple()
			sc.Topic = map[string]string{"planner": "greetings"}
			sc.Files["words"] = []string{"words.txt=hello"}
			r.script(sc)
			r.config.Sandbox.UnsafeFlags = nil
			r.config.Defaults.Completion.SkipFinalApproval = true
			dir := r.prepare(func(spec *host.PrepareSpec) {
				c.prepare(r, spec)
				spec.Interactive = true
			})
			stop := r.background(host.RunSpec{Dir: dir})
			r.eventually("it hands in", func() bool { return r.count(dir, orchestrator.EvSubmission) == 1 })
			if _, err := stop(errors.New("enough")); err == nil {
				t.Error("the run was not stopped")
			}
			l, err := agent.ReadLaunch(filepath.Join(dir, session.LaunchesDir, c.launch))
			if err != nil || l.Provider != "gemini" || l.Transport != agent.TUI || l.Unattended {
				t.Errorf("launch %+v, %v", l, err)
			}
		})
	}
}

// A researcher that dies ends its topic only; asked again, it answers, and the planner that
// waited for it continues with what was found.
func TestProtocolP13APlannerWaitsForResearch(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.config.Limits.AgentRetries = 0
	sc := simple()
	sc.Topic = map[string]string{"planner": "greetings"}
	sc.Gone = map[string]int{"code-researcher/greetings": 1}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if failed, done := r.count(dir, orchestrator.EvResearchFailed), r.count(dir, orchestrator.EvResearchDone); failed != 1 || done != 1 {
		t.Errorf("research failed %d times, was done %d times", failed, done)
	}
	if a := s.Agents["planner"]; a.Attempt != 3 || a.Retries != 0 {
		t.Errorf("planner: %+v", a)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "04_planning", "planner_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "Nobody greets.") || !strings.Contains(string(prompt), "03_research/code-greetings/detail.md") {
		t.Errorf("the prompt lacks what was found: %v", err)
	}
	request, err := os.ReadFile(filepath.Join(dir, "03_research", "code-greetings", "request.md"))
	if err != nil || !strings.Contains(string(request), "1. Who greets?") {
		t.Errorf("request %q, %v", request, err)
	}
}
