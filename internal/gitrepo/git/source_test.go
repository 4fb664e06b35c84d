package git_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyOneFunctionStartsGit reads the source of the whole module: lists of words that
// begin with "git", and exec.Command* with it, are in one function only. Packages that play the other side
// for tests, such as a git server, are left out: ghsync/fakehub and those whose names end
// in "test".
func TestOnlyOneFunctionStartsGit(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	var found []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "fakehub" || strings.HasSuffix(d.Name(), "test") || (strings.HasPrefix(d.Name(), ".") && p != root)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(text, []byte(`"git"`)) {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && startsGit(fn) {
				found = append(found, filepath.ToSlash(p)+":"+fn.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.HasSuffix(found[0], "git/git.go:Run") {
		t.Errorf("git is started in %q, want only Call.Run", found)
	}
}

// startsGit reports a list of strings that begins with "git", or a call of exec.Command* with
// it among its literal arguments.
func startsGit(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if list, ok := n.(*ast.CompositeLit); ok && len(list.Elts) > 0 {
			_, array := list.Type.(*ast.ArrayType)
			lit, word := list.Elts[0].(*ast.BasicLit)
			found = found || array && word && lit.Value == `"git"`
		}
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := c.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(sel.Sel.Name, "Command") {
			return true
		}
		for _, arg := range c.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Value == `"git"` {
				found = true
			}
		}
		return true
	})
	return found
}
