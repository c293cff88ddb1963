package telegramtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	faketelegram "herald/internal/demo/fake/telegram"
)

const (
	ann   = 501
	group = -1001
)

// request makes a call and returns the description of the refusal, or "".
func (s *Server) request(t *testing.T, method, params string) (refusal string) {
	t.Helper()
	_, refusal = s.respond(t, method, params)
	return refusal
}

// respond makes a call and returns its result, or the description of the refusal.
func (s *Server) respond(t *testing.T, method, params string) (result, refusal string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/bot"+faketelegram.Token+"/"+method, strings.NewReader(params))
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	var response struct {
		Result      json.RawMessage
		Description string
	}
	if err := json.NewDecoder(resp.Body).Decode(&response); err != nil {
		t.Fatal(err)
	}
	return string(response.Result), response.Description
}

// A call that the description does not know is a mistake of the program under
// test. A call that breaks off never came.
func TestUndescribedCallsAreViolations(t *testing.T) {
	for method, params := range map[string]string{
		"sendMessage":       `{"chat_id":-1001,"text":null}`,
		"sendPhoto":         `{"chat_id":-1001,"photo":"x","receiver":501}`,
		"answerInlineQuery": `{"inline_query_id":"1","results":[{"type":"article","id":"1","title":"x"}]}`,
		"editMessageMedia":  `{"media":{"type":"photo"}}`,
		"sendRocket":        `{}`,
	} {
		s := &Server{Server: faketelegram.New()}
		if s.request(t, method, params) == "" || len(s.Violations()) != 1 {
			t.Errorf("taken: %s %s", method, params)
		}
	}
	s := NewInMemory(t)
	body := io.MultiReader(strings.NewReader(`{"chat_id":`), iotest.ErrReader(errors.New("broken off")))
	req := httptest.NewRequest(http.MethodPost, "/bot"+faketelegram.Token+"/sendMessage", body)
	if _, err := s.RoundTrip(req); err == nil || len(s.Violations()) != 0 {
		t.Errorf("half a call is a whole one: %q", s.Violations())
	}
}

// What is meant for one is for everybody where results of an inline query are cached
// and not personal, and where one is chosen.
func TestCachedAndChosenResultsAreSeenByAll(t *testing.T) {
	s := NewInMemory(t)
	answer := func(members string) (query string) {
		query = s.Inline(ann, "price", "")
		s.request(t, "answerInlineQuery", fmt.Sprintf(`{"inline_query_id":%q,"results":[
			{"type":"article","id":"1","title":"x","input_message_content":{"message_text":"$1"}}]%s}`, query, members))
		return query
	}
	seen := func(want int, what string) {
		t.Helper()
		if got := len(s.SeenByOthers(ann)); got != want {
			t.Errorf("others see %d things after %s, want %d", got, what, want)
		}
	}
	query := answer(`,"cache_time":30,"is_personal":true`)
	seen(0, "personal results")
	s.Choose(query, "1", faketelegram.Group(group))
	seen(1, "a chosen result")
	answer("")
	seen(2, "cached results")
}

// A kind that was not asked for never arrives.
func TestOnlyAllowedUpdatesAreDelivered(t *testing.T) {
	s := NewInMemory(t)
	s.Inline(ann, "price", "")
	s.Press(ann, faketelegram.Group(group), 2, "x")
	s.request(t, "setWebhook", `{"url":"https://bot.invalid","allowed_updates":["callback_query"]}`)
	if got := s.Dequeue(); len(got) != 1 || !strings.Contains(string(got[0]), "callback_query") {
		t.Errorf("delivered %s", got)
	}
}
