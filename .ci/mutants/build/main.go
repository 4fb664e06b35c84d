// Build says which patches of .ci/mutants do not apply, or make a package that does not compile: such a patch
// proves nothing, and a day tries only a sixth of them. It checks types without building; what is
// imported comes from the build cache.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pkg is what go list prints of a package.
type pkg struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// tree is the packages of this module as they build with some tags, and what they import.
type tree struct {
	dirs map[string]pkg // by the directory in the module
	fset *token.FileSet
	imp  types.Importer
}

func run() error {
	patches, err := filepath.Glob(".ci/mutants/*.patch")
	if err != nil || len(patches) == 0 {
		return errors.Join(err, errors.New("no patch in .ci/mutants: run it at the top of the project"))
	}
	var trees []*tree
	for _, tags := range []string{"", "crash"} {
		t, err := load(tags)
		if err != nil {
			return err
		}
		trees = append(trees, t)
	}
	bad := 0
	for _, name := range patches {
		if err := check(trees, name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", strings.TrimSuffix(filepath.Base(name), ".patch"), err)
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d mutants prove nothing", bad, len(patches))
	}
	fmt.Printf("%d mutants build\n", len(patches))
	return nil
}

func load(tags string) (*tree, error) {
	out, err := output("go", "list", "-tags="+tags, "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", "./...")
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	t := &tree{dirs: map[string]pkg{}, fset: token.NewFileSet()}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if dir, err := filepath.Rel(here, p.Dir); err == nil && !p.Standard && filepath.IsLocal(dir) {
			t.dirs[dir] = p
		}
	}
	t.imp = importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return t, nil
}

// check applies a patch to copies of the files it names, and checks the types of their packages.
func check(trees []*tree, patch string) error {
	text, err := os.ReadFile(patch)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var dirs []string
	changed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		file, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/")
		if !ok {
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		changed[file] = filepath.Join(work, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(changed[file]), 0o700), os.WriteFile(changed[file], old, 0o600)); err != nil {
			return err
		}
		if dir := filepath.Dir(file); filepath.Ext(file) == ".go" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	whole, err := filepath.Abs(patch)
	if err != nil {
		return err
	}
	if out, err := output("git", "-C", work, "apply", "-C1", whole); err != nil {
		return fmt.Errorf("it does not apply: %w%s", err, out)
	}
	for _, dir := range dirs {
		for _, t := range trees {
			if err := t.types(dir, changed); err != nil {
				return err
			}
		}
	}
	return nil
}

// types checks the package of a directory, with some files read from elsewhere.
func (t *tree) types(dir string, changed map[string]string) error {
	p := t.dirs[dir]
	var files []*ast.File
	for _, name := range p.GoFiles {
		name = filepath.Join(dir, name)
		from := name
		if c, ok := changed[name]; ok {
			from = c
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(t.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	_, err := (&types.Config{Importer: t.imp}).Check(p.ImportPath, t.fset, files, nil)
	return err
}

func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+os.TempDir()) // a copy is in no repository
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
