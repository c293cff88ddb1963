package configtest

import "testing"

func TestADifferenceHasTheNumberOfItsFirstLine(t *testing.T) {
	for name, test := range map[string]struct{ want, got, difference string }{
		"another line": {
			want:       "a\nb\nc",
			got:        "a\nx\nc",
			difference: "first in line 2\n- b\n+ x",
		},
		"a line that moved": {
			want:       "a\nb",
			got:        "b\na",
			difference: "first in line 1\n- a\n- b\n+ b\n+ a",
		},
		"a line twice": {
			want:       "a\n",
			got:        "a\na\n",
			difference: "first in line 2\n- \n+ a\n+ ",
		},
		"a line that is missing": {
			want:       "a\nb",
			got:        "a",
			difference: "first in line 2\n- b\n+ ",
		},
	} {
		if got := difference(test.want, test.got); got != test.difference {
			t.Errorf("%s: got %q, want %q", name, got, test.difference)
		}
	}
}
