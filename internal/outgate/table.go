package outgate

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/document"
)

//go:embed paths.yaml
var pathsData []byte

// A level says what becomes of a change to a path.
type level string

const (
	levelBlocked level = "blocked" // never pushed, unless Allow lifts it
	levelHeld    level = "held"    // keeps the pull request a draft
	levelNamed   level = "named"   // is listed on top of the pull request
)

// group is a set of paths that are judged alike; Name is the rule in notes.
type group struct {
	Name    string  `doc:"name,required"`
	Level   level   `doc:"level,required"`
	Entries []entry `doc:"entries,required"`
}

// entry is the paths of one tool, with what the tool does to them.
type entry struct {
	Paths  []string `doc:"paths,required"`
	Why    string   `doc:"why,required"`
	Source string   `doc:"source,required"` // where that is written

	patterns []pattern
}

// find returns the first entry that takes the folded path.
func (g *group) find(parts []string, through bool) (entry, bool) {
	for _, e := range g.Entries {
		if matchParts(e.patterns, parts, through) {
			return e, true
		}
	}
	return entry{}, false
}

// tables are the groups of paths.yaml, the strictest level first.
var tables = sync.OnceValue(func() []*group {
	groups, err := readTables(pathsData)
	if err != nil {
		panic(err) // a part of the program
	}
	return groups
})

func readTables(data []byte) ([]*group, error) {
	node, problems := document.Parse("paths.yaml", data)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var file struct {
		Groups []*group `doc:"groups,required"`
	}
	if err := document.Decode(node, &file, document.Options{}).Err(); err != nil {
		return nil, err
	}
	var sorted []*group
	for _, l := range []level{levelBlocked, levelHeld, levelNamed} {
		for _, g := range file.Groups {
			if g.Level == l {
				sorted = append(sorted, g)
			}
		}
	}
	if len(sorted) != len(file.Groups) {
		return nil, fmt.Errorf("paths.yaml: a group has none of the levels %s, %s, %s", levelBlocked, levelHeld, levelNamed)
	}
	for _, g := range sorted {
		for i := range g.Entries {
			e := &g.Entries[i]
			for _, p := range e.Paths {
				if !strings.HasPrefix(p, "/") {
					p = "**/" + p
				}
				e.patterns = append(e.patterns, patterns(p)...)
			}
		}
	}
	return sorted, nil
}
