package sanitize_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/sanitize"
)

func TestFence(t *testing.T) {
	text := "first\nlast"
	out := sanitize.Fence(text, "issue #12,\nbody", "octo\u202ecat")
	lines := strings.Split(out, "\n")
	boundary := regexp.MustCompile(`[0-9a-f]{32}`).FindString(out)
	var marks []int
	for n, line := range lines {
		if strings.HasPrefix(line, "---") && strings.Contains(line, boundary) {
			marks = append(marks, n)
		}
	}
	if len(marks) != 2 || strings.Join(lines[marks[0]+1:marks[1]], "\n") != text {
		t.Fatalf("the text does not stand between two lines: %s", out)
	}
	for _, want := range []string{"source: issue #12, body\n", "author: octocat\n", fmt.Sprintf("sha256: %x\n", sha256.Sum256([]byte(text))), "data"} {
		if !strings.Contains(strings.Join(lines[:marks[0]], "\n")+"\n", want) {
			t.Errorf("%q is missing: %s", want, out)
		}
	}
	if strings.Contains(sanitize.Fence(text, "", ""), boundary) {
		t.Error("the boundary is not random")
	}
}
