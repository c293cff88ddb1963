package config

import (
	"fmt"
	"strings"
	"testing"
)

// form accepts the platform a, a number as the community, and any value.
const form = `a:-?[0-9]+:.+`

// description describes form. The errors of readEntries quote it.
const description = "of the form a:COMMUNITY:VALUE"

// manyDigits is the longest amount that is accepted.
var manyDigits = strings.Repeat("9", 30)

// readEntries parses a list with Entries, and returns the entries as fmt.Sprint prints them, or else the error.
func readEntries(split func(string) []string, text string) string {
	entries, err := Entries(split, form, description)(text)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(entries)
}

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
		"a:1:x,b:1:x": "entry 2 must be " + description,
		"a:1":         "entry 1 must be " + description,
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
}

// If only commas separate entries, "a:1:x a:2:y" is one entry with the value "x a" and the amount "2:y".
func TestEntriesSplitByCommasNeedAComma(t *testing.T) {
	if got := readEntries(SplitCommas, "a:1:x a:2:y"); got != wantAmount {
		t.Errorf("two entries without a comma: %s, want %s", got, wantAmount)
	}
}

func TestAFormMayLetAnEntryLackParts(t *testing.T) {
	const lenientForm = `[a-z0-9:]+`
	for _, text := range []string{"a", "a:1"} {
		entries, err := Entries(SplitList, lenientForm, description)(text)
		if err != nil || len(entries) != 1 {
			t.Errorf("%q: %v, %v; want one entry", text, entries, err)
			continue
		}
		if got := entries[0]; got.Platform != "a" || got.Value != "" {
			t.Errorf("%q: %+v, want the platform a and no value", text, got)
		}
	}
}
