package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxLine is the longest line Submit types. What is typed is one sentence with a path.
const maxLine = 4096

// maxEnters is how often Enter is pressed for one line before giving up.
const maxEnters = 3

// Delivery says what became of a line.
type Delivery int

const (
	// Refused: nothing was typed. It is safe to try again.
	Refused Delivery = iota
	// Sent: the program was seen to take the line.
	Sent
	// Indeterminate: something was typed, and it is not known what became of it. The
	// line must not be typed again.
	Indeterminate
)

func (d Delivery) String() string {
	return [...]string{"refused", "sent", "indeterminate"}[d]
}

// Outcome is the end of one Submit.
type Outcome struct {
	Delivery Delivery
	Why      string // for Refused and Indeterminate
}

// SubmitOptions adapt Submit to the program in the pane.
type SubmitOptions struct {
	// Pause lies between the text and Enter. Some programs take an Enter that follows a
	// paste at once as part of the paste.
	Pause time.Duration
	// Ready is asked last before typing; an error refuses the line.
	Ready func() error
	// Confirm reports that the program has acknowledged the line by a way of its own.
	// Without it, or while it says no, the screen decides.
	Confirm func() bool
	// ShowLimit bounds the wait for the text to appear (0: 5 s), ConfirmLimit the wait
	// after each Enter (0: 2 s).
	ShowLimit    time.Duration
	ConfirmLimit time.Duration
}

// Submit types one line into a pane and presses Enter. Control characters are taken out
// first. The error is not nil only when tmux could not be asked and nothing was typed;
// the delivery is Refused then. Calls for one pane wait for each other.
func (s *Server) Submit(ctx context.Context, pane, line string, o SubmitOptions) (Outcome, error) {
	line = printable(line)
	switch {
	case !paneForm.MatchString(pane):
		return refused("pane %q is not an id", pane), nil
	case line == "":
		return refused("the line is empty"), nil
	case len(line) > maxLine:
		return refused("the line has %d bytes, at most %d are typed", len(line), maxLine), nil
	}
	defer s.lockPane(pane)()
	d := &submission{server: s, pane: pane, line: line, opts: o, key: key(line)}
	if d.opts.ShowLimit <= 0 {
		d.opts.ShowLimit = 5 * time.Second
	}
	if d.opts.ConfirmLimit <= 0 {
		d.opts.ConfirmLimit = 2 * time.Second
	}
	return d.run(ctx)
}

// submission is one line on its way into one pane.
type submission struct {
	server *Server
	pane   string
	line   string
	key    string // what to look for on the screen
	opts   SubmitOptions
}

func (d *submission) run(ctx context.Context) (Outcome, error) {
	before, err := d.capture(ctx)
	if errors.Is(err, ErrNoPane) {
		return refused("the pane is gone"), nil
	}
	if err != nil {
		return Outcome{}, err
	}
	if d.opts.Ready != nil {
		if err := d.opts.Ready(); err != nil {
			return refused("%v", err), nil
		}
	}
	out, err := d.paste(ctx)
	if err != nil || out.Delivery == Refused {
		return out, err
	}
	if err := d.shown(ctx, before); err != nil {
		return unknown("the text did not appear: %v", err), nil
	}
	if err := wait(ctx, d.opts.Pause); err != nil {
		return unknown("stopped before Enter: %v", err), nil
	}
	return d.enter(ctx), nil
}

// guard is a format that is true when keys reach a living program in the pane. It also
// fails for a pane that does not exist, whose fields are empty.
func (d *submission) guard() string {
	return "#{==:#{pane_id}#{?pane_dead,D,}#{?pane_in_mode,M,}#{?pane_input_off,I,}," + d.pane + "}"
}

// refusal prints why the guard was false.
const refusal = `display-message -p 'REFUSED dead=#{pane_dead} mode=#{pane_in_mode} input-off=#{pane_input_off}'`

// paste stages the line. One command loads the buffer, and the server decides between
// pasting and dropping it, so that no time passes between the look and the act.
func (d *submission) paste(ctx context.Context) (Outcome, error) {
	id, err := nonce()
	if err != nil {
		return Outcome{}, err
	}
	buffer := "submit-" + id
	do := fmt.Sprintf("paste-buffer -p -r -d -b %s -t %s ; display-message -p PASTED", buffer, d.pane)
	drop := fmt.Sprintf("delete-buffer -b %s ; %s", buffer, targeted(refusal, d.pane))
	out, err := d.server.run(ctx, []byte(d.line), "load-buffer", "-b", buffer, "-", ";", "if-shell", "-F", "-t", d.pane, d.guard(), do, drop)
	switch {
	case errors.Is(err, ErrNoServer):
		return Outcome{}, err
	case err != nil:
		return unknown("paste: %v", err), nil
	case strings.Contains(out, "PASTED"):
		return Outcome{Delivery: Indeterminate}, nil
	}
	return refused("%s", strings.TrimSpace(strings.TrimPrefix(out, "REFUSED "))), nil
}

// shown waits until the screen holds the line where it did not before.
func (d *submission) shown(ctx context.Context, before screen) error {
	return poll(ctx, d.opts.ShowLimit, func() (bool, error) {
		now, err := d.capture(ctx)
		if err != nil {
			return false, err
		}
		if now.dead {
			return false, errors.New("the program has ended")
		}
		return now.spot.count > before.spot.count || now.spot.count > 0 && now.spot != before.spot, nil
	})
}

// enter presses Enter until the line is seen to be taken.
func (d *submission) enter(ctx context.Context) Outcome {
	staged, err := d.capture(ctx)
	if err != nil {
		return unknown("look before Enter: %v", err)
	}
	for range maxEnters {
		why, err := d.pressEnter(ctx)
		if err != nil {
			return unknown("press Enter: %v", err)
		}
		if why != "" {
			return unknown("press Enter: %s", why)
		}
		taken, err := d.taken(ctx, staged)
		if err != nil {
			return unknown("after Enter: %v", err)
		}
		if taken {
			return Outcome{Delivery: Sent}
		}
	}
	return unknown("Enter was pressed %d times without effect", maxEnters)
}

// pressEnter presses Enter once, if the server still finds the pane able to take it.
func (d *submission) pressEnter(ctx context.Context) (why string, err error) {
	do := fmt.Sprintf("send-keys -t %s Enter ; display-message -p KEYED", d.pane)
	out, err := d.server.run(ctx, nil, "if-shell", "-F", "-t", d.pane, d.guard(), do, targeted(refusal, d.pane))
	if err != nil || strings.Contains(out, "KEYED") {
		return "", err
	}
	return strings.TrimSpace(out), nil
}

// taken waits for a sign that the program took the line: its own acknowledgement, or
// twice in a row a screen that shows the line, but not as it was staged. It is false
// when the screen still shows the line as it was at the end of the wait. A line that vanished is an
// error: it may have been taken, or wiped away by a program that was only starting, and
// another Enter would be pressed on something else.
func (d *submission) taken(ctx context.Context, staged screen) (bool, error) {
	moved, vanished := 0, false
	err := poll(ctx, d.opts.ConfirmLimit, func() (bool, error) {
		if d.opts.Confirm != nil && d.opts.Confirm() {
			return true, nil
		}
		now, err := d.capture(ctx)
		if err != nil {
			return false, err
		}
		if now.dead {
			return false, errors.New("the program has ended")
		}
		vanished = now.spot.count == 0
		if vanished || now.around(staged.spot) == staged.around(staged.spot) {
			moved = 0
			return false, nil
		}
		moved++
		return moved >= 2, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		if vanished {
			return false, errors.New("the line vanished from the screen")
		}
		return false, nil
	}
	return err == nil, err
}

// capture reads the screen and whether the program lives, in one command.
func (d *submission) capture(ctx context.Context) (screen, error) {
	state := []string{"display-message", "-p", "-t", d.pane, "#{pane_id} #{pane_dead}", ";"}
	out, err := d.server.run(ctx, nil, append(state, "capture-pane", "-p", "-t", d.pane)...)
	if err != nil {
		return screen{}, err
	}
	head, body, _ := strings.Cut(out, "\n")
	id, dead, _ := strings.Cut(head, " ")
	if id != d.pane {
		return screen{}, ErrNoPane
	}
	return newScreen(body, dead == "1", d.key), nil
}

// SendKey presses named keys ("Enter", "Down", "1") in a pane, for a known dialog. Like
// Submit it is refused by the server when the pane cannot take keys.
func (s *Server) SendKey(ctx context.Context, pane string, keys ...string) (Outcome, error) {
	for _, k := range keys {
		if !nameForm.MatchString(k) {
			return refused("%q is not the name of a key", k), nil
		}
	}
	if !paneForm.MatchString(pane) || len(keys) == 0 {
		return refused("no key or no pane"), nil
	}
	defer s.lockPane(pane)()
	d := &submission{server: s, pane: pane}
	do := fmt.Sprintf("send-keys -t %s -- %s ; display-message -p KEYED", pane, strings.Join(keys, " "))
	out, err := s.run(ctx, nil, "if-shell", "-F", "-t", pane, d.guard(), do, targeted(refusal, pane))
	switch {
	case errors.Is(err, ErrNoAnswer):
		return unknown("%v", err), nil
	case err != nil:
		return Outcome{}, err
	case strings.Contains(out, "KEYED"):
		return Outcome{Delivery: Sent}, nil
	}
	return refused("%s", strings.TrimSpace(out)), nil
}

func targeted(display, pane string) string {
	return strings.Replace(display, "-p ", "-p -t "+pane+" ", 1)
}

func refused(format string, args ...any) Outcome {
	return Outcome{Delivery: Refused, Why: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) Outcome {
	return Outcome{Delivery: Indeterminate, Why: fmt.Sprintf(format, args...)}
}

// printable turns line breaks and tabs into spaces and drops every other control
// character. ESC[201~ would end a bracketed paste and let the rest through as keys.
func printable(line string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case isControl(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, line))
}

// wait returns after the time has passed or when the context ends.
func wait(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
