package host_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator"
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

// C5: a server that is lost three times in ten minutes is no accident.
func TestAServerThatIsLostAgainAndAgainStopsTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	for attempt := range 3 {
		launch := fmt.Sprintf("2.coder.1.%d", attempt+1)
		r.eventually(launch+" runs", func() bool { return r.started(dir, launch) })
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
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	runtime := filepath.Join(r.root, "r")
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: host.Socket(runtime, dir), Net: "unix"})
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
