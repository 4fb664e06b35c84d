package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// recorder watches a session from outside while it runs. It asks for nothing: the times
// are those that the file system gave to the files.
type recorder struct {
	dir   string
	tools []toolLine
	// states are the committed states, as far as they stood long enough to be seen.
	states []seenState
}

// toolLine is a line of tool_events.jsonl: where it ends, and when it was appended.
type toolLine struct {
	end int64
	at  time.Time
}

type seenState struct {
	at    time.Time
	state *orchestrator.State
}

// record runs cmd, which makes the only session of the rig, to its end.
func (r *rig) record(cmd *exec.Cmd) *recorder {
	r.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.NewTimer(runLimit)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	rec := &recorder{}
	for {
		select {
		case err := <-ended:
			if err != nil {
				r.t.Fatalf("%v: %v\n%s", cmd.Args, err, out.String())
			}
			rec.look()
			return rec
		case <-deadline.C:
			_ = cmd.Process.Kill()
			r.t.Fatalf("%v: no end within %s\n%s", cmd.Args, runLimit, out.String())
		case <-tick.C:
			if rec.dir == "" {
				rec.dir = sessionDir(r.clone)
				continue
			}
			rec.look()
		}
	}
}

// sessionDir is the directory of the project's only session, "" before it is made.
func sessionDir(project string) string {
	entries, err := session.List(project)
	if err != nil || len(entries) != 1 {
		return ""
	}
	return entries[0].Dir
}

func (rec *recorder) look() {
	rec.lookAtTools()
	info, err := os.Stat(filepath.Join(rec.dir, session.StateFile))
	if err != nil || len(rec.states) > 0 && !info.ModTime().After(rec.states[len(rec.states)-1].at) {
		return
	}
	sess, err := session.Open(rec.dir)
	if err != nil {
		return
	}
	if s, err := sess.ReadState(); err == nil {
		rec.states = append(rec.states, seenState{info.ModTime(), s})
	}
}

func (rec *recorder) lookAtTools() {
	path := filepath.Join(rec.dir, session.ToolEvents)
	info, err := os.Stat(path)
	known := int64(0)
	if len(rec.tools) > 0 {
		known = rec.tools[len(rec.tools)-1].end
	}
	if err != nil || info.Size() <= known {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for known < info.Size() {
		n := int64(bytes.IndexByte(data[known:], '\n')) + 1
		if n == 0 {
			return
		}
		known += n
		rec.tools = append(rec.tools, toolLine{known, info.ModTime()})
	}
}

// transitions are the times from a tool line's append to the commit of the state in
// which it has been decided about.
func (rec *recorder) transitions() []time.Duration {
	var out []time.Duration
	for _, line := range rec.tools {
		i := slices.IndexFunc(rec.states, func(s seenState) bool { return s.state.ToolCursor.Offset >= line.end })
		if i >= 0 {
			out = append(out, max(0, rec.states[i].at.Sub(line.at)))
		}
	}
	return out
}

// handOffs are the times from a tool line's append to the start of the program that the
// line led to, with its prompt as an argument. The line is the last one taken when the
// state first named the launch: for parallel coders that of the plan, for a reviewer that
// of the last coder. The first launch has none.
func (rec *recorder) handOffs(tb testing.TB) map[string]time.Duration {
	tb.Helper()
	if len(rec.tools) == 0 {
		tb.Fatal("no tool line was seen")
	}
	out := map[string]time.Duration{}
	for launch, exit := range rec.launches(tb) {
		i := slices.IndexFunc(rec.states, func(s seenState) bool { return names(s.state, orchestrator.Launch(launch)) })
		if i < 0 {
			tb.Fatalf("no state names the launch %s", launch)
		}
		cursor := rec.states[i].state.ToolCursor.Offset
		for _, line := range rec.tools {
			if line.end == cursor {
				out[launch] = exit.StartedAt.Sub(line.at)
			}
		}
	}
	return out
}

// names reports whether the state has decided to start the launch.
func names(s *orchestrator.State, launch orchestrator.Launch) bool {
	if slices.ContainsFunc(s.Pending, func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	}) {
		return true
	}
	for _, a := range s.Agents {
		if a.Launch == launch {
			return true
		}
	}
	return false
}

func (rec *recorder) launches(tb testing.TB) map[string]agent.Exit {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join(rec.dir, session.LaunchesDir, "*"))
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]agent.Exit{}
	for _, dir := range dirs {
		exit, ended, err := agent.ReadExit(dir)
		if err != nil || !ended {
			tb.Fatalf("%s: ended %v, %v", dir, ended, err)
		}
		out[filepath.Base(dir)] = exit
	}
	return out
}

// agentsTime is how long at least one agent was at work.
func (rec *recorder) agentsTime(tb testing.TB) time.Duration {
	tb.Helper()
	var spans []agent.Exit
	for _, exit := range rec.launches(tb) {
		spans = append(spans, exit)
	}
	slices.SortFunc(spans, func(a, b agent.Exit) int { return a.StartedAt.Compare(b.StartedAt) })
	var sum time.Duration
	var until time.Time
	for _, span := range spans {
		if span.StartedAt.After(until) {
			until = span.StartedAt
		}
		if span.EndedAt.After(until) {
			sum += span.EndedAt.Sub(until)
			until = span.EndedAt
		}
	}
	return sum
}

// kind is a launch without its numbers: what was handed over to.
func kind(launch string) string {
	parts := strings.Split(launch, ".")
	return parts[min(1, len(parts)-1)]
}
