package tmux_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// tui is a full-screen program that behaves as badly as the real ones: it starts slowly
// and forgets what came before, takes an Enter that comes with the text as text, drops
// some Enters, shows a clock, wraps its input in a frame or shows only the end of it, and
// may end in the middle.
type tui struct {
	deaf     bool // no Enter is ever taken
	silent   bool // what was taken is not shown
	swallow  int  // every n-th first Enter for a line is dropped; 0: none
	die      int  // end after that many lines; 0: never
	narrow   int  // how much of the end of its input it shows; 0: all
	lines    int
	dropped  bool
	input    []rune
	messages []string
	log      *os.File
	clock    int
}

// runTUI reads its character from TUI_* variables and writes each submitted line to
// the file TUI_LOG.
func runTUI() int {
	log, err := os.OpenFile(os.Getenv("TUI_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	defer log.Close()
	t := &tui{deaf: os.Getenv("TUI_DEAF") != "", silent: os.Getenv("TUI_SILENT") != "", swallow: number("TUI_SWALLOW"), die: number("TUI_DIE"), narrow: number("TUI_NARROW"), log: log}
	keys := make(chan []byte)
	raw := exec.Command("stty", "raw", "-echo")
	raw.Stdin = os.Stdin
	if err := raw.Run(); err != nil {
		return 1
	}
	go readKeys(os.Stdin, keys)
	start := time.NewTimer(time.Duration(number("TUI_START_MS")) * time.Millisecond)
	for started := false; !started; {
		select {
		case <-keys: // lost, as in a program that is not ready
		case <-start.C:
			started = true
		}
	}
	if os.Getenv("TUI_BRACKETED") != "" {
		fmt.Print("\x1b[?2004h")
	}
	return t.loop(keys)
}

func (t *tui) loop(keys <-chan []byte) int {
	tick := time.NewTicker(70 * time.Millisecond)
	defer tick.Stop()
	for {
		t.draw()
		select {
		case <-tick.C:
			t.clock++
		case k, ok := <-keys:
			if !ok {
				return 0
			}
			if t.take(k) {
				return 3
			}
		}
	}
}

// take handles what one read gave. An Enter counts only when it comes alone.
func (t *tui) take(k []byte) (ended bool) {
	text := strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "").Replace(string(k))
	if text != "\r" {
		t.input = append(t.input, []rune(strings.ReplaceAll(text, "\r", "⏎"))...)
		return false
	}
	if len(t.input) == 0 {
		fmt.Fprintln(t.log, "EMPTY ENTER")
		return false
	}
	if t.deaf {
		fmt.Fprintln(t.log, "DEAF")
		return false
	}
	if t.swallow > 0 && t.lines%t.swallow == 0 && !t.dropped {
		t.dropped = true
		return false
	}
	fmt.Fprintln(t.log, string(t.input))
	if !t.silent {
		t.messages = append(t.messages, string(t.input))
	}
	t.input, t.dropped = nil, false
	t.lines++
	return t.die > 0 && t.lines >= t.die
}

func (t *tui) draw() {
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	for _, m := range t.messages[max(0, len(t.messages)-5):] {
		for _, row := range wrap([]rune(m), 60) {
			b.WriteString("> " + row + "\r\n")
		}
	}
	b.WriteString("╭" + strings.Repeat("─", 62) + "╮\r\n")
	shown := t.input
	if t.narrow > 0 {
		shown = shown[max(0, len(shown)-t.narrow):]
	}
	for _, row := range wrap(shown, 60) {
		fmt.Fprintf(&b, "│ %-60s │\r\n", row)
	}
	b.WriteString("╰" + strings.Repeat("─", 62) + "╯\r\n\r\n")
	fmt.Fprintf(&b, "READY %d", t.clock)
	fmt.Print(b.String())
}

func wrap(r []rune, width int) []string {
	var rows []string
	for len(r) > width {
		rows, r = append(rows, string(r[:width])), r[width:]
	}
	return append(rows, string(r))
}

func readKeys(r io.Reader, keys chan<- []byte) {
	defer close(keys)
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		k := make([]byte, in.Buffered())
		if _, err := io.ReadFull(in, k); err != nil {
			return
		}
		keys <- k
	}
}

func number(name string) int {
	n := 0
	if _, err := fmt.Sscan(os.Getenv(name), &n); err != nil {
		return 0
	}
	return n
}
