package agents_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows/agents"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

const variants = "testdata/files.txtar"

var known = agents.Known{Providers: []string{"claude", "codex", "opencode"}}

// eachVariant calls f with every file of the archive, and with the file that holds what is
// expected of it.
func eachVariant(tb testing.TB, f func(name string, data []byte, want *txtar.File)) *txtar.Archive {
	tb.Helper()
	archive, err := txtar.ParseFile(filepath.FromSlash(variants))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		name := strings.TrimSuffix(archive.Files[i].Name, ".yml")
		if archive.Files[i+1].Name != name+".want" {
			tb.Fatalf("%s is followed by %s", archive.Files[i].Name, archive.Files[i+1].Name)
		}
		data := string(archive.Files[i].Data)
		if strings.Contains(name, "crlf") {
			data = strings.ReplaceAll(data, "\n", "\r\n")
		}
		if strings.Contains(name, "bom") {
			data = "\ufeff" + data
		}
		f(name, []byte(data), &archive.Files[i+1])
	}
	return archive
}

func testVariants(t *testing.T) {
	archive := eachVariant(t, func(name string, data []byte, want *txtar.File) {
		t.Run(name, func(t *testing.T) {
			got := outcome(agents.Parse("f.yml", data, known))
			if *update {
				want.Data = []byte(got)
			}
			if got != string(want.Data) {
				t.Errorf("got\n%s\nwant\n%s", got, want.Data)
			}
		})
	})
	if *update {
		if err := os.WriteFile(variants, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome shows everything Parse returned; what is empty is left out.
func outcome(team *agents.Team, problems document.Problems) string {
	var b strings.Builder
	for i, line := range problems.Lines() {
		if problems[i].Warning {
			line += " (a warning)"
		}
		fmt.Fprintln(&b, line)
	}
	if team != nil {
		fields(&b, "", reflect.ValueOf(*team))
	}
	return b.String()
}

func fields(b *strings.Builder, in string, v reflect.Value) {
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		switch {
		case f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0:
		case name == "Agents":
			for j := range f.Len() {
				fmt.Fprintf(b, "agent %d\n", j)
				fields(b, "  ", f.Index(j))
			}
		default:
			fmt.Fprintf(b, "%s%s: %q\n", in, name, fmt.Sprint(f.Interface()))
		}
	}
}

func testLimits(t *testing.T) {
	entries := func(n int) string {
		var b strings.Builder
		b.WriteString("session: s\nagents:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {name: a%d, branch: b%d, task: t}\n", i, i)
		}
		return b.String()
	}
	bomb := "session: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	for _, tt := range []struct{ name, text, want string }{
		{"as many agents as there may be", entries(1000), ""},
		{"2,000 agents", entries(2000), "f.yml:1003: agents[1000]: 2000 agents, at most 1000 are allowed"},
		{"10 MB", "session: s\n" + strings.Repeat("# x\n", 2_500_000), "f.yml: larger than 1 MiB"},
		{"a bomb of aliases", bomb, "f.yml:1: session: anchors are not supported, found &a0"},
		{"deep", "session: s\nagents: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", "nested deeper than 100"},
		{"many values", "session: s\nagents: [" + strings.Repeat("a,", 110_000) + "]\n", "holds more than 100000 values"},
		{"not UTF-8", "session: \xff\n", "f.yml: not valid UTF-8"},
		{"NUL", "session: \x00\n", "f.yml: holds a NUL byte"},
		{"long name", "session: " + strings.Repeat("s", 101) + "\nagents: [{name: a, branch: b, task: t}]\n",
			"f.yml:1: session: 101 bytes, at most 100 are allowed"},
		{"long branch", "session: s\nagents: [{name: a, branch: " + strings.Repeat("b", 201) + ", task: t}]\n",
			"f.yml:2: agents[0].branch: a branch has at most 200 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			team, problems := agents.Parse("f.yml", []byte(tt.text), known)
			if (team != nil) != (tt.want == "") {
				t.Errorf("team %v", team != nil)
			}
			if tt.want == "" && len(problems) == 0 {
				return
			}
			if !slices.ContainsFunc(problems.Lines(), func(line string) bool { return tt.want != "" && strings.Contains(line, tt.want) }) {
				t.Errorf("problems %.500v, want one with %q", problems.Lines(), tt.want)
			}
			if len(problems) > 1000 {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

func TestProvidersAreOnlyCheckedIfKnown(t *testing.T) {
	team, problems := agents.Parse("f.yml", []byte("session: s\nprovider: mine\nagents: [{name: a, branch: b, task: t}]\n"), agents.Known{})
	if team == nil || team.Agents[0].Provider != "mine" {
		t.Errorf("team %+v, problems %v", team, problems.Lines())
	}
}

func TestEncodeIsReadBack(t *testing.T) {
	eachVariant(t, func(name string, data []byte, _ *txtar.File) {
		if team, _ := agents.Parse("f.yml", data, known); team != nil {
			readBack(t, name, team)
		}
	})
	odd := &agents.Team{Session: "null", WorktreeBase: "a: b # c", Agents: []agents.Agent{
		{Name: "true", Role: agents.RoleBuild, Branch: "a,b", Task: "line\n\ttab \x1b[31m é \u202e \u2028 \"quoted\" \\ 'x'"},
		{Name: "1e3", Role: agents.RolePlan, Branch: "é", Task: "~", Scope: []string{"a, b", "- x", "!t", "0x1f/"}, OnComplete: []string{"pr"}},
	}}
	readBack(t, "odd", odd)
}

func readBack(t *testing.T, name string, team *agents.Team) {
	t.Helper()
	data := team.Encode()
	got, problems := agents.Parse("f.yml", data, agents.Known{})
	if got == nil {
		t.Errorf("%s: problems %v in\n%s", name, problems.Lines(), data)
		return
	}
	if a, b := outcome(got, problems), outcome(team, problems); a != b {
		t.Errorf("%s: read back\n%s\nwritten\n%s\nas\n%s", name, a, b, data)
	}
}

func FuzzParseAgents(f *testing.F) {
	eachVariant(f, func(_ string, data []byte, _ *txtar.File) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		team, problems := agents.Parse("f.yml", data, known)
		if (team == nil) != (problems.Err() != nil) {
			t.Fatalf("team %+v, problems %v", team, problems.Lines())
		}
		for _, p := range problems {
			if p.File != "f.yml" || p.Text == "" {
				t.Errorf("a problem without place or text: %+v", p)
			}
		}
		if team == nil {
			return
		}
		readBack(t, "fuzz", team)
		order(t, team)
	})
}

// BenchmarkAgentsFile parses a file with 200 agents as people write them: a branch, a scope, a
// task, mostly a dependency; some name what they read, and their role.
func BenchmarkAgentsFile(b *testing.B) {
	var text strings.Builder
	text.WriteString("session: s\non_complete: [test, push]\nagents:\n")
	for i := range 200 {
		fmt.Fprintf(&text, "  - name: agent-%d\n    branch: feature/agent-%d\n    scope:\n      - src/part%d/\n      - docs/part%d.md\n", i, i, i, i)
		if i > 1 {
			fmt.Fprintf(&text, "    depends_on: agent-%d, agent-%d\n", i-1, i/2)
		}
		if i%4 == 0 {
			text.WriteString("    role: build\n    context: [src/models, go.mod]\n")
		}
		fmt.Fprintf(&text, "    task: Write part %d and test it.\n", i)
	}
	data := []byte(text.String())
	for b.Loop() {
		if team, problems := agents.Parse("f.yml", data, known); team == nil {
			b.Fatal(problems.Lines())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "parse-ms")
}
