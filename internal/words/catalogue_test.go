package words_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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
	var messages map[string]any
	if err := json.Unmarshal(content, &messages); err != nil {
		t.Fatal(err)
	}
	all := map[string]entry{}
	for key, message := range messages {
		all[key] = entry{}
		switch message := message.(type) {
		case string:
			all[key][""] = message
		case map[string]any:
			for form, text := range message {
				all[key][form], _ = text.(string)
			}
		}
	}
	if lines := strings.Count(string(content), "\n  \""); lines != len(all) {
		t.Errorf("%s.json has %d lines with a key, and %d keys: one stands there twice", l, lines, len(all))
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// abbreviation is the only message, or end of one, with a full stop that ends no sentence.
const abbreviation = "Кап."

// linked is what platforms make a mention or a link of.
var linked = regexp.MustCompile(`@[\p{L}\d]|://|[\p{L}\d]\.\p{L}`)

// placeholders are the placeholders in a text, sorted, each once.
func placeholders(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(placeholder.FindAllString(text, -1))))
}

// pluralForms are those that whole numbers have in a language, by the CLDR.
func pluralForms(l chat.Language) []string {
	names := map[plural.Form]string{plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other"}
	found := map[string]bool{"other": true}
	for n := range 200 {
		found[names[plural.Cardinal.MatchPlural(language.MustParse(string(l)), n, 0, 0, 0, 0)]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestALanguageIsAFileAndARow(t *testing.T) {
	for _, l := range chat.Languages() {
		row := reflect.ValueOf(l.Info())
		for field, value := range row.Fields() {
			if value.IsZero() {
				t.Errorf("internal/chat/language.go: the row of %q lacks %s", l, field.Name)
			}
		}
		for _, locale := range l.Info().Discord {
			if own, _ := chat.LanguageOf(locale); own != l {
				t.Errorf("internal/chat/language.go: %q is no locale of %q", locale, l)
			}
		}
	}
	files, err := filepath.Glob("locales/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		code := strings.TrimSuffix(filepath.Base(file), ".json")
		if !slices.Contains(chat.Languages(), chat.Language(code)) {
			t.Errorf("%s is of no language: add a row {Language: %q, …} to internal/chat/language.go", file, code)
		}
	}
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
			if messages[key] == nil {
				t.Errorf("%s.json lacks %s", l, key)
				continue
			}
			want := []string{""}
			if inEnglish[""] == "" {
				want = pluralForms(l)
			}
			if got := slices.Sorted(maps.Keys(messages[key])); !slices.Equal(got, want) {
				t.Errorf("%s.json: %s has the plural forms %q, want %q", l, key, got, want)
			}
			original := inEnglish[""] + inEnglish["other"]
			args := chat.Values{}
			for _, name := range placeholders(original) {
				args[strings.Trim(name, "{}")] = chat.Count(3)
			}
			for form, text := range messages[key] {
				if plain := strings.ReplaceAll(text, "\u00a0", "-"); text == "" || chat.OneLine(plain) != plain || linked.MatchString(text) {
					t.Errorf("%s.json: %s is not one line without links: %q", l, key, text)
				}
				if got, want := placeholders(text), placeholders(original); !slices.Equal(got, want) {
					t.Errorf("%s.json: %s %s has the placeholders %v, want %v", l, key, form, got, want)
				}
				ended := strings.ReplaceAll(strings.TrimSuffix(text, abbreviation), "。", ".")
				if strings.HasSuffix(ended, ".") != strings.HasSuffix(original, ".") {
					t.Errorf("%s.json: %s ends like %q, and in English like %q", l, key, text, original)
				}
				if l != chat.English && text == inEnglish[form] && strings.Count(text, " ") > 2 {
					t.Errorf("%s.json: %s is %q, as in English", l, key, text)
				}
			}
			got := words.Say(l, chat.SayWith(key, args))
			if got == "" || got == key || strings.ContainsAny(got, "{}") || strings.Count(got, "3") < len(args) {
				t.Errorf("%s: %s is said as %q", l, key, got)
			}
		}
	}
}

var (
	said    = regexp.MustCompile(`\bSay(?:With)?\("([^"]+)"[,)]`)
	literal = regexp.MustCompile(`"([a-z0-9_.]+)"`)
)

// TestTheCodeSaysEveryMessageAndNoOther reads the program's own code. A key stands there whole,
// or is the name of one of several, such as "price" of a service, behind what all of them begin
// with, such as "status.".
func TestTheCodeSaysEveryMessageAndNoOther(t *testing.T) {
	english, literals := catalogue(t, chat.English), map[string]bool{}
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
		source, err := os.ReadFile(path)
		for _, found := range said.FindAllStringSubmatch(string(source), -1) {
			if english[found[1]] == nil {
				t.Errorf("%s says %q: add it to internal/words/locales/en.json", path, found[1])
			}
		}
		for _, found := range literal.FindAllStringSubmatch(string(source), -1) {
			literals[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range english {
		isSaid := literals[key]
		for i := range key {
			isSaid = isSaid || strings.HasSuffix(key[:i], ".") && literals[key[:i]] && literals[key[i:]]
		}
		if !isSaid {
			t.Errorf("nothing says %q: take it out of internal/words/locales/*.json", key)
		}
	}
}

// TestMessagesHaveRoomWhereTheyAreShown by the platforms' limits in characters, the
// lowest where both show one. A button has room for more than reads well on a
// telephone.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
// https://core.telegram.org/bots/api#forcereply
// https://core.telegram.org/bots/api#answercallbackquery
// https://core.telegram.org/bots/api#setmydescription
func TestMessagesHaveRoomWhereTheyAreShown(t *testing.T) {
	// symbol is the length of an argument.
	const symbol = 16
	const description, menu, question, toast, button = 100, 32, 64, 200, 24
	const about, shortAbout = 512, 120
	limits := map[string]int{
		"button.refresh": button, "button.again": button, "button.copy_wallet": button, "button.private": button, "button.explorer": button, "button.newer": button, "button.older": button,
		"button.page": button, "button.price": button, "button.supply": button, "button.help": button, "button.chart": button, "button.wallet": button, "button.invite": button, "button.register": button, "button.stake": button, "button.another_wallet": button, "button.save": 48, "button.open_group": button, "button.forget": button, "button.details": button, "button.remove": 48, "button.save_badge": 48,
		"command.": description, "param.": description, "choice.": description, "name.": menu, "exists.menu": menu, "ask.wallet": question,
		"current": toast, "current.next": toast, "telegram.answered": toast, "telegram.anonymous": toast, "telegram.press_start": toast, "telegram.ask_there": toast,
		"telegram.about": about, "telegram.short_description": shortAbout,
		"button.old.": toast / 2, "busy.": toast / 2,
	}
	for _, l := range chat.Languages() {
		for key, forms := range catalogue(t, l) {
			for prefix, limit := range limits {
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				for _, text := range forms {
					if length := utf8.RuneCountInString(placeholder.ReplaceAllString(text, strings.Repeat("x", symbol))); length > limit {
						t.Errorf("%s.json: %s has %d characters, at most %d: %q", l, key, length, limit, text)
					}
				}
			}
			kept := strings.HasPrefix(key, "ask.") && key != "ask.text" || strings.HasPrefix(key, "button.") && !strings.HasPrefix(key, "button.old.")
			if kept && limits[key] == 0 {
				t.Errorf("%s has no limit in this test", key)
			}
		}
	}
}
