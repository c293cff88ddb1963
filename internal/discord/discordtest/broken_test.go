package discordtest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// A bot that stops may break off a call, which Discord then never sees whole.
func TestACallThatBreaksOffNeverCame(t *testing.T) {
	s := New()
	defer s.Close()
	body := io.MultiReader(strings.NewReader(`[{"name":`), iotest.ErrReader(errors.New("broken off")))
	r := httptest.NewRequest("PUT", "/api/v10/applications/"+s.ApplicationID+"/commands", body)
	r.Header.Set("Authorization", "Bot "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("it is answered")
		}
		if got := s.Problems(); len(got) > 0 {
			t.Errorf("problems: %q", got)
		}
	}()
	s.routes().ServeHTTP(httptest.NewRecorder(), r)
}
