package docs_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numbered is a page of cases that have numbers, each with a sentence and the tests that
// hold it.
type numbered struct {
	page, title, about string
	prefix             string // of the functions that carry a number
	sentences          map[int]string
	also               map[int][]string // tests that carry a case under another name
	mutants            bool             // each case has patches that take its gates out
}

// hold fails unless each case has a test, and the page says what the tests say.
func (p numbered) hold(t *testing.T) {
	t.Helper()
	functions, err := ownTests()
	if err != nil {
		t.Fatal(err)
	}
	tests, names := p.tests(functions)
	for id, also := range p.also {
		for _, test := range also {
			if !names[test] {
				t.Errorf("case %d: there is no test %s", id, test)
			}
		}
		tests[id] = append(tests[id], also...)
	}
	for id, of := range tests {
		slices.Sort(of)
		if p.sentences[id] == "" {
			t.Errorf("there is no case %d, named by %q", id, of)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n| case | held | tests |%s\n|---|---|---|%s\n", p.title, p.about, p.column(" mutants |"), p.column("---|"))
	for _, id := range slices.Sorted(maps.Keys(p.sentences)) {
		var of []string
		for _, test := range slices.Compact(tests[id]) {
			file, name, _ := strings.Cut(test, " ")
			of = append(of, fmt.Sprintf("`%s` %s", file, name))
		}
		if len(of) == 0 {
			t.Errorf("case %d has no test", id)
		}
		fmt.Fprintf(&b, "| %d | %s | %s |%s\n", id, p.sentences[id], strings.Join(of, "<br>"), p.column(" "+patches(t, id, p.mutants)+" |"))
	}
	hold(t, p.page, b.String())
}

func (p numbered) column(text string) string {
	if !p.mutants {
		return ""
	}
	return text
}

// patches names what takes the gates of an attack out, see .ci/mutants/run.
func patches(t *testing.T, id int, wanted bool) string {
	t.Helper()
	if !wanted {
		return ""
	}
	files, err := filepath.Glob(filepath.Join(root, ".ci", "mutants", fmt.Sprintf("%02d-*.patch", id)))
	if err != nil || len(files) == 0 {
		t.Errorf("case %d has no mutant: %v", id, err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".patch")
	}
	return strings.Join(files, " ")
}

var numberedPart = regexp.MustCompile(`^(\d+) \S`)

// tests returns the tests of each case as "file name", and all names. Within a function
// named by the prefix alone a string that begins with a number is the name of a part.
func (p numbered) tests(functions []testFunction) (tests map[int][]string, names map[string]bool) {
	tests, names = map[int][]string{}, map[string]bool{}
	function := regexp.MustCompile(`^` + p.prefix + `(\d+(?:And\d+)*)[A-Z]`)
	add := func(number, test string) {
		id, _ := strconv.Atoi(number)
		tests[id] = append(tests[id], test)
	}
	for _, of := range functions {
		f, test := of.decl, of.file+" "+of.decl.Name.Name
		names[test] = true
		if m := function.FindStringSubmatch(f.Name.Name); m != nil {
			for number := range strings.SplitSeq(m[1], "And") {
				add(number, test)
			}
		}
		if f.Name.Name == p.prefix {
			numberedParts(f.Body, func(number, part string) { add(number, test+"/"+part) })
		}
	}
	return tests, names
}

func numberedParts(n ast.Node, found func(number, part string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if m := numberedPart.FindStringSubmatch(text); err == nil && m != nil {
			found(m[1], text)
		}
		return true
	})
}
