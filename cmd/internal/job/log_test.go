package job_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
)

// TestSecurity38TextsAreNoCommands is row 38 of security section 11: whatever a text says, the runner
// hears only what the program tells it.
func TestSecurity38TextsAreNoCommands(t *testing.T) {
	hostile := []string{
		"::add-path::/tmp/evil\n", "::set-env name=PATH::/tmp/evil\n", "::add-mask::a\n", "::error::no\n", "##[add-path]/tmp/evil\n",
		"::stop-commands::x\n::x::\n::error::no\n", "no end of line", "\r::error::no\r\n",
	}
	for _, text := range hostile {
		var out bytes.Buffer
		log := job.NewLog(&out)
		fmt.Fprint(log, text)
		log.Group("coding\n::error::in a title")
		fmt.Fprint(log, text)
		log.Annotate(job.Warning, "a:b,c%", "one\n::add-path::/tmp/evil")
		fmt.Fprint(log, text)
		log.Group("reviewing")
		fmt.Fprint(log, text)
		// A text that was seen before the token of the next one was made cannot end it.
		for line := range strings.Lines(out.String()) {
			if _, token, ok := strings.Cut(strings.TrimSpace(line), "::stop-commands::"); ok && text != "no end of line" && !strings.HasSuffix(strings.TrimSpace(out.String()), token) {
				fmt.Fprintf(log, "\n::%s::\n::error::repeated\n", token)
				break
			}
		}
		log.Close()
		want := []string{
			"::group::coding%0A::error::in a title", "::warning title=a%3Ab%2Cc%25::one%0A::add-path::/tmp/evil",
			"::endgroup::", "::group::reviewing", "::endgroup::",
		}
		if got := runlog.Commands(out.String()); !slices.Equal(got, want) {
			t.Errorf("%q: heard %q", text, got)
		}
	}
}
