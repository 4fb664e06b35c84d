package artifact_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

func TestTextsOfASession(t *testing.T) {
	own, _, problems := workflows.Load("own", fstest.MapFS{
		".agentmux/workflows/own.yaml":      {Data: []byte(ownWorkflow)},
		".agentmux/prompts/project/spec.md": {Data: []byte("Write the spec. [[placeholder:tool_line]]\n")},
	})
	if len(problems) > 0 {
		t.Fatal(problems.Lines())
	}
	results := []artifact.RoleReview{
		{Role: workflows.RoleReviewerLogic, SHA256: sum(failReview), Review: mustReview(t, failReview)},
		{Role: workflows.RoleReviewerExpert, SHA256: sum("x"), Review: mustReview(t, "verdict: pass\nsummary: Fine.\ncommit_message: \"fix: x\"\n")},
	}
	files, err := mustPlan(t, validPlan).Files(sum(validPlan))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files,
		artifact.File{Name: "requirements.md", Data: artifact.Requirements("\nRefuse expired tokens.\n")},
		artifact.File{Name: "context.md", Data: artifact.Context{SessionID: "20260115-100512-x", SessionDir: "/p/x", Definition: own}.Markdown()},
		artifact.File{Name: "request.md", Data: artifact.ResearchRequest{
			Type: "code", Topic: "token-use", Owner: "architect", Context: "Tokens expire.",
			Questions: []string{"Where are they read?", "Who\ncalls that?"}, ScopeHints: []string{"auth/"},
		}.Markdown()},
		artifact.File{Name: "research_handoff", Data: []byte(artifact.ResearchHandoff([]artifact.ResearchResult{
			{Topic: "token-use", Summary: "1. In auth.\n", Detail: "/p/x/03_research/code-token-use/detail.md"},
			{Topic: "skew", Summary: "1. 60 s.", Detail: "/p/x/03_research/web-skew/detail.md"},
		}) + "\n")},
		artifact.File{Name: artifact.ArchiveName(0, results[0].Role), Data: results[0].Archive()},
		artifact.File{Name: artifact.ArchiveName(0, results[1].Role), Data: results[1].Archive()},
		artifact.File{Name: "review.md of one", Data: artifact.ReviewSummary(results[1:])},
		artifact.File{Name: "review.md of two", Data: artifact.ReviewSummary(results)},
		artifact.File{Name: "fix_request.md", Data: artifact.FixRequest(results)},
		artifact.File{Name: "summary.md", Data: artifact.FallbackSummary(results)},
		artifact.File{Name: "summary.md without reviews", Data: artifact.FallbackSummary(nil)},
	)
	var all []byte
	for _, f := range files {
		all = append(append(all, "-- "+f.Name+" --\n"...), f.Data...)
	}
	golden(t, "testdata/texts.txtar", all)
}

func TestSummaryWarnsOfMissingHeadings(t *testing.T) {
	same(t, "warnings", artifact.SummaryWarnings([]byte("## What was implemented\r\n\n## Key decisions\n")), []string{
		"summary.md lacks the heading ## Deviations from plan",
	})
}

func TestAFallbackSummaryWithoutItsFindings(t *testing.T) {
	results := []artifact.RoleReview{{Role: "reviewer_logic", Review: &artifact.Review{
		Verdict: artifact.VerdictFail, Summary: "No.", Findings: []artifact.Finding{{Issue: "It leaks"}},
	}}}
	whole := string(artifact.FallbackSummary(results))
	rest := artifact.WithoutFindings(whole)
	if !strings.Contains(whole, "It leaks") || strings.Contains(rest, "It leaks") || !strings.Contains(rest, "No.") || artifact.WithoutFindings(rest) != rest {
		t.Errorf("of\n%s\nis left\n%s", whole, rest)
	}
}

const ownWorkflow = `version: 1
name: own
start: spec
phases:
  - id: spec
    kind: author
    when: ["!issue"]
    dir: 02_spec
    role: architect
    prompt: project/spec
    event: architecture_written
    artifact: 02_spec/spec.md
    tool: submit_architecture
    timeout: 20m
    next: {submitted: planning}
  - {id: planning, kind: plan, dir: 04_planning, next: {accepted: [{when: [needs_design, issue], to: design}, {to: implementing}]}}
  - {id: design, kind: author, when: [needs_design], dir: 05_design, role: designer, event: design_written, tool: submit_design,
     artifact: 05_design/a.md, next: {submitted: implementing}}
  - {id: implementing, kind: implement, dir: 06_implementation, next: {completed: reviewing}}
  - {id: reviewing, kind: review, dir: 07_review, roles: [reviewer], max_iterations: 1, next: {passed: completing, failed: fixing, exhausted: completing}}
  - {id: fixing, kind: fix, dir: 06_implementation, next: {completed: reviewing}}
  - {id: completing, kind: complete, dir: 08_completion, next: {approved: done, changes_requested: planning}}
`
