package botapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/transport"
)

// answer is a RoundTripper with one answer to everything.
type answer struct {
	status int
	body   string
	err    error
}

func (a answer) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

func refusal(code int, description, parameters string) answer {
	return answer{status: code, body: fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q,"parameters":{%s}}`, code, description, parameters)}
}

func TestAFailedCallIsOfItsKind(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tt := range map[string]struct {
		answer      answer
		want        Error
		unreachable bool
		says        string
	}{
		"refused connection":   {answer{err: &transport.Error{Host: "h", Err: refused}}, Error{Kind: NotSent}, false, "connection refused"},
		"broken connection":    {answer{err: &transport.Error{Host: "h", Err: io.ErrUnexpectedEOF}}, Error{Kind: OutcomeUnknown}, false, "the answer broke off"},
		"time out":             {answer{err: &transport.Error{Host: "h", Err: context.DeadlineExceeded}}, Error{Kind: OutcomeUnknown}, false, "the time ran out"},
		"500 of the API":       {refusal(500, "Internal Server Error", ""), Error{Kind: OutcomeUnknown}, false, "status 500"},
		"502 of a proxy":       {answer{status: 502, body: "<html>"}, Error{Kind: OutcomeUnknown}, false, "status 502"},
		"503 of a proxy":       {answer{status: 503, body: "<html>"}, Error{Kind: OutcomeUnknown}, false, "status 503"},
		"504 of a proxy":       {answer{status: 504, body: "<html>"}, Error{Kind: OutcomeUnknown}, false, "status 504"},
		"200 with a page":      {answer{status: 200, body: "<html>"}, Error{Kind: OutcomeUnknown}, false, ""},
		"429":                  {refusal(429, "Too Many Requests: retry after 7", `"retry_after":7`), Error{Kind: TooManyRequests, RetryAfter: 7 * time.Second}, false, ""},
		"401":                  {refusal(401, "Unauthorized", ""), Error{Kind: Unauthorized}, false, "the token was refused"},
		"409 of a webhook":     {refusal(409, "Conflict: can't use getUpdates method while webhook is active", ""), Error{Kind: Conflict}, false, "a webhook is set"},
		"403":                  {refusal(403, "Forbidden: bot was blocked by the user", ""), Error{Kind: Forbidden}, true, "the bot was blocked"},
		"an unknown chat":      {refusal(400, "Bad Request: chat not found", ""), Error{Kind: Refused}, true, "no such chat"},
		"a closed topic":       {refusal(400, "Bad Request: TOPIC_CLOSED", ""), Error{Kind: Refused}, false, "the topic is closed"},
		"a group that moved":   {refusal(400, "Bad Request: upgraded", `"migrate_to_chat_id":-1005`), Error{Kind: Migrated, NewChat: -1005}, false, ""},
		"a method not there":   {refusal(404, "Not Found", ""), Error{Kind: Refused}, false, ""},
		"an error of no kind":  {refusal(418, "what is this", ""), Error{Kind: OutcomeUnknown}, false, ""},
		"foreign text, quoted": {refusal(400, "Bad Request: <b>x</b>", ""), Error{Kind: Refused}, false, "sendMessage: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newClient(t, "http://bot.invalid", tt.answer).send(t.Context())
			var got *Error
			if !errors.As(err, &got) || got.Kind != tt.want.Kind || got.NewChat != tt.want.NewChat || ErrorOf(err).RetryAfter != tt.want.RetryAfter {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if ErrorOf(err).Unreachable() != tt.unreachable {
				t.Errorf("unreachable: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "sendMessage: ") || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "<") {
				t.Errorf("it says %q", err)
			}
		})
	}
}

// Telegram says 404 where the token's form is wrong, and every server has getMe.
func TestAServerWithoutGetMeDoesNotKnowTheToken(t *testing.T) {
	_, err := newClient(t, "http://bot.invalid", refusal(404, "Not Found", "")).GetMe(t.Context())
	if want := "getMe: refused: the token is not known there"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// To send it again would be to say it twice.
func TestACallThatWasCarriedOutSucceedsWhateverItReturns(t *testing.T) {
	for _, result := range []string{`true`, `{}`, `null`, `{"message_id":"7"}`} {
		if err := newClient(t, "http://bot.invalid", answer{status: 200, body: `{"ok":true,"result":` + result + `}`}).send(t.Context()); err != nil {
			t.Errorf("%s: %v", result, err)
		}
	}
}

func TestAFailedPollIsOfItsKind(t *testing.T) {
	for name, tt := range map[string]struct {
		answer answer
		want   Kind
		wait   time.Duration
	}{
		"401":             {refusal(401, "Unauthorized", ""), Unauthorized, 0},
		"409":             {refusal(409, "Conflict: terminated by other getUpdates request", ""), Conflict, 0},
		"429":             {refusal(429, "Too Many Requests", `"retry_after":5`), TooManyRequests, 5 * time.Second},
		"400":             {refusal(400, "Bad Request", ""), Refused, 0},
		"502":             {answer{status: 502, body: "<html>"}, OutcomeUnknown, 0},
		"a page with 200": {answer{status: 200, body: "<html>"}, OutcomeUnknown, 0},
		"half an answer":  {answer{status: 200, body: `{"ok":true,"result":[{"upd`}, OutcomeUnknown, 0},
	} {
		batch, err := newClient(t, "http://bot.invalid", tt.answer).GetUpdates(t.Context(), 1, 100, 0, nil)
		if batch != nil || ErrorOf(err).Kind != tt.want || ErrorOf(err).RetryAfter != tt.wait {
			t.Errorf("%s: %v, %v", name, batch, err)
		}
	}
}

func TestAnAnswerThatCannotBeReadIsToldApart(t *testing.T) {
	large := `{"ok":true,"result":[{"update_id":7001,"poll":{"id":"\"update_id\":5` + strings.Repeat("x", maxBatch) + `"}}]}`
	for name, tt := range map[string]struct {
		body     string
		declared int // Content-Length
		want     *UnreadableError
	}{
		"too large":       {large, len(large), &UnreadableError{TooLarge: 7001}},
		"closed too soon": {`{"ok":true,"result":[{"update_id":7001,`, 1000, &UnreadableError{}},
		"half an answer":  {`{"ok":true,"result":[{"update_id":7001,`, 39, &UnreadableError{}},
		"a page":          {`<html>`, 6, nil},
		"nothing":         {``, 0, nil},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(tt.declared))
			_, _ = io.WriteString(w, tt.body)
		}))
		_, err := newClient(t, server.URL, nil).GetUpdates(t.Context(), 1, 100, 0, nil)
		server.Close()
		got, _ := errors.AsType[*UnreadableError](err)
		if err == nil || (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

func TestEveryMethodNamesItselfInItsErrors(t *testing.T) {
	c := newClient(t, "http://bot.invalid", refusal(400, "Bad Request", ""))
	ctx := t.Context()
	_, getMe := c.GetMe(ctx)
	_, getChatMember := c.GetChatMember(ctx, &bot.GetChatMemberParams{})
	_, getUpdates := c.GetUpdates(ctx, 0, 1, 0, nil)
	for method, err := range map[string]error{
		"getMe": getMe, "getChatMember": getChatMember, "getUpdates": getUpdates,
		"sendMessage":    c.send(ctx),
		"sendChatAction": c.SendChatAction(ctx, &bot.SendChatActionParams{}),
		"setMyCommands":  c.SetMyCommands(ctx, Menu{}, nil),
		"setWebhook":     c.SetWebhook(ctx, &bot.SetWebhookParams{}),
		"deleteWebhook":  c.DeleteWebhook(ctx),
	} {
		if err == nil || err.Error() != method+": refused" {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Neither what a server or a proxy says nor the URL that was asked is repeated.
func TestNoErrorAndNoClientGivesTheTokenAway(t *testing.T) {
	_, secret, _ := strings.Cut(token, ":")
	echo := "<html>no /bot" + token + "/getMe here</html>"
	for name, tt := range map[string]struct {
		url string
		rt  http.RoundTripper
	}{
		"nothing listens there": {"http://127.0.0.1:1", nil},
		"a prefix":              {"http://[::1]:1/prefix", nil},
		"no URL":                {"http://127.0.0.1:%zz", nil},
		"no scheme":             {"api.telegram.org", nil},
		"a page with 200":       {"http://bot.invalid", answer{status: 200, body: echo}},
		"a page with 404":       {"http://bot.invalid", answer{status: 404, body: echo}},
		"a page with 500":       {"http://bot.invalid", answer{status: 500, body: echo}},
		"a refusal":             {"http://bot.invalid", refusal(400, echo, "")},
		"an error of no kind":   {"http://bot.invalid", refusal(418, echo, "")},
	} {
		c := newClient(t, tt.url, tt.rt)
		_, getMe := c.GetMe(t.Context())
		_, getUpdates := c.GetUpdates(t.Context(), 0, 1, 0, nil)
		for _, err := range []error{getMe, getUpdates, c.send(t.Context())} {
			if err == nil || strings.Contains(fmt.Sprintf("%+v %#v", err, err), secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	c := newClient(t, "http://bot.invalid", nil)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if text := fmt.Sprintf(verb, c) + fmt.Sprintf(verb, *c); strings.Contains(text, secret) {
			t.Errorf("the client prints as %s", text)
		}
	}
	if _, err := New(Config{URL: "http://bot.invalid"}); err == nil {
		t.Error("no token is taken for one")
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":[{"update_id":1},7,null]}`))
	f.Add([]byte(`{"ok":false,"error_code":429,"parameters":{"retry_after":-1}}`))
	f.Add([]byte(`<html></html>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := decodeBatch(bytes.NewReader(raw))
		if err != nil && ErrorOf(err).Kind == NotSent {
			t.Errorf("an answer counts as never sent: %v", err)
		}
		if _, err := decodeAnswer[sent]("sendMessage", bytes.NewReader(raw)); err != nil && ErrorOf(err).Kind == NotSent {
			t.Errorf("an answer counts as never sent: %v", err)
		}
	})
}

func TestARefusalIsExplainedOrMayBeForTheLooks(t *testing.T) {
	for description, tt := range map[string]struct {
		code                int
		unexplained, noText bool
	}{
		"Bad Request: BUTTON_URL_INVALID":                       {400, true, false},
		"Bad Request: can't parse entities: Unsupported type":   {400, true, false},
		"Bad Request: TOPIC_CLOSED":                             {400, false, false},
		"Bad Request: there is no text in the message to edit":  {400, false, true},
		"Bad Request: there is no media in the message to edit": {400, false, false},
		"Forbidden: bot is not a member":                        {403, false, false},
		"Internal Server Error: can't parse entities":           {500, false, false},
	} {
		e := ErrorOf(newClient(t, "http://bot.invalid", refusal(tt.code, description, "")).send(t.Context()))
		if e.Unexplained() != tt.unexplained || e.NoText() != tt.noText {
			t.Errorf("%s: unexplained %v, no text %v", description, e.Unexplained(), e.NoText())
		}
	}
}

// A server that reads no chunks would take their end for another request.
func TestACallWithoutParametersSaysThatItsBodyIsEmpty(t *testing.T) {
	var length int64
	var encoding []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		length, encoding = r.ContentLength, r.TransferEncoding
		_, _ = io.WriteString(w, `{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"a","username":"a_bot"}}`)
	}))
	defer server.Close()
	c := newClient(t, server.URL, http.DefaultTransport)
	if _, err := c.GetMe(t.Context()); err != nil || length != 0 || encoding != nil {
		t.Errorf("%v; a body of %d bytes, encoded %v", err, length, encoding)
	}
}
