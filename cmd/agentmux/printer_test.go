package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
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

// quietCommands are left out below: what they need or do is not text of strangers.
var quietCommands = map[string]string{
	"agentmux demo": "a demonstration of minutes", "agentmux attach": "needs a terminal", "agentmux monitor": "needs a terminal",
	"agentmux session run": "internal", "agentmux session launch": "internal", "agentmux mcp": "a protocol", "agentmux play": "an agent",
	"agentmux agent-exec": "internal", "agentmux hook": "a protocol", "agentmux record": "internal", "agentmux providers login": "runs a CLI",
	"agentmux providers test": "runs a CLI", "agentmux run": "run once below", "agentmux resume": "starts a host", "agentmux retry": "starts a host",
	"agentmux changes": "starts a host",
}

// Every command, against a project whose configuration, workflows, session, log and
// arguments are full of escapes, prints none of them; --json keeps the values.
func TestSecurity21NoCommandSpeaksToTheTerminal(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	quoted := `"a\e]0;owned\ab\e[2Jc\x9b1me\u202ef\U000e0041h\u200bi\bj\rk\x7fl"`
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nagents: {test_command: [echo, "+quoted+"]}\nmesh: {mesh: tdd, routing: {red: {complete: {green: "+quoted+"}}}}\n")
	quick := r.expect(0, "workflows", "show", "quick").out
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "own.yaml"),
		strings.Replace(strings.Replace(quick, "name: quick", "name: own", 1), "description: ", "description: "+quoted+" # ", 1))
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "b\x1b[2J\u202ed.yaml"), "name: "+quoted+"\n"+quoted+": x\n")
	r.write(filepath.Join(r.clone, ".agentmux", "prompts", "agents", "coder.md"), strings.ToValidUTF8(hostileText, ""))
	res := r.expect(0, append([]string{"run", "Say " + strings.ToValidUTF8(hostileText, ""), "--name", "bad"}, quickRun...)...)
	if bad := steers(res.out + res.err); bad != "" {
		t.Errorf("run: %s", bad)
	}
	dir := filepath.Join(session.Dir(r.clone), "bad")
	for _, file := range []string{"orchestrator.log", "requirements.md", "04_planning/plan.md"} {
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(hostileText + "\n"); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	argument := strings.ReplaceAll(hostileText, "\x00", "")
	ran := 0
	everyCommand(newRootCmd(newApp(console.Streams{})), func(cmd *cobra.Command) {
		words := cmd.CommandPath()
		if quietCommands[words] != "" || strings.HasPrefix(words, "agentmux completion") || strings.HasPrefix(words, "agentmux help") {
			return
		}
		ran++
		words = strings.TrimPrefix(strings.TrimPrefix(words, "agentmux"), " ")
		for _, args := range [][]string{nil, {"bad"}, {"own"}, {argument}, {"--" + argument}, {"--session", argument}} {
			if words == "bot" && args == nil {
				args = []string{"--once"} // it stays otherwise
			}
			if words == "msg follow" && args == nil {
				continue // it prints what msg list does, and stays
			}
			if args = append(strings.Fields(words), args...); len(args) == 0 {
				continue
			}
			res := r.agentmux(args...)
			if bad := steers(res.out + res.err); bad != "" {
				t.Errorf("agentmux %q: %s", args, bad)
			}
		}
	})
	if ran < 25 {
		t.Errorf("only %d commands", ran)
	}
	var rows []struct{ Key, Value any }
	if err := json.Unmarshal([]byte(r.expect(0, "config", "show", "--json").out), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Key == "agents.test_command" && fmt.Sprint(row.Value) != "[echo a\x1b]0;owned\x07b\x1b[2Jc\u009b1me\u202ef\U000e0041h\u200bi\bj\rk\x7fl]" {
			t.Errorf("--json has %q", row.Value)
		}
	}
}

// Text for a person goes through the printer: few places may write elsewhere.
func TestSecurity21StreamsAreUsedInFewPlaces(t *testing.T) {
	others := []string{"demo", "play", "monitor"} // draw for themselves, or act as an agent
	allowed := map[string]string{
		"main.go": "before there is a printer", "console.go": "makes the printer", "login.go": "a CLI's own login", "attach.go": "tmux on the terminal",
		"mcp.go": "a protocol", "json.go": "escapes what is not seen itself", "pager.go": "the person's pager, whose text was made fit",
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join("..", "internal", "*", "*.go"))
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	files = append(files, slices.DeleteFunc(own, func(file string) bool { return slices.Contains(others, filepath.Base(filepath.Dir(file))) })...)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"os.Stdout", "os.Stderr", "fmt.Print(", "fmt.Println(", "fmt.Printf(", " print(\"", "\tprint(\"", "(a.Raw, ", "(c.Raw, "} {
			if !strings.HasSuffix(file, "_test.go") && allowed[filepath.Base(file)] == "" && strings.Contains(string(data), word) {
				t.Errorf("%s has %s: text for a person goes through a.Print, a.Say or a page", file, word)
			}
		}
	}
}
