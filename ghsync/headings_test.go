package ghsync_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
)

func TestHeadingsOfEmbeddedTextsStandBelowOurs(t *testing.T) {
	body := ghsync.RenderBody(ghsync.Body{
		Session: "s", Summary: "# Done\n\n## Part\n\n```\n# no heading\n```\n#tag\n", Plan: "### Deep\n",
	})
	for _, want := range []string{"\n### Done\n", "\n#### Part\n", "\n# no heading\n", "\n### Deep\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q:\n%s", want, body)
		}
	}
}

// Code that shows Markdown stands in a longer fence than the one it shows.
func TestHeadingsInAFenceWithinAFenceStay(t *testing.T) {
	body := ghsync.RenderBody(ghsync.Body{Session: "s", Summary: "# Done\n\n````md\n```sh\n# Install\n````\n\n## Part\n"})
	for _, want := range []string{"\n### Done\n", "\n# Install\n````", "\n#### Part\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q:\n%s", want, body)
		}
	}
}
