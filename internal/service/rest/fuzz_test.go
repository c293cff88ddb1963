package rest

import (
	"bytes"
	"testing"
)

func FuzzFigure(f *testing.F) {
	for _, seed := range []string{
		`98765432.1`,
		`"5"`,
		`{"result":"5"}`,
		`{"data":5}`,
		`0`,
		`Error calculating total supply`,
		`{"code":500,"data":"5"}`,
	} {
		f.Add([]byte(seed))
	}
	names := []string{"result", "data"}
	f.Fuzz(func(t *testing.T, body []byte) {
		figure, err := (&Response{Body: body}).figure(names)
		if err != nil {
			return
		}
		if members := bytes.Count(body, []byte(":")); !figure.IsPositive() || members > 1 {
			t.Fatalf("%q is taken for %v", body, figure)
		}
	})
}
