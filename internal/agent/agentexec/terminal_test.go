package agentexec_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/tmux"
)

// inPane runs a launch as the first process of a real pane.
func inPane(t *testing.T, s agent.LaunchSpec) (*tmux.Server, tmux.Pane) {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	server, err := tmux.New(tmux.Options{Socket: filepath.Join(dir, "s.sock"), Tags: []string{"@test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.KillServer(context.Background()); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	// Ensure would start a program that has ended at once again.
	control := tmux.WindowSpec{Name: "control", Command: []string{"/bin/sleep", "600"}, Dir: s.Workdir, Options: map[string]string{"@test": "control"}}
	if _, err := server.Ensure(t.Context(), tmux.SessionSpec{Name: "work", Window: control}); err != nil {
		t.Fatal(err)
	}
	pane, err := server.NewWindow(t.Context(), tmux.WindowSpec{Session: "work", Name: "agent", Command: []string{self(t), "agent-exec", s.Dir}, Dir: s.Workdir})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s, pane.PID)
	t.Cleanup(func() { // before the server ends
		if err := server.KillPane(context.Background(), pane.ID); err != nil {
			t.Error(err)
		}
		eventually(t, "agent-exec ends", func() bool { return ended(pane.PID) })
	})
	return server, pane
}

func shows(t *testing.T, server *tmux.Server, pane, text string) {
	t.Helper()
	eventually(t, "the pane shows "+text, func() bool {
		// A pane whose program ends scrolls by one line.
		out, err := server.Capture(t.Context(), pane, 10)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out, text)
	})
}

func inFront(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the program is in front", func() bool { front, err := process.InFront(pid); return err == nil && front })
}

func TestExecKeepsTheProgramInFrontOfTheTerminal(t *testing.T) {
	s := program(t, "echo")
	prepare(t, s)
	server, pane := inPane(t, s)
	shows(t, server, pane.ID, "ECHO READY")
	inFront(t, pane.PID)
	type_ := func(line string) {
		t.Helper()
		for _, keys := range [][]string{strings.Split(line, ""), {"Enter"}} {
			if out, err := server.SendKey(t.Context(), pane.ID, keys...); err != nil || out.Delivery != tmux.Sent {
				t.Fatalf("%+v, %v", out, err)
			}
		}
		shows(t, server, pane.ID, "GOT "+line)
	}
	type_("one")
	// A visitor suspends the program; no shell is there to resume it.
	if _, err := server.SendKey(t.Context(), pane.ID, "C-z"); err != nil {
		t.Fatal(err)
	}
	type_("two")
	inFront(t, pane.PID)
}

func TestExecInAPaneThatIsKilledEndsTheProgram(t *testing.T) {
	s := program(t, "sleep")
	prepare(t, s)
	server, pane := inPane(t, s)
	pid := readPID(t, s)
	if err := server.KillPane(t.Context(), pane.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit.json", func() bool { return exists(filepath.Join(s.Dir, "exit.json")) })
	if !ended(pid) {
		t.Error("the program is still there")
	}
	if e := exitOf(t, s); !e.Stopped {
		t.Errorf("record %+v", e)
	}
	eventually(t, "agent-exec ends", func() bool { return ended(pane.PID) })
}

func TestExecEndsThePaneWithTheProgramsCode(t *testing.T) {
	s := program(t, "exit7")
	prepare(t, s)
	server, pane := inPane(t, s)
	eventually(t, "the pane is dead", func() bool {
		p, err := server.Pane(t.Context(), pane.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p.Dead && p.ExitStatus == 7
	})
	if _, err := process.InFront(pane.PID); err == nil {
		t.Error("a process that has ended is in front")
	}
}

func TestExecShowsAStreamToPeople(t *testing.T) {
	s := program(t, "sleep")
	s.Transport = agent.Headless
	s.Provider.Stream = "claude"
	s.Provider.Headless = []string{"{self}"}
	s.Provider.Command = "/bin/sh"
	s.Provider.Headless = []string{"-c", `test "$(readlink /proc/self/fd/0)" = /dev/null || exit 9
printf '%s\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"hello \u001b[31mred"}]}}'
printf '%s\n' '{"type":"result","subtype":"success","num_turns":2,"total_cost_usd":0.5,"session_id":"u-1","usage":{"input_tokens":10,"output_tokens":5}}'`}
	prepare(t, s)
	server, pane := inPane(t, s)
	shows(t, server, pane.ID, "hello [31mred")
	shows(t, server, pane.ID, "success after 2 turns")
	eventually(t, "exit.json", func() bool { return exists(filepath.Join(s.Dir, "exit.json")) })
	if e := exitOf(t, s); e.Code == nil || *e.Code != 0 {
		t.Errorf("record %+v", e)
	}
	signals, _, err := signal.Read(s.Dir, 0)
	if err != nil || len(signals) != 1 || signals[0].Kind != signal.KindResult || signals[0].Usage.USD != 0.5 || signals[0].Session != "u-1" {
		t.Errorf("signals %+v, %v", signals, err)
	}
}

func TestExecPassesSignalsOn(t *testing.T) {
	s := program(t, "")
	s.Provider.Command = "/bin/sh"
	s.Provider.Interactive = []string{"-c", "echo $$ >new; mv new ready; exec sleep 600"}
	prepare(t, s)
	p := startExec(t, s)
	readPID(t, s)
	if err := syscall.Kill(p.PID, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit.json", func() bool { return exists(filepath.Join(s.Dir, "exit.json")) })
	if e := exitOf(t, s); e.Signal != "USR1" || e.Stopped {
		t.Errorf("record %+v", e)
	}
}
