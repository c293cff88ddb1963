package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

type apiCall struct {
	do   func(context.Context, *Client) error
	body string // what goes out, as JSON
}

// by is a call by a method of the library.
func by[P, R any](method Method[P, R], params P, body string) apiCall {
	return own(func(ctx context.Context, c *Client) error { return failure(Change(ctx, c, method, params)) }, body)
}

// own is a call by a method of Client that returns no result.
func own(do func(context.Context, *Client) error, body string) apiCall { return apiCall{do, body} }

var (
	deletion = by((*bot.Bot).DeleteMessage, &bot.DeleteMessageParams{ChatID: group, MessageID: 5},
		`{"chat_id":-1001,"message_id":5}`)
	pressAnswer = by((*bot.Bot).AnswerCallbackQuery,
		&bot.AnswerCallbackQueryParams{
			CallbackQueryID: "5", Text: "Newest.", ShowAlert: true, URL: "https://t.me/herald_bot?start=x",
		},
		`{"callback_query_id":"5","text":"Newest.","show_alert":true,"url":"https://t.me/herald_bot?start=x"}`)
)

// everyCall is a call of each method that the bot uses. TestContentGoesOutWhole in package outbox has
// the messages with everything in them.
func everyCall() map[string]apiCall {
	type ctx = context.Context
	administrators := &models.BotCommandScopeAllChatAdministrators{}
	menu := `"scope":{"type":"all_chat_administrators"},"language_code":"es"`
	commands := []models.BotCommand{
		{Command: "price", Description: "Precio"},
		{Command: "logins", Description: "Accesos", IsEphemeral: true},
	}
	return map[string]apiCall{
		"getMe":          own(func(x ctx, c *Client) error { return failure(c.GetMe(x)) }, `{}`),
		"getWebhookInfo": own(func(x ctx, c *Client) error { return failure(c.GetWebhookInfo(x)) }, `{}`),
		"deleteWebhook":  by((*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{}, `{}`),
		"setWebhook": by((*bot.Bot).SetWebhook,
			&bot.SetWebhookParams{URL: "https://b.example/x", SecretToken: "s", AllowedUpdates: []string{"message"}},
			`{"url":"https://b.example/x","secret_token":"s","allowed_updates":["message"]}`),
		"getUpdates": own(func(x ctx, c *Client) error { return failure(c.GetUpdates(x, 6, 50, 0, []string{"message"})) },
			`{"offset":6,"limit":50,"timeout":0,"allowed_updates":["message"]}`),
		"getChatMember": by((*bot.Bot).GetChatMember, &bot.GetChatMemberParams{ChatID: group, UserID: ann},
			`{"chat_id":-1001,"user_id":501}`),
		"sendChatAction": by((*bot.Bot).SendChatAction,
			&bot.SendChatActionParams{ChatID: group, MessageThreadID: 7, Action: models.ChatActionTyping},
			`{"chat_id":-1001,"message_thread_id":7,"action":"typing"}`),
		"sendMessage": by((*bot.Bot).SendMessage, &bot.SendMessageParams{ChatID: group, Text: "x"},
			`{"chat_id":-1001,"text":"x"}`),
		"sendPhoto": by((*bot.Bot).SendPhoto,
			&bot.SendPhotoParams{ChatID: group, Photo: &models.InputFileString{Data: "https://x.example/"}},
			`{"chat_id":-1001,"photo":"https://x.example/"}`),
		"editMessageText": by((*bot.Bot).EditMessageText, &bot.EditMessageTextParams{ChatID: group, MessageID: 5, Text: "x"},
			`{"chat_id":-1001,"message_id":5,"text":"x"}`),
		"editMessageMedia": by((*bot.Bot).EditMessageMedia,
			&bot.EditMessageMediaParams{
				ChatID: group, MessageID: 5, Media: &models.InputMediaPhoto{Media: "https://x.example/"},
			},
			`{"chat_id":-1001,"message_id":5,"media":{"type":"photo","media":"https://x.example/"}}`),
		"deleteMessage":       deletion,
		"answerCallbackQuery": pressAnswer,
		"answerInlineQuery": own(func(x ctx, c *Client) error {
			return c.AnswerInlineQuery(x, inlineParams(0), &InlineButton{Text: "Open", Start: "inline"})
		}, `{"inline_query_id":"5","results":[{"type":"article","id":"price","title":"Price",`+
			`"input_message_content":{"message_text":"$1"}}],"cache_time":0,"is_personal":true,`+
			`"button":{"text":"Open","start_parameter":"inline"}}`),
		"setMyCommands": by((*bot.Bot).SetMyCommands,
			&bot.SetMyCommandsParams{Commands: commands, Scope: administrators, LanguageCode: "es"},
			`{`+menu+`,"commands":[{"command":"price","description":"Precio"},`+
				`{"command":"logins","description":"Accesos","is_ephemeral":true}]}`),
		"getMyCommands": by((*bot.Bot).GetMyCommands,
			&bot.GetMyCommandsParams{Scope: administrators, LanguageCode: "es"}, `{`+menu+`}`),
		"setMyDescription": by((*bot.Bot).SetMyDescription, &bot.SetMyDescriptionParams{Description: "a"},
			`{"description":"a"}`),
		"getMyDescription": by((*bot.Bot).GetMyDescription, &bot.GetMyDescriptionParams{}, `{}`),
		"setMyShortDescription": by((*bot.Bot).SetMyShortDescription,
			&bot.SetMyShortDescriptionParams{ShortDescription: "a", LanguageCode: "es"},
			`{"language_code":"es","short_description":"a"}`),
		"getMyShortDescription": by((*bot.Bot).GetMyShortDescription, &bot.GetMyShortDescriptionParams{LanguageCode: "es"},
			`{"language_code":"es"}`),
		"approveChatJoinRequest": by((*bot.Bot).ApproveChatJoinRequest,
			&bot.ApproveChatJoinRequestParams{ChatID: group, UserID: ann},
			`{"chat_id":-1001,"user_id":501}`),
		"answerChatJoinRequestQuery": own(func(x ctx, c *Client) error {
			return c.AnswerChatJoinRequestQuery(x, "5", JoinQueued)
		}, `{"chat_join_request_query_id":"5","result":"queue"}`),
		"setChatMemberTag": by((*bot.Bot).SetChatMemberTag,
			&bot.SetChatMemberTagParams{ChatID: group, UserID: ann, Tag: "Staker"},
			`{"chat_id":-1001,"user_id":501,"tag":"Staker"}`),
		"getChat": own(func(x ctx, c *Client) error { return failure(c.GetChat(x, group)) }, `{"chat_id":-1001}`),
	}
}

// inlineParams is an answer with one article that Telegram may cache for these seconds.
func inlineParams(seconds int) *bot.AnswerInlineQueryParams {
	article := &models.InlineQueryResultArticle{
		ID: "price", Title: "Price", InputMessageContent: &models.InputTextMessageContent{MessageText: "$1"},
	}
	return &bot.AnswerInlineQueryParams{
		InlineQueryID: "5", Results: []models.InlineQueryResult{article}, IsPersonal: true, CacheTime: seconds,
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
	w.requests++
	if req.Body == nil || req.Body == http.NoBody {
		return w.RoundTripper.RoundTrip(req)
	}
	replay, err := req.GetBody()
	if err != nil {
		w.Fatal(err)
	}
	again, _ := io.ReadAll(replay)
	body, err := io.ReadAll(req.Body)
	if err != nil || !bytes.Equal(body, again) || req.ContentLength != int64(len(body)) {
		w.Errorf("%d bytes, declared as %d; sent again: %d, %v", len(body), req.ContentLength, len(again), err)
	}
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
