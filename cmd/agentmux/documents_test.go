package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/spf13/cobra"
)

var (
	inBlock    = regexp.MustCompile(`(?m)(?:^\s*|\| |; |&& )agentmux ([a-z].*)$`)
	inSentence = regexp.MustCompile("`agentmux ([a-z][^`\n]*)`")
	behind     = regexp.MustCompile(`\s+#\s.*$|\s*(\||;|&&|>)\s.*$`) // a comment, or another command
)

// commandsIn finds what a page tells people to type: in a block of code at the start of a
// command, in a sentence between backquotes.
func commandsIn(text string) (lines []string) {
	for i, part := range strings.Split(text, "```") {
		form := inSentence
		if i%2 == 1 {
			form = inBlock
		}
		for _, m := range form.FindAllStringSubmatch(part, -1) {
			lines = append(lines, behind.ReplaceAllString(m[1], ""))
		}
	}
	return lines
}

// Every command that a page or a help text tells people to type, or a prompt an agent, is one,
// with flags that it has.
func TestCommandsInDocumentsExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := filepath.Glob(filepath.Join("..", "..", "workflows", "prompt", "prompts", "*", "*.md"))
	if err != nil || len(prompts) == 0 {
		t.Fatalf("prompts: %v, %v", prompts, err)
	}
	found := 0
	for _, page := range slices.Concat(pages, more, prompts) {
		if strings.HasSuffix(page, "-cases.md") {
			continue // names of tests
		}
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsIn(string(data)) {
			found++
			if err := typed(line); err != nil {
				t.Errorf("%s: agentmux %s: %v", filepath.Base(page), line, err)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d commands were found", found)
	}
	everyCommand(newRootCmd(newApp(console.Streams{})), func(cmd *cobra.Command) {
		for _, line := range commandsIn("```" + cmd.Example) {
			if err := typed(line); err != nil {
				t.Errorf("help of %s: agentmux %s: %v", cmd.CommandPath(), line, err)
			}
		}
	})
}

// Every command that people type has a help that reads: a sentence, and an example.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	everyCommand(newRootCmd(newApp(console.Streams{})), func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.HasParent() && cmd.Parent().Hidden {
			return
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || strings.ToUpper(cmd.Short[:1]) != cmd.Short[:1] {
			t.Errorf("%s: %q", cmd.CommandPath(), cmd.Short)
		}
		if words := strings.Fields(cmd.Example); len(words) < 2 {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	})
}

// The examples in the help of workflows work as they are written.
func TestTheExampleOfWorkflowsWorks(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(r.dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink(own, filepath.Join(bin, "agentmux"))); err != nil {
		t.Fatal(err)
	}
	r.setEnv("PATH", bin+":"+os.Getenv("PATH"))
	cmd := exec.Command("sh", "-e", "-c", newWorkflowsCmd(newApp(console.Streams{})).Example)
	cmd.Dir, cmd.Env = r.clone, r.env
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "careful: ok") {
		t.Errorf("%v\n%s", err, out)
	}
}

func everyCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, child := range cmd.Commands() {
		everyCommand(child, do)
	}
}

// typed looks a line up as the program would, without running it.
func typed(line string) error {
	root := newRootCmd(newApp(console.Streams{}))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	words := quoted(strings.TrimRight(strings.TrimSpace(line), ".,:)"))
	if words[0] == "agent-exec" {
		return nil // read before the others are
	}
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root {
		return unknownCommand(root, words)
	}
	return cmd.ParseFlags(rest)
}

// quoted splits a line as a shell does, as far as our examples go.
func quoted(line string) []string {
	var words []string
	var word strings.Builder
	in := rune(0)
	for _, r := range line + " " {
		switch {
		case in != 0 && r == in:
			in = 0
		case in != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in = r
		case r == ' ':
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return words
}
