package host_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// killServer ends the session's tmux server as a crash does.
func (r *rig) killServer(dir string) {
	r.t.Helper()
	out, err := exec.Command("tmux", "-S", r.server(dir).Socket(), "display-message", "-p", "#{pid}").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || pid <= 1 {
		r.t.Fatalf("server process %q: %v", out, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
}

// C5: a server that is lost three times in ten minutes is not an accident.
func TestAServerThatIsLostAgainAndAgainStopsTheSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	for attempt := range 3 {
		launch := orchestrator.LaunchParts{Visit: 2, Role: "coder", Task: "1", Attempt: attempt + 1}.Launch()
		r.eventually(string(launch)+" runs", func() bool { return r.started(dir, launch) })
		if a := r.state(dir).Agents["coder/1"]; a.Retries != 0 {
			t.Errorf("%s: %d retries were counted", launch, a.Retries)
		}
		r.killServer(dir)
	}
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
	if n := r.count(dir, orchestrator.EvAgentStarted); n < 4 { // the planner's and the coder's
		t.Errorf("%d launches", n)
	}
	r.word()
	s = r.run(host.RunSpec{Dir: dir, Resume: true})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

// A host that is killed while it ends the server leaves the server's files to the next one.
func TestProtocolC10FilesOfAnEndedServerGo(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	runtime := filepath.Join(r.root, "r")
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: place.Socket(runtime, dir, r.state(dir)), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetUnlinkOnClose(false)
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	r.run(host.RunSpec{Dir: dir})
	if left, err := os.ReadDir(runtime); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// ofServer are the processes of the session's tmux server: itself, and what runs in its panes
// and behind their pipes.
func (r *rig) ofServer(dir string) []process.Process {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	noted := sess.ReadRuntime().Server
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil || noted.PID <= 1 {
		r.t.Fatalf("server %+v: %v", noted, err)
	}
	var all []process.Process
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if _, err := fmt.Sscan(line, &pid, &parent); err != nil || pid != noted.PID && parent != noted.PID {
			continue
		}
		if start, err := process.StartTime(pid); err == nil {
			all = append(all, process.Process{PID: pid, Start: start})
		}
	}
	r.t.Cleanup(func() {
		for _, p := range all {
			_ = p.End(context.Background()) // what a failed test leaves
		}
	})
	if !slices.ContainsFunc(all, func(p process.Process) bool {
		return p.PID == noted.PID && strconv.FormatInt(p.Start, 10) == noted.PIDStart
	}) {
		r.t.Errorf("the server noted as %+v is not in %v", noted, all)
	}
	if len(all) < 4 {
		r.t.Errorf("want the server, the monitor, an agent and its recorder: %v", all)
	}
	return all
}

// runs reports whether one of these very processes is there.
func (r *rig) runs(all []process.Process) bool {
	return slices.ContainsFunc(all, func(p process.Process) bool {
		start, err := process.StartTime(p.PID)
		return err == nil && start == p.Start
	})
}

// ended waits for the end of processes, and says which one stays.
func (r *rig) ended(what string, all []process.Process) {
	r.t.Helper()
	r.t.Cleanup(func() {
		for _, p := range all {
			if r.t.Failed() && r.runs([]process.Process{p}) {
				about, _ := exec.Command("ps", "-o", "pid,ppid,stat,wchan,args", "-p", strconv.Itoa(p.PID)).CombinedOutput()
				r.t.Logf("it stays: %s", about)
			}
		}
	})
	r.eventually(what, func() bool { return !r.runs(all) })
}

// heldCoder runs a session whose coder holds.
func heldCoder(t *testing.T) (r *rig, dir string, stop func(error) (*orchestrator.State, error)) {
	t.Helper()
	r = newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir = r.prepare(quick)
	stop = r.background(host.RunSpec{Dir: dir})
	r.eventually("the first launch runs", func() bool { return r.started(dir, "2.coder.1.1") })
	return r, dir, stop
}

// The system removes the runtime directory at the end of a login: the unreachable server
// is ended, and the session continues in a new one.
func TestALostRuntimeDirectoryLeavesNoServer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, dir, stop := heldCoder(t)
	former := r.ofServer(dir)
	if err := os.RemoveAll(filepath.Join(r.root, "r")); err != nil {
		t.Fatal(err)
	}
	r.eventually("the second launch runs", func() bool { return r.started(dir, "2.coder.1.2") })
	r.ended("the lost server has ended", former)
	now := r.ofServer(dir)
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	r.ended("the new server has ended", now)
}

// Where the runtime directory cannot be made again the session stops, and says what helps.
func TestALostRuntimeDirectoryThatStaysLostStopsTheSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, dir, stop := heldCoder(t)
	former, runtime := r.ofServer(dir), filepath.Join(r.root, "r")
	if err := os.RemoveAll(runtime); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runtime, nil, 0o600); err != nil { // nothing can be made there
		t.Fatal(err)
	}
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Outcome != orchestrator.OutcomeFailed || !strings.Contains(string(s.Cause), "loginctl enable-linger") || !strings.Contains(string(s.Cause), "XDG_RUNTIME_DIR") {
		t.Errorf("it ends with %s: %s", s.Outcome, string(s.Cause))
	}
	r.ended("the lost server has ended", former)
	if _, err := r.host.Run(t.Context(), host.RunSpec{Dir: dir, Config: r.config, Resume: true}); err == nil || !strings.Contains(err.Error(), "loginctl enable-linger") {
		t.Errorf("resumed too early: %v", err)
	}
	r.word()
	if err := os.Remove(runtime); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, r.run(host.RunSpec{Dir: dir, Resume: true}), orchestrator.OutcomeDone, "")
}

// What a copied session brings along is noted of the server of the other one.
func TestTheServerOfAnotherSessionIsNotEnded(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, dir, stop := heldCoder(t)
	former := r.ofServer(dir)
	one, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := r.prepare(quick)
	two, err := session.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.WriteRuntime(session.Runtime{Server: one.ReadRuntime().Server}); err != nil {
		t.Fatal(err)
	}
	stopOther := r.background(host.RunSpec{Dir: other})
	r.eventually("the other session's launch runs", func() bool { return r.started(other, "2.coder.1.1") })
	for _, p := range former { // others, such as the recorder of an agent that leaves, may end by themselves
		if p.PID == one.ReadRuntime().Server.PID && !r.runs([]process.Process{p}) {
			t.Errorf("%+v was ended", p)
		}
	}
	r.word()
	for _, stop := range []func(error) (*orchestrator.State, error){stop, stopOther} {
		s, err := stop(nil)
		if err != nil {
			t.Fatal(err)
		}
		mustEnd(t, s, orchestrator.OutcomeDone, "")
	}
	if n := r.count(dir, orchestrator.EvAgentStarted); n != 4 {
		t.Errorf("%d launches", n)
	}
}
