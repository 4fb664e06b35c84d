package ghsync_test

import (
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/internal/redact"
)

// text is what a test writes to GitHub.
func text(draft string) markdown.Text { return markdown.Finish(redact.New(), draft) }
