package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/demo/fake/telegramtest"
)

const (
	ann   = 501
	group = -1001
)

// full is content of everything that the bot can say, and its members as JSON.
var (
	full = Content{
		Text: "Price now, docs, more",
		Entities: []Entity{
			{Type: models.MessageEntityTypeBold, Length: 5},
			{Type: DateTime, Offset: 6, Length: 3, UnixTime: 1750000000, TimeFormat: "r"},
			{Type: models.MessageEntityTypeTextLink, Offset: 11, Length: 4, URL: "https://example.com/"},
		},
		Markup: Keyboard{Rows: [][]Button{
			{{Text: "Refresh", Data: "1:price"}, {Text: "Explorer", URL: "https://example.com/x"}},
			{{Text: "Copy", Copy: &models.CopyTextButton{Text: "0x1"}}},
		}},
	}
	entities = `[{"type":"bold","offset":0,"length":5},` +
		`{"type":"date_time","offset":6,"length":3,"unix_time":1750000000,"date_time_format":"r"},` +
		`{"type":"text_link","offset":11,"length":4,"url":"https://example.com/"}]`
	keyboard = `{"inline_keyboard":[[{"text":"Refresh","callback_data":"1:price"},` +
		`{"text":"Explorer","url":"https://example.com/x"}],[{"text":"Copy","copy_text":{"text":"0x1"}}]]}`
	noLinks     = `"link_preview_options":{"is_disabled":true}`
	message     = `"text":"Price now, docs, more","entities":` + entities + `,"reply_markup":` + keyboard + `,` + noLinks
	captionJSON = `"caption":"Price now, docs, more","caption_entities":` + entities
)

// picture is a PNG of one pixel.
func picture() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // a buffer takes everything
	return b.Bytes()
}

type apiCall struct {
	do   func(context.Context, *Client) error
	body string // what goes out, as JSON
}

// everyCall is a call of each method, with all that it can have.
func everyCall() map[string]apiCall {
	type ctx = context.Context
	to, ref := Destination{Chat: group, Thread: 7, ReplyTo: 9, Silent: true}, MessageRef{Chat: group, MessageID: 5}
	whereTo := `"chat_id":-1001,"message_thread_id":7,"disable_notification":true,` +
		`"reply_parameters":{"message_id":9,"allow_sending_without_reply":true},`
	pictured := full
	pictured.Picture = picture()
	menu, menuJSON := &Menu{Scope: &models.BotCommandScopeAllChatAdministrators{}, LanguageCode: "es"}, `"scope":{"type":"all_chat_administrators"},"language_code":"es"`
	commands := []MenuCommand{{Command: "price", Description: "Precio"}, {Command: "logins", Description: "Accesos", Ephemeral: true}}
	article := Article{ID: "price", Title: "Price", Description: "$1", Content: full}
	return map[string]apiCall{
		"getMe":          {func(x ctx, c *Client) error { return failure(c.GetMe(x)) }, `{}`},
		"getWebhookInfo": {func(x ctx, c *Client) error { return failure(c.GetWebhookInfo(x)) }, `{}`},
		"deleteWebhook":  {func(x ctx, c *Client) error { return c.DeleteWebhook(x) }, `{}`},
		"setWebhook": {func(x ctx, c *Client) error {
			return c.SetWebhook(x, &bot.SetWebhookParams{URL: "https://b.example/x", SecretToken: "s", AllowedUpdates: []string{"message"}})
		}, `{"url":"https://b.example/x","secret_token":"s","allowed_updates":["message"]}`},
		"getUpdates": {func(x ctx, c *Client) error { return failure(c.GetUpdates(x, 6, 50, 0, []string{"message"})) },
			`{"offset":6,"limit":50,"timeout":0,"allowed_updates":["message"]}`},
		"getChatMember": {func(x ctx, c *Client) error {
			return failure(c.GetMember(x, group, ann))
		}, `{"chat_id":-1001,"user_id":501}`},
		"sendChatAction": {func(x ctx, c *Client) error {
			return c.SendChatAction(x, &bot.SendChatActionParams{ChatID: group, MessageThreadID: 7, Action: models.ChatActionTyping})
		}, `{"chat_id":-1001,"message_thread_id":7,"action":"typing"}`},
		"sendMessage": {func(x ctx, c *Client) error { return failure(c.Send(x, to, full)) }, `{` + whereTo + message + `}`},
		"sendPhoto": {func(x ctx, c *Client) error { return failure(c.Send(x, to, pictured)) },
			`{` + whereTo + captionJSON + `,"reply_markup":` + keyboard + `,"photo":"attach://photo"}`},
		"editMessageText": {func(x ctx, c *Client) error { return failure(c.Edit(x, ref, full)) },
			`{"chat_id":-1001,"message_id":5,` + message + `}`},
		"editMessageMedia": {func(x ctx, c *Client) error { return failure(c.Edit(x, ref, pictured)) },
			`{"chat_id":-1001,"message_id":5,"media":{"type":"photo","media":"attach://photo",` + captionJSON + `},"reply_markup":` + keyboard + `}`},
		"deleteMessage": {func(x ctx, c *Client) error { return c.do(x, "deleteMessage", ref) }, `{"chat_id":-1001,"message_id":5}`},
		"answerCallbackQuery": {func(x ctx, c *Client) error {
			return c.AnswerCallbackQuery(x, &bot.AnswerCallbackQueryParams{CallbackQueryID: "5", Text: "Newest.", ShowAlert: true, URL: "https://t.me/herald_bot?start=x"})
		}, `{"callback_query_id":"5","text":"Newest.","show_alert":true,"url":"https://t.me/herald_bot?start=x"}`},
		"answerInlineQuery": {func(x ctx, c *Client) error {
			button := &InlineButton{Text: "Open", Start: "inline"}
			return c.AnswerInlineQuery(x, InlineAnswer{
				ID: "5", Results: []Article{article}, Cache: 30 * time.Second, Personal: true, Button: button,
			})
		}, `{"inline_query_id":"5","results":[{"type":"article","id":"price","title":"Price","description":"$1",` +
			`"input_message_content":{"message_text":"Price now, docs, more","entities":` + entities + `,` + noLinks + `},` +
			`"reply_markup":` + keyboard + `}],"cache_time":30,"is_personal":true,"button":{"text":"Open","start_parameter":"inline"}}`},
		"setMyCommands": {func(x ctx, c *Client) error { return c.SetMyCommands(x, menu, commands) },
			`{` + menuJSON + `,"commands":[{"command":"price","description":"Precio"},` +
				`{"command":"logins","description":"Accesos","is_ephemeral":true}]}`},
		"getMyCommands":          {func(x ctx, c *Client) error { return failure(c.GetMyCommands(x, menu)) }, `{` + menuJSON + `}`},
		"setMyDescription":       {func(x ctx, c *Client) error { return c.SetMyDescription(x, "", "a") }, `{"description":"a"}`},
		"getMyDescription":       {func(x ctx, c *Client) error { return failure(c.GetMyDescription(x, "")) }, `{}`},
		"getMyShortDescription":  {func(x ctx, c *Client) error { return failure(c.GetMyShortDescription(x, "es")) }, `{"language_code":"es"}`},
		"approveChatJoinRequest": {func(x ctx, c *Client) error { return c.Approve(x, group, ann) }, `{"chat_id":-1001,"user_id":501}`},
		"answerChatJoinRequestQuery": {func(x ctx, c *Client) error { return c.AnswerJoinQuery(x, "5", JoinQueued) },
			`{"chat_join_request_query_id":"5","result":"queue"}`},
		"setChatMemberTag": {func(x ctx, c *Client) error { return c.SetTag(x, group, ann, "") }, `{"chat_id":-1001,"user_id":501,"tag":""}`},
		"getChat":          {func(x ctx, c *Client) error { return failure(c.GetChat(x, group)) }, `{"chat_id":-1001}`},
		"setMyShortDescription": {func(x ctx, c *Client) error { return c.SetMyShortDescription(x, "es", "a") },
			`{"language_code":"es","short_description":"a"}`},
	}
}

// failure is the error of a call, without its result.
func failure[T any](_ T, err error) error { return err }

// replayTransport carries requests whose body can be sent again, and counts them.
type replayTransport struct {
	*testing.T
	http.RoundTripper
	requests int
}

func (w *replayTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	replay, err := req.GetBody()
	if err != nil {
		w.Fatal(err)
	}
	again, _ := io.ReadAll(replay)
	body, err := io.ReadAll(req.Body)
	if err != nil || !bytes.Equal(body, again) || req.ContentLength != int64(len(body)) {
		w.Errorf("%d bytes, declared as %d; sent again: %d, %v", len(body), req.ContentLength, len(again), err)
	}
	w.requests++
	req.Body = io.NopCloser(bytes.NewReader(body))
	return w.RoundTripper.RoundTrip(req)
}

// Every call says what it is given, as the Bot API's description allows, fails
// as SendMessage does, and can be transmitted again by net/http if the server
// never looked at it.
func TestEveryCall(t *testing.T) {
	for name, call := range everyCall() {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.NewInMemory(t)
			carried := &replayTransport{T: t, RoundTripper: s}
			c := newClient(t, s.URL, carried)
			s.Fail(name, telegramtest.TooMany(7*time.Second), telegramtest.Status(403), telegramtest.Page(502), telegramtest.ResetBefore())
			for i, want := range []Kind{TooManyRequests, Forbidden, OutcomeUnknown, OutcomeUnknown} {
				err := call.do(t.Context(), c)
				if e := ErrorOf(err); e.Kind != want || e.Method != name || want == TooManyRequests && e.RetryAfter != 7*time.Second {
					t.Errorf("failure %d: %v", i, err)
				}
			}
			s.Revoke()
			if err := call.do(t.Context(), c); ErrorOf(err).Kind != Unauthorized {
				t.Errorf("a refused token: %v", err)
			}
			given, _ := json.Marshal(s.Calls(name)[0].Params)
			var got, want any
			if err := errors.Join(json.Unmarshal(given, &got), json.Unmarshal([]byte(call.body), &want)); err != nil {
				t.Fatal(err)
			}
			if carried.requests != 5 || !reflect.DeepEqual(got, want) {
				t.Errorf("%d requests, of %s, want %s", carried.requests, given, call.body)
			}
		})
	}
}

func TestAnEditThatChangesNothingSucceeds(t *testing.T) {
	s := telegramtest.NewInMemory(t)
	c := newClient(t, s.URL, s)
	id, err := c.Send(t.Context(), Destination{Chat: group}, Content{Text: "x"})
	for _, want := range []bool{true, false} {
		changed, failed := c.Edit(t.Context(), MessageRef{Chat: group, MessageID: id}, Content{Text: "y"})
		if err = errors.Join(err, failed); changed != want {
			t.Errorf("changed: %t, want %t", changed, want)
		}
	}
	if err != nil || s.Sent()[0].Edits != 1 {
		t.Errorf("%v; sent %+v", err, s.Sent())
	}
}

// A server that does not know ephemeral messages would make their answers public.
func TestOnlyAGroupMembersMessageIsEphemeral(t *testing.T) {
	for name, m := range map[string]EphemeralMessage{
		"an ordinary message": NewEphemeralMessage(group, ann, 0, ""),
		"a private chat":      NewEphemeralMessage(ann, ann, 5, ""),
		"nobody":              NewEphemeralMessage(group, 0, 5, ""),
	} {
		if m.Arrived() {
			t.Error(name)
		}
	}
}
