package tmux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pathLimit bounds the wait for a new pane to show its work directory.
const pathLimit = 5 * time.Second

// WindowSpec describes one window with one pane.
type WindowSpec struct {
	Session string            // must exist; Ensure sets it for the first window
	Name    string            // for people; letters, digits, _ and -
	Command []string          // argument vector; the program by absolute path
	Dir     string            // absolute, must exist
	Env     []string          // NAME=value, beside the few variables tmux sets itself; no secrets: a process list shows them
	Options map[string]string // pane options (@name) it carries from its first moment
	Pipe    []string          // NewWindow: started with all that the pane prints as its input; nil = nothing
}

// SessionSpec describes a session and its first window.
type SessionSpec struct {
	Name   string
	Width  int // columns and rows while no client is attached; 0 means 220 and 50
	Height int
	Window WindowSpec

	// OnAttach: the window's program runs for people only. The server starts it again whenever
	// a terminal attaches and it does not run, and when it ended with exit code 0 or by a signal while
	// one is attached. Without one it may end, and Ensure leaves it so.
	OnAttach bool
}

// Ensure creates the server, the session and its first window unless they exist. It may be
// called again at any time: a pane that carries all of Window.Options and lives is left alone,
// in a dead one the program is started again (see OnAttach), a missing one is created. It
// returns all panes of the server; where everything exists already, that is the one question
// it asks, and one command with OnAttach.
func (s *Server) Ensure(ctx context.Context, spec SessionSpec) ([]Pane, error) {
	if _, err := sessionTarget(spec.Name); err != nil {
		return nil, err
	}
	spec.Window.Session = spec.Name
	if err := errors.Join(spec.Window.check(), s.findable(spec.Window)); err != nil {
		return nil, fmt.Errorf("ensure tmux session %s: %w", spec.Name, err)
	}
	panes, err := s.Panes(ctx)
	if refused := new(Error); err != nil && !errors.Is(err, ErrNoServer) && !errors.As(err, &refused) {
		return nil, fmt.Errorf("look for tmux session %s: %w", spec.Name, err)
	}
	if slices.ContainsFunc(panes, func(p Pane) bool { return p.Session == spec.Name }) {
		return s.ensureWindow(ctx, spec, panes)
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	err = s.newSession(ctx, spec)
	if refused := new(Error); err != nil && (!errors.As(err, &refused) || !strings.Contains(refused.Text, "duplicate session")) {
		return nil, err
	}
	if panes, err = s.Panes(ctx); err != nil {
		return nil, err
	}
	return s.ensureWindow(ctx, spec, panes) // another Ensure may have been faster
}

func (s *Server) newSession(ctx context.Context, spec SessionSpec) error {
	width, height := spec.Width, spec.Height
	if width <= 0 || height <= 0 {
		width, height = 220, 50
	}
	args := []string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", spec.Name, "-x", strconv.Itoa(width), "-y", strconv.Itoa(height)}
	// The session is new and has this window only.
	args = append(args, spec.Window.arguments("="+spec.Name+":")...)
	out, err := s.run(ctx, nil, args...)
	if err != nil {
		return fmt.Errorf("make tmux session %s: %w", spec.Name, err)
	}
	_, err = s.landed(ctx, Pane{ID: strings.TrimSpace(out)}, spec.Window.Dir)
	return err
}

// ensureWindow finds the window among panes by its options and repairs or makes it. It
// returns the panes as they are then.
func (s *Server) ensureWindow(ctx context.Context, spec SessionSpec, panes []Pane) ([]Pane, error) {
	w := spec.Window
	i := slices.IndexFunc(panes, func(p Pane) bool { return p.Session == w.Session && carries(p, w.Options) })
	var err error
	switch {
	case i < 0:
		var pane Pane
		if pane, err = s.NewWindow(ctx, w); err == nil && spec.OnAttach {
			err = s.startOnAttach(ctx, spec.Name, pane.ID)
		}
	case spec.OnAttach:
		return panes, s.startOnAttach(ctx, spec.Name, panes[i].ID)
	case panes[i].Dead:
		err = s.respawn(ctx, panes[i].ID, w)
	default:
		return panes, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Panes(ctx)
}

// startOnAttach has the server start the ended program of pane again, by itself and without a
// shell: respawn-pane without a command takes the one of the pane. One that fails is left as it
// is, or it would be started without end. tmux 3.3a may run the hook before it knows the status,
// so a status that is not known yet counts as one of a signal.
func (s *Server) startOnAttach(ctx context.Context, session, pane string) error {
	respawn := func(condition string) string {
		return "if-shell -F -t " + pane + " '" + condition + "' 'respawn-pane -t " + pane + "'"
	}
	_, err := s.run(ctx, nil,
		"set-hook", "-t", "="+session+":", "client-attached", respawn("#{pane_dead}"), ";",
		"set-hook", "-p", "-t", pane, "pane-died", respawn("#{&&:#{session_attached},#{?#{pane_dead_status},#{==:#{pane_dead_status},0},1}}"))
	if err != nil {
		return fmt.Errorf("start %s when a terminal attaches: %w", pane, err)
	}
	return nil
}

// respawn starts the window's program again in a pane whose program has ended.
func (s *Server) respawn(ctx context.Context, pane string, w WindowSpec) error {
	args := append([]string{"respawn-pane", "-t", pane}, w.place()...)
	if _, err := s.run(ctx, nil, append(args, w.command()...)...); err != nil {
		return fmt.Errorf("start %s again: %w", w.Name, err)
	}
	_, err := s.landed(ctx, Pane{ID: pane}, w.Dir)
	return err
}

// NewWindow makes a window at the end of the session without bringing it to front, and
// returns its pane. Making it, setting its options and starting its pipe is one command, so
// no crash of this process leaves a pane without them. The pane is removed again when it did not
// start in Dir, which tmux itself would not report. A program that has ended before its pipe was
// started has none: its pane is not Piped.
func (s *Server) NewWindow(ctx context.Context, w WindowSpec) (Pane, error) {
	target, err := sessionTarget(w.Session)
	if err != nil {
		return Pane{}, err
	}
	if err := w.check(); err != nil {
		return Pane{}, fmt.Errorf("make window %s: %w", w.Name, err)
	}
	mark, format, err := s.format()
	if err != nil {
		return Pane{}, err
	}
	end := target + ":{end}"
	args := append([]string{"new-window", "-d", "-a", "-t", end}, w.arguments(end)...)
	args = append(args, ";", "display-message", "-p", "-t", end, format)
	if len(w.Pipe) > 0 {
		args = append(append(args, ";"), pipe(end, w.Pipe)...)
	}
	out, err := s.run(ctx, nil, args...)
	made, parseErr := s.parsePanes(mark, out)
	if len(made) != 1 {
		return Pane{}, fmt.Errorf("make window %s: %w", w.Name, errors.Join(err, parseErr))
	}
	piped := err == nil && len(w.Pipe) > 0
	pane, err := s.landed(ctx, made[0], w.Dir)
	if err != nil {
		return Pane{}, errors.Join(fmt.Errorf("make window %s: %w", w.Name, err), s.KillPane(ctx, made[0].ID))
	}
	pane.Piped = piped && !pane.Dead
	return pane, nil
}

// check refuses what tmux would accept and misread.
func (w WindowSpec) check() error {
	if !nameForm.MatchString(w.Name) {
		return fmt.Errorf("window name %q: only letters, digits, _ and - work", w.Name)
	}
	if len(w.Command) == 0 || !filepath.IsAbs(w.Command[0]) {
		return fmt.Errorf("command %q: want a program by its absolute path", w.Command)
	}
	if !filepath.IsAbs(w.Dir) {
		return fmt.Errorf("work directory %q: want an absolute path", w.Dir)
	}
	info, err := os.Stat(w.Dir)
	if err != nil {
		return fmt.Errorf("work directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("work directory %s is a file", w.Dir)
	}
	for _, v := range w.Env {
		if i := strings.IndexByte(v, '='); i <= 0 {
			return fmt.Errorf("environment entry %q: want NAME=value", v)
		}
	}
	for name, value := range w.Options {
		if !optionForm.MatchString(name) {
			return fmt.Errorf("pane option %q: want @name in lower case", name)
		}
		if strings.ContainsFunc(value, isControl) {
			return fmt.Errorf("pane option %s: value has a control character", name)
		}
	}
	return nil
}

// findable refuses a window that Ensure could not recognise the next time.
func (s *Server) findable(w WindowSpec) error {
	for name := range w.Options {
		if !slices.Contains(s.tags, name) {
			return fmt.Errorf("pane option %s is not among the tags Panes reads", name)
		}
	}
	if len(w.Options) == 0 {
		return errors.New("the first window needs a pane option to be known by")
	}
	return nil
}

// arguments are those of new-session and new-window from the name on, followed by one
// set-option for each pane option, aimed at target.
func (w WindowSpec) arguments(target string) []string {
	args := append([]string{"-n", w.Name}, w.place()...)
	args = append(args, w.command()...)
	for _, name := range slices.Sorted(maps.Keys(w.Options)) {
		args = append(args, ";", "set-option", "-p", "-t", target, "--", name, argument(w.Options[name]))
	}
	return args
}

// place is the work directory and the environment.
func (w WindowSpec) place() []string {
	args := []string{"-c", argument(literal(w.Dir))}
	for _, v := range w.Env {
		args = append(args, "-e", argument(v))
	}
	return args
}

// command is the program with its arguments. tmux gives a single word to a shell, so
// one without arguments is started by env.
func (w WindowSpec) command() []string {
	argv := w.Command
	if len(argv) == 1 {
		argv = []string{"/usr/bin/env", "--", argv[0]}
	}
	args := []string{"--"}
	for _, a := range argv {
		args = append(args, argument(a))
	}
	return args
}

// landed waits until the pane's program is seen in dir, and returns the pane. A directory that cannot be
// entered silently becomes the home directory or / in tmux. Where the system tells where a process
// is, tmux is asked only about one that is not there soon.
func (s *Server) landed(ctx context.Context, pane Pane, dir string) (Pane, error) {
	want, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Pane{}, fmt.Errorf("work directory: %w", err)
	}
	soon, cancel := context.WithTimeout(ctx, soonLimit)
	defer cancel()
	err = pollEvery(soon, soonPause, func() (bool, error) {
		at, err := workdir(pane.PID)
		return at == want, err
	})
	if err == nil {
		pane.Path = want
		return pane, nil
	}
	return s.seen(ctx, pane.ID, want)
}

const (
	// soonLimit is how long a new process of a pane is looked at before tmux is asked.
	soonLimit = 50 * time.Millisecond
	soonPause = time.Millisecond
)

// seen is landed by what tmux says.
func (s *Server) seen(ctx context.Context, pane, want string) (Pane, error) {
	var seen Pane
	err := poll(ctx, pathLimit, func() (bool, error) {
		p, err := s.Pane(ctx, pane)
		if err != nil {
			return false, err
		}
		seen = p
		return p.Dead || p.Path == want, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("pane started in %q instead of %s", seen.Path, want)
	}
	return seen, err
}

// carries reports whether the pane has every one of the options.
func carries(p Pane, options map[string]string) bool {
	for name, value := range options {
		if p.Options[name] != value {
			return false
		}
	}
	return true
}

// isControl reports C0, DEL and C1.
func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }
