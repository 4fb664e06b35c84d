package tmux

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pane is what the server says of one pane at one moment.
type Pane struct {
	ID         string // %N, never used again while the server lives
	Session    string
	Window     string // the window's name; for people only
	WindowID   string // @N
	PID        int    // the pane's first process
	Dead       bool   // that process has ended; the pane stays on show
	ExitStatus int    // its exit code when Dead; -1 when a signal ended it, or for a moment until it is known
	Signal     string // the signal that ended it, as tmux prints it: "9" or "KILL"
	InMode     bool   // a person is in copy mode or a menu: keys do not reach the program
	Attached   bool   // a terminal shows its session
	Piped      bool   // what it prints goes to a program; that one's end shows when the pane next prints
	Activity   time.Time
	Started    time.Time         // of the server, as Server.Started gives it
	Path       string            // work directory of the program in front; "" when dead
	Options    map[string]string // those of Options.Tags that are set
}

// paneFields come before the tags and the path in each line of list-panes.
var paneFields = []string{
	"#{pane_id}", "#{session_name}", "#{window_id}", "#{pane_pid}", "#{pane_dead}", "#{pane_dead_status}",
	"#{pane_dead_signal}", "#{pane_in_mode}", "#{window_activity}", "#{window_name}",
	"#{pane_pipe}", "#{start_time}", "#{session_attached}",
}

// Panes lists every pane of the server, in one command. A server without sessions gives
// an empty list.
func (s *Server) Panes(ctx context.Context) ([]Pane, error) {
	mark, format, err := s.format()
	if err != nil {
		return nil, err
	}
	out, err := s.run(ctx, nil, "list-panes", "-a", "-F", format)
	if errors.Is(err, ErrNoPane) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	panes, err := s.parsePanes(mark, out)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(panes, Pane.uncollected) {
		// A server that has just started can miss that a child ended (seen in 3.3a), and
		// learns of it with the next child that ends. The next call shows the exit.
		if _, err := s.run(ctx, nil, "run-shell", "-b", ":"); err != nil {
			return nil, fmt.Errorf("make the server collect its children: %w", err)
		}
	}
	return panes, nil
}

// format is what tmux is to say of a pane for parsePanes, and what that begins with.
func (s *Server) format() (mark, format string, err error) {
	if mark, err = nonce(); err != nil {
		return "", "", err
	}
	fields := append([]string{mark}, paneFields...)
	for _, tag := range s.tags {
		fields = append(fields, "#{"+tag+"}")
	}
	// The path comes last: a program chooses it, and it may hold any byte.
	fields = append(fields, "#{pane_current_path}")
	return mark + "\t", strings.Join(fields, "\t"), nil
}

// uncollected reports a pane whose program is gone while its exit is not known.
func (p Pane) uncollected() bool { return p.Dead && p.ExitStatus < 0 && p.Signal == "" }

// Pane returns one pane, or ErrNoPane.
func (s *Server) Pane(ctx context.Context, id string) (Pane, error) {
	panes, err := s.Panes(ctx)
	if err != nil {
		return Pane{}, err
	}
	for _, p := range panes {
		if p.ID == id {
			return p, nil
		}
	}
	return Pane{}, fmt.Errorf("pane %s: %w", id, ErrNoPane)
}

// parsePanes splits at the mark, which no program can have guessed, so a line break
// inside a path cannot start a record of its own.
func (s *Server) parsePanes(mark, out string) ([]Pane, error) {
	var panes []Pane
	for i, record := range strings.Split(out, mark) {
		if i == 0 {
			continue // what precedes the first mark: nothing
		}
		p, err := s.parsePane(strings.TrimSuffix(record, "\n"))
		if err != nil {
			return nil, fmt.Errorf("read list of panes: %w", err)
		}
		panes = append(panes, p)
	}
	return panes, nil
}

func (s *Server) parsePane(record string) (Pane, error) {
	n := len(paneFields)
	f := strings.SplitN(record, "\t", n+len(s.tags)+1)
	if len(f) != n+len(s.tags)+1 {
		return Pane{}, fmt.Errorf("%d fields where %d were asked for", len(f), n+len(s.tags)+1)
	}
	pid, err := strconv.Atoi(f[3])
	if err != nil {
		return Pane{}, fmt.Errorf("process id of %s: %w", f[0], err)
	}
	p := Pane{
		ID: f[0], Session: f[1], WindowID: f[2], PID: pid, Dead: f[4] == "1", ExitStatus: -1, Signal: f[6],
		InMode: f[7] != "" && f[7] != "0", Window: f[9], Piped: f[10] == "1", Attached: f[12] != "0" && f[12] != "", Path: f[len(f)-1], Options: map[string]string{},
	}
	if code, err := strconv.Atoi(f[5]); err == nil && p.Dead && p.Signal == "" {
		p.ExitStatus = code
	}
	if sec, err := strconv.ParseInt(f[8], 10, 64); err == nil {
		p.Activity = time.Unix(sec, 0)
	}
	if sec, err := strconv.ParseInt(f[11], 10, 64); err == nil {
		p.Started = time.Unix(sec, 0)
	}
	for i, tag := range s.tags {
		if v := f[n+i]; v != "" {
			p.Options[tag] = v
		}
	}
	return p, nil
}

// Capture returns the visible text of the pane and at most history lines above it,
// without colours. Trailing spaces of a line are cut.
func (s *Server) Capture(ctx context.Context, pane string, history int) (string, error) {
	return capture(ctx, s, pane, history)
}

// Printed is Capture with the lines whole that the pane broke at its width.
func (s *Server) Printed(ctx context.Context, pane string, history int) (string, error) {
	return capture(ctx, s, pane, history, "-J")
}

func capture(ctx context.Context, s *Server, pane string, history int, more ...string) (string, error) {
	if !paneForm.MatchString(pane) {
		return "", fmt.Errorf("capture %q: %w", pane, ErrNoPane)
	}
	args := append([]string{"capture-pane", "-p", "-t", pane}, more...)
	if history > 0 {
		args = append(args, "-S", "-"+strconv.Itoa(history))
	}
	out, err := s.run(ctx, nil, args...)
	if err != nil {
		return "", fmt.Errorf("capture pane %s: %w", pane, err)
	}
	return out, nil
}

// Screen returns the visible text of the pane and when its window last showed something new, both of one moment.
func (s *Server) Screen(ctx context.Context, pane string) (text string, activity time.Time, err error) {
	if !paneForm.MatchString(pane) {
		return "", time.Time{}, fmt.Errorf("screen of %q: %w", pane, ErrNoPane)
	}
	out, err := s.run(ctx, nil, "display-message", "-p", "-t", pane, "#{window_activity}", ";", "capture-pane", "-p", "-t", pane)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("screen of %s: %w", pane, err)
	}
	head, text, _ := strings.Cut(out, "\n")
	seconds, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("activity of %s: %w", pane, ErrNoPane)
	}
	return text, time.Unix(seconds, 0), nil
}

// Pipe starts argv with everything the pane prints from now on as its input. A pane has
// one pipe; a second call replaces it. It fails with ErrNoPane when the pane is dead.
func (s *Server) Pipe(ctx context.Context, pane string, argv []string) error {
	p, err := s.Pane(ctx, pane)
	if err != nil {
		return err
	}
	if p.Dead {
		return fmt.Errorf("pipe pane %s: its program has ended: %w", pane, ErrNoPane)
	}
	if _, err := s.run(ctx, nil, pipe(pane, argv)...); err != nil {
		return fmt.Errorf("pipe pane %s: %w", pane, err)
	}
	return nil
}

// pipe is the command that starts argv with what a pane prints as its input.
func pipe(target string, argv []string) []string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quote(a)
	}
	// tmux expands the command as a format and as a time before a shell reads it.
	// The braces of a format and of a time are protected by doubling.
	command := strings.ReplaceAll(literal("exec "+strings.Join(words, " ")), "%", "%%")
	return []string{"pipe-pane", "-O", "-t", target, argument(command)}
}

// KillPane removes the pane; its program gets SIGHUP. An absent pane or server is
// not an error.
func (s *Server) KillPane(ctx context.Context, pane string) error {
	if !paneForm.MatchString(pane) {
		return fmt.Errorf("kill pane %q: want an id like %%3", pane)
	}
	_, err := s.run(ctx, nil, "kill-pane", "-t", pane)
	if err != nil && !errors.Is(err, ErrNoPane) && !errors.Is(err, ErrNoServer) {
		return fmt.Errorf("kill pane %s: %w", pane, err)
	}
	return nil
}

// nonce returns a word that cannot be foreseen.
func nonce() (string, error) {
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("draw a random word: %w", err)
	}
	return hex.EncodeToString(b), nil
}
