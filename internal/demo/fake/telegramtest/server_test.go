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
	ann   = 501   // a user
	group = -1001 // a supergroup
)

// request makes a call, and returns the description of the error, or "" if the call succeeds.
func (s *Server) request(t *testing.T, method, params string) (refusal string) {
	t.Helper()
	url := s.URL + "/bot" + faketelegram.Token + "/" + method
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(params))
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	var response struct{ Description string }
	if err := json.NewDecoder(resp.Body).Decode(&response); err != nil {
		t.Fatal(err)
	}
	return response.Description
}

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
			t.Errorf("%s %s: violations %q, want one", method, params, s.Violations())
		}
	}
}

func TestAnIncompleteCallIsNotAViolation(t *testing.T) {
	s := NewInMemory(t)
	body := io.MultiReader(strings.NewReader(`{"chat_id":`), iotest.ErrReader(errors.New("broken off")))
	req := httptest.NewRequest(http.MethodPost, "/bot"+faketelegram.Token+"/sendMessage", body)
	if _, err := s.RoundTrip(req); err == nil || len(s.Violations()) != 0 {
		t.Errorf("error %v, violations %q", err, s.Violations())
	}
}

// answerInline makes an inline query of ann and answers it with one result, and returns the query's ID. members are
// more parameters of the answer, as JSON after a comma.
func (s *Server) answerInline(t *testing.T, members string) (query string) {
	t.Helper()
	query = s.Inline(ann, "price", "")
	const format = `{"inline_query_id":%q,"results":[
		{"type":"article","id":"1","title":"x","input_message_content":{"message_text":"$1"}}]%s}`
	s.request(t, "answerInlineQuery", fmt.Sprintf(format, query, members))
	return query
}

// checkSeenByOthers checks how many texts other users than ann have seen.
func (s *Server) checkSeenByOthers(t *testing.T, want int) {
	t.Helper()
	if got := s.SeenByOthers(ann); len(got) != want {
		t.Errorf("others have seen %+v, want %d texts", got, want)
	}
}

func TestOthersSeeAChosenResult(t *testing.T) {
	s := NewInMemory(t)
	query := s.answerInline(t, `,"cache_time":30,"is_personal":true`)
	s.checkSeenByOthers(t, 0)
	s.Choose(query, "1", faketelegram.Group(group))
	s.checkSeenByOthers(t, 1)
}

// Telegram shows cached results to everyone who sends the same query, unless they are personal.
func TestOthersSeeCachedResults(t *testing.T) {
	s := NewInMemory(t)
	s.answerInline(t, "")
	s.checkSeenByOthers(t, 1)
}

func TestOnlyAllowedUpdatesAreDelivered(t *testing.T) {
	s := NewInMemory(t)
	s.Inline(ann, "price", "")
	s.Press(ann, faketelegram.Group(group), 2, "x")
	s.request(t, "setWebhook", `{"url":"https://bot.invalid","allowed_updates":["callback_query"]}`)
	if got := s.Dequeue(); len(got) != 1 || !strings.Contains(string(got[0]), "callback_query") {
		t.Errorf("delivered %s", got)
	}
}
