package work

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
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
	found := templateOf(entries)
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

// templateOf finds the file GitHub takes: the first of these places that has one, whatever
// the case of its name.
func templateOf(entries []gitrepo.Entry) string {
	for _, dir := range []string{".github", ".", "docs"} {
		i := slices.IndexFunc(entries, func(e gitrepo.Entry) bool {
			name := strings.ToLower(path.Base(e.Path))
			return path.Dir(e.Path) == dir && (name == "pull_request_template.md" || name == "pull_request_template.txt")
		})
		if i >= 0 {
			return entries[i].Path
		}
	}
	return ""
}
