package console_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
)

func TestPager(t *testing.T) {
	for name, c := range map[string]struct {
		set         bool
		value, want string
	}{
		"not set": {false, "", "less"}, "empty": {true, "", ""}, "cat": {true, "cat", ""}, "with a flag": {true, "more -s", "more -s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(console.Pager(func(string) (string, bool) { return c.value, c.set }), " ")
			if got != c.want {
				t.Errorf("PAGER %q: %q, want %q", c.value, got, c.want)
			}
		})
	}
}
