package config

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/document"
)

// maxBytes is the largest configuration file that is read.
const maxBytes = 1 << 20

// Names of layers, lowest first.
const (
	LayerBuiltIn = "built-in"
	LayerUser    = "user"
	LayerProject = "project"
	LayerFlag    = "--config"
)

//go:embed default.yaml
var builtIn []byte

const builtInName = "built-in configuration"

// ProjectFiles lists where a project keeps its configuration. The first file that exists
// counts.
func ProjectFiles() []string {
	return []string{".agentmux/config.yaml", ".agentmux/config.yml", ".agentmux/config.json"}
}

// Sources say where the layers above the built-in one are. Empty ones are left out.
type Sources struct {
	UserFile      string   // the person's file; may be absent
	Project       fs.FS    // top of the project: its directory, or one of its commits
	ProjectPrefix string   // put before the project's file in problems, as "4e1f9c2:"
	FlagFile      string   // --config; must exist
	Home          string   // what a leading ~ stands for
	Providers     []string // names of the built-in providers; nil = those of package agent
}

// Load reads and merges all layers. The Config is nil when a problem is an error.
func Load(s Sources) (*Config, document.Problems) { return load(s, false) }

// Check is Load and also refuses a default workflow that is neither built in nor a file of the
// project. Load does not check it: a session that has its workflow needs no default.
func Check(s Sources) (*Config, document.Problems) { return load(s, true) }

func load(s Sources, workflow bool) (*Config, document.Problems) {
	l, c := read(s, workflow)
	return l.finish(c, s.Home)
}

// read reads and merges the layers.
func read(s Sources, workflow bool) (*loader, *Config) {
	l := newLoader()
	if s.UserFile != "" {
		data, err := readFile(s.UserFile)
		l.add(File{LayerUser, s.UserFile, data}, err)
	}
	if s.Project != nil {
		l.project(s)
	}
	if s.FlagFile != "" {
		data, err := readFile(s.FlagFile)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such file")
		}
		l.add(File{LayerFlag, s.FlagFile, data}, err)
	}
	c := l.decode(s)
	if workflow {
		l.problems = append(l.problems, checkWorkflow(c.Defaults.Workflow, l.merged, s.Project)...)
	}
	return l, c
}

// loader merges the layers.
type loader struct {
	files     []File         // that were read, lowest layer first
	base      *document.Node // the built-in layer
	merged    *document.Node
	layers    map[string]string
	overruled map[string][]Overruled // by key
	problems  document.Problems
}

func newLoader() *loader {
	l := &loader{layers: map[string]string{builtInName: LayerBuiltIn}, overruled: map[string][]Overruled{}}
	l.base, l.problems = document.Parse(builtInName, builtIn)
	l.merged = l.base
	return l
}

func (l *loader) project(s Sources) {
	for _, file := range ProjectFiles() {
		data, err := readFS(s.Project, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		l.add(File{LayerProject, s.ProjectPrefix + file, data}, err)
		return
	}
}

// add merges a file over the layers so far. A file that cannot be read, or of another version,
// adds only its problems: the rest of it would repeat them.
func (l *loader) add(f File, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) { // the problem names the file
			err = path.Err
		}
		l.problems = append(l.problems, document.Problem{File: f.Name, Text: "cannot be read: " + err.Error()})
		return
	}
	l.files = append(l.files, f)
	node, problems := document.Parse(f.Name, f.Data)
	l.problems = append(l.problems, problems...)
	if node == nil {
		return
	}
	l.layers[f.Name] = f.Layer
	if node.Kind != document.Map {
		l.problems = append(l.problems, notAMap(node))
		return
	}
	node, problems = withoutRemoved(node)
	l.problems = append(l.problems, problems...)
	if p := wrongVersion(node); p != nil {
		l.problems = append(l.problems, *p)
		return
	}
	if f.Layer == LayerProject {
		r := repository{under: l.merged, base: l.base, layers: l.layers, overruled: l.overruled}
		node = r.restrict(node)
		l.problems = append(l.problems, r.problems...)
	}
	l.merged = document.Merge(l.merged, node)
}

func notAMap(node *document.Node) document.Problem {
	if node.Kind == document.Null {
		return node.Problem("version", "required key missing, add \"version: %d\"", Version)
	}
	return node.Problem("", "expected a map, found %s", node.Found())
}

// decode makes the configuration of the layers and checks it.
func (l *loader) decode(s Sources) *Config {
	c := &Config{}
	l.problems = append(l.problems, document.Decode(l.base, c, document.Options{})...)
	// An empty value leaves what the first pass set, so it means the default.
	l.problems = append(l.problems, document.Decode(l.merged, c, document.Options{})...)
	known := s.Providers
	if known == nil {
		builtIn, _ := agent.Load(nil)
		known = builtIn.Names()
	}
	l.problems = append(l.problems, check(c, l.merged, known)...)
	return c
}

// finish returns the configuration, unless a problem is an error.
func (l *loader) finish(c *Config, home string) (*Config, document.Problems) {
	l.complete(c, home)
	if l.problems.Err() != nil {
		return nil, l.problems
	}
	return c, l.problems
}

// complete gives a configuration its layers, and sorts the problems.
func (l *loader) complete(c *Config, home string) {
	l.problems.Sort()
	c.files, c.tree, c.layers, c.overruled = l.files, l.merged, l.layers, l.overruled
	c.expand(home)
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readFS(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(f fs.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d KiB", maxBytes>>10)
	}
	return data, nil
}
