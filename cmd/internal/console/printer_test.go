package console_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/agentmux/agentmux/cmd/internal/console"
)

// hostileText speaks to a terminal in every way: escapes, C0, C1 as a character and as a
// byte, reordering, tags, a line that is overwritten.
const hostileText = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\u009b1me\u202ef\u2066g\U000e0041h\u200bi\x08j\rk\x7fl"

// steers returns the first character of text that must not reach a terminal.
func steers(text string) string {
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) && !unicode.IsSpace(r) || r == '\r' || r == '\u0085' {
			return fmt.Sprintf("%U at %d in %q", r, i, text[max(0, i-40):min(len(text), i+40)])
		}
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 && r < 0xa0 }); i >= 0 {
		return fmt.Sprintf("C1 at %d", i)
	}
	return ""
}

func TestSecurity21PrinterLetsNothingThroughThatSteersATerminal(t *testing.T) {
	whole := "x\ty\n" + hostileText + "\nünïcode 日本\n"
	for size := 1; size <= len(whole); size++ {
		var out bytes.Buffer
		p := console.NewPrinter(&out)
		for text := []byte(whole); len(text) > 0; {
			n := min(size, len(text))
			if m, err := p.Write(text[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			text = text[n:]
		}
		if bad := steers(out.String()); bad != "" || !strings.HasPrefix(out.String(), "x\ty\na]0;ownedb[2Jc") || !strings.HasSuffix(out.String(), "\nünïcode 日本\n") {
			t.Fatalf("in pieces of %d: %s\n%q", size, bad, out.String())
		}
	}
	var out bytes.Buffer
	p := console.NewColorPrinter(&out)
	for _, piece := range []string{"\x1b[1;3", "1mred\x1b[", "0m \x1b[8mhidden \x1b[30mblack \x1b]8;;x\x07 \x1b", "[92mgreen\x1b[m\n"} {
		if _, err := p.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "\x1b[1;31mred\x1b[0m [8mhidden [30mblack ]8;;x \x1b[92mgreen\x1b[m\n" {
		t.Errorf("colours: %q", got)
	}
}
