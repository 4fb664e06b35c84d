package job_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/orchestrator/story"
)

var update = flag.Bool("update", false, "write the golden files")

var whole = outcome.Result{
	Outcome: "needs_human", Repo: "octo/widgets", Issue: 12, Session: "20261121-100512-issue-12-add-retry", Workflow: "feature",
	Branch: "agentmux/issue-12-add-retry", PRNumber: 88, PRURL: "https://github.com/octo/widgets/pull/88", Draft: true,
	HeadSHA: "b07d3e9", Digest: "9f2c41d07a3b", Sentence: "question q1 was not answered in time\n## not a heading @octo <img src=x>",
	Phases:    []outcome.Phase{{Name: "planning", Seconds: 61}, {Name: "implement|ing", Seconds: 3723.4}},
	Verdicts:  []outcome.Verdict{{Role: "reviewer_logic", Verdict: "fail", Findings: 3}, {Role: "reviewer_quality", Verdict: "pass"}},
	Questions: []outcome.Question{{ID: "q1", Text: "Which `one`? ::stop-commands::x"}}, Held: []string{"go.mod"},
	Usage: []story.RoleSpent{
		{Role: "coder", Spent: story.Spent{Usage: usage.Usage{Input: 1200000, Output: 80000, Money: 3.4567}, Launches: 3, Unknown: 1}},
		{Role: "planner", Spent: story.Spent{Usage: usage.Usage{Input: 10, Output: 2}, Launches: 1}},
		{Role: "reviewer_logic", Spent: story.Spent{Launches: 1, Unknown: 1}},
	},
	Checkpoint: "of 10:41 UTC, on the server: a job on another runner finds it", Next: "comment on the issue: /agentmux answer and the answer",
}

// The page of a job is the outcome first; texts of others are code in it.
func TestSummaryGolden(t *testing.T) {
	file := filepath.Join("testdata", "summary.md")
	got := job.Summary(whole, "https://github.com")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
}

// An address that is not of this server, or that leaves its place in a page, is no link.
func TestSummaryLinksNowhereElse(t *testing.T) {
	for name, c := range map[string]struct {
		server string
		change func(*outcome.Result)
	}{
		"another server":  {"https://github.com", func(r *outcome.Result) { r.PRURL = "https://github.com.example.org/octo/widgets/pull/88" }},
		"another pull":    {"https://github.com", func(r *outcome.Result) { r.PRURL = "https://github.com/octo/widgets/pull/89" }},
		"no server known": {"", func(*outcome.Result) {}},
		"a name with Markdown": {"https://github.com", func(r *outcome.Result) {
			r.Repo = "octo/widgets](https://example.org)"
			r.PRURL = "https://github.com/" + r.Repo + "/pull/88"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole
			c.change(&r)
			got := job.Summary(r, c.server)
			if strings.Contains(got, "[#88]") || !strings.Contains(got, "#88, a draft `http") {
				t.Errorf("it links:\n%s", got)
			}
		})
	}
}

// A page never has more than a runner takes, and a text never leaves its place.
func TestSummaryIsBounded(t *testing.T) {
	r := whole
	long := strings.Repeat("`|\n# x", 1<<10)
	for range 300 { // 2 MB and more of each
		r.Questions = append(r.Questions, outcome.Question{ID: long, Text: long})
		r.Held = append(r.Held, long)
		r.Phases = append(r.Phases, outcome.Phase{Name: long})
		r.Usage = append(r.Usage, story.RoleSpent{Role: long})
	}
	r.Next = long
	got := job.Summary(r, "https://github.com")
	if len(got) > 1<<20 {
		t.Errorf("%d bytes", len(got))
	}
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "#") && line != "### agentmux: needs human\n" {
			t.Fatalf("a heading of others: %.80q", line)
		}
	}
}
