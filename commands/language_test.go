package commands_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// TestNoSentenceStandsInTheCode finds what people would read in English alone:
// text of several words that is neither an error nor a panic.
func TestNoSentenceStandsInTheCode(t *testing.T) {
	var files []string
	for _, dir := range []string{".", "../internal/core", "../internal/chat"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	looked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.FuncDecl:
				return n.Name.Name != "Error"
			case *ast.CallExpr:
				return !forTheLog(n.Fun)
			case *ast.BasicLit:
				looked++
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && strings.Contains(strings.TrimSpace(text), " ") && text != commands.DefaultServiceName {
					t.Errorf("%s: %q is for package words to say", file, text)
				}
			}
			return true
		})
	}
	if looked < 200 {
		t.Errorf("only %d literals were found", looked)
	}
}

// forTheLog reports whether a function makes text for the log or a key.
func forTheLog(f ast.Expr) bool {
	called, ok := f.(*ast.SelectorExpr)
	if !ok {
		name, _ := f.(*ast.Ident)
		return name != nil && name.Name == "panic"
	}
	switch called.Sel.Name {
	case "New", "Errorf", "Sprintf", "MustCompile", "Warn", "Info", "Error":
		return true
	}
	return false
}

func TestEveryFlawHasWordsInEveryLanguage(t *testing.T) {
	for _, l := range chat.Languages() {
		for _, flaw := range core.Flaws() {
			got := words.Say(l, commands.Invalid(&core.InvalidError{Flaw: flaw, Platform: "Moon", Example: "example", Length: 7}))
			if got == "" || strings.Contains(got, "invalid.") || strings.ContainsAny(got, "{}") {
				t.Errorf("%s: %s: %q", l, flaw, got)
			}
		}
	}
}

// TestEveryCaseIsSaidInFull finds keys without a message and placeholders
// without a value in all that people are shown.
func TestEveryCaseIsSaidInFull(t *testing.T) {
	for _, l := range chat.Languages() {
		commandstest.Cases(t, l, func(c commandstest.Case) {
			if c.Reply.Language != l {
				t.Errorf("%s, %s: in %q, want %q", c.Scene, c.Line, c.Reply.Language, l)
			}
			for _, line := range strings.Split(shown(words.Print(c.Reply)), "\n") {
				if key.MatchString(line) || strings.ContainsAny(line, "{}") {
					t.Errorf("%s: %s, %s: %q", l, c.Scene, c.Line, line)
				}
			}
		})
	}
}

var key = regexp.MustCompile(`\b(price|chart|supply|stake|logins|exists|person|anonymous|verify|help|service|reason|invalid|command|param|check|ask|button|input)\.[a-z]`)
