package artifact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RoleReview is the last result of one role.
type RoleReview struct {
	Role   string
	SHA256 string // of the artifact it was read from
	Review *Review
}

func (r RoleReview) footer() string { return generated(ReviewArtifact(r.Role), r.SHA256) }

// ArchiveName is the name under which a result is kept.
func ArchiveName(iteration int, role string) string {
	return "review_" + strconv.Itoa(iteration) + "_" + role + ".md"
}

// Archive renders the result of one role as it is kept for every round.
func (r RoleReview) Archive() []byte { return []byte(r.Review.markdown() + r.footer()) }

func (r *Review) markdown() string {
	var b strings.Builder
	b.WriteString("verdict: " + r.Verdict + "\n\n")
	section(&b, "Summary", r.Summary)
	if r.Verdict == VerdictFail {
		b.WriteString("## Findings\n\n")
		b.WriteString(findings(r.Findings, "### Finding %d"))
	}
	if r.Verdict == VerdictPass && r.CommitMessage != "" {
		section(&b, "Suggested Commit Message", r.CommitMessage)
	}
	return b.String()
}

func findings(fs []Finding, title string) string {
	var b strings.Builder
	for i, f := range fs {
		fmt.Fprintf(&b, title+"\n\n", i+1)
		for _, part := range [][2]string{
			{"Location", f.Location}, {"Issue", f.Issue}, {"Severity", f.Severity}, {"Recommendation", f.Recommendation},
		} {
			text := strings.TrimSpace(part[1])
			if text == "" {
				text = "not given"
			}
			b.WriteString("- **" + part[0] + ":** " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Verdict is fail if any of the results is.
func Verdict(results []RoleReview) string {
	if slices.ContainsFunc(results, func(r RoleReview) bool { return r.Review.Verdict == VerdictFail }) {
		return VerdictFail
	}
	return VerdictPass
}

// ReviewSummary renders review.md: of one role its text, of several a section each.
func ReviewSummary(results []RoleReview) []byte {
	if len(results) == 1 {
		return results[0].Archive()
	}
	var b strings.Builder
	b.WriteString("verdict: " + Verdict(results) + "\n\n")
	names := make([]string, len(results))
	for i, r := range results {
		names[i] = r.Role + " (" + r.Review.Verdict + ")"
	}
	b.WriteString("Reviewed by " + strings.Join(names, ", ") + ".\n\n")
	for _, r := range results {
		b.WriteString("### " + r.Role + "\n\n" + r.Review.markdown())
	}
	return []byte(b.String() + footers(results))
}

// FixRequest renders fix_request.md from the results of one iteration; those that
// pass are part of it, so that a fix does not undo what they praise.
func FixRequest(results []RoleReview) []byte {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "## Review: %s (verdict: %s)\n\n%s", r.Role, r.Review.Verdict, r.Review.markdown())
	}
	return []byte(b.String() + footers(results))
}

func footers(results []RoleReview) string {
	var b strings.Builder
	for _, r := range results {
		b.WriteString(r.footer())
	}
	return b.String()
}

// excerptLines is how much of each review the fallback summary shows.
const excerptLines = 20

// FallbackSummary renders summary.md for a session whose coordinator wrote none:
// verdicts, the beginning of each review, and the findings that are still open.
func FallbackSummary(results []RoleReview) []byte {
	var b strings.Builder
	b.WriteString("## What was implemented\n\nNo summary was written; this one was put together from the reviews.\n\n")
	if len(results) == 0 {
		b.WriteString("There is no review either.\n\n")
	}
	for _, r := range results {
		fmt.Fprintf(&b, "- %s: %s\n", r.Role, r.Review.Verdict)
	}
	for _, r := range results {
		b.WriteString("\n### " + r.Role + "\n\n" + paragraph(firstLines(r.Review.Summary, excerptLines)))
	}
	b.WriteString(openFindings(results))
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

func openFindings(results []RoleReview) string {
	var b strings.Builder
	for _, r := range results {
		if r.Review.Verdict == VerdictFail {
			b.WriteString("### " + r.Role + "\n\n" + findings(r.Review.Findings, "#### Finding %d"))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return openHeading + b.String()
}

// openHeading begins the last part of a fallback summary.
const openHeading = "\n## Open findings\n\n"

// WithoutFindings is a fallback summary without the findings that are still open, for where
// they are listed in another way. Other texts stay as they are.
func WithoutFindings(summary string) string {
	before, _, _ := strings.Cut(summary, openHeading)
	return before
}

func firstLines(text string, n int) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n")
	}
	return strings.Join(append(lines[:n:n], "…"), "\n")
}

// SummaryWarnings names the headings that a summary.md was asked for and lacks.
func SummaryWarnings(summary []byte) []string {
	var out []string
	lines := strings.Split(string(summary), "\n")
	for _, h := range []string{"## What was implemented", "## Key decisions", "## Deviations from plan"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == h }) {
			out = append(out, "summary.md lacks the heading "+h)
		}
	}
	return out
}
