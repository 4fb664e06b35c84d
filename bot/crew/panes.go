package crew

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// Pane options by which a pane is known.
const (
	tagSession = "@agentmux_session"
	tagRole    = "@agentmux_role"
	tagTask    = "@agentmux_task"
	tagLaunch  = "@agentmux_launch"
)

// roleControl tags the window of the monitor.
const roleControl = "control"

// panes is the tmux server of one session and what is known of it.
type panes struct {
	server  *tmux.Server
	sess    *session.Session
	name    string // tmux session
	control tmux.WindowSpec

	mu      sync.Mutex
	started time.Time       // of the server, as last seen
	lost    map[string]bool // launches whose server went away
	silent  int             // looks in a row that the server did not answer
}

func openPanes(o Options, sess *session.Session, s *orchestrator.State) (*panes, error) {
	server, err := tmux.New(tmux.Options{
		Socket: place.SocketOf(o.RuntimeDir, sess, s), Binary: o.Tmux, Tags: []string{tagSession, tagRole, tagTask, tagLaunch},
	})
	if err != nil {
		return nil, fmt.Errorf("open tmux server: %w", err)
	}
	return &panes{
		server: server, sess: sess, name: s.SessionName,
		control: tmux.WindowSpec{
			Name: roleControl, Command: []string{o.Self, "monitor", "--control", sess.Dir}, Dir: sess.Dir,
			Options: map[string]string{tagSession: sess.Name(), tagRole: roleControl},
		},
		lost: map[string]bool{},
	}, nil
}

// ensure makes the server, the tmux session and its control window be there, and returns
// the launches as list does.
func (p *panes) ensure(ctx context.Context) (map[string]tmux.Pane, error) {
	if err := place.MakeRuntimeDir(filepath.Dir(p.server.Socket())); err != nil {
		return nil, engine.Never(fmt.Errorf("start tmux server: %w", err))
	}
	all, err := p.server.Ensure(ctx, tmux.SessionSpec{Name: p.name, Window: p.control})
	if err != nil {
		return nil, fmt.Errorf("start tmux server: %w", err)
	}
	process, err := p.serverProcess(ctx)
	if err != nil {
		return nil, fmt.Errorf("start tmux server: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(all) > 0 {
		p.started = all[0].Started
	}
	r := p.runtime()
	r.Server = process
	return p.launches(all), p.sess.WriteRuntime(r) // where a person can attach
}

// list returns the panes of this session by launch; the control window's is left out.
func (p *panes) list(ctx context.Context) (map[string]tmux.Pane, error) {
	all, err := p.server.Panes(ctx)
	if err != nil {
		return nil, err
	}
	return p.launches(all), nil
}

func (p *panes) launches(all []tmux.Pane) map[string]tmux.Pane {
	found := map[string]tmux.Pane{}
	for _, pane := range all {
		if launch := pane.Options[tagLaunch]; launch != "" && pane.Options[tagSession] == p.sess.Name() {
			found[launch] = pane
		}
	}
	return found
}

// find returns the pane of a launch. No server means no pane.
func (p *panes) find(ctx context.Context, launch string) (tmux.Pane, bool, error) {
	found, err := p.list(ctx)
	if unreachable(err) {
		return tmux.Pane{}, false, nil
	}
	pane, ok := found[launch]
	return pane, ok, err
}

// open starts a program in a window of its own, on a server that is made if need be.
func (p *panes) open(ctx context.Context, key string, w tmux.WindowSpec) (tmux.Pane, error) {
	w.Session, w.Name = p.name, strings.ReplaceAll(key, "/", "-")
	pane, err := p.server.NewWindow(ctx, w)
	if unreachable(err) {
		if err := p.endLost(ctx); err != nil {
			return tmux.Pane{}, err
		}
		if _, err := p.ensure(ctx); err != nil {
			return tmux.Pane{}, err
		}
		pane, err = p.server.NewWindow(ctx, w)
	}
	return pane, err
}

// note keeps where a launch runs for people and for the next host.
func (p *panes) note(key string, info session.LaunchInfo) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runtime()
	r.Panes[key], r.Launches[key] = info.Pane, info
	return p.sess.WriteRuntime(r)
}

// forget drops a launch that has ended.
func (p *panes) forget(key, launch string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lost, launch)
	r := p.runtime()
	if r.Launches[key].Launch != launch {
		return nil
	}
	delete(r.Panes, key)
	delete(r.Launches, key)
	return p.sess.WriteRuntime(r)
}

// recordAt notes where the recorders of the panes find the host.
func (p *panes) recordAt(socket string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.sess.ReadRuntime()
	r.Recorder = socket
	return p.sess.WriteRuntime(r)
}

func (p *panes) runtime() session.Runtime {
	r := p.sess.ReadRuntime()
	r.TmuxSession, r.Socket = p.name, p.server.Socket()
	return r
}

// process is the agent-exec of a launch: of its pane, else as it was noted.
func (p *panes) process(pane tmux.Pane, found bool, key, launch string) agent.Process {
	if found && !pane.Dead {
		if start, err := agent.ProcessStart(pane.PID); err == nil {
			return agent.Process{PID: pane.PID, Start: start}
		}
	}
	info := p.sess.ReadRuntime().Launches[key]
	start, err := strconv.ParseInt(info.PIDStart, 10, 64)
	if info.Launch != launch || err != nil {
		return agent.Process{}
	}
	return agent.Process{PID: info.PID, Start: start}
}
