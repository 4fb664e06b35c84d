package tools_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Many processes write at once, some of them are killed: each call that was answered
// is applied once, and the rest of a killed writer's line costs no other writer a line.
// AGENTMUX_LINES sets how many lines each of them writes.
func TestProtocolJ6ManyWritersSomeOfThemKilled(t *testing.T) {
	if dir := os.Getenv("TOOLS_TEST_WRITE"); dir != "" {
		writeLines(t, dir, os.Getenv("TOOLS_TEST_NAME"))
		return
	}
	writers := 16
	if testing.Short() {
		writers = 8
	}
	r := start(t, "quick")
	var answered sync.Map
	var wait sync.WaitGroup
	for n := range writers {
		wait.Go(func() { watchWriter(t, r.s.Dir, fmt.Sprintf("w%d", n), n%4 == 0, &answered) })
	}
	wait.Wait()
	seen, corrupt := map[string]int{}, 0
	for cursor, more := (orchestrator.Cursor{}), true; more; {
		lines, rest, err := r.s.Lines(session.ToolEvents, cursor, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range lines {
			cursor = lines[i].Cursor
			if lines[i].Corrupt != "" {
				corrupt++
				continue
			}
			p, err := lines[i].Decode()
			if err != nil {
				t.Fatal(err)
			}
			seen[p.Message]++
		}
		more = rest
	}
	r.hostAll()
	for _, e := range r.records(orchestrator.EvAgentStatus) {
		seen[e.Data.(orchestrator.AgentStatusRecord).Message] += 100
	}
	total := 0
	answered.Range(func(message, _ any) bool {
		total++
		if got := seen[message.(string)]; got != 101 {
			t.Errorf("%s: %d lines, applied %d times", message, got%100, got/100)
		}
		return true
	})
	if total < writers || corrupt > writers/4 {
		t.Errorf("%d answers, %d corrupt lines", total, corrupt)
	}
	t.Logf("%d answers of %d lines, %d corrupt", total, len(seen), corrupt)
}

// watchWriter runs a writer and notes what it was answered; one that is to be killed is
// so in the middle of its work.
func watchWriter(t *testing.T, dir, name string, kill bool, answered *sync.Map) {
	self, err := os.Executable()
	if err != nil {
		t.Error(err)
		return
	}
	cmd := exec.Command(self, "-test.run=^TestProtocolJ6ManyWritersSomeOfThemKilled$")
	cmd.Env = append(os.Environ(), "TOOLS_TEST_WRITE="+dir, "TOOLS_TEST_NAME="+name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	n := 0
	for in := bufio.NewScanner(out); in.Scan(); {
		if message, ok := strings.CutPrefix(in.Text(), "answered "); ok {
			answered.Store(message, true)
			if n++; kill && n == linesEach()/2 {
				_ = cmd.Process.Kill() // what it says after that it may say
			}
		}
	}
	if err := cmd.Wait(); err != nil && !kill {
		t.Errorf("%s: %v", name, err)
	}
}

func linesEach() int {
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_LINES")); err == nil {
		return n
	}
	return 12
}

// writeLines uses the one writer that tools and commands share.
func writeLines(t *testing.T, dir, name string) {
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range linesEach() {
		message := fmt.Sprintf("%s/%d", name, i)
		err := s.Append(session.ToolEvents, noon, func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: "report_status", Role: "coder", Task: name, Payload: map[string]any{"message": message}}, nil
		})
		if err == nil {
			fmt.Println("answered " + message)
		}
	}
}

// hostAll consumes every line, in as many passes as it takes.
func (r *rig) hostAll() {
	r.Helper()
	for before := int64(-1); before != r.st.ToolCursor.Offset; {
		before = r.st.ToolCursor.Offset
		r.host()
	}
}

func (r *rig) records(kind string) []orchestrator.Event {
	r.Helper()
	all, bad, err := r.s.Events(0)
	if err != nil || bad > 0 {
		r.Fatalf("records: %d bad, %v", bad, err)
	}
	var out []orchestrator.Event
	for _, e := range all {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// A disk that is full in the middle of the line: the agent is told so, and nothing of the
// line stays. The process of this test may not make files larger than the present one.
func TestProtocolJ8AFullDisk(t *testing.T) {
	if os.Getenv("TOOLS_TEST_FULL") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestProtocolJ8AFullDisk$")
		cmd.Env = append(os.Environ(), "TOOLS_TEST_FULL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	r := start(t, "quick")
	r.write("04_planning/plan.yaml", plan)
	planner := r.agent("planner", "")
	err := r.s.Append(session.ToolEvents, noon, func(session.Tail) (*session.NewLine, error) { // the largest file of all
		return &session.NewLine{Tool: "report_status", Role: "planner", Payload: map[string]any{"message": strings.Repeat("x", 30_000)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := r.lines()
	info, err := os.Stat(r.s.Path(session.ToolEvents))
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	full := was
	full.Cur = uint64(info.Size()) + 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	answer := r.call(planner, "submit_plan", nil)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	r.refused(answer, "not recorded")
	if after := r.lines(); !slices.Equal(after, before) {
		t.Errorf("lines are left: %q", after[len(before):])
	}
	r.ok(r.call(planner, "submit_plan", nil), "recorded")
}
