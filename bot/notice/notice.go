// Package notice tells a person on the desktop what became of the agents of an agents file, by the
// desktop's own means: notify-send, or osascript on a Mac. Where there is neither, nothing is told; the
// run does not wait for a notice, and none is repeated.
//
// What agents wrote is never part of a notice, only the names of the file and what the run says.
package notice

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// showTime bounds how long a program may take to show a notice.
const showTime = 5 * time.Second

// Board shows notices of one run. The zero value shows none.
type Board struct {
	program []string // with the arguments before title and text; nil = none
	env     []string
	last    *orchestrator.State
	showing sync.WaitGroup
}

// New returns a board that shows what changes after s. environ looks up variables of the person.
func New(s *orchestrator.State, environ func(string) (string, bool)) *Board {
	b := &Board{last: s}
	path, _ := environ("PATH")
	for _, argv := range programs() {
		if file := lookPath(argv[0], path); file != "" {
			b.program = append([]string{file}, argv[1:]...)
			break
		}
	}
	for _, name := range []string{"HOME", "PATH", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} {
		if value, ok := environ(name); ok {
			b.env = append(b.env, name+"="+value)
		}
	}
	return b
}

// programs show a notice with a title and a text, which are their last arguments.
func programs() [][]string {
	return [][]string{
		{"notify-send", "--app-name=agentmux", "--"},
		{"osascript", "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run"},
	}
}

// lookPath finds a program in a PATH; "" if it is not there.
func lookPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// Look shows what is new in a committed state. It does not block.
func (b *Board) Look(s *orchestrator.State) {
	if b.last == nil {
		return
	}
	lines := News(b.last, s)
	b.last = s
	if len(lines) == 0 || b.program == nil {
		return
	}
	argv := append(b.program[:len(b.program):len(b.program)], "agentmux: "+s.SessionID, strings.Join(lines, "\n"))
	b.showing.Go(func() {
		cmd := command.Cmd{Argv: argv, Env: b.env, Limit: showTime, Drain: time.Second}
		_ = cmd.Run(context.Background()) // a desktop that is not there is not a fault of the run
	})
}

// Close waits until the last notice is shown.
func (b *Board) Close() { b.showing.Wait() }

// News is what happened between two states that a person may want to know: a question, an agent that
// is not done, and the end of the run.
func News(before, now *orchestrator.State) (lines []string) {
	for _, q := range now.Questions[min(len(before.Questions), len(now.Questions)):] {
		if q.Open() {
			lines = append(lines, q.Task+" asks a question")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Team)) {
		p := now.Team[name]
		if p.Marker == "" || p.Marker == before.Team[name].Marker {
			continue
		}
		if m := agents.ParseMarker([]byte(p.Marker)); m.Status() == agents.Failed {
			lines = append(lines, fmt.Sprintf("%s failed (exit %d)", name, m.Exit))
		}
	}
	if now.Ended() && !before.Ended() {
		lines = append(lines, "the run has ended: "+string(now.Outcome))
	}
	return lines
}
