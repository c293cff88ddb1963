package config

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// badgeForm describes an entry of ROLES or TAGS.
const badgeForm = "a:COMMUNITY:BADGE"

// badgeSettings holds settings with lists of badges, and what such settings need.
type badgeSettings struct {
	Token  string
	Count  int
	Roles  []Entry
	Tags   []Entry
	Folder string
	Store  string
}

func (s *badgeSettings) table() []Setting {
	return []Setting{
		{
			Name:    "TOKEN",
			Secret:  true,
			Example: "a-token",
			Set:     Field(&s.Token, Visible),
		},
		{
			Name:    "COUNT",
			Default: "20",
			Set:     Field(&s.Count, IntBetween(0, 10_000)),
		},
		{
			Name:       "ROLES",
			Example:    "a:1:2:1000",
			Needs:      []string{"TOKEN"},
			NeedsOneOf: []string{"FOLDER", "STORE"},
			Set:        Field(&s.Roles, Entries(SplitList, `a:[0-9]+:[0-9]+(:.*)?`, badgeForm)),
		},
		{
			Name:    "TAGS",
			Example: "a:1:Tag",
			Set:     Field(&s.Tags, Entries(SplitCommas, `a:[0-9]+:.+`, badgeForm)),
		},
		{
			Name:    "FOLDER",
			Example: "/var/lib/herald",
			Set:     Field(&s.Folder, Visible),
		},
		{
			Name:    "STORE",
			Example: "redis://h",
			Set:     Field(&s.Store, Visible),
		},
	}
}

// The mistakes, or parts of them.
const (
	thousand = "; write 1000 instead of 1,000"
	noToken  = "TOKEN: is needed by ROLES but not set; for example TOKEN=a-token"
	noStore  = "ROLES: needs FOLDER or STORE, and neither is set; for example FOLDER=/var/lib/herald"
	noAmount = ": entry 1 must have after its third colon an amount of tokens above 0, such as 1000 or 0.5"
)

// fillBadgeSettings fills badgeSettings from an environment, and returns the mistakes.
func fillBadgeSettings(environ ...string) Errors {
	given, _ := Collect(environ, "")
	return given.Fill(new(badgeSettings).table())
}

// wantMistakes fails the test unless got is want, and does not repeat a value.
func wantMistakes(t *testing.T, environ string, got Errors, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) || strings.Contains(got.Error(), canary) {
		t.Errorf("%q: got\n%v\nwant\n%v", environ, got, Errors(want))
	}
}

func TestAThousandWithASeparatorIsExplained(t *testing.T) {
	for _, number := range []string{"1,000", "1 000", "1_000", "1.000", "1'000", "20,000"} {
		environ := "COUNT=" + number
		want := "COUNT: must be a whole number from 0 to 10000" + thousand + "; for example COUNT=20"
		wantMistakes(t, environ, fillBadgeSettings(environ), want)
	}
	for _, amount := range []string{"1,000", "1 000", "1_000"} {
		environ := "TAGS=a:1:Tag:" + amount
		wantMistakes(t, environ, fillBadgeSettings(environ), "TAGS"+noAmount+thousand+"; for example TAGS=a:1:Tag")
	}
}

func TestAnotherMistakeIsNotTakenForASeparator(t *testing.T) {
	for environ, want := range map[string]string{
		"COUNT=1,5":             "COUNT: must be a whole number from 0 to 10000; for example COUNT=20",
		"COUNT=20000":           "COUNT: must be a whole number from 0 to 10000; for example COUNT=20",
		"COUNT=" + canary:       "COUNT: must be a whole number from 0 to 10000; for example COUNT=20",
		"TAGS=a:1:Tag:1000,000": "TAGS: entry 2 must be " + badgeForm + "; for example TAGS=a:1:Tag",
	} {
		wantMistakes(t, environ, fillBadgeSettings(environ), want)
	}
}

// ROLES needs settings that are not set. Its other mistakes are reported, too.
func TestEveryMistakeOfASettingIsReported(t *testing.T) {
	const (
		wrongForm = "ROLES: entry 1 must be " + badgeForm + "; for example ROLES=a:1:2:1000"
		separator = "ROLES" + noAmount + thousand + "; for example ROLES=a:1:2:1000"
	)
	for roles, want := range map[string][]string{
		"a:1:2":                 {noToken, noStore},
		canary:                  {noToken, noStore, wrongForm},
		"a:1:2:1,000":           {noToken, noStore, separator},
		"a:1:2:1,000,000 a:1:3": {noToken, noStore, separator},
		"a:1:2:1,000.5,a:1:3":   {noToken, noStore, separator},
	} {
		wantMistakes(t, roles, fillBadgeSettings("ROLES="+roles), want...)
	}
}

func TestMistakesOfSeveralSettingsAreReported(t *testing.T) {
	wantMistakes(t, "TAGS and COUNT", fillBadgeSettings("TAGS="+canary, "COUNT="+canary),
		"COUNT: must be a whole number from 0 to 10000; for example COUNT=20",
		"TAGS: entry 1 must be "+badgeForm+"; for example TAGS=a:1:Tag")
}

// utf16Text encodes a text with a byte order mark, as Windows does.
func utf16Text(order binary.AppendByteOrder, text string) string {
	var all []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		all = order.AppendUint16(all, unit)
	}
	return string(all)
}

func TestAnEnvFileOfAnotherFormatIsOneMistake(t *testing.T) {
	const (
		settings = "LOG_LEVEL=info\nTOKEN=" + canary + "\n"
		utf16    = "is UTF-16 text; save it as UTF-8"
		most     = " are not of the form KEY=value; " +
			"write one setting a line, for example LOG_LEVEL=info, as in config.example.env"
	)
	for name, test := range map[string]struct{ content, want string }{
		"JSON": {
			content: "{\n  \"LOG_LEVEL\": \"info\",\n  \"TOKEN\": \"" + canary + "\"\n}\n",
			want:    "seems to be JSON: 4 of its 4 lines" + most,
		},
		"JSON on one line": {
			content: `{"TOKEN": "` + canary + `=="}`,
			want:    "seems to be JSON: 1 of its 1 lines" + most,
		},
		"YAML": {
			content: "# settings\nLOG_LEVEL: info\nTOKEN: \"" + canary + "\"\n",
			want:    "seems to be YAML: 2 of its 2 lines" + most,
		},
		"Compose": {
			content: "services:\n  bot:\n    environment:\n      - TOKEN=" + canary + "\n",
			want:    "seems to be YAML: 4 of its 4 lines" + most,
		},
		"a web page": {
			content: "<!DOCTYPE html>\n<html lang=\"en\">\n" + canary + "\n</html>",
			want:    "is no env file: 4 of its 4 lines" + most,
		},
		"little-endian": {
			content: utf16Text(binary.LittleEndian, settings),
			want:    utf16,
		},
		"big-endian": {
			content: utf16Text(binary.BigEndian, settings),
			want:    utf16,
		},
		"UTF-16 with no BOM": {
			content: utf16Text(binary.LittleEndian, settings)[2:],
			want:    "is not a text file",
		},
		"a program": {
			content: "\x7fELF\x02\x01\x00" + strings.Repeat("\x00\xff", 1<<20),
			want:    "is not a text file",
		},
		"a picture": {
			content: "\x89PNG\r\n\x1a\n\x00\x00",
			want:    "is not a text file",
		},
		"another charset": {
			content: "# caf\xe9\n" + settings,
			want:    "is not UTF-8 text; save it as that",
		},
	} {
		given, wrong := Collect(nil, write(t, test.content))
		if given != nil {
			t.Errorf("%s: settings are read from it", name)
		}
		wantMistake(t, wrong, "--env-file: the file "+test.want)
	}
}

func TestAMissingEnvFileIsOneMistake(t *testing.T) {
	given, wrong := Collect(nil, filepath.Join(t.TempDir(), "none"))
	if given != nil || len(wrong) != 1 {
		t.Errorf("got %v, %v", given, wrong)
	}
}
