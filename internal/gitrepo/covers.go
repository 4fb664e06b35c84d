package gitrepo

import (
	"path"
	"strings"
)

// Covers reports whether a path is one of list or below one of them.
func Covers(list []string) func(string) bool {
	set := map[string]bool{}
	for _, p := range list {
		set[strings.Trim(p, "/")] = true
	}
	return func(p string) bool {
		for ; p != "." && p != "/"; p = path.Dir(p) {
			if set[p] {
				return true
			}
		}
		return false
	}
}
