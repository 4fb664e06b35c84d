package material

import (
	"context"
	"path"
	"slices"
	"strings"
)

// maxTemplate bounds the template that is read.
const maxTemplate = 64 << 10

// PullTemplate returns the template of the repository's pull requests at a commit, or "". A
// pull request does not need one, so a template that cannot be read is left out.
func (r *Files) PullTemplate(ctx context.Context, commit string) string {
	if r.repo == nil || commit == "" {
		return ""
	}
	entries, err := r.repo.Entries(ctx, commit)
	if err != nil {
		r.log.Warn("no pull request template", "session", r.sess.Name(), "err", err)
		return ""
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
	}
	found := templateAmong(paths)
	if found == "" {
		return ""
	}
	data, err := r.repo.File(ctx, commit, found, maxTemplate)
	if err != nil {
		r.log.Warn("no pull request template", "session", r.sess.Name(), "err", err)
		return ""
	}
	return string(data)
}

// templateAmong returns the file of a repository that GitHub takes as the template of its pull requests: the
// first of its places that has one, whatever the case of its name; "" without one. Paths have slashes.
func templateAmong(paths []string) string {
	for _, dir := range []string{".github", ".", "docs"} {
		i := slices.IndexFunc(paths, func(p string) bool {
			name := strings.ToLower(path.Base(p))
			return path.Dir(p) == dir && (name == "pull_request_template.md" || name == "pull_request_template.txt")
		})
		if i >= 0 {
			return paths[i]
		}
	}
	return ""
}
