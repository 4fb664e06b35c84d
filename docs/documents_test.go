// Package docs_test holds what the documents say against the code and the tests.
package docs_test

import (
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// root is the repository.
const root = ".."

// documents are the pages people read.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(path.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			pages[file] = string(data)
		}
	}
	return pages
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	pages := documents(t)
	for file, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := path.Join(path.Dir(file), target)
			if target == "" {
				to = file
			}
			if _, err := os.Stat(path.Join(root, to)); err != nil {
				t.Errorf("%s: link to %s: %v", file, m[1], err)
			}
			if anchor != "" && !slices.Contains(anchors(pages[to]), anchor) {
				t.Errorf("%s: %s has no heading %q", file, to, anchor)
			}
		}
	}
}

// anchors are the names under which a page's headings are linked to.
func anchors(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			name := strings.ToLower(strings.TrimSpace(heading))
			name = regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(name, "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return names
}

var goFile = regexp.MustCompile("`([a-z/_]+\\.go)`")

// TestArchitectureNamesFilesThatExist takes a bare name for a file of any package.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	known := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, _ fs.DirEntry, err error) error {
		known[name], known[path.Base(name)] = true, true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range goFile.FindAllStringSubmatch(documents(t)["ARCHITECTURE.md"], -1) {
		// engine/effects.go is short for orchestrator/engine/effects.go.
		if !known[m[1]] && !known["orchestrator/"+m[1]] {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
		}
	}
}

func TestConfigurationPageHasEveryKey(t *testing.T) {
	text := documents(t)["docs/configuration.md"]
	c, problems := config.Load(config.Sources{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Show() {
		if !strings.Contains(text, "`"+v.Path+"`") {
			t.Errorf("no %s", v.Path)
		}
	}
}

// In the sections that have such keys, the page says later of those that no package but config reads, and of no other.
func TestConfigurationPageSaysWhichKeysNothingUses(t *testing.T) {
	sections := []string{"Agents", "Msg", "Sandbox", "Mesh"}
	read := readFields(t, sections)
	text := documents(t)["docs/configuration.md"]
	check := func(key, field string) {
		_, row, _ := strings.Cut(text, "`"+key+"`")
		row, _, _ = strings.Cut(row, "\n")
		if later := strings.HasSuffix(strings.ToLower(row), "later |"); later == read[field] {
			t.Errorf("%s: the page says later: %v; a package reads it: %v", key, later, read[field])
		}
	}
	for _, section := range sections {
		f, ok := reflect.TypeFor[config.Config]().FieldByName(section)
		if !ok {
			t.Fatalf("no %s", section)
		}
		if f.Type.Kind() != reflect.Struct {
			check(f.Tag.Get("doc"), "."+section)
			continue
		}
		for i := range f.Type.NumField() {
			check(f.Tag.Get("doc")+"."+f.Type.Field(i).Tag.Get("doc"), "."+section+"."+f.Type.Field(i).Name)
		}
	}
}

// field is a value of the configuration as code reads it.
var field = regexp.MustCompile(`\b(?:c|cfg|Config)(\.[A-Z]\w*)(\.[A-Z]\w*)?`)

// readFields are the fields of the configuration that the packages beside it read.
func readFields(t *testing.T, sections []string) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path.Dir(file) == "bot/config" && path.Base(file) != "provider.go": // which has what others ask
			return nil
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path.Join(root, file))
		for line := range strings.Lines(string(data)) {
			if !slices.ContainsFunc(sections, func(section string) bool { return strings.Contains(line, "."+section) }) {
				continue
			}
			for _, m := range field.FindAllStringSubmatch(line, -1) {
				read[m[1]], read[m[1]+m[2]] = true, true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestWorkflowPageHasEveryName(t *testing.T) {
	text := documents(t)["docs/workflows.md"]
	names := prompt.Placeholders()
	for _, kind := range []string{
		workflows.KindAuthor, workflows.KindPlan, workflows.KindImplement, workflows.KindReview, workflows.KindFix, workflows.KindComplete,
	} {
		names = append(append(names, kind), workflows.Outcomes(kind)...)
	}
	for _, name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("no %s", name)
		}
	}
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, problems := workflows.Parse("spec-first.yaml", []byte(example), workflows.Known{
		Prompts: os.DirFS(promptsOf(t)),
	}); problems.Err() != nil {
		t.Errorf("the example is wrong: %v", problems.Err())
	}
}

// promptsOf makes the project's prompts that the example names.
func promptsOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(path.Join(dir, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path.Join(dir, "project", "spec.md"), []byte("[[placeholder:tool_line]]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The page of the output gate has each group of the table of paths with its level.
func TestOutputGatePageHasEveryGroup(t *testing.T) {
	table, err := os.ReadFile(path.Join(root, "internal/outgate/paths.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups := regexp.MustCompile(`- name: (\S+)\n    level: (\S+)`).FindAllStringSubmatch(string(table), -1)
	if len(groups) < 10 {
		t.Fatalf("groups: %v", groups)
	}
	for _, g := range groups {
		if !strings.Contains(documents(t)["docs/output-gate.md"], "| "+g[1]+" | "+g[2]+" |") {
			t.Errorf("no group %s of level %s", g[1], g[2])
		}
	}
}
