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

	// The patterns by the name that each asks for first, and those that ask for a form of
	// name or for none: a path is compared with the few that can take it.
	named map[string][]rule
	forms []rule
}

// rule is a pattern, and the number of its entry.
type rule struct {
	pattern pattern
	entry   int
}

// entry is the paths of one tool, with what the tool does to them.
type entry struct {
	Paths  []string `doc:"paths,required"`
	Why    string   `doc:"why,required"`
	Source string   `doc:"source,required"` // where that is written
}

// find returns the first entry that takes the folded path.
func (g *group) find(parts []string, through bool) (entry, bool) {
	first := len(g.Entries)
	look := func(rules []rule) {
		for _, r := range rules {
			if r.entry < first && r.pattern.match(parts, through) {
				first = r.entry
			}
		}
	}
	for _, name := range parts {
		look(g.named[name])
	}
	look(g.forms)
	if first == len(g.Entries) {
		return entry{}, false
	}
	return g.Entries[first], true
}

// add makes the patterns of an entry known to find.
func (g *group) add(number int) {
	for _, p := range g.Entries[number].Paths {
		if !strings.HasPrefix(p, "/") {
			p = "**/" + p
		}
		for _, pat := range patterns(p) {
			r := rule{pat, number}
			if name, ok := pat.first(); ok {
				g.named[name] = append(g.named[name], r)
			} else {
				g.forms = append(g.forms, r)
			}
		}
	}
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
		g.named = map[string][]rule{}
		for i := range g.Entries {
			g.add(i)
		}
	}
	return sorted, nil
}
