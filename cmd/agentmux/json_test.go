package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/cleanup"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// jsonForms are the types that commands print with --json, by the heading of their table in
// docs/commands.md.
var jsonForms = map[string]any{
	"sessions --json": show.SessionJSON{}, "sessions --all --json": show.EverythingJSON{}, "status --json": show.StatusJSON{}, "doctor --json": doctor.Probe{}, "config show --json": show.SettingJSON{},
	"config check --json and workflows check --json": show.CheckJSON{}, "workflows list --json": show.WorkflowJSON{}, "providers list --json": show.ProviderJSON{},
	"agents status --json": team.StatusJSON{}, "clean --json": cleanup.Report{}, "--dry-run --json": show.DryRunJSON{},
}

// Every field that a script can read is documented, and no other.
func TestEveryFieldOfTheJSONIsDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	for heading, form := range jsonForms {
		_, section, found := strings.Cut(string(data), "\n### "+heading+"\n")
		if !found {
			t.Errorf("docs/commands.md has no section about %s", heading)
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		section, _, _ = strings.Cut(section, "\n## ")
		var documented []string
		for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
				documented = append(documented, name[1])
			}
		}
		fields := jsonFields(reflect.TypeOf(form), "")
		slices.Sort(documented)
		slices.Sort(fields)
		for _, f := range fields {
			if !slices.Contains(documented, f) {
				t.Errorf("%s: the field %s is not documented", heading, f)
			}
		}
		for _, d := range documented {
			if !slices.Contains(fields, d) {
				t.Errorf("%s: there is no field %s", heading, d)
			}
		}
	}
}

// TestEveryFieldOfTheResultIsDocumented is the same for result.json: docs/runners.md names its fields in a paragraph, as those of
// the outputs of the action and as further ones.
func TestEveryFieldOfTheResultIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "runners.md"))
	if err != nil {
		t.Fatal(err)
	}
	action, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "has the fields of the outputs but `result-file`, with `_` for `-`, and ")
	text, _, ended := strings.Cut(text, "`exit_code` is the true one")
	_, outputs, declared := strings.Cut(string(action), "\noutputs:\n")
	outputs, _, _ = strings.Cut(outputs, "\nruns:\n")
	if !found || !ended || !declared {
		t.Fatal("docs/runners.md has no paragraph about the fields of result.json, or action.yml no outputs")
	}
	documented := []string{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+):$`).FindAllStringSubmatch(outputs, -1) {
		if m[1] != "result-file" {
			documented = append(documented, strings.ReplaceAll(m[1], "-", "_"))
		}
	}
	name := regexp.MustCompile("`([a-z_]+)`")
	for _, m := range regexp.MustCompile("(?s)`([a-z_]+)`(?:\\s+\\(([^)]*)\\))?").FindAllStringSubmatch(text, -1) {
		documented = append(documented, m[1])
		for _, inner := range name.FindAllStringSubmatch(m[2], -1) {
			documented = append(documented, m[1]+"."+inner[1])
		}
	}
	fields := jsonFields(reflect.TypeFor[outcome.Result](), "")
	slices.Sort(documented)
	slices.Sort(fields)
	if !slices.Equal(documented, fields) {
		t.Errorf("documented\n%q, fields are\n%q", documented, fields)
	}
}

// jsonFields are the names of all fields of a type, those of an inner object behind a dot.
func jsonFields(typ reflect.Type, prefix string) (names []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || typ == reflect.TypeFor[orchestrator.Time]() {
		return nil
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			names = append(names, jsonFields(f.Type, prefix)...)
		default:
			names = append(append(names, prefix+name), jsonFields(f.Type, prefix+name+".")...)
		}
	}
	return names
}

// What the text of status shows is in its JSON.
func TestTheJSONOfStatusHoldsWhatItsTextShows(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	out := r.expect(0, "status", "--json").out
	var s show.StatusJSON
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	pull := r.session().State.Completion
	if s.Workflow != "quick" || s.Repository != rigRepo || s.Title != "Say two" || s.Base != "main" || s.PullRequest == nil ||
		s.PullRequest.Number != pull.PRNumber || s.PullRequest.URL != pull.PRURL || s.Created.IsZero() || s.Ended.IsZero() || !s.Pushed || s.Commit == "" {
		t.Errorf("of a done session status says\n%s", out)
	}
	if len(s.Verdicts) != 1 || s.Verdicts[0].Verdict != "pass" || s.Verdicts[0].Round != 1 || !s.Verdicts[0].Current {
		t.Errorf("verdicts: %+v", s.Verdicts)
	}
	if len(s.Steps) != 1 || s.Steps[0].Text != s.Next {
		t.Errorf("steps %+v, next %q", s.Steps, s.Next)
	}
}

func TestChecksAndCleaningAndDryRunsForPrograms(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put("old", orchestrator.PhaseDone, 48, 1)
	read := func(into any, code int, args ...string) {
		t.Helper()
		if out := s.expect(code, args...).out; json.Unmarshal([]byte(out), into) != nil {
			t.Errorf("%v prints %q", args, out)
		}
	}
	var checks []show.CheckJSON
	read(&checks, 0, "config", "check", "--json")
	if len(checks) != 1 || !checks[0].OK {
		t.Errorf("a good configuration: %+v", checks)
	}
	s.write(filepath.Join(s.clone, ".agentmux", "config.yaml"), "version: 2\nnosuch: 1\n")
	read(&checks, 2, "config", "check", "--json")
	if len(checks) != 1 || checks[0].OK || len(checks[0].Problems) != 1 || checks[0].Problems[0].Line != 2 || checks[0].Problems[0].Path != "nosuch" {
		t.Errorf("an unknown key: %+v", checks)
	}
	s.write(filepath.Join(s.clone, ".agentmux", "config.yaml"), "version: 2\n")
	s.write(filepath.Join(s.clone, ".agentmux", "workflows", "mine.yaml"), "version: 1\n")
	read(&checks, 2, "workflows", "check", "--json")
	if i := slices.IndexFunc(checks, func(c show.CheckJSON) bool { return c.Name == "mine" }); i < 0 || checks[i].OK || len(checks[i].Problems) == 0 {
		t.Errorf("a broken workflow: %+v", checks)
	}
	var dry show.DryRunJSON
	read(&dry, 0, "issue", "1", "--workflow", "quick", "--dry-run", "--json")
	if dry.Issue != 1 || dry.Workflow != "quick" || len(dry.Agents) == 0 || len(dry.Prompts) == 0 || len(dry.Writes) == 0 || dry.PullRequest == nil || dry.BaseSHA == "" {
		t.Errorf("a dry run: %+v", dry)
	}
	if res := s.expect(2, "issue", "1", "--json"); !strings.Contains(res.err, "--json goes with --dry-run") {
		t.Errorf("--json of a run: %s", res.err)
	}
	var cleaned cleanup.Report
	read(&cleaned, 0, "clean", "--force", "--json")
	if len(cleaned.Removed) != 1 || cleaned.Removed[0].Name != "old" || s.names() != "" {
		t.Errorf("cleaned: %+v, left %q", cleaned, s.names())
	}
}
