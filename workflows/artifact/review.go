package artifact

import (
	"slices"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows"
)

// Verdicts.
const (
	VerdictPass = "pass"
	VerdictFail = "fail"
)

const maxFindings = 100

// Review is a valid result of one reviewer.
type Review struct {
	Verdict       string    `doc:"verdict"`
	Summary       string    `doc:"summary"`
	Findings      []Finding `doc:"findings"`       // at least one on a fail
	CommitMessage string    `doc:"commit_message"` // may be empty
}

// Finding is one thing to fix. Location and Severity may be empty.
type Finding struct {
	Location       string `doc:"location"`
	Issue          string `doc:"issue"`
	Severity       string `doc:"severity"`
	Recommendation string `doc:"recommendation"`
}

func severities() []string { return []string{"critical", "high", "medium", "low", "info"} }

// ReviewArtifact returns the name of the file in which role hands in its result.
func ReviewArtifact(role string) string {
	if role == workflows.RoleReviewer {
		return "review.yaml"
	}
	return "review_" + role + ".yaml"
}

// ParseReview reads the result of a reviewer. The review is nil when a problem is an
// error.
func ParseReview(data []byte) (*Review, document.Problems) {
	c, ok := newContract(data)
	if !ok {
		return nil, c.result()
	}
	r := &Review{}
	c.decode(r)
	c.review(r)
	problems := c.result()
	if problems.Err() != nil {
		return nil, problems
	}
	return r, problems
}

func (c *contract) review(r *Review) {
	if r.Verdict != VerdictPass && r.Verdict != VerdictFail {
		c.check("verdict", "expected pass or fail, found %s", quoted(r.Verdict))
	}
	c.required("summary", &r.Summary)
	c.optional("commit_message", &r.CommitMessage)
	switch n := len(r.Findings); {
	case n == 0 && r.Verdict == VerdictFail:
		c.check("findings", "a fail needs at least one finding")
	case n > maxFindings:
		c.check("findings", "%d findings, at most %d are allowed", n, maxFindings)
	}
	for i := range r.Findings {
		f, path := &r.Findings[i], document.Index("findings", i)
		c.required(document.Key(path, "issue"), &f.Issue)
		c.required(document.Key(path, "recommendation"), &f.Recommendation)
		c.optional(document.Key(path, "location"), &f.Location)
		c.optional(document.Key(path, "severity"), &f.Severity)
		if f.Severity != "" && !slices.Contains(severities(), f.Severity) {
			c.check(document.Key(path, "severity"), "expected critical, high, medium, low or info, found %s", quoted(f.Severity))
		}
	}
}
