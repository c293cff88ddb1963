package config

import (
	"slices"
	"strings"
	"testing"
)

// accepts keeps only the error of read.
func accepts[T any](read func(string) (T, error)) func(string) error {
	return func(value string) error { _, err := read(value); return err }
}

func TestReadersAcceptOneFormAndNeverRepeatAValue(t *testing.T) {
	for _, test := range []struct {
		what         string
		read         func(string) error
		right, wrong []string
	}{
		{"Matching", accepts(Matching(`a|b`, "a or b")), []string{"a", "b"}, []string{"", "ab", canary}},
		{"Visible", accepts(Visible), []string{"a", "!~"}, []string{canary + " b", canary + "é", "\x7f"}},
		{"Text", accepts(Text), []string{"a b", "é'\"#"}, []string{canary + "\u00a0b", "“" + canary + "”", canary + "\u2060", "# a key\n" + canary}},
		{"NumericID", accepts(NumericID), []string{"1", "12345678901234567890"}, []string{canary, "0", "-1", "012", "123456789012345678901"}},
		{"OnOff", accepts(OnOff), []string{"on", "off"}, []string{canary, "ON", "true"}},
		{"IntBetween", accepts(IntBetween(0, 77)), []string{"0", "77"}, []string{canary, "-1", "78", "1.5", "0x1"}},
		{"Duration", accepts(Duration), []string{"1ms", "8760h"}, []string{"30", canary, "0s", "-1s", "9000h", "999us"}},
		{"DurationOrZero", accepts(DurationOrZero), []string{"0s", "8760h"}, []string{"-1s", "9000h", canary}},
		{"BaseURL", accepts(BaseURL), []string{"http://h", "https://h:1/a/b/"}, []string{canary, "ftp://" + canary, "https://", "//host",
			"https://ho st", "https://u:" + canary + "@host", "https://host?" + canary, "https://host#" + canary, "https://h:99999", "https://h/" + canary + "\u200b/a"}},
	} {
		for _, value := range test.right {
			if err := test.read(value); err != nil {
				t.Errorf("%s refuses %q: %v", test.what, value, err)
			}
		}
		for _, value := range test.wrong {
			err := test.read(value)
			if err == nil {
				t.Errorf("%s accepts %q", test.what, value)
			} else if strings.Contains(err.Error(), canary) {
				t.Errorf("%s repeats the value: %v", test.what, err)
			}
		}
	}
}

func TestReadersReturnTheValue(t *testing.T) {
	u, err := BaseURL("https://supply.example.org/v1//")
	list := SplitList(" a,b\n,c d,")
	if err != nil || u != "https://supply.example.org/v1" || !slices.Equal(list, []string{"a", "b", "c", "d"}) {
		t.Errorf("a URL with slashes at its end is read as %q, %v, and a list as %q", u, err, list)
	}
}
