package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestEntries(t *testing.T) {
	const notAbove = "entry 1 must have after its third colon an amount of tokens above 0, such as 1000 or 0.5"
	long := strings.Repeat("9", 30)
	for _, list := range []struct {
		split      func(string) []string
		text, want string
	}{
		{SplitList, "a:1:x", "[{a 1 x 0}]"},
		{SplitList, " a:1:x,\na:-2:y:5 a:3:z:0.5,", "[{a 1 x 0} {a -2 y 5} {a 3 z 0.5}]"},
		{SplitCommas, "a:1: x y : 5 ,, a:2:z,", "[{a 1 x y 5} {a 2 z 0}]"},
		{SplitList, "a:1:x:0001.50,a:1:y:" + long, "[{a 1 x 1.5} {a 1 y " + long + "}]"},
		{SplitList, "a:1:x,b:1:x", "entry 2 must be this"}, {SplitList, "a:1", "entry 1 must be this"},
		{SplitCommas, "a:1:x a:2:y", notAbove}, {SplitList, "a:1:x:5:6", notAbove}, {SplitList, "a:1:x:1" + long, notAbove},
		{SplitList, "a:1:x:", notAbove}, {SplitList, "a:1:x:0", notAbove}, {SplitList, "a:1:x:0.000", notAbove}, {SplitList, "a:1:x:-1", notAbove},
		{SplitList, "a:1:x:+1", notAbove}, {SplitList, "a:1:x:1e30", notAbove}, {SplitList, "a:1:x:.5", notAbove}, {SplitList, "a:1:x:5.", notAbove},
		{SplitList, "a:1:x:1.2.3", notAbove}, {SplitList, "a:1:x:0x10", notAbove}, {SplitList, "a:1:x:١", notAbove}, {SplitList, "a:1:x:" + canary, notAbove},
	} {
		entries, err := Entries(list.split, `a:-?[0-9]+:.+`, "this")(list.text)
		got := fmt.Sprint(entries)
		if err != nil {
			got = err.Error()
		}
		if got != list.want {
			t.Errorf("%q: %s, want %s", list.text, got, list.want)
		}
	}
	for _, text := range []string{"a", "a:1"} {
		if got, err := Entries(SplitList, `[a-z0-9:]+`, "this")(text); err != nil || len(got) != 1 || got[0].Platform != "a" || got[0].Value != "" {
			t.Errorf("%q, of a form without colons: %v, %v", text, got, err)
		}
	}
}
