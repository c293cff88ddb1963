package supply

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`98765432.1`, `"5"`, `{"result":"5"}`, `{"data":5}`, `0`, `Error calculating total supply`, `{"code":500,"data":"5"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if amount, err := parseFigure(body, true); err == nil && !amount.IsPositive() {
			t.Fatalf("%q is taken for %v", body, amount)
		}
		// Whatever is cut off fails, or is as complete as it was.
		for n := range body {
			if _, err := parseFigure(body[:n], false); err == nil && len(bytes.TrimSpace(body[n:])) > 0 && json.Valid(body) {
				t.Fatalf("%q, cut off, is taken for an answer", body[:n])
			}
		}
	})
}
