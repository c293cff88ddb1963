package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// accepts drops what read returns but whether it failed.
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
	if u, err := BaseURL("https://supply.example.org/v1//"); err != nil || u != "https://supply.example.org/v1" {
		t.Errorf("a URL with slashes at its end is read as %q, %v", u, err)
	}
	if d, err := Duration("1h30m"); err != nil || d != 90*time.Minute {
		t.Errorf("1h30m is read as %v, %v", d, err)
	}
	if n, err := IntBetween(1, 9)("7"); err != nil || n != 7 {
		t.Errorf("7 is read as %d, %v", n, err)
	}
	if on, err := OnOff("on"); err != nil || !on {
		t.Errorf("on is read as %t, %v", on, err)
	}
	if list := SplitList(" a,b\n,c d,"); !slices.Equal(list, []string{"a", "b", "c", "d"}) {
		t.Errorf("a list is split into %q", list)
	}
}

func TestJoinKeepsTenErrorsAndCountsTheRest(t *testing.T) {
	wrong := slices.Repeat([]error{errors.New("one")}, 12)
	for n, want := range map[int]int{0: 0, 10: 10, 11: 11, 12: 11} {
		joined := splitJoined(Join(wrong[:n]))
		if len(joined) != want || n > 10 && !strings.HasSuffix(joined[10].Error(), " more are wrong") {
			t.Errorf("%d errors become %d: %v", n, len(joined), joined)
		}
	}
	if wrong[10].Error() != "one" {
		t.Error("Join changed its argument")
	}
}
