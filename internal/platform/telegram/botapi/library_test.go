package botapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/platform/platformtest"
)

// If go-telegram/bot gets one of these members or methods, the test fails and names our code that can then be removed.
func TestLibraryStillLacks(t *testing.T) {
	for _, test := range []struct {
		library any
		ours    any    // has the member in place of the library; nil if we read or send the member elsewhere
		member  string // a JSON member or a method
		canGo   string // our code that is then not needed
	}{
		{
			library: models.ChatFullInfo{},
			ours:    ChatInfo{},
			member:  "guard_bot",
			canGo:   "ChatInfo and GetChat, if can_edit_tag is a pointer",
		},
		{
			library: models.ChatJoinRequest{},
			member:  "query_id",
			canGo:   "joinRequest in package telegram",
		},
		{
			library: (*bot.Bot)(nil),
			ours:    (*Client)(nil),
			member:  "AnswerChatJoinRequestQuery",
			canGo:   "AnswerChatJoinRequestQuery",
		},
		{
			library: (*bot.Bot)(nil),
			ours:    (*Client)(nil),
			member:  "GetUpdates",
			canGo:   "GetUpdates, if it returns one batch undecoded",
		},
		{
			library: bot.SendMessageParams{},
			member:  "receiver_user_id",
			canGo:   "SendEphemeral",
		},
	} {
		platformtest.StillLacks(t, test.library, test.ours, test.member, test.canGo)
	}
}

// libraryClient carries the library's calls.
type libraryClient func(*http.Request) (*http.Response, error)

func (c libraryClient) Do(req *http.Request) (*http.Response, error) { return c(req) }

// newLibrary returns the library's own bot, with its calls carried by do.
func newLibrary(t *testing.T, do libraryClient, options ...bot.Option) *bot.Bot {
	t.Helper()
	quiet := bot.WithErrorsHandler(func(error) {})
	b, err := bot.New(token, append(options, bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, do), quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// okResponse returns a response with a body.
func okResponse(body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}
}

// This is why we have our own GetUpdates.
func TestLibraryStillAcknowledgesAnUpdateBeforeItsHandlerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var handled atomic.Bool
		polls := make(chan string, 10) // the offset of each poll
		poll := func(req *http.Request) (*http.Response, error) {
			polls <- req.FormValue("offset")
			if len(polls) == 1 {
				return okResponse(`{"ok":true,"result":[{"update_id":7,"message":{"message_id":1,"date":1,` +
					`"chat":{"id":5,"type":"private"}}}]}`), nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		library := newLibrary(t, poll, bot.WithDefaultHandler(func(context.Context, *bot.Bot, *models.Update) {
			time.Sleep(time.Hour)
			handled.Store(true)
		}))
		go library.Start(ctx)
		time.Sleep(time.Minute)
		if n := len(polls); handled.Load() || n != 2 {
			t.Fatalf("%d polls while the handler runs", n)
		}
		<-polls
		if offset := <-polls; offset != "8" { // which acknowledges update 7
			t.Errorf("the poll during the handler has the offset %q: our GetUpdates can go", offset)
		}
		stop()
		time.Sleep(2 * time.Hour)
	})
}

// The library's webhook accepts deliveries that it should refuse, so package telegram has its own ServeHTTP.
func TestLibrarysWebhookStillAccepts(t *testing.T) {
	library := newLibrary(t, nil, bot.WithWebhookSecretToken("right"))
	for name, delivery := range map[string]struct {
		secret string
		body   string
	}{
		"a wrong secret":   {"wrong", `{"update_id":1}`},
		"a body of 32 MiB": {"right", strings.Repeat(" ", 32<<20)},
		"not JSON":         {"right", "x"},
	} {
		body := strings.NewReader(delivery.body)
		req := httptest.NewRequest(http.MethodPost, "/", body)
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", delivery.secret)
		w := httptest.NewRecorder()
		library.WebhookHandler()(w, req)
		mustBeRead := delivery.secret == "right"
		isRead := body.Len() == 0
		if w.Code != http.StatusOK || mustBeRead && !isRead {
			t.Errorf("%s gets %d, with %d bytes unread: our ServeHTTP can go", name, w.Code, body.Len())
		}
	}
}

// The library cannot send a cache_time of 0, and sends a web_app of null, so we have our own AnswerInlineQuery.
func TestLibrarysInlineAnswerStillLacksZeroAndSendsNull(t *testing.T) {
	var sent map[string]string
	library := newLibrary(t, func(req *http.Request) (*http.Response, error) {
		sent = map[string]string{"button": req.FormValue("button")}
		if _, given := req.MultipartForm.Value["cache_time"]; given {
			sent["cache_time"] = req.FormValue("cache_time")
		}
		return okResponse(`{"ok":true,"result":true}`), nil
	})
	params := inlineParams(0)
	params.Button = &models.InlineQueryResultsButton{Text: "x", StartParameter: "inline"}
	_, err := library.AnswerInlineQuery(t.Context(), params)
	if err != nil || sent["cache_time"] != "" {
		t.Errorf("the library sends a cache_time of 0: %v, %v", sent, err)
	}
	if !strings.Contains(sent["button"], `"web_app":null`) {
		t.Errorf("the library's button is %s: InlineButton can go", sent["button"])
	}
}

// ChatInfo has its own permissions because of this: a missing can_edit_tag means another right.
func TestLibraryStillTakesAMissingRightForFalse(t *testing.T) {
	var missing, denied models.ChatPermissions
	err := json.Unmarshal([]byte(`{"can_edit_tag":false}`), &denied)
	if err != nil || !reflect.DeepEqual(missing, denied) {
		t.Errorf("%v: ChatInfo can use the library's ChatPermissions", err)
	}
}

// BenchmarkSentMessage compares onlyID with the library, which decodes the whole message.
func BenchmarkSentMessage(b *testing.B) {
	answer := []byte(`{"ok":true,"result":{"message_id":4713,` +
		`"from":{"id":123456789,"is_bot":true,"first_name":"Herald","username":"herald_bot"},` +
		`"chat":{"id":7000000001,"first_name":"Ann","type":"private"},"date":1750000000,` +
		`"text":"HRLD $0.04173  ·  +2.1 % in 24 h","entities":[{"offset":0,"length":13,"type":"bold"},` +
		`{"offset":18,"length":6,"type":"bold"}],` +
		`"reply_markup":{"inline_keyboard":[[{"text":"24h","callback_data":"1 n 0 price 24h"},` +
		`{"text":"7d","callback_data":"1 n 0 price 7d"}],[{"text":"Refresh","callback_data":"1 e 0 price"}]]}}}`)
	for name, decode := range map[string]func() error{
		"IDs": func() error { onlyID(answer); return nil },
		"library": func() error {
			var whole struct{ Result models.Message }
			return json.Unmarshal(answer, &whole)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall makes calls without a network.
func BenchmarkCall(b *testing.B) {
	sent := newClient(b, "http://bot.invalid", answer{status: 200, body: sentJSON})
	done := newClient(b, "http://bot.invalid", answer{status: 200, body: `{"ok":true,"result":true}`})
	for name, call := range map[string]func() error{
		"send":     func() error { return sent.send(b.Context()) },
		"press":    func() error { return pressAnswer.do(b.Context(), done) },
		"deletion": func() error { return deletion.do(b.Context(), done) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
