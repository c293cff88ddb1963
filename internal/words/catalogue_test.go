package words_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"herald/internal/chat"
	"herald/internal/words"
)

// entry is a message as it stands in a file: its text by the plural form, which
// is "" for one without.
type entry map[string]string

// catalogue is a language's file.
func catalogue(t *testing.T, l chat.Language) map[string]entry {
	t.Helper()
	content, err := os.ReadFile("locales/" + string(l) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		t.Fatal(err)
	}
	all := map[string]entry{}
	for key, message := range raw {
		var text string
		var forms entry
		if json.Unmarshal(message, &text) == nil {
			forms = entry{"": text}
		} else if err := json.Unmarshal(message, &forms); err != nil {
			t.Fatalf("%s: %s: %v", l, key, err)
		}
		all[key] = forms
	}
	if lines := strings.Count(string(content), "\n  \""); lines != len(all) {
		t.Errorf("%s.json has %d lines with a key, and %d keys: one stands there twice", l, lines, len(all))
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// linked is what platforms make a mention or a link of.
var linked = regexp.MustCompile(`@[\p{L}\d]|://|[\p{L}\d]\.\p{L}`)

// placeholders are those of a text, sorted, each once.
func placeholders(text string) []string {
	found := placeholder.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// pluralForms are those that whole numbers have in a language, by the CLDR.
func pluralForms(l chat.Language) []string {
	names := map[plural.Form]string{plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other"}
	found := map[string]bool{"other": true}
	for n := range 200 {
		found[names[plural.Cardinal.MatchPlural(language.MustParse(string(l)), n, 0, 0, 0, 0)]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestEveryLanguageHasEveryMessage(t *testing.T) {
	english := catalogue(t, chat.English)
	for _, l := range chat.Languages() {
		messages := catalogue(t, l)
		for key := range messages {
			if english[key] == nil {
				t.Errorf("%s.json has %s, which is not in English", l, key)
			}
		}
		for key, inEnglish := range english {
			forms := messages[key]
			if forms == nil {
				t.Errorf("%s.json lacks %s", l, key)
				continue
			}
			_, plain := inEnglish[""]
			want := []string{""}
			if !plain {
				want = pluralForms(l)
			}
			if got := slices.Sorted(maps.Keys(forms)); !slices.Equal(got, want) {
				t.Errorf("%s.json: %s has the plural forms %q, want %q", l, key, got, want)
			}
			original := inEnglish[""] + inEnglish["other"]
			for form, text := range forms {
				if strings.TrimSpace(text) != text || text == "" || chat.OneLine(strings.ReplaceAll(text, "\u00a0", "-")) != strings.ReplaceAll(text, "\u00a0", "-") {
					t.Errorf("%s.json: %s is %q", l, key, text)
				}
				got, want := placeholders(text), placeholders(original)
				if !slices.Equal(got, want) || strings.ContainsAny(placeholder.ReplaceAllString(text, ""), "{}") {
					t.Errorf("%s.json: %s %s has the placeholders %v, want %v", l, key, form, got, want)
				}
				if linked.MatchString(text) {
					t.Errorf("%s.json: a platform makes a link of a part of %s: %q", l, key, text)
				}
				if (strings.HasSuffix(text, ".") || strings.HasSuffix(text, "。")) != strings.HasSuffix(original, ".") {
					t.Errorf("%s.json: %s ends like %q, and in English like %q", l, key, text, original)
				}
			}
		}
	}
}

func TestNoLanguageIsEnglish(t *testing.T) {
	english := catalogue(t, chat.English)
	for _, l := range chat.Languages()[1:] {
		same := 0
		for key, forms := range catalogue(t, l) {
			for form, text := range forms {
				if text == english[key][form] && strings.Count(text, " ") > 2 {
					t.Errorf("%s.json: %s is %q, as in English", l, key, text)
				}
				if text == english[key][form] {
					same++
				}
			}
		}
		if same > len(english)/8 {
			t.Errorf("%s.json: %d messages are as in English", l, same)
		}
	}
}

// inspectSource visits every node of the program's own code, without its tests
// and what serves those.
func inspectSource(t *testing.T, visit func(path string, n ast.Node)) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test") || name == "testdata" || name == "e2e"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			visit(strings.TrimPrefix(path, root+"/"), n)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// constant is the text of a string literal, or "".
func constant(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}

// sourceStrings are the string constants in the code, with a file in which each
// stands. said are those that are keys for certain, as the argument of chat.Say
// and chat.SayWith.
func sourceStrings(t *testing.T) (all, said map[string]string) {
	t.Helper()
	all, said = map[string]string{}, map[string]string{}
	inspectSource(t, func(path string, n ast.Node) {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text := constant(n); text != "" {
				all[text] = path
			}
		case *ast.CallExpr:
			f := fmt.Sprint(n.Fun)
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				f = fmt.Sprint(s.X, ".", s.Sel)
			}
			says := f == "chat.Say" || f == "chat.SayWith" || strings.HasPrefix(path, "internal/chat/") && (f == "Say" || f == "SayWith")
			if says && len(n.Args) > 0 && constant(n.Args[0]) != "" {
				said[constant(n.Args[0])] = path
			}
		}
	})
	return all, said
}

// TestEveryReasonFlawAndServiceIsSaid: commands make keys of the constants of
// these types and of the services' names.
func TestEveryReasonFlawAndServiceIsSaid(t *testing.T) {
	prefixes := map[string]string{"Reason": "reason.", "Flaw": "invalid.", "Service": "service."}
	found := map[string]int{}
	english := catalogue(t, chat.English)
	says := func(path, kind, text string) {
		found[kind]++
		if key := prefixes[kind] + text; english[key] == nil {
			t.Errorf("%s has the %s %q, and en.json lacks %s", path, kind, text, key)
		}
	}
	inspectSource(t, func(path string, n ast.Node) {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if kind := fmt.Sprint(n.Type); strings.HasPrefix(path, "internal/core/") && prefixes[kind] != "" && len(n.Values) == 1 {
				says(path, kind, constant(n.Values[0]))
			}
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok && fmt.Sprint(s.X, ".", s.Sel) == "core.Service" {
				for _, field := range n.Elts {
					if pair := field.(*ast.KeyValueExpr); fmt.Sprint(pair.Key) == "Name" {
						says(path, "Service", constant(pair.Value))
					}
				}
			}
		}
	})
	if found["Reason"] < 8 || found["Flaw"] < 14 || found["Service"] < 4 {
		t.Errorf("found only %v", found)
	}
}

// keyLike is a string that looks like a key of the catalogue.
var keyLike = regexp.MustCompile(`^[a-z_]+(\.[a-z0-9_]+)+$`)

func TestEveryMessageThatTheCodeNamesIsThereAndEveryOtherIsGone(t *testing.T) {
	all, said := sourceStrings(t)
	english := catalogue(t, chat.English)
	if len(said) < 20 {
		t.Fatalf("only %d messages are found in the code", len(said))
	}
	for key, path := range said {
		if english[key] == nil {
			t.Errorf("%s says %q, which is not in en.json", path, key)
		}
	}
	// A key may be made of two parts, as "exists.you" and ".yes", "reason." and "slow".
	var first, second []string
	for s := range all {
		if strings.HasPrefix(s, ".") {
			second = append(second, s)
		}
		if strings.HasSuffix(s, ".") {
			first = append(first, s)
		}
	}
	made := func(key string) bool {
		for _, s := range second {
			if before, ok := strings.CutSuffix(key, s); ok && all[before] != "" {
				return true
			}
		}
		for _, s := range first {
			if after, ok := strings.CutPrefix(key, s); ok && all[after] != "" {
				return true
			}
		}
		return false
	}
	sections := map[string]bool{}
	for key := range english {
		if all[key] == "" && !made(key) {
			t.Errorf("no code says %s", key)
		}
		section, _, _ := strings.Cut(key, ".")
		sections[section] = true
	}
	// Keys that stand in tables and constants.
	for s, path := range all {
		section, _, _ := strings.Cut(s, ".")
		begins := slices.ContainsFunc(slices.Collect(maps.Keys(english)), func(key string) bool { return strings.HasPrefix(key, s+".") })
		if keyLike.MatchString(s) && sections[section] && english[s] == nil && !begins {
			t.Errorf("%s has %q, which looks like a message and is not in en.json", path, s)
		}
	}
}

// TestMessagesHaveRoomWhereTheyAreShown by the platforms' limits, the lowest
// where both show one: 100 characters of a description, 32 of an entry of a
// menu, 45 of a question above a modal, 200 of what a press is told, 512 and 120
// of what a bot is about. A button has room for more than reads well on a
// telephone.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
// https://discord.com/developers/docs/interactions/receiving-and-responding#modal
// https://core.telegram.org/bots/api#answercallbackquery
// https://core.telegram.org/bots/api#setmydescription
func TestMessagesHaveRoomWhereTheyAreShown(t *testing.T) {
	// symbol is the length of an argument.
	const symbol = 16
	const description, menu, question, toast, button = 100, 32, 45, 200, 24
	const about, shortAbout = 512, 120
	limits := map[string]int{
		"command.": description, "param.": description, "exists.menu": menu, "ask.wallet": question,
		"button.refresh": button, "button.copy_wallet": button, "button.explorer": button, "button.newer": button, "button.older": button,
		"price.24h": button, "price.7d": button, "price.30d": button, "telegram.open": button,
		"telegram.current": toast, "telegram.answered": toast, "telegram.anonymous": toast, "telegram.press_start": toast,
		"telegram.description": about, "telegram.short_description": shortAbout,
		"button.old.": toast / 2, "busy.": toast / 2, "discord.current": toast,
	}
	for prefix, limit := range limits {
		seen := false
		for _, l := range chat.Languages() {
			for key, forms := range catalogue(t, l) {
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				seen = true
				for _, text := range forms {
					length := utf8.RuneCountInString(placeholder.ReplaceAllString(text, "")) + symbol*len(placeholder.FindAllString(text, -1))
					if length > limit {
						t.Errorf("%s.json: %s has %d characters, at most %d: %q", l, key, length, limit, text)
					}
				}
			}
		}
		if !seen {
			t.Errorf("there is no message %s", prefix)
		}
	}
	for key := range catalogue(t, chat.English) {
		kept := strings.HasPrefix(key, "ask.") && key != "ask.text" || strings.HasPrefix(key, "button.") && !strings.HasPrefix(key, "button.old.")
		if kept && limits[key] == 0 {
			t.Errorf("%s has no limit in this test", key)
		}
	}
}

func TestEveryMessageIsPrintedInEveryLanguage(t *testing.T) {
	for key, forms := range catalogue(t, chat.English) {
		args := chat.Values{}
		for _, text := range forms {
			for _, name := range placeholders(text) {
				args[strings.Trim(name, "{}")] = chat.Count(3)
			}
		}
		for _, l := range chat.Languages() {
			got := words.Say(l, chat.SayWith(key, args))
			if got == "" || got == key || strings.ContainsAny(got, "{}") || strings.Count(got, "3") < len(args) {
				t.Errorf("%s: %s is said as %q", l, key, got)
			}
		}
	}
}
