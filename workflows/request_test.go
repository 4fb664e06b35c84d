package workflows_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows"
)

func TestTextsOfASession(t *testing.T) {
	own, _, _ := workflows.Load("own", project())
	results := []workflows.RoleReview{
		{Role: workflows.RoleReviewerLogic, SHA256: sum(failReview), Review: mustReview(t, failReview)},
		{Role: workflows.RoleReviewerExpert, SHA256: sum("x"), Review: mustReview(t, "verdict: pass\nsummary: Fine.\ncommit_message: \"fix: x\"\n")},
	}
	files, err := mustPlan(t, validPlan).Files(sum(validPlan))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files,
		workflows.File{Name: "requirements.md", Data: workflows.Requirements("\nRefuse expired tokens.\n")},
		workflows.File{Name: "context.md", Data: workflows.Context{SessionID: "20260115-100512-x", SessionDir: "/p/x", Definition: own}.Markdown()},
		workflows.File{Name: "request.md", Data: workflows.ResearchRequest{
			Type: "code", Topic: "token-use", Owner: "architect", Context: "Tokens expire.",
			Questions: []string{"Where are they read?", "Who\ncalls that?"}, ScopeHints: []string{"auth/"},
		}.Markdown()},
		workflows.File{Name: "research_handoff", Data: []byte(workflows.ResearchHandoff([]workflows.ResearchResult{
			{Topic: "token-use", Summary: "1. In auth.\n", Detail: "/p/x/03_research/code-token-use/detail.md"},
			{Topic: "skew", Summary: "1. 60 s.", Detail: "/p/x/03_research/web-skew/detail.md"},
		}) + "\n")},
		workflows.File{Name: workflows.ArchiveName(0, results[0].Role), Data: results[0].Archive()},
		workflows.File{Name: workflows.ArchiveName(0, results[1].Role), Data: results[1].Archive()},
		workflows.File{Name: "review.md of one", Data: workflows.ReviewSummary(results[1:])},
		workflows.File{Name: "review.md of two", Data: workflows.ReviewSummary(results)},
		workflows.File{Name: "fix_request.md", Data: workflows.FixRequest(results)},
		workflows.File{Name: "summary.md", Data: workflows.FallbackSummary(results)},
		workflows.File{Name: "summary.md without reviews", Data: workflows.FallbackSummary(nil)},
	)
	var all []byte
	for _, f := range files {
		all = append(append(all, "-- "+f.Name+" --\n"...), f.Data...)
	}
	golden(t, "testdata/texts.txtar", all)
}

func TestSummaryWarnsOfMissingHeadings(t *testing.T) {
	same(t, "warnings", workflows.SummaryWarnings([]byte("## What was implemented\r\n\n## Key decisions\n")), []string{
		"summary.md lacks the heading ## Deviations from plan",
	})
}

func TestAFallbackSummaryWithoutItsFindings(t *testing.T) {
	results := []workflows.RoleReview{{Role: "reviewer_logic", Review: &workflows.Review{
		Verdict: workflows.VerdictFail, Summary: "No.", Findings: []workflows.Finding{{Issue: "It leaks"}},
	}}}
	whole := string(workflows.FallbackSummary(results))
	rest := workflows.WithoutFindings(whole)
	if !strings.Contains(whole, "It leaks") || strings.Contains(rest, "It leaks") || !strings.Contains(rest, "No.") || workflows.WithoutFindings(rest) != rest {
		t.Errorf("of\n%s\nis left\n%s", whole, rest)
	}
}
