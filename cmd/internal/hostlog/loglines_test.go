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
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\nc", 2, "b\nc"}, {"a\nb\n", 5, "a\nb\n"}, {"a\nb\n", 0, ""}, {"", 3, ""}, {"\n\n", 1, "\n"},
		{"first\n" + long + "last\n", 2, long + "last\n"}, {long + long, 1, long}, {long + long, 2, long + long},
	} {
		r := strings.NewReader(c.text)
		if err := hostlog.SeekLines(r, c.n); err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(r); string(got) != c.want {
			t.Errorf("the last %d of %d bytes: %.20q, %d bytes", c.n, len(c.text), got, len(got))
		}
	}
}
