package pulltext_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/pulltext"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// sceneStart is when the text of these bodies was taken.
var sceneStart = time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC)

func wholeBody() pulltext.Body {
	return pulltext.Body{
		Session: "20261121-100512-issue-12-add-retry", Seq: 58, Server: "https://github.com",
		NeedsLook: []string{"go.mod"}, Request: "Add retry\n\nPlease @all, fixes #1.\n```\ncode\n```", RequestAt: sceneStart,
		Digest: "9f2c41d07a3b8e6f", Asker: "octo-dev", Summary: "Retries with backoff. Closes #3, thanks @x.", Plan: "## Goal\nRetry.",
		Verdicts: []pulltext.Verdict{
			{Role: "reviewer_logic", Verdict: "pass", Commit: "b07d3e9000000000000000000000000000000000"},
			{Role: "reviewer_quality", Verdict: "pass", Summary: "Fine, see #4.\nMore."},
		},
		Crew: []string{"planner: claude, model opus", "coder: codex, its default model, in place of claude @x"}, Used: "Tokens: 1200 in, 34 out",
		Issue: 12, Closes: true,
	}
}

const wholeBodyText = "**Needs a look:** `go.mod` changed.\n" +
	"Such files run or steer programs where the repository is built, checked out or reviewed, and who approves the rest may not see that.\n\n" +
	"## Initial Request\n````text\nAdd retry\n\nPlease @all, fixes #1.\n```\ncode\n```\n````\n" +
	"Text of 2026-11-21 10:05 UTC, sha256 `9f2c41d07a3b`, asked by `octo-dev`\n\n" +
	"## Summary\nRetries with backoff. Closes `#3`, thanks `@x`.\n\n" +
	"## Plan Summary\n### Goal\nRetry.\n\n" +
	"## Review Verdict\n- reviewer_logic: pass at `b07d3e9`\n- reviewer_quality: pass, passed before the last change: Fine, see `#4`.\n\n" +
	"## Who Worked\n- planner: claude, model opus\n- coder: codex, its default model, in place of claude `@x`\n\nTokens: 1200 in, 34 out\n\n" +
	"Closes #12\n<!-- agentmux session=20261121-100512-issue-12-add-retry kind=status seq=58 -->"

func TestBodyTellsTheWholeStory(t *testing.T) {
	if got := pulltext.Render(wholeBody()); got != wholeBodyText {
		t.Errorf("got\n%s\nwant\n%s", got, wholeBodyText)
	}
}

// openBody is that of a draft whose last review failed.
func openBody() pulltext.Body {
	return pulltext.Body{Session: "s", Seq: 1, Exhausted: true, Issue: 12, Findings: []pulltext.Finding{
		{Role: "reviewer_logic", Severity: "high", Location: "a.go:1", Issue: "leaks <b>"},
	}, Template: "<!-- Say what\nand why. -->\n## Checklist\n- [ ] tests @team <!-- of it -->", Notes: []string{"2 submodules: agents see none of their content"}}
}

func TestBodyNamesWhatIsMissingOrOpen(t *testing.T) {
	got := pulltext.Render(openBody())
	for _, want := range []string{
		"**The last review failed**", "## Initial Request\n(not available)", "## Summary\n(not available)", "## Review Verdict\n(not available)",
		"- reviewer_logic, high, `a.go:1`: leaks &lt;b>", "2 submodules: agents", "\n\n---\n\n## Checklist\n- [ ] tests `@team`",
		"Merging this does not close the issue", "\n\nRefs #12\n<!-- agentmux session=s kind=status seq=1 -->",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Closes #") {
		t.Errorf("closes:\n%s", got)
	}
}

func TestBodySaysNoMoreThanItKnows(t *testing.T) {
	b := pulltext.Body{Session: "s", Request: "Do it", Verdicts: []pulltext.Verdict{{Role: "reviewer", Verdict: "fail"}}}
	want := "## Initial Request\n```text\nDo it\n```\n\n## Summary\n(not available)\n\n## Plan Summary\n(not available)\n\n" +
		"## Review Verdict\n- reviewer: fail\n\n## Who Worked\n(not available)\n\nTokens: (not available)\n<!-- agentmux session=s kind=status seq=0 -->"
	if got := pulltext.Render(b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for n, end := range map[int]string{20: "`f` changed.\n", 21: "`f` and 1 more changed.\n"} {
		b.NeedsLook = slices.Repeat([]string{"f"}, n)
		if got := pulltext.Render(b); strings.Count(got, "`f`") != 20 || !strings.Contains(got, end) {
			t.Errorf("%d paths:\n%s", n, got)
		}
	}
}

// Paths and the words of a prompt are not Markdown and are shown as they are.
func TestSecurity24NamesAndRequestsHideNothing(t *testing.T) {
	got := pulltext.Render(pulltext.Body{
		Session: "s", NeedsLook: []string{"a\u202eb\x1b <!-- .go"}, Request: "Do\x1b[31m it\u2066 <now>",
		Findings: []pulltext.Finding{{Role: "r", Location: "c\u202ed", Issue: "x"}},
	})
	for _, want := range []string{"`ab <!-- .go` changed", "\nDo[31m it <now>\n", "- r, `cd`: x"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%q", want, got)
		}
	}
}

func TestBodyNeverPassesTheLimit(t *testing.T) {
	t.Parallel()
	b := wholeBody()
	b.Request = sanitize.Raw(strings.Repeat("```\nline 🙂\n", 6_000))
	b.Summary = sanitize.Raw(strings.Repeat("word @x ", 8_000))
	b.Plan = sanitize.Raw(strings.Repeat("#1 ", 25_000))
	for range 100 {
		b.Findings = append(b.Findings, pulltext.Finding{Role: "reviewer", Issue: sanitize.Raw(strings.Repeat("bad ", 400))})
	}
	got := pulltext.Render(b)
	if n := markdown.Units(got); n > 60_000 {
		t.Errorf("%d units", n)
	}
	marker, ok := ghsync.ParseMarker(got)
	if !ok || marker.Session != b.Session || !strings.Contains(got, "\nCloses #12\n") || !strings.Contains(got, "[cut: ") {
		t.Errorf("marker %+v, end %q", marker, got[len(got)-200:])
	}
	b.Summary, b.Plan = b.Summary[:8_000], b.Plan[:3_000]
	if first, again := pulltext.Render(b), pulltext.Render(b); again != first {
		t.Error("the same body gives another text")
	}
}
