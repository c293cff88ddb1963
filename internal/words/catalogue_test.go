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

// entry is a message of a file: its texts by plural form. A message without plural forms has one text, under "".
type entry map[string]string

// catalogue returns the messages of a language's file by their keys. The test fails if a key has two lines.
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
		t.Errorf("%s.json has %d lines with a key, and %d keys: one key has two lines", l, lines, len(all))
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// placeholders returns the placeholders in a text, sorted, each once.
func placeholders(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(placeholder.FindAllString(text, -1))))
}

// pluralForms returns the plural forms that whole numbers have in a language, according to the CLDR.
func pluralForms(l chat.Language) []string {
	names := map[plural.Form]string{
		plural.One:   "one",
		plural.Two:   "two",
		plural.Few:   "few",
		plural.Many:  "many",
		plural.Other: "other",
	}
	tag := language.MustParse(string(l))
	found := map[string]bool{"other": true}
	for n := range 200 {
		form := plural.Cardinal.MatchPlural(tag, n, 0, 0, 0, 0)
		found[names[form]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestEveryFieldOfALanguagesRowIsSet(t *testing.T) {
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
}

func TestEveryLanguagesFileHasARow(t *testing.T) {
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

func TestEveryLanguageHasTheMessagesOfEnglish(t *testing.T) {
	english := catalogue(t, chat.English)
	for _, l := range chat.Languages() {
		messages := catalogue(t, l)
		for key := range messages {
			if english[key] == nil {
				t.Errorf("%s.json has %s, which is not in English", l, key)
			}
		}
		for key := range english {
			if messages[key] == nil {
				t.Errorf("%s.json lacks %s", l, key)
			}
		}
	}
}

func TestEveryMessageHasThePluralFormsOfItsLanguage(t *testing.T) {
	english := catalogue(t, chat.English)
	for _, l := range chat.Languages() {
		for key, forms := range catalogue(t, l) {
			hasNoPlural := english[key][""] != ""
			want := pluralForms(l)
			if hasNoPlural {
				want = []string{""}
			}
			if got := slices.Sorted(maps.Keys(forms)); !slices.Equal(got, want) {
				t.Errorf("%s.json: %s has the plural forms %q, want %q", l, key, got, want)
			}
		}
	}
}

// translation is one text of a language's file, and the English text.
type translation struct {
	language chat.Language
	key      string
	form     string // the plural form
	text     string
	// original is the text in English. If the message has plural forms, it is the form "other".
	original string
}

// everyText returns each text of each language whose key is also in English.
func everyText(t *testing.T) []translation {
	t.Helper()
	english := catalogue(t, chat.English)
	var all []translation
	for _, l := range chat.Languages() {
		for key, forms := range catalogue(t, l) {
			if english[key] == nil {
				continue
			}
			for form, text := range forms {
				original := english[key][""] + english[key]["other"]
				all = append(all, translation{language: l, key: key, form: form, text: text, original: original})
			}
		}
	}
	return all
}

// linked matches text that platforms turn into a mention or a link.
var linked = regexp.MustCompile(`@[\p{L}\d]|://|[\p{L}\d]\.\p{L}`)

func TestEveryMessageIsOneLineWithoutLinks(t *testing.T) {
	for _, m := range everyText(t) {
		plain := strings.ReplaceAll(m.text, "\u00a0", "-")
		if m.text == "" || chat.OneLine(plain) != plain || linked.MatchString(m.text) {
			t.Errorf("%s.json: %s is not one line without links: %q", m.language, m.key, m.text)
		}
	}
}

func TestEveryMessageHasThePlaceholdersOfEnglish(t *testing.T) {
	for _, m := range everyText(t) {
		if got, want := placeholders(m.text), placeholders(m.original); !slices.Equal(got, want) {
			t.Errorf("%s.json: %s %s has the placeholders %v, want %v", m.language, m.key, m.form, got, want)
		}
	}
}

// abbreviation is how some texts end. Its full stop does not end a sentence.
const abbreviation = "Кап."

func TestEveryMessageEndsLikeEnglish(t *testing.T) {
	for _, m := range everyText(t) {
		ended := strings.ReplaceAll(strings.TrimSuffix(m.text, abbreviation), "。", ".")
		if strings.HasSuffix(ended, ".") != strings.HasSuffix(m.original, ".") {
			t.Errorf("%s.json: %s ends like %q, and in English like %q", m.language, m.key, m.text, m.original)
		}
	}
}

func TestNoSentenceIsLeftInEnglish(t *testing.T) {
	english := catalogue(t, chat.English)
	for _, m := range everyText(t) {
		isSentence := strings.Count(m.text, " ") > 2
		if m.language != chat.English && isSentence && m.text == english[m.key][m.form] {
			t.Errorf("%s.json: %s is %q, as in English", m.language, m.key, m.text)
		}
	}
}

func TestEveryMessageIsSaidWithItsValues(t *testing.T) {
	for _, m := range everyText(t) {
		values := chat.Values{}
		for _, name := range placeholders(m.original) {
			values[strings.Trim(name, "{}")] = chat.Count(3)
		}
		got := words.Say(m.language, chat.SayWith(m.key, values))
		isSaid := got != "" && got != m.key
		hasValues := !strings.ContainsAny(got, "{}") && strings.Count(got, "3") >= len(values)
		if !isSaid || !hasValues {
			t.Errorf("%s: %s is said as %q", m.language, m.key, got)
		}
	}
}

// isProgram reports whether the file or folder at a path below root belongs to the program and not to its tests.
func isProgram(root, path string, d fs.DirEntry) bool {
	name := d.Name()
	if !d.IsDir() {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	}
	if path == root {
		return true
	}
	isHidden := strings.HasPrefix(name, ".")
	isForTests := strings.HasSuffix(name, "test") || name == "testdata" || name == "e2e"
	return !isHidden && !isForTests
}

// sources calls see with the path and the text of each source file of the program.
func sources(t *testing.T, see func(path, source string)) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && !isProgram(root, path, d):
			return filepath.SkipDir
		case d.IsDir() || !isProgram(root, path, d):
			return nil
		}
		source, err := os.ReadFile(path)
		see(path, string(source))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheCodeSaysNoUnknownMessage(t *testing.T) {
	said := regexp.MustCompile(`\bSay(?:With)?\("([^"]+)"[,)]`)
	english := catalogue(t, chat.English)
	sources(t, func(path, source string) {
		for _, found := range said.FindAllStringSubmatch(source, -1) {
			if key := found[1]; english[key] == nil {
				t.Errorf("%s says %q: add it to internal/words/locales/en.json", path, key)
			}
		}
	})
}

// A key is in the code as a whole, as in "price.title", or in two parts, as "status." and "price".
func TestTheCodeSaysEveryMessage(t *testing.T) {
	literal := regexp.MustCompile(`"([a-z0-9_.]+)"`)
	literals := map[string]bool{}
	sources(t, func(_, source string) {
		for _, found := range literal.FindAllStringSubmatch(source, -1) {
			literals[found[1]] = true
		}
	})
	for key := range catalogue(t, chat.English) {
		isSaid := literals[key]
		for i := range key {
			beginning, name := key[:i], key[i:]
			isSaid = isSaid || strings.HasSuffix(beginning, ".") && literals[beginning] && literals[name]
		}
		if !isSaid {
			t.Errorf("nothing says %q: take it out of internal/words/locales/*.json", key)
		}
	}
}

// The platforms' limits in characters. If both platforms show a message, the limit is the lower one. The limits of
// buttons are what reads well on a telephone.
//
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
// https://core.telegram.org/bots/api#forcereply
// https://core.telegram.org/bots/api#answercallbackquery
// https://core.telegram.org/bots/api#setmydescription
const (
	maxDescription = 100 // of a command, a parameter or a choice
	maxName        = 32  // in a menu
	maxQuestion    = 64
	maxToast       = 200
	maxButton      = 24
	maxLongButton  = 48 // alone in its row
	maxAbout       = 512
	maxShortAbout  = 120
)

// maxLengths has limits by the beginnings of the keys for which they hold.
var maxLengths = map[string]int{
	"command.":    maxDescription,
	"param.":      maxDescription,
	"choice.":     maxDescription,
	"name.":       maxName,
	"exists.menu": maxName,
	"ask.wallet":  maxQuestion,

	"current":              maxToast,
	"current.next":         maxToast,
	"telegram.answered":    maxToast,
	"telegram.anonymous":   maxToast,
	"telegram.press_start": maxToast,
	"telegram.ask_there":   maxToast,
	"button.old.":          maxToast / 2,
	"busy.":                maxToast / 2,

	"telegram.about":             maxAbout,
	"telegram.short_description": maxShortAbout,

	"button.again":          maxButton,
	"button.another_wallet": maxButton,
	"button.chart":          maxButton,
	"button.copy_wallet":    maxButton,
	"button.details":        maxButton,
	"button.explorer":       maxButton,
	"button.forget":         maxButton,
	"button.help":           maxButton,
	"button.invite":         maxButton,
	"button.newer":          maxButton,
	"button.older":          maxButton,
	"button.open_group":     maxButton,
	"button.page":           maxButton,
	"button.price":          maxButton,
	"button.private":        maxButton,
	"button.refresh":        maxButton,
	"button.register":       maxButton,
	"button.stake":          maxButton,
	"button.supply":         maxButton,
	"button.wallet":         maxButton,
	"button.remove":         maxLongButton,
	"button.save":           maxLongButton,
	"button.save_badge":     maxLongButton,
}

// lengthOf returns the length of a text in characters, with values of 16 characters.
func lengthOf(text string) int {
	return utf8.RuneCountInString(placeholder.ReplaceAllString(text, strings.Repeat("x", 16)))
}

func TestMessagesHaveRoomWhereTheyAreShown(t *testing.T) {
	for _, l := range chat.Languages() {
		for key, forms := range catalogue(t, l) {
			for beginning, limit := range maxLengths {
				if !strings.HasPrefix(key, beginning) {
					continue
				}
				for _, text := range forms {
					if length := lengthOf(text); length > limit {
						t.Errorf("%s.json: %s has %d characters, at most %d: %q", l, key, length, limit, text)
					}
				}
			}
		}
	}
}

func TestEveryQuestionAndButtonHasALimit(t *testing.T) {
	for _, l := range chat.Languages() {
		for key := range catalogue(t, l) {
			isQuestion := strings.HasPrefix(key, "ask.") && key != "ask.text"
			isButton := strings.HasPrefix(key, "button.") && !strings.HasPrefix(key, "button.old.")
			if (isQuestion || isButton) && maxLengths[key] == 0 {
				t.Errorf("%s has no limit in maxLengths", key)
			}
		}
	}
}
