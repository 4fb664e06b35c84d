package pulltext_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/pulltext"
	"github.com/agentmux/agentmux/internal/sanitize"
)

func TestHeadingsOfEmbeddedTextsAreBelowOurs(t *testing.T) {
	body := pulltext.Render(pulltext.Body{
		Session: "s", Summary: "# Done\n\n## Part\n\n```\n# no heading\n```\n#tag\n", Plan: "### Deep\n",
	})
	for _, want := range []string{"\n### Done\n", "\n#### Part\n", "\n# no heading\n", "\n### Deep\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q:\n%s", want, body)
		}
	}
}

// All that CommonMark takes for a heading is moved, or a text could show sections like ours.
func TestSecurity24HeadingsOfAllFormsAreBelowOurs(t *testing.T) {
	for in, want := range map[sanitize.Raw]string{
		"Review Verdict\n---\nx":    "### Review Verdict\n\nx",
		"Done\n===":                 "### Done",
		" ## Summary":               "### Summary",
		"##\tSummary\n#":            "####\tSummary\n###",
		"- a\n===\n- b\n---":        "- a\n\\===\n- b\n\n---",
		"\\===\n\n---":              "\\===\n\n---",
		"```\na\n===\n```\n---":     "```\na\n===\n```\n\n---",
		"a\r# b\u2029c\n&#61;&#61;": "a\n### b\n### c",
	} {
		t.Run(string(in), func(t *testing.T) {
			body := pulltext.Render(pulltext.Body{Session: "s", Summary: in})
			if part := "\n## Summary\n" + want + "\n\n## Plan Summary\n"; !strings.Contains(body, part) {
				t.Errorf("%q: the body lacks %q:\n%s", in, part, body)
			}
		})
	}
}

// Code that shows Markdown is in a longer fence than the one it shows.
func TestHeadingsInAFenceWithinAFenceStay(t *testing.T) {
	body := pulltext.Render(pulltext.Body{Session: "s", Summary: "# Done\n\n````md\n```sh\n# Install\n````\n\n## Part\n"})
	for _, want := range []string{"\n### Done\n", "\n# Install\n````", "\n#### Part\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q:\n%s", want, body)
		}
	}
}
