package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A repository that wants to loosen a gate is told so, and config show names the value that
// holds, its file, and why the other one does not.
func TestConfigShowNamesTheValueThatHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "approval: {completion: true}\n"})
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\napproval: {completion: false}\ngithub: {protected_paths: [zzz]}\n")
	const loosened = ".agentmux/config.yaml:2: approval.completion: false does not count: a repository only tightens this, and true (user) is stricter"

	res := r.expect(0, "config", "show")
	if line := lineOf(res.out, "approval.completion "); !strings.Contains(line, " true ") || !strings.Contains(line, "user (") ||
		!strings.Contains(line, "; not false of project (.agentmux/config.yaml:2): a repository only tightens this, and true (user) is stricter") {
		t.Errorf("approval.completion: %q", line)
	}
	if line := lineOf(res.out, "github.protected_paths "); !strings.Contains(line, "CODEOWNERS, zzz]") || !strings.Contains(line, "project (.agentmux/config.yaml:3), added to built-in") {
		t.Errorf("github.protected_paths: %q", line)
	}
	for _, args := range [][]string{{"config", "check"}, {"config", "show"}, {"doctor"}} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			if res := r.agentmux(args...); !strings.Contains(res.out+res.err, loosened) {
				t.Errorf("%v does not say what it passes over:\n%s%s", args, res.out, res.err)
			}
		})
	}
	var rows []struct {
		Key       string
		Value     any
		Layer     string
		AddsTo    string `json:"adds_to"`
		Overruled []struct {
			Value               any
			Layer, File, Reason string
			Line                int
		}
	}
	if err := json.Unmarshal([]byte(r.expect(0, "config", "show", "--json").out), &rows); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, row := range rows {
		switch row.Key {
		case "approval.completion":
			found++
			if row.Value != true || row.Layer != "user" || len(row.Overruled) != 1 || row.Overruled[0].Value != false ||
				row.Overruled[0].File != ".agentmux/config.yaml" || row.Overruled[0].Line != 2 || row.Overruled[0].Reason == "" {
				t.Errorf("%+v", row)
			}
		case "github.protected_paths":
			found++
			if row.Layer != "project" || row.AddsTo != "built-in" {
				t.Errorf("%+v", row)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 keys in %+v", found, rows)
	}
}

// lineOf returns the line that begins with start.
func lineOf(text, start string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, start) {
			return line
		}
	}
	return ""
}
