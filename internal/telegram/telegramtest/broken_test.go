package telegramtest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// A bot that stops may break off a call, which Telegram then never sees whole.
func TestACallThatBreaksOffNeverCame(t *testing.T) {
	s := New(t)
	body := io.MultiReader(strings.NewReader(`{"chat_id":`), iotest.ErrReader(errors.New("broken off")))
	r := httptest.NewRequest("POST", "/bot"+Token+"/sendMessage", body)
	r.Header.Set("Content-Type", "application/json")
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("it is answered")
		}
		if got := s.Violations(); len(got) > 0 {
			t.Errorf("violations: %q", got)
		}
	}()
	s.serve(httptest.NewRecorder(), r)
}
