package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestEveryPlatformAndSourceIsWired(t *testing.T) {
	missing, err := unwired(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		t.Error(m)
	}
}

// TestAPlatformOrSourceLeftOutIsNamed is the test above with two packages too
// many.
func TestAPlatformOrSourceLeftOutIsNamed(t *testing.T) {
	tree := t.TempDir()
	for path, content := range map[string]string{
		"internal/chat/chat.go":     "package chat\ntype Adapter interface { Platform() string; Run() error }",
		"internal/core/core.go":     "package core\ntype PriceSource interface { Quote() error }",
		"internal/wired/wired.go":   "package wired\ntype A struct{}\nfunc (A) Platform() string { return \"\" }\nfunc (*A) Run() error { return nil }",
		"internal/slack/slack.go":   "package slack\ntype A struct{}\nfunc (*A) Platform() string { return \"\" }",
		"internal/slack/run.go":     "package slack\nfunc (*A) Run() error { return nil }",
		"internal/oracle/oracle.go": "package oracle\ntype C struct{}\nfunc (*C) Quote() error { return nil }",
		"internal/other/other.go":   "package other\ntype C struct{}\nfunc (*C) Run() error { return nil }",
		"cmd/bot/main.go":           "package main\nimport (\"herald/internal/wired\"; _ \"herald/internal/slack\")\nfunc main() { wired.New() }",
	} {
		path = filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	missing, err := unwired(tree)
	if err != nil || len(missing) != 2 ||
		!strings.Contains(missing[0], "oracle.New in newSources (cmd/bot/assemble.go)") ||
		!strings.Contains(missing[1], "slack.New in platforms (cmd/bot/run.go)") {
		t.Errorf("%q, %v", missing, err)
	}
}

// unwired says of each package below internal that implements chat.Adapter or
// one of core's sources, and that cmd/bot does not make, which line is missing.
func unwired(root string) ([]string, error) {
	adapter, err := interfaces(root, "chat", "Adapter")
	if err != nil {
		return nil, err
	}
	source, err := interfaces(root, "core", "Source")
	if err != nil {
		return nil, err
	}
	wiring, err := parseDir(filepath.Join(root, "cmd/bot"))
	if err != nil {
		return nil, err
	}
	made := made(wiring)
	entries, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, entry := range entries {
		name := entry.Name()
		files, err := parseDir(filepath.Join(root, "internal", name))
		if err != nil {
			return nil, err
		}
		types := methods(files)
		switch {
		case slices.Contains(made, name), name == "chat", name == "core":
		case implements(types, adapter):
			missing = append(missing, fmt.Sprintf("internal/%s is a chat.Adapter: call %[1]s.New in platforms (cmd/bot/run.go)", name))
		case implements(types, source):
			missing = append(missing, fmt.Sprintf("internal/%s is a source of core: call %[1]s.New in newSources (cmd/bot/assemble.go)", name))
		}
	}
	return missing, nil
}

// parseDir parses a directory's files but those of tests.
func parseDir(dir string) ([]*ast.File, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// interfaces are the methods' names of each interface in a package below
// internal whose name ends so.
func interfaces(root, pkg, suffix string) ([][]string, error) {
	files, err := parseDir(filepath.Join(root, "internal", pkg))
	if err != nil {
		return nil, err
	}
	var found [][]string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !strings.HasSuffix(spec.Name.Name, suffix) {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				var names []string
				for _, method := range i.Methods.List {
					for _, name := range method.Names {
						names = append(names, name.Name)
					}
				}
				found = append(found, names)
			}
			return true
		})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("internal/%s has no interface called …%s", pkg, suffix)
	}
	return found, nil
}

// methods are the methods' names of each type.
func methods(files []*ast.File) map[string][]string {
	types := map[string][]string{}
	for _, file := range files {
		for _, decl := range file.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil {
				continue
			}
			receiver := method.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if name, ok := receiver.(*ast.Ident); ok {
				types[name.Name] = append(types[name.Name], method.Name.Name)
			}
		}
	}
	return types
}

func implements(types map[string][]string, interfaces [][]string) bool {
	for _, has := range types {
		for _, wanted := range interfaces {
			if !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(has, name) }) {
				return true
			}
		}
	}
	return false
}

// made are the packages whose New is called.
func made(files []*ast.File) []string {
	var names []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "New" {
				if pkg, ok := selector.X.(*ast.Ident); ok {
					names = append(names, pkg.Name)
				}
			}
			return true
		})
	}
	return names
}
