package botapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"golang.org/x/sync/errgroup"

	"herald/internal/demo/fake/transporttest"
	"herald/internal/secret"
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
		return nil, &transport.Error{Host: "h", Err: a.err}
	}
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

func refusing(code int, description, parameters string) answer {
	return answer{status: code, body: fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q,"parameters":{%s}}`, code, description, parameters)}
}

func TestFailedCallHasItsKind(t *testing.T) {
	for name, tt := range map[string]struct {
		answer answer
		kind   Kind
		says   string
		is     string
	}{
		"refused connection":  {answer{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, NotSent, "h: dial: connection refused", ""},
		"broken connection":   {answer{err: io.ErrUnexpectedEOF}, OutcomeUnknown, "h: the answer broke off", ""},
		"time out":            {answer{err: context.DeadlineExceeded}, OutcomeUnknown, "h: the time ran out", ""},
		"500 of the API":      {refusing(500, "Internal Server Error: can't parse entities", ""), OutcomeUnknown, "status 500", ""},
		"502 of a proxy":      {answer{status: 502, body: "<html>"}, OutcomeUnknown, "status 502", ""},
		"200 with a page":     {answer{status: 200, body: "<html>"}, OutcomeUnknown, "the answer is not the Bot API's", ""},
		"an error of no kind": {refusing(418, "what is this", ""), OutcomeUnknown, "", ""},
		"429":                 {refusing(429, "retry after 7", `"retry_after":7`), TooManyRequests, "", ""},
		"401":                 {refusing(401, "Unauthorized", ""), Unauthorized, "", ""},
		"409 of a webhook":    {refusing(409, "webhook is active", ""), Conflict, "a webhook is set for this token", ""},
		"403":                 {refusing(403, "Forbidden: bot was blocked by the user", ""), Forbidden, "the bot was blocked", "unreachable"},
		"an unknown chat":     {refusing(400, "Bad Request: chat not found", ""), Refused, "no such chat", "unreachable"},
		"a closed topic":      {refusing(400, "Bad Request: TOPIC_CLOSED", ""), Refused, "the topic is closed", ""},
		"no text":             {refusing(400, "there is no text in the message to edit", ""), Refused, "the message has no text", ""},
		"a group that moved":  {refusing(400, "upgraded", `"migrate_to_chat_id":-1005`), Migrated, "", ""},
		"a button":            {refusing(400, "Bad Request: BUTTON_DATA_INVALID", ""), Refused, "", "unexplained"},
		"a method not there":  {refusing(404, "Not Found", ""), Refused, "", "unexplained"},
		"too large":           {refusing(413, "Request Entity Too Large", ""), Refused, "", "unexplained"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, "http://bot.invalid", tt.answer)
			_, poll := c.GetUpdates(t.Context(), 1, 100, 0, nil)
			for method, err := range map[string]error{"sendMessage": c.send(t.Context()), "getUpdates": poll} {
				says := method + ": " + string(tt.kind)
				if tt.says != "" {
					says += ": " + tt.says
				}
				e := ErrorOf(err)
				is := map[bool]string{e.Unreachable(): "unreachable", e.Unexplained(): "unexplained"}[true]
				if err.Error() != says {
					t.Errorf("got %q, want %q", err, says)
				}
				if e.Kind != tt.kind {
					t.Errorf("%v: got kind %q, want %q", err, e.Kind, tt.kind)
				}
				if is != tt.is {
					t.Errorf("%v: got %q, want %q", err, is, tt.is)
				}
				if waits, moved := e.RetryAfter == 7*time.Second, e.NewChat == -1005; waits != (e.Kind == TooManyRequests) || moved != (e.Kind == Migrated) {
					t.Errorf("%q is %+v", err, e)
				}
			}
		})
	}
}

// Telegram's descriptions of a refused part of a message, as they were seen in reports.
func TestARefusedPartIsRecognized(t *testing.T) {
	for description, want := range map[string]string{
		"message thread not found":            "topic",
		"invalid message thread ID specified": "topic",
		"TOPIC_CLOSED":                        "topic",
		"TOPIC_DELETED":                       "topic",
		"TOPIC_ID_INVALID":                    "topic",
		"the chat is not a forum":             "topic",
		"message to be replied not found":     "reply",
		"message to reply not found":          "reply",
		"replied message not found":           "reply",
		"REPLY_MESSAGE_ID_INVALID":            "reply",
		"BUTTON_URL_INVALID":                  "link",
		"inline keyboard button URL 'x' is invalid: Wrong HTTP URL":           "link",
		"inline keyboard button URL 'x' is invalid: Unsupported URL protocol": "link",
		"entity URL 'x' is invalid: Unallowed characters in URL host":         "link",
		"wrong HTTP URL":                                      "link",
		"URL_INVALID":                                         "link",
		"IMAGE_PROCESS_FAILED":                                "picture",
		"PHOTO_INVALID_DIMENSIONS":                            "picture",
		"PHOTO_SAVE_FILE_INVALID":                             "picture",
		"not enough rights to send photos to the chat":        "picture",
		"CHAT_SEND_PHOTOS_FORBIDDEN":                          "picture",
		"MEDIA_CAPTION_TOO_LONG":                              "picture",
		"message caption is too long":                         "picture",
		"REPLY_MARKUP_INVALID":                                "unexplained",
		"not enough rights to send text messages to the chat": "",
		"message is not modified":                             "",
	} {
		e := ErrorOf(newClient(t, "http://bot.invalid", refusing(400, "Bad Request: "+description, "")).send(t.Context()))
		got := map[bool]string{
			e.RefusesTopic():       "topic",
			e.RefusesReply():       "reply",
			e.RefusesLink():        "link",
			e.detail == badPicture: "picture",
			e.Unexplained():        "unexplained",
		}[true]
		if got != want {
			t.Errorf("%s: got %q, want %q", description, got, want)
		}
	}
}

// An error code means the same whatever else the answer holds, and whatever the HTTP status says
// below 500. A page says nothing of the call.
func TestAnErrorCodeMeansTheSameInEveryForm(t *testing.T) {
	kindOf := map[int]Kind{
		400: Refused, 401: Unauthorized, 403: Forbidden, 404: Refused, 409: Conflict, 413: Refused,
		418: OutcomeUnknown, 429: TooManyRequests, 500: OutcomeUnknown, 502: OutcomeUnknown,
	}
	for code, kind := range kindOf {
		for _, parameters := range []string{
			``,
			`,"parameters":{}`,
			`,"parameters":null`,
			`,"parameters":[]`,
			`,"parameters":{"retry_after":"x"}`,
			`,"parameters":{"retry_after":-1}`,
		} {
			body := fmt.Sprintf(`{"ok":false,"error_code":%d,"description":"no"%s}`, code, parameters)
			for _, status := range []int{code, http.StatusOK} {
				err := newClient(t, "http://bot.invalid", answer{status: status, body: body}).send(t.Context())
				if e := ErrorOf(err); e.Kind != kind || e.RetryAfter != 0 {
					t.Errorf("status %d, %s: %v", status, body, err)
				}
			}
		}
		err := newClient(t, "http://bot.invalid", answer{status: code, body: "<html>no</html>"}).send(t.Context())
		if ErrorOf(err).Kind != OutcomeUnknown {
			t.Errorf("a page with status %d: %v", code, err)
		}
	}
}

func TestAHugeRetryAfterIsLimited(t *testing.T) {
	tooMany := refusing(429, "retry later", `"retry_after":9000000000000000`)
	err := newClient(t, "http://bot.invalid", tooMany).send(t.Context())
	if e := ErrorOf(err); e.RetryAfter != maxRetryAfter*time.Second {
		t.Errorf("a wait of %v: %v", e.RetryAfter, err)
	}
}

// A message must not be sent or edited twice because its result cannot be read.
func TestUnreadableResultOfAChangeIsSuccess(t *testing.T) {
	changes := everyCall()
	for _, method := range []string{
		"sendMessage", "sendPhoto", "editMessageText", "editMessageMedia", "deleteMessage", "answerCallbackQuery",
		"answerInlineQuery", "setChatMemberTag", "approveChatJoinRequest", "answerChatJoinRequestQuery", "setMyCommands",
	} {
		for _, result := range []string{`true`, `{}`, `null`, `[]`, `{"message_id":"7"}`, `{"message_id":7,"chat":[]}`} {
			c := newClient(t, "http://bot.invalid", answer{status: 200, body: `{"ok":true,"result":` + result + `}`})
			if err := changes[method].do(t.Context(), c); err != nil {
				t.Errorf("%s with the result %s: %v", method, result, err)
			}
		}
	}
}

// A call that only reads fails if its result cannot be read, and says which call it is.
func TestUnreadableResultOfAReadFails(t *testing.T) {
	for method, read := range map[string]func(*Client) error{
		"getMe":          func(c *Client) error { return failure(c.GetMe(t.Context())) },
		"getWebhookInfo": func(c *Client) error { return failure(c.GetWebhookInfo(t.Context())) },
		"getChat":        func(c *Client) error { return failure(c.GetChat(t.Context(), group)) },
		"getUpdates":     func(c *Client) error { return failure(c.GetUpdates(t.Context(), 1, 100, 0, nil)) },
		"getChatMember": func(c *Client) error {
			return failure(Call(t.Context(), c, (*bot.Bot).GetChatMember, &bot.GetChatMemberParams{ChatID: group, UserID: ann}))
		},
		"getMyCommands": func(c *Client) error {
			return failure(Call(t.Context(), c, (*bot.Bot).GetMyCommands, &bot.GetMyCommandsParams{}))
		},
	} {
		for _, result := range []string{`,"result":true`, `,"result":"x"`, `,"result":null`, `,"result": null`, ``} {
			c := newClient(t, "http://bot.invalid", answer{status: 200, body: `{"ok":true` + result + `}`})
			if e := ErrorOf(read(c)); e.Kind != Unreadable || e.Method != method {
				t.Errorf("%s%s: %v", method, result, e)
			}
		}
	}
}

func TestARequestThatCannotBeBuiltIsNotRepeated(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:%zz", nil)
	for method, call := range everyCall() {
		if err := call.do(t.Context(), c); err == nil || ErrorOf(err).Passing() {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Neither what a server or a proxy says nor the URL that was asked is repeated.
func TestTokenIsNeverPrinted(t *testing.T) {
	_, secret, _ := strings.Cut(token, ":")
	echo := "<html>no /bot" + token + "/getMe here</html>"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") }))
	defer elsewhere.Close()
	redirect := http.RedirectHandler(elsewhere.URL+"/bot"+token, http.StatusTemporaryRedirect)
	half := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, echo)
	})
	noHTTP := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, echo)
			conn.Close()
		}
	})
	at := func(h http.Handler) *Client {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return newClient(t, server.URL, nil)
	}
	for name, c := range map[string]*Client{
		"nothing listens there": newClient(t, transporttest.RefusedURL, nil),
		"no URL":                newClient(t, "http://127.0.0.1:%zz", nil),
		"no TLS":                newClient(t, "https"+strings.TrimPrefix(at(half).url, "http"), nil),
		"a redirect":            at(redirect),
		"half an answer":        at(half),
		"no HTTP":               at(noHTTP),
		"a page with 200":       newClient(t, "http://bot.invalid", answer{status: 200, body: echo}),
		"a refusal":             newClient(t, "http://bot.invalid", refusing(400, echo, "")),
	} {
		for method, call := range everyCall() {
			err := call.do(t.Context(), c)
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); err == nil || strings.Contains(text, secret) {
				t.Errorf("%s, %s: %v", name, method, err)
			}
		}
	}
	c := newClient(t, "http://bot.invalid", nil)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if text := fmt.Sprintf(verb, c) + fmt.Sprintf(verb, *c); strings.Contains(text, secret) {
			t.Errorf("the client prints as %s", text)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":[{"update_id":1},7,null]}`))
	f.Add([]byte(`{"ok":false,"error_code":429,"parameters":{"retry_after":-1}}`))
	f.Add([]byte(`<html></html>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newClient(t, "http://bot.invalid", answer{status: 200, body: string(raw)})
		if _, err := c.GetUpdates(t.Context(), 1, 100, 0, nil); err != nil && ErrorOf(err).Kind == NotSent {
			t.Errorf("an answer counts as never sent: %v", err)
		}
	})
}

const sentJSON = `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":5,"type":"private"},"text":"x"}}`

const token = "123456789:TEST-token_0123456789abcdefghijklm"

// newClient is a Client of a Bot API at this address; carried by rt, if any.
func newClient(t testing.TB, address string, rt http.RoundTripper) *Client {
	t.Helper()
	return New(Config{Token: secret.New(token), URL: address, MaxConns: 4, Transport: rt})
}

func (c *Client) send(ctx context.Context) error {
	return failure(Change(ctx, c, (*bot.Bot).SendMessage, &bot.SendMessageParams{ChatID: 5, Text: "x"}))
}

// A connection may be closed as soon as an answer is out, or just while another
// message is written to it. One that was read there may be out and must not be
// sent again, although its body could be.
func TestLostMessageIsNotRepeated(t *testing.T) {
	for _, answers := range []int64{1, 10} { // on each connection, before one more request is read
		var arrived atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if arrived.Add(1)%(answers+1) == 0 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, sentJSON)
		}))
		t.Cleanup(server.Close)
		c := newClient(t, server.URL, nil)
		for i := range 40 {
			before := arrived.Load()
			err := c.send(t.Context())
			n := arrived.Load() - before
			if n > 1 || err == nil && n != 1 || ErrorOf(err).Kind == NotSent && n != 0 {
				t.Fatalf("message %d of connections closed after %d: arrived %d times, %v", i, answers, n, err)
			}
		}
		if out := arrived.Load(); out < 20 {
			t.Errorf("only %d of 40 messages arrived", out)
		}
	}
}

// A server that closes its HTTP/2 connection three times in a burst (GOAWAY) gets each message
// once: net/http sends again what the server did not read. It does so at once the first time, then
// after 1, 2, 4 and 8 s: with more closings, an unlucky message would take longer than a call may.
func TestABurstSurvivesGOAWAY(t *testing.T) {
	var mu sync.Mutex
	arrived := map[string]int{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.FormValue("text")
		mu.Lock()
		defer mu.Unlock()
		arrived[text]++
		if len(arrived)%100 == 0 {
			w.Header().Set("Connection", "close") // which net/http turns into a GOAWAY
		}
		_, _ = io.WriteString(w, sentJSON)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	c := newClient(t, server.URL, server.Client().Transport)
	const burst, workers = 400, 40
	var sending errgroup.Group
	sending.SetLimit(workers)
	for i := range burst {
		sending.Go(func() error {
			message := &bot.SendMessageParams{ChatID: 5, Text: fmt.Sprint(i)}
			return failure(Change(t.Context(), c, (*bot.Bot).SendMessage, message))
		})
	}
	if err := sending.Wait(); err != nil {
		t.Error(err)
	}
	for text, n := range arrived {
		if n != 1 {
			t.Errorf("message %s arrived %d times", text, n)
		}
	}
	if len(arrived) != burst {
		t.Errorf("%d of %d messages arrived", len(arrived), burst)
	}
}

// The detail is that of the longest part of the description, and names the right that the
// method needs.
func TestARefusedCallNamesItsRight(t *testing.T) {
	const invite = "the bot lacks the right to invite users"
	for _, row := range []struct {
		method            string
		code              int
		description, want string
	}{
		{"sendMessage", 400, "Bad Request: not enough rights to send text messages to the chat", mayNotWrite},
		{"deleteMessage", 400, "Bad Request: not enough rights", noRight},
		{"setChatMemberTag", 400, "Bad Request: not enough rights", "the bot lacks the right to manage member tags"},
		{"approveChatJoinRequest", 400, "Bad Request: not enough rights to send", invite},
		{"approveChatJoinRequest", 400, "Bad Request: not enough rights to manage chat join requests", invite},
		{"approveChatJoinRequest", 400, "Bad Request: CHAT_ADMIN_REQUIRED", invite},
		{"approveChatJoinRequest", 403, "Forbidden: CHAT_WRITE_FORBIDDEN", invite},
		{"answerChatJoinRequestQuery", 403, "Forbidden: bot is not a member of the supergroup chat", invite},
		{"answerChatJoinRequestQuery", 400, "Bad Request: CHAT_ADMIN_REQUIRED", invite},
		{"approveChatJoinRequest", 400, "Bad Request: HIDE_REQUESTER_MISSING", noJoinRequest},
	} {
		for range 50 { // Maps have no order.
			e := ErrorOf(refused(row.method, &refusal{Code: row.code, Description: row.description}))
			if e.detail != row.want || e.NotAllowed() != (row.want != mayNotWrite && row.want != noJoinRequest) {
				t.Fatalf("%+v: %v, not allowed: %t", row, e, e.NotAllowed())
			}
		}
	}
}

// Each refusal of an approval that says something about the user is told apart.
func TestARefusedApprovalSaysWhatIsWrongWithTheUser(t *testing.T) {
	for _, row := range []struct {
		code              int
		description, want string
	}{
		{400, "Bad Request: USER_CHANNELS_TOO_MUCH", "in too many chats"},
		{400, "Bad Request: CHANNELS_TOO_MUCH", "in too many chats"},
		{400, "Bad Request: USER_KICKED", "banned"},
		{400, "Bad Request: USER_BANNED_IN_CHANNEL", "banned"},
		{400, "Bad Request: INPUT_USER_DEACTIVATED", "deleted"},
		{403, "Forbidden: user is deactivated", "deleted"},
		{400, "Bad Request: USER_ALREADY_PARTICIPANT", "a member"},
		{400, "Bad Request: HIDE_REQUESTER_MISSING", "no request"},
		{400, "Bad Request: CHAT_ADMIN_REQUIRED", ""},
		{403, "Forbidden: bot is not a member of the supergroup chat", ""},
		{400, "Bad Request: CHANNEL_PRIVATE", ""},
	} {
		for _, method := range []string{"approveChatJoinRequest", "answerChatJoinRequestQuery"} {
			e := ErrorOf(refused(method, &refusal{Code: row.code, Description: row.description}))
			var is []string
			for what, holds := range map[string]bool{
				"in too many chats": e.InTooManyChats(), "banned": e.Banned(), "deleted": e.AccountDeleted(),
				"a member": e.AlreadyMember(), "no request": e.NoJoinRequest(),
			} {
				if holds {
					is = append(is, what)
				}
			}
			if got := strings.Join(is, ", "); got != row.want {
				t.Errorf("%s, %s: the user is %q, want %q", method, row.description, got, row.want)
			}
		}
	}
}
