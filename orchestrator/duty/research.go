package duty

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// ResearchRequest is the text of request.md: what the researcher has to answer.
func ResearchRequest(kind string, p orchestrator.Payload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Research request: %s\n\nType: %s\n\n## Context\n\n%s\n\n## Questions\n\n", p.Topic, kind, p.Context)
	for i, q := range p.Questions {
		fmt.Fprintf(&b, "%d. %s\n", i+1, q)
	}
	if len(p.ScopeHints) > 0 {
		b.WriteString("\n## Where to look\n\n")
		for _, hint := range p.ScopeHints {
			fmt.Fprintf(&b, "- %s\n", hint)
		}
	}
	return b.String()
}
