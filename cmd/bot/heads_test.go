package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The head of an if is the statement before its semicolon. The condition must test what the head sets:
//
//	if n++; n > 3 {}           good: the condition reads n, which the head sets
//	if r.calls++; r.fails {}   bad: a reader overlooks that the head counts a call

// ifsWithUntestedHeads returns the position of each if in a Go file whose condition does not read any variable, field
// or element that the head sets. The source is src, or the file's content if src is nil.
func ifsWithUntestedHeads(t *testing.T, name string, src any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, isIf := n.(*ast.IfStmt)
		if isIf && s.Init != nil && !readsAny(s.Cond, setBy(s.Init)) {
			found = append(found, files.Position(s.Pos()).String())
		}
		return true
	})
	return found
}

// setBy returns the expressions that a statement sets. A call sets nothing.
func setBy(s ast.Stmt) []ast.Expr {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{s.X}
	}
	return nil
}

// readsAny reports whether cond contains one of the expressions.
func readsAny(cond ast.Expr, expressions []ast.Expr) (found bool) {
	ast.Inspect(cond, func(n ast.Node) bool {
		e, isExpr := n.(ast.Expr)
		if isExpr && slices.ContainsFunc(expressions, equals(e)) {
			found = true
		}
		if field, isField := n.(*ast.SelectorExpr); isField && !found {
			// Inspect only x of x.err: err is a field there, and not the variable of that name.
			found = readsAny(field.X, expressions)
			return false
		}
		return !found
	})
	return found
}

// equals returns a function that reports whether an expression is written like e.
func equals(e ast.Expr) func(ast.Expr) bool {
	return func(other ast.Expr) bool { return types.ExprString(other) == types.ExprString(e) }
}

func TestTheHeadOfAnIfSetsWhatIsTested(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "node_modules":
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		for _, place := range ifsWithUntestedHeads(t, path, nil) {
			t.Errorf("%s: the condition does not test what the head of the if does; "+
				"put that on a line of its own", place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUntestedHeadsAreFound(t *testing.T) {
	for code, want := range map[string]bool{
		`if ready {}`:                          false,
		`if err := f(); err != nil {}`:         false,
		`if v, ok := m[k]; ok {}`:              false,
		`if x, ok := f(); ok && x.y > 0 {}`:    false,
		`if x = f(); x.y {}`:                   false,
		`if x := f(); g(x) {}`:                 false,
		`if x := f(); !x.ready() {}`:           false,
		`if n++; n > 3 {}`:                     false,
		`if s.n--; s.n == 0 {}`:                false,
		`if m[k]++; m[k] > 3 {}`:               false,
		`if *p = f(); *p > 3 {}`:               false,
		`if req.Role = role; err != nil {}`:    true,
		`if x := f(); y > 0 {}`:                true,
		`if err := f(); ctx.Err() == nil {}`:   true,
		`if err := f(); x.err == nil {}`:       true,
		`if r.a = f(); r.b {}`:                 true,
		`if r.calls++; r.fails {}`:             true,
		`if m[k] = v; len(v) == 0 {}`:          true,
		`if m[a], err = f(); m[b] == 0 {}`:     true,
		`if slices.Sort(s); len(s) > 3 {}`:     true,
		`if wait(); done.Load() {}`:            true,
		`if <-c; done {}`:                      true,
		`if ready {} else if x := 1; y > 0 {}`: true,
	} {
		found := ifsWithUntestedHeads(t, "x.go", "package x\nfunc _() {\n"+code+"\n}\n")
		if (len(found) == 1) != want {
			t.Errorf("%s: found %v, want one: %t", code, found, want)
		}
	}
}
