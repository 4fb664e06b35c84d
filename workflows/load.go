package workflows

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows/prompt"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// ProjectWorkflows is where a project keeps its own workflows.
const ProjectWorkflows = ".agentmux/workflows"

// Shipped lists the names of the built-in workflows.
func Shipped() []string { return []string{"feature", "quick"} }

// Names lists what Load finds: the built-in workflows, then the project's files in
// order, whether they are valid or not. A nil project has none.
func Names(project fs.FS) []string {
	names := Shipped()
	if project == nil {
		return names
	}
	files, err := fs.Glob(project, ProjectWorkflows+"/*.yaml")
	if err != nil {
		return names
	}
	for _, f := range files {
		if name := strings.TrimSuffix(path.Base(f), ".yaml"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Unused lists the project's files that Load never reads, because a built-in workflow has
// their name.
func Unused(project fs.FS) []string {
	var files []string
	for _, name := range Shipped() {
		file := ProjectWorkflows + "/" + name + ".yaml"
		if _, err := readProject(project, file); !errors.Is(err, fs.ErrNotExist) {
			files = append(files, file)
		}
	}
	return files
}

// Load returns a workflow by name, built in or from the project directory's
// .agentmux/workflows, with its bytes, which are what a session freezes. The
// project may be nil. What the project wrote for the prompts is checked, too. The
// definition is nil when a problem is an error.
func Load(name string, project fs.FS) (*Definition, []byte, document.Problems) {
	d, data, problems := load(name, project)
	if texts := prompts(project); texts != nil && len(data) > 0 {
		problems = append(problems, prompt.InstructionProblems(texts)...)
	}
	if problems.Err() != nil {
		d = nil
	}
	return d, data, problems
}

func load(name string, project fs.FS) (*Definition, []byte, document.Problems) {
	if slices.Contains(Shipped(), name) {
		file := name + ".yaml"
		data, err := fs.ReadFile(shipped, "shipped/"+file)
		if err != nil {
			return nil, nil, document.Problems{{File: file, Text: err.Error()}}
		}
		d, problems := Parse(file, data, Known{Shipped: true})
		return d, data, problems
	}
	file := ProjectWorkflows + "/" + name + ".yaml"
	data, err := readProject(project, file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && slices.Contains(Names(project), name):
		return nil, nil, document.Problems{{File: file, Text: "is a link to nothing"}}
	case errors.Is(err, fs.ErrNotExist):
		text := fmt.Sprintf("unknown workflow %q, known: %s", name, strings.Join(Names(project), ", "))
		return nil, nil, document.Problems{{Text: text}}
	case err != nil:
		return nil, nil, document.Problems{{File: file, Text: err.Error()}}
	}
	d, problems := Parse(file, data, Known{Prompts: prompts(project)})
	return d, data, problems
}

// Check returns what is wrong with a workflow as Load finds it, and with a file of the
// project that has the name of a built-in one: Load never reads it, and nothing else would
// tell its writer.
func Check(name string, project fs.FS) document.Problems {
	_, _, problems := Load(name, project)
	if !slices.Contains(Shipped(), name) {
		return problems
	}
	file := ProjectWorkflows + "/" + name + ".yaml"
	data, err := readProject(project, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problems
	case err != nil:
		return append(problems, document.Problem{File: file, Text: err.Error()})
	}
	_, hidden := Parse(file, data, Known{Prompts: prompts(project)})
	name = builtIn(name) // whatever the name inside is, the file's is taken
	if i := slices.IndexFunc(hidden, func(p document.Problem) bool { return p.Path == "name" }); i >= 0 {
		hidden[i].Text = name
	} else {
		hidden = append(hidden, document.Problem{File: file, Path: "name", Text: name})
	}
	return append(problems, hidden...)
}

func builtIn(name string) string {
	return fmt.Sprintf("%q is built in, choose another name for the file and in it", name)
}

func readProject(project fs.FS, file string) ([]byte, error) {
	if project == nil || !fs.ValidPath(file) || strings.Count(file, "/") != strings.Count(ProjectWorkflows, "/")+1 {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(project, file)
}

func prompts(project fs.FS) fs.FS {
	if project == nil {
		return nil
	}
	sub, err := fs.Sub(project, prompt.ProjectDir)
	if err != nil {
		return nil
	}
	return sub
}
