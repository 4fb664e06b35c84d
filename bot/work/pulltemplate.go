package work

import (
	"context"

	"github.com/agentmux/agentmux/ghsync/pulltext"
	"github.com/agentmux/agentmux/orchestrator"
)

// maxTemplate bounds the template that is read.
const maxTemplate = 64 << 10

// pullTemplate returns the template of the repository's pull requests at the base, or "". A
// pull request does not need one, so a template that cannot be read is left out.
func (r *proposal) pullTemplate(ctx context.Context, s *orchestrator.State) string {
	if r.repo == nil || s.BaseSHA == "" {
		return ""
	}
	entries, err := r.repo.Entries(ctx, s.BaseSHA)
	if err != nil {
		r.Log.Warn("no pull request template", "session", r.sess.Name(), "err", err)
		return ""
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
	}
	found := pulltext.TemplateAmong(paths)
	if found == "" {
		return ""
	}
	data, err := r.repo.File(ctx, s.BaseSHA, found, maxTemplate)
	if err != nil {
		r.Log.Warn("no pull request template", "session", r.sess.Name(), "err", err)
		return ""
	}
	return string(data)
}
