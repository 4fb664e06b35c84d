package pulltext

import (
	"path"
	"slices"
	"strings"
)

// TemplateAmong returns the file of a repository that GitHub takes as the template of its pull requests: the
// first of its places that has one, whatever the case of its name; "" without one. Paths have slashes.
func TemplateAmong(paths []string) string {
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
