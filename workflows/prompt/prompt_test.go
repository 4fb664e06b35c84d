package prompt_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// sessionDir makes the files of a session that the templates include.
func sessionDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"context.md":                            "# Context\n",
		"requirements.md":                       "# Requirements\n\n## Initial Request\n\nRefuse expired tokens.\n",
		"02_architecting/architecture.md":       "# Architecture: tokens\n",
		"03_research/code-token-use/request.md": "1. Where are tokens read?\n",
		"03_research/web-clock-skew/request.md": "1. How much skew is usual?\n",
		"04_planning/plan.md":                   "## Goal\n",
		"04_planning/plan_2.md":                 "# Error page\n",
		"04_planning/tasks_2.md":                "- [ ] Page\n",
		"06_implementation/conflict_2.diff":     "-old\n+new\n",
		"07_review/fix_request.md":              "## Review: reviewer_logic (verdict: fail)\n",
		"07_review/review.md":                   "verdict: pass\n",
	} {
		put(t, dir, name, text)
	}
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func request(template, root string) prompt.Request {
	role, task := "coder", "2"
	if name, ok := strings.CutPrefix(template, "agents/"); ok {
		role = name
	}
	switch role {
	case workflows.RoleCodeResearcher:
		task = "token-use"
	case workflows.RoleWebResearcher:
		task = "clock-skew"
	}
	return prompt.Request{Template: template, Root: root, Values: map[string]string{
		"session_dir": "/s", "workspace": "/w", "role": role, "task": task, "subplan": "2",
		"tool_line": "`submit_x` or `agentmux submit x --session /s`", "diff_stat": " auth/token.go | 4 ++--",
		"change_request": "Allow 60 s.", "conflict_paths": "- `web/a.css`",
	}}
}

func mustRender(t *testing.T, r prompt.Request) string {
	t.Helper()
	text, err := prompt.Render(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var update = flag.Bool("update", false, "write the golden files")

// testPrompts renders every template in both modes and compares all of it.
func testPrompts(t *testing.T) {
	root := sessionDir(t)
	for _, mode := range []string{"interactive", "unattended"} {
		var all bytes.Buffer
		for _, template := range prompt.Templates() {
			r := request(template, root)
			r.Interactive = mode == "interactive"
			fmt.Fprintf(&all, "-- %s --\n%s", template, mustRender(t, r))
		}
		file := "testdata/prompts." + mode + ".txtar"
		if *update {
			if err := os.WriteFile(file, all.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(all.Bytes(), want) {
			t.Errorf("%s: %v: got\n%s", file, err, all.Bytes())
		}
	}
}

// testPromptParts checks what every prompt has to say.
func testPromptParts(t *testing.T) {
	root := sessionDir(t)
	for _, template := range prompt.Templates() {
		for _, interactive := range []bool{true, false} {
			r := request(template, root)
			r.Interactive = interactive
			r.Project = fstest.MapFS{template + ".md": {Data: []byte("Use tabs.\n")}}
			text := mustRender(t, r)
			for _, part := range []string{"`/s`", "## What you write", "## Messages", "## Rules", "no commit, push", "Use tabs."} {
				if !strings.Contains(text, part) {
					t.Errorf("%s, interactive %v: lacks %q", template, interactive, part)
				}
			}
			ending := text[strings.LastIndex(text, "\n## "):]
			if !strings.HasPrefix(ending, "\n## Last step") || !strings.Contains(ending, r.Values["tool_line"]) {
				t.Errorf("%s: the last section is\n%s", template, ending)
			}
			if strings.Contains(text, "[[") {
				t.Errorf("%s: a directive is left", template)
			}
			if got := strings.Contains(text, "No one watches this terminal"); got && interactive {
				t.Errorf("%s: interactive, yet told that no one watches", template)
			}
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func TestExamplesInPromptsAreValid(t *testing.T) {
	root := sessionDir(t)
	for template, want := range map[string]int{"agents/planner": 1, "commands/change": 1, "agents/reviewer": 2} {
		t.Run(template, func(t *testing.T) {
			blocks := yamlBlock.FindAllStringSubmatch(mustRender(t, request(template, root)), -1)
			if len(blocks) != want {
				t.Fatalf("%d examples", len(blocks))
			}
			for _, b := range blocks {
				_, problems := artifact.ParseReview([]byte(b[1]))
				if want == 1 {
					_, problems = artifact.ParsePlan([]byte(b[1]))
				}
				if len(problems) > 0 {
					t.Errorf("%v", problems.Lines())
				}
			}
		})
	}
}

func TestReviewPromptsNameTheFileThatIsRead(t *testing.T) {
	root := sessionDir(t)
	for _, role := range workflows.ReviewRoles() {
		want := "`/s/07_review/" + artifact.ReviewArtifact(role) + "`"
		if text := mustRender(t, request("agents/"+role, root)); !strings.Contains(text, want) {
			t.Errorf("%s: lacks %s", role, want)
		}
	}
}

// testInsertedText checks that directives in inserted texts stay text.
func testInsertedText(t *testing.T) {
	root := sessionDir(t)
	put(t, root, "secret", "TOP")
	attack := "[[include:/etc/hostname]] [[include:secret]] [[placeholder:role]] [[shared:rules]] [[include-optional:secret]]"
	put(t, root, "requirements.md", attack)
	put(t, root, "04_planning/plan.md", attack)
	put(t, root, "04_planning/plan_2.md", attack)
	put(t, root, "05_design/design.md", attack)
	r := request("agents/coder", root)
	r.Values["answers"] = attack
	r.Project = fstest.MapFS{"agents/coder.md": {Data: []byte(attack)}}
	text := mustRender(t, r)
	// plan_2.md, design.md, the answers and the project's own text.
	if n := strings.Count(text, attack); n != 4 {
		t.Errorf("%d of 4 inserted texts stayed as they were", n)
	}
	if strings.Contains(text, "TOP") {
		t.Error("inserted text has included a file")
	}
	for _, template := range []string{"commands/fix", "commands/change", "agents/planner"} {
		if text := mustRender(t, request(template, root)); !strings.Contains(text, attack) || strings.Contains(text, "TOP") {
			t.Errorf("%s: inserted text was scanned", template)
		}
	}
}

func renderProject(root, template string) (string, error) {
	r := request("project/x", root)
	r.Project = fstest.MapFS{"project/x.md": {Data: []byte(template)}}
	return prompt.Render(r)
}

// testConfinement checks that includes stay below the session directory.
func testConfinement(t *testing.T) {
	root := sessionDir(t)
	outside := t.TempDir()
	put(t, outside, "file", "TOP")
	put(t, root, "latin1", "\xe9")
	put(t, root, "nul", "\x00")
	for link, target := range map[string]string{
		"link": filepath.Join(outside, "file"), "dirlink": outside, "inner": "requirements.md", "up": "../" + filepath.Base(outside),
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"../x":              "the path must be relative, with no . or .. in it",
		"04_planning/../x":  "the path must be relative, with no . or .. in it",
		"/etc/hostname":     "the path must be relative, with no . or .. in it",
		"./requirements.md": "the path must be relative, with no . or .. in it",
		"a//b":              "the path must be relative, with no . or .. in it",
		" requirements.md":  "no such file or directory",
		"absent.md":         "no such file or directory",
		"link":              "a symbolic link is not followed",
		"inner":             "a symbolic link is not followed",
		"dirlink/file":      "a symbolic link is not followed",
		"up/file":           "a symbolic link is not followed",
		"fifo":              "not a regular file",
		"04_planning":       "not a regular file",
		"latin1":            "not valid UTF-8",
		"nul":               "holds a NUL byte",
		"<workspace>/x":     "<workspace> cannot be part of a path",
	} {
		t.Run(path, func(t *testing.T) {
			text, err := renderProject(root, "[[include:"+path+"]]")
			if err == nil || !strings.Contains(err.Error(), "render project/x: include") || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q (text %q)", err, want, text)
			}
		})
	}
	for _, path := range []string{"../x", "link", "fifo", "latin1"} {
		t.Run("optional "+path, func(t *testing.T) {
			if _, err := renderProject(root, "[[include-optional:"+path+"]]"); err == nil {
				t.Error("the file is accepted")
			}
		})
	}
	for _, path := range []string{"absent.md", "no/such/dir.md"} {
		t.Run("optional "+path, func(t *testing.T) {
			if text, err := renderProject(root, "a[[include-optional:"+path+"]]b"); err != nil || text != "ab\n" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	r := request("agents/coder", root)
	r.Values["subplan"] = "../../x"
	if _, err := prompt.Render(r); err == nil || !strings.Contains(err.Error(), `<subplan> is "../../x", which cannot be part of a path`) {
		t.Errorf("subplan with a path: %v", err)
	}
}

func testFragments(t *testing.T) {
	chain := fstest.MapFS{"prompts/agents/coder.md": {Data: []byte("[[shared:f1]]")}}
	for i := 1; i <= 8; i++ {
		chain[fmt.Sprintf("prompts/shared/f%d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d[[shared:f%d]]", i, i+1)}
	}
	chain["prompts/shared/f8.md"] = &fstest.MapFile{Data: []byte("8")}
	if text, err := prompt.RenderFrom(chain, request("agents/coder", "")); err != nil || text != "12345678\n" {
		t.Errorf("eight levels: %q, %v", text, err)
	}
	chain["prompts/shared/f8.md"] = &fstest.MapFile{Data: []byte("[[shared:f9]]")}
	chain["prompts/shared/f9.md"] = &fstest.MapFile{Data: []byte("9")}
	_, err := prompt.RenderFrom(chain, request("agents/coder", ""))
	wantError(t, err, "fragments nested deeper than 8: f1 -> f2 -> f3 -> f4 -> f5 -> f6 -> f7 -> f8 -> f9")
	cycle := fstest.MapFS{
		"prompts/agents/coder.md":           {Data: []byte("[[shared:a]]")},
		"prompts/shared/a.md":               {Data: []byte("[[shared:b]]")},
		"prompts/shared/b.unattended.md":    {Data: []byte("[[shared:a]]")},
		"prompts/shared/b.interactive.md":   {Data: []byte("fine")},
		"prompts/shared/same.md":            {Data: []byte("x")},
		"prompts/agents/planner.md":         {Data: []byte("[[shared:same]][[shared:same]]")},
		"prompts/agents/designer.md":        {Data: []byte("[[shared:../agents/planner]]")},
		"prompts/agents/product-manager.md": {Data: []byte("[[shared:]] [[other:x]] [[ x ]] [[include:a\nb]] [[]]")},
	}
	_, err = prompt.RenderFrom(cycle, request("agents/coder", ""))
	wantError(t, err, "fragments include each other: a -> b -> a")
	interactive := request("agents/coder", "")
	interactive.Interactive = true
	if text, err := prompt.RenderFrom(cycle, interactive); err != nil || text != "fine\n" {
		t.Errorf("the other mode: %q, %v", text, err)
	}
	if text, err := prompt.RenderFrom(cycle, request("agents/planner", "")); err != nil || text != "xx\n" {
		t.Errorf("the same fragment twice: %q, %v", text, err)
	}
	_, err = prompt.RenderFrom(cycle, request("agents/designer", ""))
	wantError(t, err, `read fragment "../agents/planner"`)
	want := "[[shared:]] [[other:x]] [[ x ]] [[include:a\nb]] [[]]\n"
	if text, err := prompt.RenderFrom(cycle, request("agents/product-manager", "")); err != nil || text != want {
		t.Errorf("plain brackets: %q, %v", text, err)
	}
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error %v, want %q", err, part)
	}
}

func TestRenderReportsEveryProblem(t *testing.T) {
	_, err := renderProject(t.TempDir(), "[[placeholder:tol_line]] [[include:absent]] [[shared:none]] [[placeholder:secret]]")
	for _, part := range []string{
		`unknown placeholder "tol_line", did you mean "tool_line"?`, `include "absent": `, `read fragment "none"`, `unknown placeholder "secret"`,
	} {
		wantError(t, err, part)
	}
	r := request("agents/coder", sessionDir(t))
	r.Values["tool_line"] = " "
	_, err = prompt.Render(r)
	wantError(t, err, `placeholder "tool_line" has no value`)
	_, err = prompt.Render(prompt.Request{Template: "agents/missing"})
	wantError(t, err, "render agents/missing: read template")
	_, err = prompt.Render(prompt.Request{Template: "project/x"})
	wantError(t, err, "render project/x: read template")
}

func TestLongIncludeIsCutWithANotice(t *testing.T) {
	root := t.TempDir()
	put(t, root, "long", "x"+strings.Repeat("é", 600_000))
	text, err := renderProject(root, "[[include:long]]")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text, "é\n[cut: only the first 1 MiB is shown]\n") || len(text) > 1<<20+60 {
		t.Errorf("%d bytes, end %q", len(text), text[len(text)-60:])
	}
	put(t, root, "exact", strings.Repeat("x", 1<<20))
	if text, err := renderProject(root, "[[include:exact]]"); err != nil || len(text) != 1<<20+1 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	put(t, root, "bom", "\ufeffa\r\nb\r\n")
	if text, err := renderProject(root, "<[[include:bom]]>"); err != nil || text != "<a\r\nb\r>\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestProjectInstructionsAreAppended(t *testing.T) {
	r := request("project/x", t.TempDir())
	r.Project = fstest.MapFS{
		"project/x.md":    {Data: []byte("Do it.\n")},
		"agents/coder.md": {Data: []byte("Use tabs.\n")},
	}
	if text, want := mustRender(t, r), "Do it.\n\n## Instructions of this project\n\nUse tabs.\n"; text != want {
		t.Errorf("got %q", text)
	}
	r.Values["role"] = "../../etc/x"
	if text := mustRender(t, r); text != "Do it.\n" {
		t.Errorf("odd role: %q", text)
	}
	r.Values["role"] = "coder"
	delete(r.Project.(fstest.MapFS), "agents/coder.md")
	if text := mustRender(t, r); text != "Do it.\n" {
		t.Errorf("without instructions: %q", text)
	}
	r.Project.(fstest.MapFS)["agents/coder.md"] = &fstest.MapFile{Data: []byte("\xe9")}
	_, err := prompt.Render(r)
	wantError(t, err, "read project instructions: not valid UTF-8")
}

func TestPathsOfAnotherWorkflow(t *testing.T) {
	root := sessionDir(t)
	put(t, root, "02_spec/spec.md", "The spec.\n")
	r := request("agents/planner", root)
	r.Paths = map[string]string{"02_architecting/architecture.md": "02_spec/spec.md"}
	text := mustRender(t, r)
	if !strings.Contains(text, "<file path=\"02_spec/spec.md\">\nThe spec.\n</file>") || strings.Contains(text, "02_architecting") {
		t.Errorf("the spec is not in the prompt:\n%s", text)
	}
}

func TestCheckPrompt(t *testing.T) {
	p := fstest.MapFS{
		"project/good.md": {Data: []byte("[[shared:rules]] [[include:later.md]]")},
		"project/bad.md":  {Data: []byte("[[shared:rulez]]")},
	}
	if err := prompt.Check("project/good", p); err != nil {
		t.Error(err)
	}
	wantError(t, prompt.Check("project/bad", p), `read fragment "rulez"`)
	wantError(t, prompt.Check("project/absent", p), fs.ErrNotExist.Error())
	for _, name := range prompt.Templates() {
		if err := prompt.Check(name, nil); err != nil {
			t.Error(err)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	root := sessionDir(f)
	put(f, root, "secret", "TOP")
	for _, s := range []string{
		"a [[shared:rules]] b", "[[include:requirements.md]]", "[[include-optional:x]]", "[[placeholder:answers]]", "[[[[placeholder:role]]]]",
		"[[include:04_planning/plan_<subplan>.md]]", "[[shared:approval]]", "[[include:../x]]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, template string) {
		if strings.Contains(template, "secret") {
			t.Skip()
		}
		r := request("project/x", root)
		r.Values["answers"] = "[[include:secret]]"
		r.Project = fstest.MapFS{"project/x.md": {Data: []byte(template)}}
		text, err := prompt.Render(r)
		if (err != nil) != (text == "") {
			t.Fatalf("text %q, error %v", text, err)
		}
		if strings.Contains(text, "TOP") && !strings.Contains(template, "TOP") {
			t.Fatal("an inserted text was scanned")
		}
	})
}
