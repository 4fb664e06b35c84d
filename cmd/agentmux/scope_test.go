package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/internal/testfull"
)

// A file that a coder changed though the plan does not give it that file is taken, and named
// wherever somebody looks before they agree: to the reviewer, in status, on the issue and in
// the pull request.
func TestFilesOutsideOfThePlanAreNamed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	const file = "sub/other@all.txt"
	r := newRig(t, rigOptions{playbook: strings.Replace(quickPlaybook, "      - write: {file: a.txt, text: \"two\\n\"}\n",
		"      - write: {file: a.txt, text: \"two\\n\"}\n      - write: {file: "+file+", text: \"x\\n\"}\n", 1)})
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	prompts, err := filepath.Glob(filepath.Join(r.session().Dir, "07_review", "review_logic_prompt.md"))
	if err != nil || len(prompts) != 1 {
		t.Fatalf("prompts: %q, %v", prompts, err)
	}
	prompt, err := os.ReadFile(prompts[0])
	if want := file + " | +1 -0 | changed by subplan 1, which does not own it\na.txt"; err != nil || !strings.Contains(string(prompt), want) {
		t.Errorf("the reviewer is not told %q: %v\n%s", want, err, prompt)
	}
	if out := r.expect(0, "status").out; !strings.Contains(out, file+" (subplan 1)") {
		t.Errorf("status:\n%s", out)
	}
	var s show.StatusJSON
	out := r.expect(0, "status", "--json").out
	if err := json.Unmarshal([]byte(out), &s); err != nil || len(s.Strays) != 1 || s.Strays[0].Path != file || s.Strays[0].Subplan != "1" || s.Strays[0].Added != 1 {
		t.Errorf("status --json: %v\n%s", err, out)
	}
	const line = "**Changed outside of their subplan:** `" + file + "` (subplan 1)"
	repo := r.github.Repo(rigRepo)
	if pulls := repo.Pulls(); len(pulls) != 1 || !strings.Contains(pulls[0].Body, line) {
		t.Errorf("the pull request does not name it: %+v", pulls)
	}
	shown := false
	for _, c := range repo.Comments(1) {
		shown = shown || strings.Contains(c.Body, line)
	}
	if !shown {
		t.Errorf("the issue does not name it: %+v", repo.Comments(1))
	}
}
