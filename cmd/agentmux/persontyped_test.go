package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// A line that a person gave to an agent is told in the status, on the issue and in the pull request, without its words.
func TestAPersonWhoTypedIsToldEverywhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "roles: {planner: {provider: claude}}\nagents: {transport: headless}\n"})
	r.withPlayedClaude()
	self, err := inPanes()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(r.dir, "claude")
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	typed := fmt.Sprintf("printf '{\"prompt\":\"a secret wish\"}' | %s hook UserPromptSubmit --session \"${at%%/launches/*}\" --role \"${key%%%%.*}\" --launch \"$launch\" >/dev/null\n"+
		"until grep -q person_typed \"${at%%/launches/*}/events.jsonl\"; do sleep 0.1; done\n", quote(self))
	r.write(program, strings.Replace(string(text), "\nexec ", "\n"+typed+"exec ", 1))
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()
	repo := r.github.Repo(rigRepo)
	comments := repo.Comments(1)
	for what, text := range map[string]string{
		"status": r.expect(0, "status", e.Name).out, "status --json": r.expect(0, "status", e.Name, "--json").out,
		"the status comment": comments[0].Body, "the final comment": comments[len(comments)-1].Body, "the pull request": repo.Pulls()[0].Body,
	} {
		if !strings.Contains(strings.ToLower(text), "a person typed to planner") || strings.Contains(text, "a secret wish") {
			t.Errorf("%s does not tell it, or too much:\n%s", what, text)
		}
	}
	if text := r.read(e.Dir, "events.jsonl"); strings.Count(text, `"person_typed"`) != 1 || strings.Contains(text, "a secret wish") {
		t.Errorf("records:\n%s", text)
	}
}
