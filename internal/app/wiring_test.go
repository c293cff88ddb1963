package app

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

func TestEveryPlatformAndServiceIsWired(t *testing.T) {
	missing, err := unwired(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		t.Error(m)
	}
}

// TestAPlatformOrServiceLeftOutIsNamed is the test above with packages left out.
func TestAPlatformOrServiceLeftOutIsNamed(t *testing.T) {
	tree := t.TempDir()
	for path, content := range map[string]string{
		"internal/chat/chat.go":       "package chat\ntype Adapter interface { Platform() string; Run() error }",
		"internal/wired/wired.go":     "package wired\ntype Settings struct{}\ntype A struct{}\nfunc (A) Platform() string { return \"\" }\nfunc (*A) Run() error { return nil }\nfunc New() {}",
		"internal/slack/slack.go":     "package slack\ntype A struct{}\nfunc (*A) Platform() string { return \"\" }\nfunc New() {}",
		"internal/slack/run.go":       "package slack\nfunc (*A) Run() error { return nil }",
		"internal/slack/settings.go":  "package slack\ntype Settings struct{}",
		"internal/oracle/oracle.go":   "package oracle\nfunc New() {}",
		"internal/oracle/settings.go": "package oracle\ntype Settings struct{}",
		"internal/bare/bare.go":       "package bare\nvar Service = 1\nfunc New() {}",
		"internal/store/store.go":     "package store\ntype Settings struct{}\nfunc Open() {}",
		"internal/other/other.go":     "package other\ntype C struct{}\nfunc (*C) Run() error { return nil }\nfunc New() {}",
		"internal/app/app.go":         "package app\ntype Config struct { wired.Settings; Oracle oracle.Settings }\nfunc f() { wired.New() }",
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
	want := []string{
		"call bare.New in connect (internal/app/services.go)",
		"call oracle.New in connect (internal/app/services.go)",
		"add slack.Settings to Platforms (internal/app/platforms.go)",
		"call slack.New in platforms (internal/app/platforms.go)",
		"add store.Settings to Config (internal/app/settings.go), or to Services (internal/app/services.go) if it is one",
	}
	if err != nil || !slices.Equal(missing, want) {
		t.Errorf("%q, %v", missing, err)
	}
}

// unwired names the lines that are missing in internal/app: for each package
// below internal that has Settings, a field of that type; for each chat.Adapter
// and each service, which has a Service or both Settings and New, a call of New.
func unwired(root string) ([]string, error) {
	adapter, err := methodsOfInterface(root, "chat", "Adapter")
	if err != nil {
		return nil, err
	}
	wiring, err := parseDir(filepath.Join(root, "internal/app"))
	if err != nil {
		return nil, err
	}
	used := selectors(wiring)
	entries, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, entry := range entries {
		name := entry.Name()
		if name == "chat" || name == "app" {
			continue
		}
		files, err := parseDir(filepath.Join(root, "internal", name))
		if err != nil {
			return nil, err
		}
		declared := declarations(files)
		isAdapter := implements(methods(files), adapter)
		isService := !isAdapter && (declared["var Service"] || declared["type Settings"] && declared["func New"])
		if declared["type Settings"] && !used[name+".Settings"] {
			place := "Config (internal/app/settings.go), or to Services (internal/app/services.go) if it is one"
			if isAdapter {
				place = "Platforms (internal/app/platforms.go)"
			}
			missing = append(missing, fmt.Sprintf("add %s.Settings to %s", name, place))
		}
		if isAdapter && !used[name+".New"] {
			missing = append(missing, fmt.Sprintf("call %s.New in platforms (internal/app/platforms.go)", name))
		}
		if isService && !used[name+".New"] {
			missing = append(missing, fmt.Sprintf("call %s.New in connect (internal/app/services.go)", name))
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

// methodsOfInterface are the names of the methods of an interface below
// internal.
func methodsOfInterface(root, pkg, name string) ([]string, error) {
	files, err := parseDir(filepath.Join(root, "internal", pkg))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				for _, method := range i.Methods.List {
					for _, name := range method.Names {
						names = append(names, name.Name)
					}
				}
			}
			return true
		})
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("internal/%s has no interface %s", pkg, name)
	}
	return names, nil
}

// declarations are what files declare at the top, as in "func New".
func declarations(files []*ast.File) map[string]bool {
	found := map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					found["func "+decl.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						found["type "+spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							found["var "+name.Name] = true
						}
					}
				}
			}
		}
	}
	return found
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

func implements(types map[string][]string, methods []string) bool {
	for _, has := range types {
		if !slices.ContainsFunc(methods, func(name string) bool { return !slices.Contains(has, name) }) {
			return true
		}
	}
	return false
}

// selectors are all pkg.Name in files.
func selectors(files []*ast.File) map[string]bool {
	used := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := selector.X.(*ast.Ident); ok {
					used[pkg.Name+"."+selector.Sel.Name] = true
				}
			}
			return true
		})
	}
	return used
}
