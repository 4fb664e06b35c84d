package crew

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// The options by which a pane is identified.
const (
	tagSession = "@agentmux_session"
	tagRole    = "@agentmux_role"
	tagTask    = "@agentmux_task"
	tagLaunch  = "@agentmux_launch"
)

// roleControl tags the window of the monitor.
const roleControl = "control"

// panes is the tmux server of one session and what is known about it.
type panes struct {
	server  *tmux.Server
	sess    *session.Session
	name    string // tmux session
	control tmux.WindowSpec
	main    tmux.WindowSpec // of the person, in the project; not opened without a command

	mu      sync.Mutex
	started time.Time                    // of the server, as last seen
	pid     int                          // of the server, as last seen; 0 = not seen
	bare    bool                         // the control window was missing when last seen
	lost    map[orchestrator.Launch]bool // launches that ended with their server
	silent  int                          // questions in a row that the server did not answer
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
			Name: roleControl, Dir: sess.Dir,
			Command: slices.Concat([]string{"/usr/bin/env"}, o.variables(places), []string{o.Self, "monitor", "--control", sess.Dir}),
			Options: map[string]string{tagSession: sess.Name(), tagRole: roleControl},
		},
		lost: map[orchestrator.Launch]bool{},
	}, nil
}

// places are the variables that say where configuration, state and server are. The monitor gets them as arguments, because
// tmux starts it again with these alone.
var places = []string{
	"HOME", "PATH", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "NO_COLOR",
	"GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GITHUB_SERVER_URL",
}

// variables are those of the names that are set, as NAME=value.
func (o Options) variables(names []string) (env []string) {
	for _, name := range names {
		if value, ok := o.Environ(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// roleMain is the name of the window of the person. It has no tags: it belongs to no launch.
const roleMain = "main"

// mainWindow is a window for the person in the project, as main_pane of an agents file asks for one. It
// runs the person's shell, with none of the variables of the host but a few that name no secret.
func mainWindow(r *Crew, s *orchestrator.State) tmux.WindowSpec {
	shell, _ := r.Environ("SHELL")
	if r.def == nil || r.def.Team == nil || !r.def.Team.MainPane || !s.Interactive || !filepath.IsAbs(shell) {
		return tmux.WindowSpec{}
	}
	env := r.variables([]string{"HOME", "PATH", "USER", "LANG", "SHELL"})
	return tmux.WindowSpec{Session: s.SessionName, Name: roleMain, Command: []string{shell}, Dir: r.sess.Project(), Env: env}
}

// ensure creates the server, the tmux session and its control window unless they exist, and
// returns the launches as list does.
func (p *panes) ensure(ctx context.Context) (map[orchestrator.Launch]tmux.Pane, error) {
	if err := place.MakeRuntimeDir(filepath.Dir(p.server.Socket())); err != nil {
		return nil, engine.Never(fmt.Errorf("start tmux server: %w", err))
	}
	all, err := p.server.Ensure(ctx, tmux.SessionSpec{Name: p.name, Window: p.control, OnAttach: true})
	if err != nil {
		return nil, fmt.Errorf("start tmux server: %w", err)
	}
	process, err := p.serverProcess(ctx)
	if err != nil {
		return nil, fmt.Errorf("start tmux server: %w", err)
	}
	if len(p.main.Command) > 0 && len(all) == 1 { // with more, it was opened before, and the person may have closed it
		if _, err := p.server.NewWindow(ctx, p.main); err != nil {
			return nil, fmt.Errorf("open main pane: %w", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(all) > 0 {
		p.started = all[0].Started
	}
	p.pid, p.bare = process.PID, false
	r := p.runtime()
	r.Server = process
	return p.launches(all), p.sess.WriteRuntime(r) // where a person can attach
}

// list returns the panes of this session by launch, without that of the control window.
func (p *panes) list(ctx context.Context) (map[orchestrator.Launch]tmux.Pane, error) {
	all, err := p.server.Panes(ctx)
	if err != nil {
		return nil, err
	}
	ours := func(pane tmux.Pane) bool { return pane.Session == p.name }
	control := func(pane tmux.Pane) bool { return ours(pane) && pane.Options[tagRole] == roleControl }
	p.mu.Lock()
	p.bare = slices.ContainsFunc(all, ours) && !slices.ContainsFunc(all, control)
	p.mu.Unlock()
	return p.launches(all), nil
}

// serverPID is the process of the server, 0 while it is not known.
func (p *panes) serverPID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// restoreControl opens the control window again if the last list was without it.
func (p *panes) restoreControl(ctx context.Context) error {
	p.mu.Lock()
	bare := p.bare
	p.mu.Unlock()
	if !bare {
		return nil
	}
	_, err := p.ensure(ctx)
	return err
}

func (p *panes) launches(all []tmux.Pane) map[orchestrator.Launch]tmux.Pane {
	found := map[orchestrator.Launch]tmux.Pane{}
	for _, pane := range all {
		if launch := orchestrator.Launch(pane.Options[tagLaunch]); launch != "" && pane.Options[tagSession] == p.sess.Name() {
			found[launch] = pane
		}
	}
	return found
}

// find returns the pane of a launch. No server means no pane.
func (p *panes) find(ctx context.Context, launch orchestrator.Launch) (tmux.Pane, bool, error) {
	found, err := p.list(ctx)
	if unreachable(err) {
		return tmux.Pane{}, false, nil
	}
	pane, ok := found[launch]
	return pane, ok, err
}

// open starts a program in a window of its own and starts the server if none runs.
func (p *panes) open(ctx context.Context, key orchestrator.AgentKey, w tmux.WindowSpec) (tmux.Pane, error) {
	w.Session, w.Name = p.name, key.Flat()
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

// note records where a launch runs, for people and for the next host.
func (p *panes) note(key orchestrator.AgentKey, info session.LaunchInfo) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runtime()
	if former := r.Launches[key]; former.Launch != "" && former.Launch != info.Launch {
		r.Leaving = append(r.Leaving, former)
	}
	r.Panes[key], r.Launches[key] = info.Pane, info
	return p.sess.WriteRuntime(r)
}

// noteAgent records where the launch of an agent runs, if it still does.
func (p *panes) noteAgent(a orchestrator.Args, pane tmux.Pane) error {
	start, err := process.StartTime(pane.PID)
	if errors.Is(err, process.ErrNotFound) {
		return nil // it has ended already; the next report says so
	}
	if err != nil {
		return err
	}
	return p.note(orchestrator.KeyOf(a.Role, a.Task), session.LaunchInfo{
		Pane: pane.ID, PID: pane.PID, PIDStart: strconv.FormatInt(start, 10), Launch: a.Launch,
	})
}

// forget removes the record of a launch that has ended.
func (p *panes) forget(key orchestrator.AgentKey, launch orchestrator.Launch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lost, launch)
	r := p.runtime()
	n := len(r.Leaving)
	r.Leaving = slices.DeleteFunc(r.Leaving, func(l session.LaunchInfo) bool { return l.Launch == launch })
	if r.Launches[key].Launch == launch {
		delete(r.Panes, key)
		delete(r.Launches, key)
	} else if len(r.Leaving) == n {
		return nil
	}
	return p.sess.WriteRuntime(r)
}

// recordAt records where the recorders of the panes reach the host.
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

// process returns the agent-exec of a launch: that of its pane, else as it was noted.
func (p *panes) process(pane tmux.Pane, found bool, key orchestrator.AgentKey, launch orchestrator.Launch) process.Process {
	if found && !pane.Dead {
		if start, err := process.StartTime(pane.PID); err == nil {
			return process.Process{PID: pane.PID, Start: start}
		}
	}
	r := p.sess.ReadRuntime()
	for _, info := range append(r.Leaving, r.Launches[key]) {
		if start, err := strconv.ParseInt(info.PIDStart, 10, 64); info.Launch == launch && err == nil {
			return process.Process{PID: info.PID, Start: start}
		}
	}
	return process.Process{}
}
