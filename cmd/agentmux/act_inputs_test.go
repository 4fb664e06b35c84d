package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestActRefusesBadInputs has inputs that are wrong end the job before anything is sent, in any of its steps. Each is named by
// one annotation.
func TestActRefusesBadInputs(t *testing.T) {
	r := newActRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	file := filepath.Join(r.dir, "agentmux.yml")
	right := r.read(file)
	const bad = `workflow: "a'b $(x)", max-time: soon, comments: "a\nb", sandbox: "::add-mask::EVIL", dry-run: '"1"',`
	wrong := strings.Replace(right, "workflow: quick,", bad, 1)
	if wrong == right {
		t.Fatalf("no input to replace\n%s", right)
	}
	r.write(file, wrong)
	before, wrote := r.github.Requests("github-actions[bot]"), len(r.github.Log())
	j := r.act("issues", actLabel("agentmux:quick"), nil)
	var named []string
	for _, l := range j.lines {
		if l.Command == "error" { // act takes the last :: of a line as the end of the title
			title, _, _ := strings.Cut(fmt.Sprint(l.Args["title"]), "::")
			named = append(named, title)
		}
	}
	want := []string{"input comments", "input dry-run", "input max-time", "input sandbox", "input workflow"}
	if !slices.Equal(named, want) || j.code == 0 || j.outputs["outcome"] != "error" || j.outputs["exit-code"] != "2" {
		t.Errorf("exit %d, named %q, want %q, outputs %q\n%s", j.code, named, want, j.outputs, j.text)
	}
	if got, want := j.told(), []string{"error", "set-output", "summary"}; !slices.Equal(got, want) {
		t.Errorf("told the runner %q, want %q", got, want)
	}
	if n := r.github.Requests("github-actions[bot]") - before; n != 0 || len(r.github.Log()) != wrote {
		t.Errorf("%d requests, %d writes", n, len(r.github.Log())-wrote)
	}
	r.ended(j)
}
