package hostlog_test

import (
	"io"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/hostlog"
)

func TestTheLastLinesOfALog(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", hostlog.SeekBlock-1) + "\n"
	for name, c := range map[string]struct {
		text string
		n    int
		want string
	}{
		"some of the lines":           {"a\nb\nc\n", 2, "b\nc\n"},
		"a last line without its end": {"a\nb\nc", 2, "b\nc"},
		"more than there are":         {"a\nb\n", 5, "a\nb\n"},
		"none":                        {"a\nb\n", 0, ""},
		"of an empty log":             {"", 3, ""},
		"an empty line":               {"\n\n", 1, "\n"},
		"longer than a block":         {"first\n" + long + "last\n", 2, long + "last\n"},
		"one of two blocks":           {long + long, 1, long},
		"both blocks":                 {long + long, 2, long + long},
	} {
		t.Run(name, func(t *testing.T) {
			r := strings.NewReader(c.text)
			if err := hostlog.SeekLines(r, c.n); err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(r); string(got) != c.want {
				t.Errorf("the last %d of %d bytes: %.20q, %d bytes", c.n, len(c.text), got, len(got))
			}
		})
	}
}
