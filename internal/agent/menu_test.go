package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

var mayRun = agent.Menu{Text: "Run this command?", Choices: []agent.Choice{{Label: "yes", Keys: []string{"1", "Enter"}}, {Label: "no", Keys: []string{"Escape"}}}}

func TestTheKnownDialogOnAScreen(t *testing.T) {
	p := agent.Provider{Dialogs: []agent.Menu{mayRun}, Ready: []string{"? for shortcuts"}, Busy: []string{"esc to interrupt"}}
	for name, c := range map[string]struct {
		screen string
		shown  string
	}{
		"it is there":             {"$ ls\nRun this command?\n 1. yes\n\n", "$ ls\nRun this command?\n 1. yes"},
		"in a box, wrapped":       {"│ Run this │\n│ command?  │\n", "│ Run this │\n│ command?  │"},
		"nothing of it":           {"at work", ""},
		"an input waits below it": {"Run this command?\n? for shortcuts\n", ""},
		"far above":               {"Run this command?\n" + strings.Repeat("x\n", 20), ""},
		"all that is above it":    {strings.Repeat("x\n", 30) + "Run this command?\n yes", strings.Repeat("x\n", 30) + "Run this command?\n yes"},
		"a clock below":           {"Run this command?\n 1. Yes\n 2. no\n 12:01, now\n", "Run this command?\n 1. Yes\n 2. no"},
		"choices that it runs":    {"Run this command?\n$ yes no\n rm\n> yes\n  no\n", "Run this command?\n$ yes no\n rm\n> yes\n  no"},
		"it quotes one at work":   {"Run this command?\n$ grep 'esc to interrupt' .\n> yes\n  no\n", "Run this command?\n$ grep 'esc to interrupt' .\n> yes\n  no"},
		"quoted above its text":   {"$ echo ? for shortcuts\nRun this command?\n> yes\n  no\n", "$ echo ? for shortcuts\nRun this command?\n> yes\n  no"},
		"quoted, end not known":   {"Run this command?\n$ grep 'esc to interrupt' .\n> yes\n", ""},
		"above a program at work": {"Run this command?\n 1. yes\n 2. no\n* esc to interrupt\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, shown, ok := p.Menu(c.screen)
			if ok != (c.shown != "") || shown != c.shown || ok && !slices.Equal(m.Labels(), []string{"yes", "no"}) {
				t.Errorf("%v, %q, %v", m, shown, ok)
			}
		})
	}
	if got := mayRun.Keys("yes"); !slices.Equal(got, []string{"1", "Enter"}) || mayRun.Keys("Yes!") != nil {
		t.Errorf("keys %q", got)
	}
	if !agent.SameScreen("│ a b │\n", "a\nb") || agent.SameScreen("> a\n  b", "  a\n> b") || agent.SameScreen("rm -r /tmp/a", "rm -r / tmp/a") {
		t.Error("width makes a difference, or the mark of a choice or a blank makes none")
	}
	two := agent.Provider{Dialogs: []agent.Menu{mayRun, {Text: "Read?"}}}
	if m, _, ok := two.Menu("Run this command?\n yes\nRead?\n"); !ok || m.Text != "Read?" {
		t.Errorf("%q is not the lowest", m.Text)
	}
}

func TestAllProblemsOfDialogsAtOnce(t *testing.T) {
	_, problems := agent.Load(map[string]agent.Override{"own": {Command: "own", Dialogs: []agent.Menu{
		mayRun, {Text: " │", Choices: []agent.Choice{}},
		{Text: "x", Choices: []agent.Choice{{Label: " "}, {Label: "a", Keys: []string{"Enter"}}, {Label: "a", Keys: []string{"no key"}}}},
	}}})
	var got []string
	for _, p := range problems {
		got = append(got, p.Path+": "+p.Text)
	}
	want := []string{
		"providers.own.dialogs[1].choices: required", "providers.own.dialogs[1].text: required",
		`providers.own.dialogs[2].choices[0].keys: required`, `providers.own.dialogs[2].choices[0].label: " ": want a text of one line`,
		`providers.own.dialogs[2].choices[2].keys[0]: "no key" is not the name of one key, as Enter, Down or 1`,
		`providers.own.dialogs[2].choices[2].label: "a" is there twice`,
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
