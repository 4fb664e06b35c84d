package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/agentmux/agentmux/orchestrator/watch"
	"github.com/agentmux/agentmux/workflows"
)

// BenchmarkMessages measures the messages between the agents of an agents file. The host is a process
// of its own that runs the engine over a real session directory, without tmux and git; the agents are
// goroutines here that call their tools.
//
//	line  two agents at work. line is from the answer to msg_send until the tools of the reader have
//	      the message.
//	flow  twenty agents that write AGENTMUX_BENCH_FLOW (240) messages as fast as they can. taken is
//	      the time for each until the session has all of them, while none is read, of at most 240: with
//	      250 unread a session takes no more. read is the time until all are delivered and read, with at
//	      most five of a writer unread.
//	many  AGENTMUX_BENCH_MESSAGES (10,000) of 4 KiB that were sent and read, against 10: the largest
//	      state.json, the largest memory of the host; start is from a new host to what was sent after
//	      the kill of the one before; commit is of a command, with the views of the messages, slowdown how many
//	      times as long.
func BenchmarkMessages(b *testing.B) {
	b.Run("line", benchmarkLine)
	b.Run("flow", func(b *testing.B) { benchmarkFlow(b, fromEnv(b, "AGENTMUX_BENCH_FLOW", 240)) })
	b.Run("many", func(b *testing.B) { benchmarkMany(b, fromEnv(b, "AGENTMUX_BENCH_MESSAGES", 10_000)) })
}

// postHost makes the test binary the host of a session whose agents run elsewhere. It takes the
// directory, and whether agents take a message that is typed.
const postHost = "post-host"

// farAgents carries out what the engine wants by telling it on the standard output.
type farAgents struct {
	s     *session.Session
	typed bool
}

func (f *farAgents) Ensure(_ context.Context, e orchestrator.Effect) (res orchestrator.Result, err error) {
	switch e.Type {
	case orchestrator.EffEnsureDirs:
		err = f.s.EnsureDirs(e.Args.Paths...)
	case orchestrator.EffWriteFile:
		err = f.s.WriteBlob(e.Args.Path, e.Args.SHA256)
	case orchestrator.EffEnsureWorkspace:
		res.Path = "/work/" + e.Args.Workspace
	case orchestrator.EffDeliver:
		if !f.typed {
			return orchestrator.Result{Delivery: orchestrator.DeliveryRefused}, nil
		}
		fmt.Println("deliver", e.Args.Task, e.Args.Path)
		res.Delivery = orchestrator.DeliverySent
	}
	return res, err
}

func (f *farAgents) Observe(_ context.Context, s *orchestrator.State) (look engine.Look, err error) {
	for key, a := range s.Agents {
		if a.Launch != "" {
			look.Reports = append(look.Reports, orchestrator.AgentReport{Key: key, Launch: a.Launch, Condition: orchestrator.AgentLive})
		}
	}
	return look, nil
}

func runPostHost(args []string) int {
	err := hostPost(args[0], args[1] == "typed")
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func hostPost(dir string, typed bool) error {
	s, err := session.Open(dir)
	if err != nil {
		return err
	}
	if err := s.Lock(5 * time.Second); err != nil {
		return err
	}
	tree, err := watch.New(watch.Options{}).Watch(dir, func(path string) bool {
		switch path { // as a host does
		case session.StateFile, session.EventsFile, session.ToolCursorFile, session.LockFile, session.BlobsDir, session.MessagesLog, session.CreatedLog,
			session.QueuesDir, session.OffsetsDir:
			return true
		}
		return false
	})
	if err != nil {
		return err
	}
	far := &farAgents{s: s, typed: typed}
	_, err = engine.Run(context.Background(), engine.Options{
		Session: s, Effects: far, Agents: far, Wakes: tree.Wakes(), Start: orchestrator.Start{Mode: orchestrator.StartNew},
	})
	return err
}

// postRoom is a session with such a host.
type postRoom struct {
	testing.TB
	s     *session.Session
	host  *exec.Cmd
	read  chan string   // what the host prints
	views postbox.Views // of commits that are made here
}

func newPostRoom(b testing.TB, agents int) *postRoom {
	b.Helper()
	var file strings.Builder
	file.WriteString("session: shop\nagents:\n")
	for i := range agents {
		fmt.Fprintf(&file, "  - {name: a%d, branch: b%d, task: t}\n", i, i)
	}
	settings := orchestrator.DefaultSettings()
	settings.Parallel = agents
	s, err := session.Create(session.CreateSpec{
		Project: b.TempDir(), Now: time.Now(), Name: "shop", Agents: []byte(file.String()),
		State: orchestrator.State{Kind: orchestrator.KindAgents, Settings: settings, BaseSHA: "abc"},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	p := &postRoom{TB: b, s: s}
	b.Cleanup(p.kill)
	return p
}

// start runs a host, and waits until every agent has a launch.
func (p *postRoom) start(mode string, agents int) {
	p.Helper()
	p.spawn(mode)
	p.until("every agent is at work", func(st *orchestrator.State) bool {
		n := 0
		for _, a := range st.Agents {
			if a.Launch != "" {
				n++
			}
		}
		return n == agents && len(st.Pending) == 0
	})
}

func (p *postRoom) spawn(mode string) {
	p.Helper()
	own, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	p.host = exec.Command(own, postHost, p.s.Dir, mode)
	p.host.Env = append(os.Environ(), "AGENTMUX_TEST_BINARY=1", testexit.Env)
	p.host.Stderr = os.Stderr
	out, err := p.host.StdoutPipe()
	if err == nil {
		err = p.host.Start()
	}
	if err != nil {
		p.Fatal(err)
	}
	read := make(chan string, 1<<16)
	p.read = read
	go func() {
		defer close(read)
		for in := bufio.NewScanner(out); in.Scan(); {
			read <- in.Text()
		}
	}()
}

func (p *postRoom) kill() {
	if p.host == nil {
		return
	}
	_ = p.host.Process.Kill()
	for range p.read {
	}
	_ = p.host.Wait() // it was killed
	p.host = nil
}

func (p *postRoom) until(what string, want func(*orchestrator.State) bool) {
	p.Helper()
	limit := time.Now().Add(runLimit)
	for time.Now().Before(limit) && !p.Failed() {
		if st, err := p.s.ReadState(); err == nil && want(st) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	p.Fatalf("it never was so: %s", what)
}

func (p *postRoom) agent(i int) tools.Caller {
	p.Helper()
	st, err := p.s.ReadState()
	if err != nil {
		p.Fatal(err)
	}
	task := "a" + strconv.Itoa(i)
	return tools.Caller{Dir: p.s.Dir, Role: "build", Task: task, Launch: st.Agents[orchestrator.KeyOf("build", task)].Launch}
}

func (p *postRoom) call(who tools.Caller, tool string, params map[string]any) {
	a := tools.Call(context.Background(), who, tool, params)
	for slices.Equal(a.Errors, []string{"busy"}) || a.OK && len(a.Warnings) > 0 { // others held the file: nothing was sent, or acknowledged
		p.Logf("%s of %s: %q %q", tool, who.Task, a.Errors, a.Warnings)
		a = tools.Call(context.Background(), who, tool, params)
	}
	if !a.OK {
		p.Errorf("%s of %s: %s", tool, who.Task, a.Text)
	}
}

func (p *postRoom) send(who tools.Caller, to int, body string) {
	p.call(who, "msg_send", map[string]any{"to": "a" + strconv.Itoa(to), "type": "update", "headline": "news", "body": body})
}

func benchmarkLine(b *testing.B) {
	p := newPostRoom(b, 2)
	p.start("refused", 2)
	writer, reader := p.agent(0), p.agent(1)
	var spans []time.Duration
	for range max(b.N, 200) {
		p.send(writer, 1, "The port is 8080.")
		began := time.Now()
		var waiting []orchestrator.Message
		for len(waiting) == 0 {
			var err error
			if waiting, err = tools.Waiting(reader); err != nil {
				b.Fatal(err)
			}
			if time.Since(began) > runLimit {
				b.Fatal("the message does not come")
			}
			time.Sleep(500 * time.Microsecond)
		}
		spans = append(spans, time.Since(began))
		p.call(reader, "msg_read", map[string]any{"file": filepath.Base(waiting[0].File)})
		p.until("it is read", func(st *orchestrator.State) bool {
			return len(st.Messages) > 0 && !st.Messages[len(st.Messages)-1].AckedAt.IsZero()
		})
	}
	b.ReportMetric(0, "ns/op")
	report(b, "line", spans)
}

// talk has n messages sent, by each agent as many, and read. An agent waits while so many of its
// messages are unread. seen is called for each that was read.
func (p *postRoom) talk(agents, n, unread int, body string, seen func(i int)) {
	p.Helper()
	callers := make([]tools.Caller, agents)
	free := make([]chan struct{}, agents)
	for i := range agents {
		callers[i], free[i] = p.agent(i), make(chan struct{}, unread)
	}
	var writers, readers sync.WaitGroup
	for i := range agents {
		writers.Go(func() {
			for k := range (n + agents - 1 - i) / agents {
				free[i] <- struct{}{}
				p.send(callers[i], (i+1+k%(agents-1))%agents, body)
			}
		})
	}
	inbox := make([]chan string, agents)
	var count atomic.Int64
	for i := range agents {
		inbox[i] = make(chan string, n)
		readers.Go(func() {
			for file := range inbox[i] {
				p.call(callers[i], "msg_read", map[string]any{"file": filepath.Base(file)})
				seen(int(count.Add(1)))
				var from int
				if _, err := fmt.Sscanf(filepath.Base(file)[strings.Index(filepath.Base(file), "-update-a"):], "-update-a%d--", &from); err != nil {
					p.Errorf("%s: %v", file, err)
				}
				<-free[from]
			}
		})
	}
	for range n {
		var to int
		var file string
		var line string
		select {
		case line = <-p.read:
		case <-time.After(runLimit):
		}
		if _, err := fmt.Sscanf(line, "deliver a%d %s", &to, &file); err != nil {
			p.Fatalf("the host says %q", line)
		}
		inbox[to] <- file
	}
	for i := range agents {
		close(inbox[i])
	}
	writers.Wait()
	readers.Wait()
	p.until("all are read", func(st *orchestrator.State) bool {
		live := 0
		for _, m := range st.Messages {
			if m.AckedAt.IsZero() {
				live++
			}
		}
		return live == 0
	})
}

func benchmarkFlow(b *testing.B, n int) {
	const agents = 20
	p := newPostRoom(b, agents)
	p.start("refused", agents)
	began := time.Now()
	var writers sync.WaitGroup
	unread := min(n, 240)
	for i := range agents {
		who := p.agent(i)
		writers.Go(func() {
			for range (unread + agents - 1 - i) / agents {
				p.send(who, (i+1)%agents, "The port is 8080.")
			}
		})
	}
	writers.Wait()
	p.until("all are taken", func(st *orchestrator.State) bool { return st.MessageSeq >= unread })
	taken := time.Since(began)

	p = newPostRoom(b, agents)
	p.start("typed", agents)
	began = time.Now()
	p.talk(agents, n, 5, "The port is 8080.", func(int) {})
	read := time.Since(began)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(taken)/float64(unread), "taken-ms")
	b.ReportMetric(ms(read)/float64(n), "read-ms")
}

func benchmarkMany(b *testing.B, n int) {
	few, _ := afterMessages(b, 10, 20)
	many, p := afterMessages(b, n, 20)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(many), "commit-p50-ms")
	b.ReportMetric(float64(many)/float64(few), "slowdown")
	b.ReportMetric(float64(p.state)/1e3, "state-KB")
	b.ReportMetric(float64(p.memory)/1e6, "host-MB")
	b.ReportMetric(ms(p.started), "start-ms")
}

// passed is what was seen while messages passed.
type passed struct {
	state, memory int64
	started       time.Duration
}

// afterMessages measures a session in which n messages passed, and the commits of the next ones.
func afterMessages(b *testing.B, n, agents int) (commit time.Duration, seen passed) {
	b.Helper()
	p := newPostRoom(b, agents)
	p.start("typed", agents)
	var mu sync.Mutex
	p.talk(agents, n, 5, strings.Repeat("4 KiB of text..\n", 256), func(i int) {
		if i%100 != 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		info, err := os.Stat(p.s.Path(session.StateFile))
		if err != nil {
			b.Error(err)
			return
		}
		memory, err := readPSS(fmt.Sprintf("/proc/%d/smaps_rollup", p.host.Process.Pid))
		if err != nil {
			b.Error(err)
		}
		seen.state, seen.memory = max(seen.state, info.Size()), max(seen.memory, memory)
	})
	p.kill()
	writer, reader := p.agent(0), p.agent(1)
	p.send(writer, 1, "after the kill")
	began := time.Now()
	p.spawn("refused")
	for {
		if waiting, err := tools.Waiting(reader); err != nil {
			b.Fatal(err)
		} else if len(waiting) > 0 {
			break
		}
		if time.Since(began) > runLimit {
			b.Fatal("the new host takes no message")
		}
		time.Sleep(time.Millisecond)
	}
	seen.started = time.Since(began)
	p.kill()
	return p.commits(), seen
}

// commits returns the median of the time in which a message of an agent is decided about and committed.
func (p *postRoom) commits() time.Duration {
	p.Helper()
	writer := p.agent(0)
	if err := p.s.Lock(5 * time.Second); err != nil {
		p.Fatal(err)
	}
	defer p.s.Close()
	st, err := p.s.Recover(time.Now())
	if err != nil {
		p.Fatal(err)
	}
	def, err := p.s.Definition()
	if err != nil {
		p.Fatal(err)
	}
	p.views = postbox.Views{
		Queues: p.s.Path(session.QueuesDir), Offsets: p.s.Path(session.OffsetsDir),
		Archive: &postbox.Archive{Log: p.s.Path(session.MessagesLog)},
	}
	if err := p.views.Show(st.Messages, time.Now()); err != nil { // at the start of a host
		p.Fatal(err)
	}
	var spans []time.Duration
	for range 200 {
		p.send(writer, 1, "the next one")
		began := time.Now()
		st = p.take(def, st)
		spans = append(spans, time.Since(began))
		st = p.drop(def, st)
	}
	return quantile(spans, 0.5)
}

// take reads the messages behind the cursor, as the engine does.
func (p *postRoom) take(def *workflows.Definition, st *orchestrator.State) *orchestrator.State {
	p.Helper()
	lines, _, err := p.s.Lines(session.MessageIndex, st.MessageCursor, 0)
	if err != nil {
		p.Fatal(err)
	}
	for i := range lines {
		payload, err := lines[i].Decode()
		if err != nil {
			p.Fatal(err)
		}
		letter := postbox.Read(p.s.Path(session.MessagesDir), filepath.Base(payload.File), nil)
		lines[i].Letter = &letter
		st = p.commit(def, st, orchestrator.Input{Kind: orchestrator.InMessage, Line: &lines[i]})
	}
	return st
}

// drop has the person read what waits, so that the state is as large for the next one.
func (p *postRoom) drop(def *workflows.Definition, st *orchestrator.State) *orchestrator.State {
	p.Helper()
	reader := p.agent(1)
	for _, m := range st.Messages {
		if m.AckedAt.IsZero() && m.State == orchestrator.MessageQueued {
			p.call(reader, "msg_read", map[string]any{"file": filepath.Base(m.File)})
		}
	}
	lines, _, err := p.s.Lines(session.ToolEvents, st.ToolCursor, 0)
	if err != nil {
		p.Fatal(err)
	}
	for i := range lines {
		st = p.commit(def, st, orchestrator.Input{Kind: orchestrator.InTool, Line: &lines[i]})
	}
	return st
}

func (p *postRoom) commit(def *workflows.Definition, st *orchestrator.State, in orchestrator.Input) *orchestrator.State {
	p.Helper()
	in.At = time.Now()
	step, err := decide.Reduce(def, st, in)
	if err == nil {
		err = p.views.Archive.File(step.Filed)
	}
	if err == nil {
		err = p.s.Commit(step)
	}
	if err == nil {
		err = p.views.Show(step.State.Messages, in.At) // a host does so once a second
	}
	if err != nil {
		p.Fatal(err)
	}
	return step.State
}
