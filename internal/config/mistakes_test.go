package config

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// limits has settings that can be wrong in more than one way.
type limits struct {
	Count   int
	Entries []Entry
	Tags    []Entry
	Folder  string
	Token   string
}

func (l *limits) table() []Setting {
	return []Setting{
		{Name: "TOKEN", Secret: true, Example: "a-token", Set: Field(&l.Token, Visible)},
		{Name: "COUNT", Default: "20", Set: Field(&l.Count, IntBetween(0, 10_000))},
		{Name: "ROLES", Example: "a:1:2:1000", Needs: []string{"TOKEN"}, NeedsOneOf: []string{"FOLDER", "STORE"},
			Set: Field(&l.Entries, Entries(SplitList, `a:[0-9]+:[0-9]+(:.*)?`, "this"))},
		{Name: "TAGS", Example: "a:1:Tag", Set: Field(&l.Tags, Entries(SplitCommas, `a:[0-9]+:.+`, "this"))},
		{Name: "FOLDER", Example: "/var/lib/herald", Set: Field(&l.Folder, Visible)},
		{Name: "STORE", Example: "redis://h", Set: Field(&l.Folder, Visible)},
	}
}

// Whatever else is wrong, every wrong setting is told.
func TestEveryMistakeIsToldWithTheExampleThatHelps(t *testing.T) {
	const noToken = "TOKEN: is needed by ROLES but not set; for example TOKEN=a-token"
	const noStore = "ROLES: needs FOLDER or STORE, and neither is set; for example FOLDER=/var/lib/herald"
	const write = "; write 1000 instead of 1,000; for example "
	const count = "COUNT: must be a whole number from 0 to 10000"
	const roles = "ROLES: entry 1 must have after its third colon an amount of tokens above 0, such as 1000 or 0.5"
	const tags = "TAGS: entry 1 must have after its third colon an amount of tokens above 0, such as 1000 or 0.5"
	for given, want := range map[string][]string{
		"ROLES=a:1:2":                 {noToken, noStore},
		"ROLES=" + canary:             {noToken, noStore, "ROLES: entry 1 must be this; for example ROLES=a:1:2:1000"},
		"ROLES=a:1:2:1,000":           {noToken, noStore, roles + write + "ROLES=a:1:2:1000"},
		"ROLES=a:1:2:1,000,000 a:1:3": {noToken, noStore, roles + write + "ROLES=a:1:2:1000"},
		"ROLES=a:1:2:1,000.5,a:1:3":   {noToken, noStore, roles + write + "ROLES=a:1:2:1000"},
		"TAGS=a:1:Tag:1,000":          {tags + write + "TAGS=a:1:Tag"},
		"TAGS=a:1:Tag:1 000":          {tags + write + "TAGS=a:1:Tag"},
		"TAGS=a:1:Tag:1_000":          {tags + write + "TAGS=a:1:Tag"},
		"TAGS=a:1:Tag:1000,000":       {"TAGS: entry 2 must be this; for example TAGS=a:1:Tag"},
		"COUNT=1,000":                 {count + write + "COUNT=20"},
		"COUNT=1 000":                 {count + write + "COUNT=20"},
		"COUNT=1_000":                 {count + write + "COUNT=20"},
		"COUNT=1.000":                 {count + write + "COUNT=20"},
		"COUNT=1'000":                 {count + write + "COUNT=20"},
		"COUNT=20,000":                {count + write + "COUNT=20"},
		"COUNT=1,5":                   {count + "; for example COUNT=20"},
		"COUNT=20000":                 {count + "; for example COUNT=20"},
		"COUNT=" + canary:             {count + "; for example COUNT=20"},
		"TAGS=" + canary + "\nCOUNT=" + canary: {
			count + "; for example COUNT=20", "TAGS: entry 1 must be this; for example TAGS=a:1:Tag"},
	} {
		collected, _ := Collect(strings.Split(given, "\n"), "")
		got := collected.Fill(new(limits).table())
		if !slices.Equal(got, want) || strings.Contains(got.Error(), canary) {
			t.Errorf("%q: got\n%v\nwant\n%v", given, got, Errors(want))
		}
	}
}

// utf16Text returns text as Windows writes it.
func utf16Text(order binary.AppendByteOrder, text string) string {
	var all []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		all = order.AppendUint16(all, unit)
	}
	return string(all)
}

func TestAnEnvFileOfAnotherFormatIsOneMistake(t *testing.T) {
	const settings = "LOG_LEVEL=info\nTOKEN=" + canary + "\n"
	const utf16 = "is UTF-16 text; save it as UTF-8"
	const most = " are not of the form KEY=value; " +
		"write one setting a line, for example LOG_LEVEL=info, as in config.example.env"
	for name, test := range map[string]struct{ content, want string }{
		"JSON": {"{\n  \"LOG_LEVEL\": \"info\",\n  \"TOKEN\": \"" + canary + "\"\n}\n",
			"seems to be JSON: 4 of its 4 lines" + most},
		"JSON on one line": {`{"TOKEN": "` + canary + `=="}`, "seems to be JSON: 1 of its 1 lines" + most},
		"YAML": {"# settings\nLOG_LEVEL: info\nTOKEN: \"" + canary + "\"\n",
			"seems to be YAML: 2 of its 2 lines" + most},
		"Compose": {"services:\n  bot:\n    environment:\n      - TOKEN=" + canary + "\n",
			"seems to be YAML: 4 of its 4 lines" + most},
		"a web page": {"<!DOCTYPE html>\n<html lang=\"en\">\n" + canary + "\n</html>",
			"is no env file: 4 of its 4 lines" + most},
		"little-endian":      {utf16Text(binary.LittleEndian, settings), utf16},
		"big-endian":         {utf16Text(binary.BigEndian, settings), utf16},
		"UTF-16 with no BOM": {utf16Text(binary.LittleEndian, settings)[2:], "is not a text file"},
		"a program":          {"\x7fELF\x02\x01\x00" + strings.Repeat("\x00\xff", 1<<20), "is not a text file"},
		"a picture":          {"\x89PNG\r\n\x1a\n\x00\x00", "is not a text file"},
		"another charset":    {"# caf\xe9\n" + settings, "is not UTF-8 text; save it as that"},
	} {
		given, wrong := Collect(nil, write(t, test.content))
		if given != nil {
			t.Errorf("%s: settings are read from it", name)
		}
		wantMistake(t, wrong, "--env-file: the file "+test.want)
	}
	if given, wrong := Collect(nil, filepath.Join(t.TempDir(), "none")); given != nil || len(wrong) != 1 {
		t.Errorf("no file: %v, %v", given, wrong)
	}
}
