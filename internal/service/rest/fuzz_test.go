package rest

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzFigure(f *testing.F) {
	for _, seed := range []string{
		`98765432.1`, `"5"`, `{"result":"5"}`, `{"data":5}`, `0`, `Error calculating total supply`, `{"code":500,"data":"5"}`,
	} {
		f.Add([]byte(seed))
	}
	names := []string{"result", "data"}
	f.Fuzz(func(t *testing.T, body []byte) {
		if figure, err := (&Response{Body: body, Complete: true}).figure(names); err == nil && (!figure.IsPositive() || bytes.Count(body, []byte(":")) > 1) { // one member at most
			t.Fatalf("%q is taken for %v", body, figure)
		}
		// Whatever is cut off fails, or is as complete as it was.
		for n := range body {
			if _, err := (&Response{Body: body[:n]}).figure(names); err == nil && len(bytes.TrimSpace(body[n:])) > 0 && json.Valid(body) {
				t.Fatalf("%q, cut off, is taken for an answer", body[:n])
			}
		}
	})
}
