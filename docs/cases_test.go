package docs_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the pages of cases")

// hold fails unless page says what the tests say; with -update it does.
func hold(t *testing.T, page, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("%s is not what the tests say (%v): run `make protocol-table`", page, err)
	}
}

// testFunction is a function of a test file.
type testFunction struct {
	file string
	decl *ast.FuncDecl
}

// ownTests are the functions of this repository's test files, which several pages are about.
var ownTests = sync.OnceValues(func() ([]testFunction, error) { return testFunctions(os.DirFS(root)) })

// testFunctions returns each function of each test file.
func testFunctions(fsys fs.FS) (all []testFunction, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				all = append(all, testFunction{name, f})
			}
		}
		return nil
	})
	return all, err
}
