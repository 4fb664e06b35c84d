package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// heldPlaybook is quickPlaybook with a coder that never comes to an end.
var heldPlaybook = strings.Replace(quickPlaybook, "      - submit: {tool: submit_done, with: {subplan_index: 1}}\n", "      - hang: true\n", 1)

// background is a command that runs while the test continues.
type background struct {
	r     *rig
	cmd   *exec.Cmd
	out   output
	ended chan struct{}
}

// output is what a command has printed so far. It may be read while the command runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (r *rig) background(args ...string) *background {
	r.t.Helper()
	b := &background{r: r, ended: make(chan struct{})}
	for n := 0; ; n++ {
		b.cmd = r.command(args...)
		b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
		err := b.cmd.Start()
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ETXTBSY) || n == 50 { // a child that another test forks has a program that was just written open
			r.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	go func() { _ = b.cmd.Wait(); close(b.ended) }()
	r.t.Cleanup(func() { _ = b.cmd.Process.Kill(); <-b.ended })
	return b
}

// exit signals the command, waits for its end and returns its exit code.
func (b *background) exit(sig syscall.Signal) int {
	b.r.t.Helper()
	if err := b.cmd.Process.Signal(sig); err != nil {
		b.r.t.Fatal(err)
	}
	b.over()
	return b.cmd.ProcessState.ExitCode()
}

// insist sends a signal until the command has ended: within a second of another one it is the same wish.
func (b *background) insist(sig syscall.Signal) {
	b.r.t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for limit := time.After(runLimit); ; {
		select {
		case <-b.ended:
			return
		case <-again.C:
			_ = b.cmd.Process.Signal(sig) // it may have ended
		case <-limit:
			b.r.t.Fatalf("the command does not end:\n%s", b.out.String())
		}
	}
}

// over waits for the end of the command.
func (b *background) over() {
	b.r.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(runLimit):
		b.r.t.Fatalf("the command does not end:\n%s", b.out.String())
	}
}

// atWork waits until an agent of a role is at work in the only session.
func (r *rig) atWork(role string) session.Entry {
	r.t.Helper()
	var e session.Entry
	r.eventually(role+" is at work", func() bool {
		entries := r.sessions()
		if len(entries) != 1 || entries[0].State == nil {
			return false
		}
		e = entries[0]
		for key, a := range e.State.Agents {
			if key.Role() == role && a.Launch != "" && r.recorded(e, orchestrator.EvAgentStarted, a.Launch) {
				return true
			}
		}
		return false
	}, nil)
	return e
}

// recorded reports whether there is a record of a type about a launch; "" means any.
func (r *rig) recorded(e session.Entry, kind string, launch orchestrator.Launch) bool {
	s, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	records, _, err := s.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, record := range records {
		started, _ := record.Data.(orchestrator.AgentStartedRecord)
		if record.Type == kind && (launch == "" || started.Launch == launch) {
			return true
		}
	}
	return false
}

func TestProtocolD3OneHostASession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	first := r.background("run", "Say two", "--workflow", "quick", "--headless", "--name", "held")
	e := r.atWork("coder")
	for _, args := range [][]string{{"resume", "held", "--headless"}, {"session", "run", e.Dir}} {
		if res := r.expect(4, args...); !strings.Contains(res.err, "agentmux attach held") {
			t.Errorf("%v says %s", args, res.err)
		}
	}
	if code := first.exit(syscall.SIGKILL); code != -1 {
		t.Fatalf("exit %d", code)
	}
	if session.Running(e.Dir) {
		t.Error("the lock of a killed host is held, perhaps by the agent that lives")
	}
	stop := make(chan struct{})
	var probers sync.WaitGroup
	for range 4 {
		probers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					session.Running(e.Dir)
				}
			}
		})
	}
	second := r.background("session", "run", e.Dir)
	r.eventually("the next host runs", func() bool { return session.Running(e.Dir) && r.recorded(e, orchestrator.EvAgentStarted, "") }, second.out.String)
	r.expect(0, "say", "go on", "--session", "held")
	close(stop)
	probers.Wait()
	t.Run("E3 a signal ends a headless host, and the session can be resumed", func(t *testing.T) {
		if err := second.cmd.Process.Signal(syscall.SIGHUP); err != nil { // timeout(1) sends two at once, too
			t.Fatal(err)
		}
		if code := second.exit(syscall.SIGTERM); code != 130 {
			t.Fatalf("exit %d\n%s", code, second.out.String())
		}
		if s := r.session().State; s.Phase != orchestrator.PhaseFailed || s.Outcome != orchestrator.OutcomeCanceled || s.InterruptedPhase != "implementing" {
			t.Errorf("phase %s, outcome %s, interrupted %s", s.Phase, s.Outcome, s.InterruptedPhase)
		}
		r.write(filepath.Join(r.dir, "playbook.yaml"), quickPlaybook)
		r.expect(0, "resume", "held", "--headless")
		r.done(r.session())
	})
}

func TestProtocolS2ASessionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	host := r.background("run", "Say two", "--workflow", "quick", "--headless", "--name", "broken")
	e := r.atWork("coder")
	host.exit(syscall.SIGTERM)
	file := filepath.Join(e.Dir, session.StateFile)
	whole := r.read(e.Dir, session.StateFile)
	r.write(file, strings.Replace(whole, `"schema_version": 1`, `"schema_version": 2`, 1))
	if res := r.expect(2, "resume", "broken", "--headless"); !strings.Contains(res.err, "newer agentmux") {
		t.Errorf("schema 2: %s", res.err)
	}
	r.write(file, whole[:len(whole)/2])
	for _, args := range [][]string{{"status", "broken"}, {"resume", "broken", "--headless"}} {
		if res := r.expect(1, args...); !strings.Contains(res.err, "agentmux resume broken --from-backup") {
			t.Errorf("%v: %s", args, res.err)
		}
	}
	if res := r.expect(0, "sessions"); !strings.Contains(res.out, "corrupt: state.json") {
		t.Errorf("sessions: %s", res.out)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), quickPlaybook)
	r.expect(0, "resume", "broken", "--headless", "--from-backup")
	r.done(r.session())
}

func TestProtocolD2NamesOfSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	s, err := session.Create(session.CreateSpec{
		Note:    r.noteMade,
		Project: r.clone, Now: time.Now(), Name: "taken", Request: "x", Definition: []byte(definitionText(t)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, c := range []struct{ name, says string }{
		{"a.b", "not a session name"}, {"../x", "not a session name"}, {strings.Repeat("a", 81), "not a session name"}, {"taken", "agentmux resume taken"},
	} {
		r.row(c.name, func(t *testing.T) {
			if res := r.expect(2, "run", "Say two", "--workflow", "quick", "--headless", "--name", c.name); !strings.Contains(res.err, c.says) {
				t.Errorf("%s: %s", c.name, res.err)
			}
		})
	}
	for _, blank := range []string{"", " \n\t"} {
		if res := r.expect(2, "run", blank, "--workflow", "quick", "--headless"); !strings.Contains(res.err, "blank") {
			t.Errorf("a blank request: %s", res.err)
		}
	}
	if entries := r.sessions(); len(entries) != 1 {
		t.Errorf("sessions: %+v", entries)
	}
}

// A host that is started in the background and dies at once is reported with what it said.
func TestProtocolD6ADetachedHostThatFailsAtOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	if err := os.Rename(filepath.Join(r.clone, ".git"), filepath.Join(r.dir, "away")); err != nil {
		t.Fatal(err)
	}
	res := r.expect(1, "changes", "Say three")
	log := strings.Split(strings.TrimSpace(r.read(r.session().Dir, session.HostLog)), "\n")
	if last := log[len(log)-1]; !strings.Contains(res.err, "ended at once: "+last) || !strings.Contains(last, "not a git work tree") {
		t.Errorf("says %s, the log ends %q", res.err, last)
	}
	if err := os.Rename(filepath.Join(r.dir, "away"), filepath.Join(r.clone, ".git")); err != nil {
		t.Fatal(err)
	}
	if e := r.session(); e.Running || e.State.Phase != orchestrator.PhaseDone {
		t.Errorf("running %v, phase %s", e.Running, e.State.Phase)
	}
}

// The kill comes when the session is done and its issue does not say so yet.
func TestProtocolC10TheLastCommentComesAfterAKill(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	host := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.eventually("there is a pull request", func() bool { return len(r.github.Repo(rigRepo).Pulls()) == 1 }, host.out.String)
	r.github.Inject(fakehub.Unavailable("POST .../issues/{number}/comments", 503, 0), fakehub.Unavailable("PATCH .../issues/comments/{id}", 503, 0))
	r.eventually("the session is done", func() bool {
		e := r.sessions()
		return len(e) == 1 && e[0].State != nil && e[0].State.Phase == orchestrator.PhaseDone
	}, host.out.String)
	host.exit(syscall.SIGKILL)
	e := r.session()
	if mirror.Shown(e.Dir, e.State.Seq) {
		t.Fatal("the issue was told already")
	}
	finals := func() (n int) {
		for _, c := range r.github.Repo(rigRepo).Comments(1) {
			n += strings.Count(c.Body, " kind=final ")
		}
		return n
	}
	if n := finals(); n != 0 {
		t.Fatalf("%d last comments before the kill", n)
	}
	r.github.Heal()
	r.expect(0, "issue", "1", "--headless")
	e = r.session()
	r.done(e)
	if r.recorded(e, orchestrator.EvResumed, "") {
		t.Error("a session that was done was resumed")
	}
	after := r.github.Repo(rigRepo).Comments(1)
	if !mirror.Shown(e.Dir, e.State.Seq) || finals() != 1 {
		t.Errorf("%d last comments among %d", finals(), len(after))
	}
	r.expect(2, "resume", e.Name, "--headless")
	if n := len(r.github.Repo(rigRepo).Comments(1)); n != len(after) {
		t.Errorf("%d comments after another start", n)
	}
}

func definitionText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "workflows", "shipped", "quick.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What belongs to the host is refused in a repository's file. Its setup command needs the
// word of a person, who is asked at a terminal, once.
func TestProtocolE5WhatARepositoryMaySet(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	project := filepath.Join(r.clone, ".agentmux", "config.yaml")
	r.write(project, "version: 2\nsandbox:\n  unsafe_flags: true\n  setup: [make, deps]\nroles: {coder: {args: [--yolo]}}\nlog: {level: debug}\n")
	res := r.expect(2, "issue", "1", "--headless")
	for _, want := range []string{"config.yaml:3: sandbox.unsafe_flags: only", "config.yaml:5: roles.coder.args: only", "config.yaml:6: log: only"} {
		if !strings.Contains(res.err, want) {
			t.Errorf("no %q in\n%s", want, res.err)
		}
	}
	if strings.Contains(res.err, "sandbox.setup") {
		t.Errorf("sandbox.setup is refused: %s", res.err)
	}
	ran := filepath.Join(r.dir, "ran")
	r.write(project, "version: 2\nsandbox: {setup: [touch, "+ran+"]}\n")
	setup := func() bool { _, err := os.Stat(ran); return err == nil }

	res = r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	if setup() || !strings.Contains(res.err, "sandbox.setup is not run") {
		t.Errorf("without a word: ran %v\n%s", setup(), res.err)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), heldPlaybook)
	refuse := r.terminal("run", "Say three", "--workflow", "quick", "--name", "refused")
	if screen := refuse.shows("[y/N]"); !strings.Contains(screen, "touch "+ran) {
		t.Errorf("asks without the command:\n%s", screen)
	}
	refuse.press("n", "Enter")
	r.launched("refused")
	if res := r.expect(0, "status", "refused"); setup() || !strings.Contains(res.out, "setup      sandbox.setup is not run") {
		t.Errorf("refused: ran %v\n%s", setup(), res.out)
	}
	allow := r.terminal("run", "Say four", "--workflow", "quick", "--name", "allowed")
	allow.shows("[y/N]")
	allow.press("y", "Enter")
	r.launched("allowed")
	if res := r.expect(0, "status", "allowed"); !setup() || strings.Contains(res.out, "sandbox.setup") {
		t.Errorf("allowed: ran %v\n%s", setup(), res.out)
	}
	again := r.terminal("run", "Say five", "--workflow", "quick", "--name", "again")
	r.launched("again")
	if screen := again.shows("quick"); strings.Contains(screen, "[y/N]") {
		t.Errorf("asked again:\n%s", screen)
	}
	for _, name := range []string{"refused", "allowed", "again"} {
		r.expect(0, "stop", name)
	}
	r.hostsEnded()
}

// launched waits until a session's coder is at work.
func (r *rig) launched(name string) {
	r.t.Helper()
	r.eventually("the coder of "+name+" is at work", func() bool {
		e, err := session.Find(r.clone, name, nil)
		return err == nil && e.State != nil && r.recorded(e, orchestrator.EvAgentStarted, "2.coder.1.1")
	}, func() string { return r.agentmux("logs", name).out })
}

func TestAResumeMovesThePullRequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	host := r.background("run", "Say two", "--workflow", "quick", "--headless", "--name", "held")
	r.launched("held")
	host.exit(syscall.SIGTERM)
	r.write(filepath.Join(r.dir, "playbook.yaml"), quickPlaybook)
	if res := r.expect(1, "resume", "held", "--headless", "--base", "nowhere"); !strings.Contains(res.err, "--base nowhere: the server has no such branch") {
		t.Errorf("nowhere: %s", res.err)
	}
	r.github.Repo(rigRepo).Commit(fakehub.CommitSpec{
		Branch: "next", Message: "Next", Author: "Mia <mia@example.com>", Files: map[string]string{"next.txt": "next\n"},
	})
	r.expect(0, "resume", "held", "--headless", "--base", "next")
	r.done(r.session())
	if pulls := r.github.Repo(rigRepo).Pulls(); pulls[0].Base != "next" {
		t.Errorf("the pull request goes to %s", pulls[0].Base)
	}
}
