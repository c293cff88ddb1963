package commands_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestEveryCommandStandsInTheTable names the line that a new command still
// needs in All.
func TestEveryCommandStandsInTheTable(t *testing.T) {
	made, listed := map[string]string{}, map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range tree.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if makesCommand(f) {
				made[f.Name.Name] = file.Name()
			}
			if f.Name.Name == "All" {
				ast.Inspect(f, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						if name, ok := call.Fun.(*ast.Ident); ok {
							listed[name.Name] = true
						}
					}
					return true
				})
			}
		}
	}
	if len(made) < 6 {
		t.Errorf("only %d commands were found", len(made))
	}
	for name, file := range made {
		if !listed[name] {
			t.Errorf("%s makes a command that nobody can use: add %s(…) to All in commands.go", file, name)
		}
	}
}

// makesCommand reports whether f returns one chat.Command.
func makesCommand(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	result, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && result.Sel.Name == "Command"
}
