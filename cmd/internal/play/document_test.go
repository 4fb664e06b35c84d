package play_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/play"
)

// The page of the scripted agent has every key of a playbook, and its example is one.
func TestPlaybookPageHasEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../../docs/playbook.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	source, err := os.ReadFile("playbook.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile("`doc:\"([a-z]+)\"`").FindAllStringSubmatch(string(source), -1)
	if len(keys) < 20 {
		t.Fatalf("keys: %v", keys)
	}
	for _, key := range keys {
		if !regexp.MustCompile("\\b" + key[1] + "\\b").MatchString(text) {
			t.Errorf("no %s", key[1])
		}
	}
	_, example, _ := strings.Cut(text, "A playbook:\n\n```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := play.Parse("playbook.yaml", []byte(example)); err != nil {
		t.Errorf("the example is wrong: %v", err)
	}
}
