package console_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
)

func TestPager(t *testing.T) {
	for _, c := range []struct {
		set         bool
		value, want string
	}{{false, "", "less"}, {true, "", ""}, {true, "cat", ""}, {true, "more -s", "more -s"}} {
		got := strings.Join(console.Pager(func(string) (string, bool) { return c.value, c.set }), " ")
		if got != c.want {
			t.Errorf("PAGER %q: %q, want %q", c.value, got, c.want)
		}
	}
}
