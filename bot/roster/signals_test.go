package roster_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// What a repository brings along at .dmux/signals is not ours: it stays as it is, nothing is written
// where it leads, and the person is told that markers made there do not count.
func TestSecurity41ALinkOfTheRepositoryStays(t *testing.T) {
	link := func(to string) func(string) error {
		return func(project string) error {
			return errors.Join(os.Mkdir(filepath.Join(project, ".dmux"), 0o700), os.Symlink(to, filepath.Join(project, ".dmux/signals")))
		}
	}
	for name, bring := range map[string]func(project string) error{
		"out of the project":       link(t.TempDir()),
		"relative":                 link("../../.agentmux/.sessions/shop/signals"),
		"into the project":         link("../src"),
		"to nothing":               link("/nowhere/signals"),
		"a directory":              func(project string) error { return os.MkdirAll(filepath.Join(project, ".dmux/signals"), 0o700) },
		"a link above it":          func(project string) error { return os.Symlink(t.TempDir(), filepath.Join(project, ".dmux")) },
		"a file in place of .dmux": func(project string) error { return os.WriteFile(filepath.Join(project, ".dmux"), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			project := t.TempDir()
			st := orchestrator.State{Kind: orchestrator.KindAgents, Settings: orchestrator.DefaultSettings(), BaseSHA: "c0", Phase: workflows.TeamPhase}
			sess, err := session.Create(session.CreateSpec{
				Project: project, Now: time.Now(), Name: "shop", Agents: []byte("session: shop\nagents:\n  - {name: api, branch: api, task: t}\n"), State: st,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer sess.Close()
			if err := bring(project); err != nil {
				t.Fatal(err)
			}
			before := look(t, project)
			if note := roster.SignalsNote(project); !strings.Contains(note, "is not a link that agentmux made") {
				t.Errorf("note %q", note)
			}
			if err := roster.Link(t.Context(), sess, project); err != nil {
				t.Error(err)
			}
			roster.Unlink(sess)
			if got := look(t, project); got != before {
				t.Errorf("it was %s and is %s", before, got)
			}
		})
	}
}

// look says what lies at .dmux and below it.
func look(t *testing.T, project string) (text string) {
	t.Helper()
	for _, rel := range []string{".dmux", ".dmux/signals"} {
		path := filepath.Join(project, rel)
		info, err := os.Lstat(path)
		if err != nil {
			text += rel + " none;"
			continue
		}
		to, _ := os.Readlink(path)
		in, _ := os.ReadDir(path)
		text += strings.Join([]string{rel, info.Mode().String(), to}, " ") + ":"
		for _, e := range in {
			text += " " + e.Name()
		}
		text += ";"
	}
	return text
}

// What is exchanged at .dmux between the look and the use is neither followed nor replaced.
func TestSecurity41WhatIsExchangedMeanwhileStays(t *testing.T) {
	project, elsewhere := t.TempDir(), t.TempDir()
	dir, link := filepath.Join(project, ".dmux"), filepath.Join(project, roster.SignalsLink)
	ours := filepath.Join(session.Dir(project), "shop", "signals")
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(elsewhere, "kept"), nil, 0o600))
	must(roster.PutAfter(project, ours, func() { // the directory becomes a link
		must(os.Rename(dir, dir+"-was"), os.Symlink(elsewhere, dir))
	}))
	if there, err := os.ReadDir(elsewhere); err != nil || len(there) != 1 {
		t.Errorf("what the link leads to has %v, %v", there, err)
	}
	must(os.Remove(dir), os.RemoveAll(dir+"-was"), os.Mkdir(dir, 0o700), os.Symlink(ours, link))
	theirs := func() { must(os.Remove(link), os.WriteFile(link, []byte("theirs"), 0o600)) }
	if err := roster.RemoveAfter(project, theirs); err == nil {
		t.Error("what is not ours was removed")
	}
	must(roster.PutAfter(project, ours, func() {}))
	if text, err := os.ReadFile(link); err != nil || string(text) != "theirs" {
		t.Errorf("in place of the link: %q, %v", text, err)
	}
	must(os.Remove(link), os.Symlink(ours, link), roster.PutAfter(project, ours+"/../signals", func() {}))
	if got, err := os.Readlink(link); err != nil || got != ours+"/../signals" {
		t.Errorf("a link of ours leads to %q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
