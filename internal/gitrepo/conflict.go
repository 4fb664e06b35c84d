package gitrepo

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// conflictPaths reads the part of merge-tree's answer after the tree: the paths with
// several stages, an empty record, then messages of the form count, paths, type, text.
func conflictPaths(out string) []string {
	set := map[string]bool{}
	recs := strings.Split(out, "\x00")
	i := 0
	for ; i < len(recs) && recs[i] != ""; i++ {
		set[recs[i]] = true
	}
	for i++; i < len(recs); {
		n, err := strconv.Atoi(recs[i])
		if err != nil || n < 0 || i+n+1 >= len(recs) {
			break
		}
		if strings.HasPrefix(recs[i+n+1], "CONFLICT") {
			for _, p := range recs[i+1 : i+1+n] {
				set[p] = true
			}
		}
		i += n + 3
	}
	return slices.Sorted(maps.Keys(set))
}
