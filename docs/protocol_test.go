package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const protocolPage = "protocol-cases.md"

// protocolGroups give the letters of the cases their headings, in the page's order.
var protocolGroups = []struct{ letter, title string }{
	{"D", "The session directory"},
	{"S", "State"},
	{"J", "Lines of agents and people"},
	{"C", "Commits, kills and effects"},
	{"W", "Workflows"},
	{"P", "Phases"},
	{"K", "Artifacts"},
	{"A", "Tools of agents"},
	{"X", "Prompts"},
	{"R", "Resume"},
	{"G", "Commit and pull request"},
	{"E", "Command line and configuration"},
	{"M", "Agents files"},
	{"T", "Messages"},
}

// TestProtocolTable holds that each case has a test and that the page lists them all.
// `make protocol-table` writes the page.
func TestProtocolTable(t *testing.T) {
	functions, err := ownTests()
	if err != nil {
		t.Fatal(err)
	}
	tests := protocolTests(functions)
	for _, id := range slices.Sorted(maps.Keys(protocolCases)) {
		if len(tests[id]) == 0 {
			t.Errorf("case %s has no test", id)
		}
	}
	for id, of := range tests {
		if _, ok := protocolCases[id]; !ok && slices.ContainsFunc(protocolGroups, func(g struct{ letter, title string }) bool {
			return strings.HasPrefix(id, g.letter)
		}) {
			t.Errorf("there is no case %s, named by %v", id, of)
		}
	}
	hold(t, protocolPage, protocolTable(tests))
}

func TestProtocolTableFindsTests(t *testing.T) {
	functions, err := testFunctions(fstest.MapFS{
		"a/a_test.go": {Data: []byte(`package a_test
			func TestProtocolJ12Halves(t *testing.T) {}
			func TestProtocolC1(t *testing.T) { t.Run("C2 a kill", f); t.Run("plain", f) }
			func TestProtocol(t *testing.T) { t.Run("S2/a file", func(t *testing.T) { t.Run("C5", f) }) }
			func TestOther(t *testing.T) { t.Run("K1 no case", f) }
			func TestProtocols(t *testing.T) {}`)},
		"a/a.go":                {Data: []byte(`package a; func TestProtocolD1(t *testing.T) {}`)},
		"a/testdata/b_test.go":  {Data: []byte(`package b; func TestProtocolD2(t *testing.T) {}`)},
		".hidden/a/c_test.go":   {Data: []byte(`package b; func TestProtocolD3(t *testing.T) {}`)},
		"a/nested/deep_test.go": {Data: []byte(`package b; func TestProtocolJ12Again(t *testing.T) {}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := protocolTests(functions)
	want := map[string][]string{
		"J12": {"a/a_test.go TestProtocolJ12Halves", "a/nested/deep_test.go TestProtocolJ12Again"},
		"C1":  {"a/a_test.go TestProtocolC1"},
		"C2":  {"a/a_test.go TestProtocolC1/C2 a kill"},
		"S2":  {"a/a_test.go TestProtocol/S2/a file"},
		"C5":  {"a/a_test.go TestProtocol/S2/a file/C5"},
	}
	if !maps.EqualFunc(tests, want, slices.Equal) {
		t.Errorf("found %q, want %q", tests, want)
	}
}

var (
	caseFunction = regexp.MustCompile(`^TestProtocol([A-Z]\d+)(?:[^\d]|$)`)
	caseSubtest  = regexp.MustCompile(`^([A-Z]\d+)(?:[^\w]|$)`)
)

// protocolTests returns the tests of each case, as "file name". A case is carried by a
// function whose name is TestProtocol and the case's id, and by a subtest, below any
// function TestProtocol…, whose literal name begins with the id.
func protocolTests(functions []testFunction) map[string][]string {
	tests := map[string][]string{}
	for _, of := range functions {
		name, f := of.file, of.decl
		if !strings.HasPrefix(f.Name.Name, "TestProtocol") {
			continue
		}
		if m := caseFunction.FindStringSubmatch(f.Name.Name); m != nil {
			tests[m[1]] = append(tests[m[1]], name+" "+f.Name.Name)
		}
		protocolSubtests(f.Body, f.Name.Name, func(id, test string) { tests[id] = append(tests[id], name+" "+test) })
	}
	return tests
}

// protocolSubtests hands each t.Run below n that names a case to found.
func protocolSubtests(n ast.Node, parent string, found func(id, test string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		lit, ok := call.Args[0].(*ast.BasicLit)
		if sel, run := call.Fun.(*ast.SelectorExpr); !ok || !run || sel.Sel.Name != "Run" || lit.Kind != token.STRING {
			return true
		}
		name, _ := strconv.Unquote(lit.Value)
		if m := caseSubtest.FindStringSubmatch(name); m != nil {
			found(m[1], parent+"/"+name)
		}
		protocolSubtests(call.Args[1], parent+"/"+name, found)
		return false
	})
}

func protocolTable(tests map[string][]string) string {
	var b strings.Builder
	b.WriteString("# Protocol cases\n\nWhat a session promises, case by case, and the tests that hold it. A test carries a case by its name:\n" +
		"`TestProtocol` and the case, or a subtest that begins with it. `make protocol-table` writes this page; the\n" +
		"sentences are in `docs/protocol_cases_test.go`.\n")
	for _, g := range protocolGroups {
		fmt.Fprintf(&b, "\n## %s\n\n| case | held | tests |\n|---|---|---|\n", g.title)
		ids := slices.DeleteFunc(slices.Collect(maps.Keys(protocolCases)), func(id string) bool { return !strings.HasPrefix(id, g.letter) })
		slices.SortFunc(ids, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
		for _, id := range ids {
			var of []string
			for _, test := range tests[id] {
				file, name, _ := strings.Cut(test, " ")
				of = append(of, fmt.Sprintf("`%s` %s", file, strings.ReplaceAll(name, "|", `\|`)))
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", id, protocolCases[id], strings.Join(of, "<br>"))
		}
	}
	return b.String()
}
