package artifact_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows/artifact"
)

const validPlan = `version: 2
plan_overview: "## Goal\nRefuse expired tokens."
needs_design: false
needs_docs: true
doc_files: [docs/auth.md]
groups:
  - {group_id: core, mode: parallel, plans: [{index: 1, name: Token check}, {index: 2, name: Error page}]}
subplans:
  - {index: 1, title: Token check, scope: Validate expiry, owned_files: [auth/token.go, auth/testdata/], dependencies: none,
     implementation_approach: Compare with now, acceptance_criteria: Expired is refused, tasks: [Failing test, Implement]}
  - {index: 2, title: Error page, scope: Show the reason, owned_files: [web/], dependencies: [auth, 1], tasks: [Page],
     implementation_approach: Template, acceptance_criteria: Text is visible, isolation_rationale: no shared file}
`

func sum(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func mustPlan(t *testing.T, text string) *artifact.Plan {
	t.Helper()
	p, problems := artifact.ParsePlan([]byte(text))
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems.Lines())
	}
	return p
}

func TestPlanGivesTheSchedule(t *testing.T) {
	s := mustPlan(t, validPlan).Schedule()
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"groups":[{"group_id":"core","mode":"parallel","plans":["1","2"]}],"needs_design":false,` +
		`"owned":{"1":["auth/token.go","auth/testdata/"],"2":["web/"]}}`
	if string(got) != want {
		t.Errorf("schedule %s\nwant     %s", got, want)
	}
	if s.Subplans() != 2 {
		t.Errorf("%d subplans", s.Subplans())
	}
}

func TestPlanIsReadFromJSONToo(t *testing.T) {
	n, _ := document.Parse("", []byte(validPlan))
	data, err := json.Marshal(n.Plain())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := mustPlan(t, string(data)), mustPlan(t, validPlan); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func testPlanRules(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{"overview", `"## Goal\nRefuse expired tokens."`, `" "`, []string{"plan_overview: required, found only white space"}},
		{"needs_design type", "needs_design: false", "needs_design: no", []string{`needs_design: expected true or false, found "no"`}},
		{"needs_design absent", "needs_design: false\n", "", []string{"needs_design: required key missing"}},
		{"needs_docs absent", "needs_docs: true\n", "", []string{"needs_docs: required key missing"}},
		{"doc_files type", "[docs/auth.md]", "docs/auth.md", []string{`doc_files: expected a list, found "docs/auth.md"`}},
		{"doc_files blank", "[docs/auth.md]", `[""]`, []string{"doc_files[0]: required, found nothing"}},
		{"mode", "mode: parallel", "mode: x", []string{`groups[0].mode: expected serial or parallel, found "x"`}},
		{"group_id blank", "group_id: core", `group_id: ""`, []string{"groups[0].group_id: required, found nothing"}},
		{"plans empty", "plans: [{index: 1, name: Token check}, {index: 2, name: Error page}]", "plans: []", []string{
			"groups[0].plans: expected at least one plan",
			"subplans[0].index: subplan 1 is in no group",
			"subplans[1].index: subplan 2 is in no group",
		}},
		{"name blank", "name: Error page", `name: " "`, []string{"groups[0].plans[1].name: required, found only white space"}},
		{"unknown index", "{index: 2, name: Error page}", "{index: 3, name: Error page}", []string{
			"groups[0].plans[1].index: no subplan has index 3",
			"subplans[1].index: subplan 2 is in no group",
		}},
		{"index below 1", "{index: 2, name: Error page}", "{index: 0, name: Error page}", []string{
			"groups[0].plans[1].index: expected a whole number from 1, found 0",
			"subplans[1].index: subplan 2 is in no group",
		}},
		{"listed twice", "{index: 2, name: Error page}", "{index: 2, name: A}, {index: 2, name: B}", []string{
			"groups[0].plans[2].index: subplan 2 is listed in groups[0] already",
		}},
		{"group_id twice", "subplans:", "  - {group_id: core, mode: serial, plans: [{index: 1, name: N}]}\nsubplans:", []string{
			`groups[1].group_id: "core" is the group_id of groups[0] too`,
			"groups[1].plans[0].index: subplan 1 is listed in groups[0] already",
		}},
		{"index twice", "- {index: 2, title", "- {index: 1, title", []string{
			"groups[0].plans[1].index: no subplan has index 2",
			"subplans[1].index: 1 is the index of subplans[0] too",
		}},
		{"gap", "index: 2,", "index: 3,", []string{
			"subplans: indexes must run from 1 to 2 without a gap, missing 2",
		}},
		{"title", "title: Token check", `title: ""`, []string{"subplans[0].title: required, found nothing"}},
		{"scope type", "scope: Validate expiry", "scope: [a]", []string{"subplans[0].scope: expected text, found a list"}},
		{"approach absent", "implementation_approach: Template, ", "", []string{
			"subplans[1].implementation_approach: required, found nothing",
		}},
		{"criteria too long", "Text is visible", strings.Repeat("x", 20_001), []string{
			"subplans[1].acceptance_criteria: 20001 characters, at most 20000 are allowed",
		}},
		{"dependencies absent", "dependencies: none,\n", "\n", []string{"subplans[0].dependencies: required key missing"}},
		{"dependencies map", "dependencies: none", "dependencies: {a: b}", []string{
			"subplans[0].dependencies: expected text or a list of texts, found a map",
		}},
		{"tasks empty", "tasks: [Page]", "tasks: []", []string{"subplans[1].tasks: expected at least one task"}},
		{"tasks many", "tasks: [Page]", "tasks: [" + strings.Repeat("a,", 201) + "]", []string{
			"subplans[1].tasks: 201 tasks, at most 200 are allowed",
		}},
		{"task type", "tasks: [Page]", "tasks: [{do: x}]", []string{"subplans[1].tasks[0]: expected text, found a map"}},
		{"owned empty", "owned_files: [web/]", "owned_files: []", []string{"subplans[1].owned_files: expected at least one path"}},
		{"owned paths", "owned_files: [web/]", `owned_files: [/web, ../web, a/../b, .agentmux/x, .AgentMux/, ./web, a//b, "", /, "a\tb"]`, []string{
			`subplans[1].owned_files[0]: expected a path relative to the repository, found "/web"`,
			`subplans[1].owned_files[1]: a path must not hold .., found "../web"`,
			`subplans[1].owned_files[2]: a path must not hold .., found "a/../b"`,
			`subplans[1].owned_files[3]: nothing in .agentmux/ can be owned, found ".agentmux/x"`,
			`subplans[1].owned_files[4]: nothing in .agentmux/ can be owned, found ".AgentMux/"`,
			`subplans[1].owned_files[5]: expected a path without . and doubled /, found "./web"`,
			`subplans[1].owned_files[6]: expected a path without . and doubled /, found "a//b"`,
			`subplans[1].owned_files[7]: expected a path, found nothing`,
			`subplans[1].owned_files[8]: expected a path relative to the repository, found "/"`,
			`subplans[1].owned_files[9]: a path must not hold control characters, found "a\tb"`,
		}},
		{"severity", "subplans:", "review_strategy: {severity: urgent}\nsubplans:", []string{
			`review_strategy.severity: expected low, medium or high, found "urgent"`,
		}},
		{"repeated key", "needs_design: false", "needs_design: false\nneeds_design: true", []string{
			"needs_design: repeated key, first on line 3",
		}},
		{"two documents", "version: 2", "version: 2\n---\nversion: 2", []string{
			"a second document starts here; only one is read",
			"plan_overview: required, found nothing",
			"needs_design: required key missing",
			"needs_docs: required key missing",
			"doc_files: required key missing",
			"groups: expected at least one group",
			"subplans: expected at least one subplan",
		}},
		{"version 1", "version: 2", "version: 1\nplan_overview: [broken]", []string{
			"version: expected 2, found 1; version 2 is one plan.yaml that holds plan_overview, needs_design, needs_docs, doc_files, groups and subplans",
		}},
		{"version text", "version: 2", `version: "2"`, []string{
			`version: expected 2, found "2"; version 2 is one plan.yaml that holds plan_overview, needs_design, needs_docs, doc_files, groups and subplans`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.ReplaceAll(validPlan, tt.old, tt.new)
			if text == validPlan {
				t.Fatal("the case changes nothing")
			}
			p, problems := artifact.ParsePlan([]byte(text))
			if p != nil {
				t.Error("a plan next to errors")
			}
			got := problems.Errors().Lines()
			slices.Sort(got)
			slices.Sort(tt.want)
			same(t, "errors", got, tt.want)
		})
	}
}

func testPlanAllAtOnce(t *testing.T) {
	text := strings.NewReplacer("mode: parallel", "mode: x", "name: Token check", `name: ""`, "index: 2, name", "index: 9, name",
		"title: Error page", "title: 7", "tasks: [Page]", "tasks: Page", "owned_files: [web/]", "owned_files: [../x]",
	).Replace(validPlan)
	_, problems := artifact.ParsePlan([]byte(text))
	same(t, "errors", problems.Lines(), []string{
		`groups[0].mode: expected serial or parallel, found "x"`,
		`groups[0].plans[0].name: required, found nothing`,
		`groups[0].plans[1].index: no subplan has index 9`,
		`subplans[1].title: expected text, found 7`,
		`subplans[1].tasks: expected a list, found "Page"`,
		`subplans[1].owned_files[0]: a path must not hold .., found "../x"`,
		`subplans[1].index: subplan 2 is in no group`,
	})
}

func testPlanOverlap(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"web/", "web/a.css", `"web/a.css" ("web/", "web/a.css")`},
		{"web/a.css", "web/", `"web/a.css" ("web/a.css", "web/")`},
		{"web/a.css", "web/a.css", `"web/a.css" ("web/a.css", "web/a.css")`},
		{"web", "web/", `"web/" ("web", "web/")`},
		{"web/a", "web/a.css", ""},
		{"web/", "website/", ""},
	} {
		t.Run(tt.a+" and "+tt.b, func(t *testing.T) {
			text := strings.Replace(validPlan, "owned_files: [web/]", "owned_files: ["+tt.b+"]", 1)
			text = strings.Replace(text, "auth/token.go, auth/testdata/", tt.a, 1)
			_, problems := artifact.ParsePlan([]byte(text))
			var want []string
			if tt.want != "" {
				path := tt.a
				if len(tt.b) > len(tt.a) {
					path = tt.b
				}
				want = []string{fmt.Sprintf("groups[0].plans: subplans 1 and 2 run in parallel but both own %s (%q, %q)", path, tt.a, tt.b)}
			}
			same(t, "errors", problems.Lines(), want)
			serial := strings.Replace(text, "mode: parallel", "mode: serial", 1)
			if _, problems := artifact.ParsePlan([]byte(serial)); len(problems) > 0 {
				t.Errorf("serial: %v", problems.Lines())
			}
		})
	}
}

func testPlanFewerSubplans(t *testing.T) {
	names := func(text string) []string {
		p := mustPlan(t, text)
		files, err := p.Files(sum(text))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range files {
			out = append(out, f.Name)
		}
		return out
	}
	same(t, "files", names(validPlan), []string{
		"plan.md", "plan_1.md", "tasks_1.md", "plan_2.md", "tasks_2.md", "execution_plan.yaml",
	})
	i := strings.Index(validPlan, "  - {index: 2, title")
	fewer := strings.Replace(validPlan[:i], ", {index: 2, name: Error page}", "", 1)
	same(t, "files", names(fewer), []string{"plan.md", "plan_1.md", "tasks_1.md", "execution_plan.yaml"})
}

func TestPlanErrorsStopAtFifty(t *testing.T) {
	text := strings.Replace(validPlan, "tasks: [Page]", "tasks: ["+strings.Repeat("1, ", 150)+"]", 1)
	_, problems := artifact.ParsePlan([]byte(text))
	lines := problems.Lines()
	if len(lines) != 50 || lines[0] != "subplans[1].tasks[0]: expected text, found 1" || lines[49] != "there are more errors than fit here" {
		t.Errorf("%d errors: %v", len(lines), lines)
	}
}

func TestPlanUnknownKeysAreWarnings(t *testing.T) {
	text := strings.Replace(validPlan, "needs_docs: true", "needs_docs: true\nneed_docs: 1\nreview_strategy: {severity: low}", 1)
	p, problems := artifact.ParsePlan([]byte(strings.Replace(text, "scope: Show", "extra: 1, scope: Show", 1)))
	if p == nil || problems.Err() != nil {
		t.Fatalf("refused: %v", problems.Lines())
	}
	same(t, "warnings", problems.Warnings().Lines(), []string{
		`need_docs: unknown key, did you mean "needs_docs"?`,
		"review_strategy: deprecated and ignored",
		"subplans[1].extra: unknown key",
	})
}

func TestPlanFilesOfHostileTexts(t *testing.T) {
	text := strings.NewReplacer("title: Token check", `title: "Token\n# check"`, "auth/token.go", `"a`+"``"+`b.go"`,
		"Failing test", `"Failing\n- [x] test"`).Replace(validPlan)
	files, err := mustPlan(t, text).Files("abc")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Name] = string(f.Data)
	}
	if !strings.HasPrefix(got["plan_1.md"], "# Token # check\n") || !strings.Contains(got["plan_1.md"], "- ``` a``b.go ```\n") {
		t.Errorf("plan_1.md:\n%s", got["plan_1.md"])
	}
	if !strings.Contains(got["tasks_1.md"], "- [ ] Failing\n      - [x] test\n- [ ] Implement\n") {
		t.Errorf("tasks_1.md:\n%s", got["tasks_1.md"])
	}
}

func TestExecutionPlanOfAnOlderSession(t *testing.T) {
	p := mustPlan(t, validPlan)
	files, err := p.Files("abc")
	if err != nil {
		t.Fatal(err)
	}
	s, problems := artifact.ParseExecutionPlan(files[len(files)-1].Data, func(string) bool { return true })
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems.Lines())
	}
	if want := p.Schedule().Groups; !reflect.DeepEqual(s.Groups, want) {
		t.Errorf("groups %+v, want %+v", s.Groups, want)
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"list", "[a]", []string{"expected a map, found a list"}},
		{"empty", "", []string{"the file is empty"}},
		{"groups empty", "groups: []", []string{"groups: expected at least one group"}},
		{"groups", "groups: [{group_id: a, mode: x, plans: []}, {group_id: a, mode: serial, plans: [{file: x.md, name: N}]}]", []string{
			`groups[0].mode: expected serial or parallel, found "x"`,
			"groups[0].plans: expected at least one plan",
			`groups[1].group_id: repeated group_id "a"`,
			`groups[1].plans[0].file: expected plan_<N>.md, found "x.md"`,
		}},
		{"plan files", `groups: [{group_id: a, mode: serial, plans: [{file: plan_3.md, name: ""}, {file: plan_3.md, name: N}, {name: N}, {file: plan_1.md, name: N}]}]`, []string{
			"groups[0].plans[0].name: required, found nothing",
			"groups[0].plans[0].file: plan_3.md does not exist",
			"groups[0].plans[1].file: plan_3.md is listed twice",
			"groups[0].plans[2].file: expected plan_<N>.md, found nothing",
			"groups: plan files must run from plan_1.md to plan_2.md without a gap, missing plan_2.md",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, problems := artifact.ParseExecutionPlan([]byte(tt.text), func(f string) bool { return f == "plan_1.md" })
			if s != nil {
				t.Error("a schedule next to errors")
			}
			same(t, "problems", problems.Lines(), tt.want)
		})
	}
}

// These plans are slow to check if any part compares all pairs.
func TestPlansOfHostileSize(t *testing.T) {
	thousand := 1000
	if testing.Short() {
		thousand = 50
	}
	many := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, text string
		errors     int
		first      string
	}{
		{"owned files", strings.NewReplacer("auth/token.go, auth/testdata/", many("a%d,", 40*thousand), "owned_files: [web/]",
			"owned_files: ["+many("b%d,", 40*thousand)+"]").Replace(validPlan), 0, ""},
		{"plans of a group", strings.Replace(validPlan, "{index: 2, name: Error page}", strings.Repeat("{index: 1, name: N},", 30*thousand), 1),
			50, "groups[0].plans[1].index: subplan 1 is listed in groups[0] already"},
		{"tasks", strings.Replace(validPlan, "tasks: [Page]", "tasks: ["+strings.Repeat("'',", 90*thousand)+"]", 1),
			50, fmt.Sprintf("subplans[1].tasks: %d tasks, at most 200 are allowed", 90*thousand)},
		{"subplans", strings.Replace(validPlan, "subplans:", "subplans:"+strings.Repeat("\n  - {index: 1}", 30*thousand), 1),
			50, fmt.Sprintf("subplans: %d subplans, at most 50 are allowed", 30*thousand+2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := artifact.ParsePlan([]byte(tt.text))
			if len(problems) != tt.errors || tt.errors > 0 && problems[0].String() != tt.first {
				t.Errorf("%d problems, first %v", len(problems), problems[:min(1, len(problems))].Lines())
			}
		})
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(validPlan))
	f.Add([]byte("version: 2\nsubplans: [{index: 1}, ~]\ngroups: [{plans: [{index: 1}]}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, problems := artifact.ParsePlan(data)
		if (p == nil) == (problems.Err() == nil) {
			t.Fatalf("plan %v, problems %v", p, problems.Lines())
		}
		if len(problems.Errors()) > 50 {
			t.Fatalf("%d errors", len(problems.Errors()))
		}
		if p == nil {
			return
		}
		files, err := p.Files("abc")
		if err != nil {
			t.Fatal(err)
		}
		s, problems := artifact.ParseExecutionPlan(files[len(files)-1].Data, nil)
		if len(problems) > 0 || !reflect.DeepEqual(s.Groups, p.Schedule().Groups) {
			t.Fatalf("schedule %+v, problems %v", s, problems.Lines())
		}
	})
}
