package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
)

// The archives of a release have a page for each command that people see, completions, and the same
// bytes each time.
func TestPagesOfARelease(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	written := func() map[string]string {
		dir, files := t.TempDir(), map[string]string{}
		var out bytes.Buffer
		if code := run(t.Context(), []string{"pages", dir}, console.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != 0 {
			t.Fatalf("exit %d\n%s", code, &out)
		}
		paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(dir, path)
			files[name] = string(text)
		}
		return files
	}
	first, second := written(), written()
	var names []string
	for name, text := range first {
		names = append(names, name)
		if second[name] != text {
			t.Errorf("%s differs from one time to the next", name)
		}
	}
	for name, words := range map[string]string{
		"man/agentmux.1": "SEE ALSO", "man/agentmux-doctor.1": `\-\-actions`, "man/agentmux-workflows-show.1": "14 November 2023",
		"completions/agentmux.bash": "__start_agentmux", "completions/_agentmux": "#compdef agentmux", "completions/agentmux.fish": "complete -c agentmux",
	} {
		if !strings.Contains(first[name], words) {
			t.Errorf("%s has no %q; there are %q", name, words, names)
		}
	}
	for _, hidden := range []string{"man/agentmux-pages.1", "man/agentmux-job.1", "man/agentmux-hook.1"} {
		if slices.Contains(names, hidden) {
			t.Errorf("%s is there", hidden)
		}
	}
}
