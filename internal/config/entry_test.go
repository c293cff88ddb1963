package config

import (
	"fmt"
	"strings"
	"testing"
)

// readEntries returns the entries of a text, printed, or the error.
func readEntries(split func(string) []string, text string) string {
	entries, err := Entries(split, form, "this")(text)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(entries)
}

// form is a platform, a number and anything.
const form = `a:-?[0-9]+:.+`

var manyDigits = strings.Repeat("9", 30)

func TestEntriesMayHaveAnAmount(t *testing.T) {
	for text, want := range map[string]string{
		"a:1:x":                             "[{a 1 x 0}]",
		" a:1:x,\na:-2:y:5 a:3:z:0.5,":      "[{a 1 x 0} {a -2 y 5} {a 3 z 0.5}]",
		"a:1:x:0001.50,a:1:y:" + manyDigits: "[{a 1 x 1.5} {a 1 y " + manyDigits + "}]",
	} {
		if got := readEntries(SplitList, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestEntriesSplitByCommasMayHaveSpaces(t *testing.T) {
	const text, want = "a:1: x y : 5 ,, a:2:z,", "[{a 1 x y 5} {a 2 z 0}]"
	if got := readEntries(SplitCommas, text); got != want {
		t.Errorf("%q: %s, want %s", text, got, want)
	}
}

func TestAnEntryOfAnotherFormIsNumbered(t *testing.T) {
	for text, want := range map[string]string{
		"a:1:x,b:1:x": "entry 2 must be this",
		"a:1":         "entry 1 must be this",
	} {
		if got := readEntries(SplitList, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

const wantAmount = "entry 1 must have after its third colon an amount of tokens above 0, such as 1000 or 0.5"

func TestAnInvalidAmountIsRefused(t *testing.T) {
	for _, amount := range []string{
		"5:6",
		"1" + manyDigits,
		"",
		"0",
		"0.000",
		"-1",
		"+1",
		"1e30",
		".5",
		"5.",
		"1.2.3",
		"0x10",
		"١",
		canary,
	} {
		if got := readEntries(SplitList, "a:1:x:"+amount); got != wantAmount {
			t.Errorf("%q: %s, want %s", amount, got, wantAmount)
		}
	}
	if got := readEntries(SplitCommas, "a:1:x a:2:y"); got != wantAmount {
		t.Errorf("two entries without a comma: %s, want %s", got, wantAmount)
	}
}

func TestAnEntryMayLackParts(t *testing.T) {
	for _, text := range []string{"a", "a:1"} {
		got, err := Entries(SplitList, `[a-z0-9:]+`, "this")(text)
		if err != nil || len(got) != 1 || got[0].Platform != "a" || got[0].Value != "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
