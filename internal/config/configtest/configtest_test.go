package configtest

import "testing"

func TestADifferenceHasTheNumberOfItsFirstLine(t *testing.T) {
	for _, tt := range []struct{ want, got, says string }{
		{"a\nb\nc", "a\nx\nc", "first in line 2\n- b\n+ x"},
		{"a\nb", "b\na", "first in line 1\n- a\n- b\n+ b\n+ a"}, // moved
		{"a\n", "a\na\n", "first in line 2\n- \n+ a\n+ "},
		{"a\nb", "a", "first in line 2\n- b\n+ "},
	} {
		if says := difference(tt.want, tt.got); says != tt.says {
			t.Errorf("%q, %q: %q", tt.want, tt.got, says)
		}
	}
}
