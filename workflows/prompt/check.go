package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// Problems reports what would keep a template of the project from being rendered,
// in any phase and mode, each with its line: directives that mean nothing, fragments that
// do not exist, and files that no session has.
func Problems(prompts fs.FS, name string, known func(file string) bool) document.Problems {
	file := path.Join(ProjectDir, name+".md")
	text, err := readText(prompts, name+".md")
	if err != nil {
		return document.Problems{unreadable(file, err)}
	}
	var problems document.Problems
	for _, m := range directive().FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:m[0]], "\n")
		for _, said := range directiveProblems(text[m[2]:m[3]], text[m[4]:m[5]], known) {
			problems = append(problems, document.Problem{File: file, Line: line, Path: document.Excerpt(text[m[0]:m[1]]), Text: said})
		}
	}
	return problems
}

func directiveProblems(kind, arg string, known func(file string) bool) []string {
	var found []string
	switch kind {
	case "placeholder", "shared":
		for _, interactive := range []bool{true, false} {
			p := &prompt{Request: Request{Interactive: interactive}, builtin: shippedPrompts}
			p.directive(kind, arg, nil)
			for _, err := range p.errs {
				if text := plainError(err); !slices.Contains(found, text) {
					found = append(found, text)
				}
			}
		}
	case "include", "include-optional":
		switch {
		case !fs.ValidPath(arg) || arg == ".":
			found = append(found, "expected a path below the session directory, without ..")
		case kind == "include" && !known(arg):
			found = append(found, "no session has this file; include-optional takes one that may be missing")
		}
	}
	return found
}

// plainError says what is wrong without the words of the file system.
func plainError(err error) string {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return "there is no such fragment"
	}
	return err.Error()
}

func unreadable(file string, err error) document.Problem {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return document.Problem{File: file, Text: "cannot be read: " + err.Error()}
}

// InstructionProblems reports texts of the project for built-in prompts that cannot be
// inserted, and warns of files that no prompt takes.
func InstructionProblems(prompts fs.FS) document.Problems {
	var problems document.Problems
	for _, dir := range []string{"agents", "commands"} {
		files, err := fs.ReadDir(prompts, dir)
		if err != nil {
			continue // the project has no such texts
		}
		for _, f := range files {
			file := path.Join(dir, f.Name())
			name, isText := strings.CutSuffix(file, ".md")
			if !isText {
				continue
			}
			if !slices.Contains(Templates(), name) {
				text := "is never used: there is no prompt " + name
				if near := document.Nearest(name, Templates()); near != "" {
					text += fmt.Sprintf(", did you mean %q?", near+".md")
				}
				problems = append(problems, document.Problem{File: path.Join(ProjectDir, file), Text: text, Warning: true})
				continue
			}
			if _, err := readText(prompts, file); err != nil {
				problems = append(problems, unreadable(path.Join(ProjectDir, file), err))
			}
		}
	}
	return problems
}
