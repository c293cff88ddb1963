package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
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

// apiCall is a call of the Bot API.
type apiCall struct {
	do   func(context.Context, *Client) error
	body string // the parameters that do must send, as JSON
}

// byLibrary returns a call that Change makes by a method of the library.
func byLibrary[P, R any](method Method[P, R], params P, body string) apiCall {
	do := func(ctx context.Context, c *Client) error { return failure(Change(ctx, c, method, params)) }
	return apiCall{do: do, body: body}
}

// failure returns the error of a call, without its result.
func failure[T any](_ T, err error) error { return err }

var deletion = byLibrary(
	(*bot.Bot).DeleteMessage,
	&bot.DeleteMessageParams{ChatID: group, MessageID: 5},
	`{"chat_id":-1001,"message_id":5}`,
)

var pressAnswer = byLibrary(
	(*bot.Bot).AnswerCallbackQuery,
	&bot.AnswerCallbackQueryParams{
		CallbackQueryID: "5",
		Text:            "Newest.",
		ShowAlert:       true,
		URL:             "https://t.me/herald_bot?start=x",
	},
	`{"callback_query_id":"5","text":"Newest.","show_alert":true,"url":"https://t.me/herald_bot?start=x"}`,
)

// everyCall returns a call of each method that the bot uses, by its name. TestContentGoesOutWhole in package outbox
// sends messages with every parameter.
func everyCall() map[string]apiCall {
	all := map[string]apiCall{}
	for _, some := range []map[string]apiCall{updateCalls(), messageCalls(), answerCalls(), menuCalls(), memberCalls()} {
		maps.Copy(all, some)
	}
	return all
}

func updateCalls() map[string]apiCall {
	return map[string]apiCall{
		"getMe": {
			func(ctx context.Context, c *Client) error { return failure(c.GetMe(ctx)) },
			`{}`,
		},
		"getWebhookInfo": {
			func(ctx context.Context, c *Client) error { return failure(c.GetWebhookInfo(ctx)) },
			`{}`,
		},
		"deleteWebhook": byLibrary(
			(*bot.Bot).DeleteWebhook,
			&bot.DeleteWebhookParams{},
			`{}`,
		),
		"setWebhook": byLibrary(
			(*bot.Bot).SetWebhook,
			&bot.SetWebhookParams{URL: "https://b.example/x", SecretToken: "s", AllowedUpdates: []string{"message"}},
			`{"url":"https://b.example/x","secret_token":"s","allowed_updates":["message"]}`,
		),
		"getUpdates": {
			func(ctx context.Context, c *Client) error {
				return failure(c.GetUpdates(ctx, 6, 50, 0, []string{"message"}))
			},
			`{"offset":6,"limit":50,"timeout":0,"allowed_updates":["message"]}`,
		},
	}
}

func messageCalls() map[string]apiCall {
	return map[string]apiCall{
		"sendChatAction": byLibrary(
			(*bot.Bot).SendChatAction,
			&bot.SendChatActionParams{ChatID: group, MessageThreadID: 7, Action: models.ChatActionTyping},
			`{"chat_id":-1001,"message_thread_id":7,"action":"typing"}`,
		),
		"sendMessage": byLibrary(
			(*bot.Bot).SendMessage,
			&bot.SendMessageParams{ChatID: group, Text: "x"},
			`{"chat_id":-1001,"text":"x"}`,
		),
		"sendPhoto": byLibrary(
			(*bot.Bot).SendPhoto,
			&bot.SendPhotoParams{ChatID: group, Photo: &models.InputFileString{Data: "https://x.example/"}},
			`{"chat_id":-1001,"photo":"https://x.example/"}`,
		),
		"editMessageText": byLibrary(
			(*bot.Bot).EditMessageText,
			&bot.EditMessageTextParams{ChatID: group, MessageID: 5, Text: "x"},
			`{"chat_id":-1001,"message_id":5,"text":"x"}`,
		),
		"editMessageMedia": byLibrary(
			(*bot.Bot).EditMessageMedia,
			&bot.EditMessageMediaParams{
				ChatID:    group,
				MessageID: 5,
				Media:     &models.InputMediaPhoto{Media: "https://x.example/"},
			},
			`{"chat_id":-1001,"message_id":5,"media":{"type":"photo","media":"https://x.example/"}}`,
		),
		"deleteMessage": deletion,
	}
}

func answerCalls() map[string]apiCall {
	return map[string]apiCall{
		"answerCallbackQuery": pressAnswer,
		"answerInlineQuery": {
			func(ctx context.Context, c *Client) error {
				return c.AnswerInlineQuery(ctx, inlineParams(0), &InlineButton{Text: "Open", Start: "inline"})
			},
			`{
				"inline_query_id":"5",
				"results":[{
					"type":"article","id":"price","title":"Price","input_message_content":{"message_text":"$1"}
				}],
				"cache_time":0,
				"is_personal":true,
				"button":{"text":"Open","start_parameter":"inline"}
			}`,
		},
		"answerChatJoinRequestQuery": {
			func(ctx context.Context, c *Client) error { return c.AnswerChatJoinRequestQuery(ctx, "5", JoinQueued) },
			`{"chat_join_request_query_id":"5","result":"queue"}`,
		},
	}
}

func menuCalls() map[string]apiCall {
	administrators := &models.BotCommandScopeAllChatAdministrators{}
	commands := []models.BotCommand{
		{Command: "price", Description: "Precio"},
		{Command: "logins", Description: "Accesos", IsEphemeral: true},
	}
	return map[string]apiCall{
		"setMyCommands": byLibrary(
			(*bot.Bot).SetMyCommands,
			&bot.SetMyCommandsParams{Commands: commands, Scope: administrators, LanguageCode: "es"},
			`{
				"scope":{"type":"all_chat_administrators"},
				"language_code":"es",
				"commands":[
					{"command":"price","description":"Precio"},
					{"command":"logins","description":"Accesos","is_ephemeral":true}
				]
			}`,
		),
		"getMyCommands": byLibrary(
			(*bot.Bot).GetMyCommands,
			&bot.GetMyCommandsParams{Scope: administrators, LanguageCode: "es"},
			`{"scope":{"type":"all_chat_administrators"},"language_code":"es"}`,
		),
		"setMyDescription": byLibrary(
			(*bot.Bot).SetMyDescription,
			&bot.SetMyDescriptionParams{Description: "a"},
			`{"description":"a"}`,
		),
		"getMyDescription": byLibrary(
			(*bot.Bot).GetMyDescription,
			&bot.GetMyDescriptionParams{},
			`{}`,
		),
		"setMyShortDescription": byLibrary(
			(*bot.Bot).SetMyShortDescription,
			&bot.SetMyShortDescriptionParams{ShortDescription: "a", LanguageCode: "es"},
			`{"language_code":"es","short_description":"a"}`,
		),
		"getMyShortDescription": byLibrary(
			(*bot.Bot).GetMyShortDescription,
			&bot.GetMyShortDescriptionParams{LanguageCode: "es"},
			`{"language_code":"es"}`,
		),
	}
}

func memberCalls() map[string]apiCall {
	return map[string]apiCall{
		"getChat": {
			func(ctx context.Context, c *Client) error { return failure(c.GetChat(ctx, group)) },
			`{"chat_id":-1001}`,
		},
		"getChatMember": byLibrary(
			(*bot.Bot).GetChatMember,
			&bot.GetChatMemberParams{ChatID: group, UserID: ann},
			`{"chat_id":-1001,"user_id":501}`,
		),
		"approveChatJoinRequest": byLibrary(
			(*bot.Bot).ApproveChatJoinRequest,
			&bot.ApproveChatJoinRequestParams{ChatID: group, UserID: ann},
			`{"chat_id":-1001,"user_id":501}`,
		),
		"setChatMemberTag": byLibrary(
			(*bot.Bot).SetChatMemberTag,
			&bot.SetChatMemberTagParams{ChatID: group, UserID: ann, Tag: "Staker"},
			`{"chat_id":-1001,"user_id":501,"tag":"Staker"}`,
		),
	}
}

// inlineParams returns an answer with one article, which Telegram may cache for a time.
func inlineParams(cacheSeconds int) *bot.AnswerInlineQueryParams {
	article := &models.InlineQueryResultArticle{
		ID:                  "price",
		Title:               "Price",
		InputMessageContent: &models.InputTextMessageContent{MessageText: "$1"},
	}
	return &bot.AnswerInlineQueryParams{
		InlineQueryID: "5",
		Results:       []models.InlineQueryResult{article},
		IsPersonal:    true,
		CacheTime:     cacheSeconds,
	}
}

// The fake checks the parameters by the Bot API's description, too.
func TestEveryCallSendsItsParameters(t *testing.T) {
	for method, call := range everyCall() {
		s := telegramtest.NewInMemory(t)
		s.Fail(method, telegramtest.Status(403)) // Most calls need more than an empty fake to succeed.
		_ = call.do(t.Context(), newClient(t, s.URL, s))
		given, _ := json.Marshal(s.Calls(method)[0].Params)
		var got, want any
		if err := errors.Join(json.Unmarshal(given, &got), json.Unmarshal([]byte(call.body), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s sends %s, want %s", method, given, call.body)
		}
	}
}

// Each failure costs one request: repeating a call is up to its caller.
func TestEveryCallFailsWithItsKind(t *testing.T) {
	for method, call := range everyCall() {
		t.Run(method, func(t *testing.T) {
			s := telegramtest.NewInMemory(t)
			transport := &replayTransport{T: t, RoundTripper: s}
			c := newClient(t, s.URL, transport)
			s.Fail(method,
				telegramtest.TooMany(7*time.Second),
				telegramtest.Status(403),
				telegramtest.Page(502),
				telegramtest.ResetBefore(),
			)
			for _, want := range []Error{
				{Kind: TooManyRequests, RetryAfter: 7 * time.Second},
				{Kind: Forbidden},
				{Kind: OutcomeUnknown},
				{Kind: OutcomeUnknown},
			} {
				err := call.do(t.Context(), c)
				e := ErrorOf(err)
				if e.Kind != want.Kind || e.Method != method || e.RetryAfter != want.RetryAfter {
					t.Errorf("got %v, want %+v", err, want)
				}
			}
			s.Revoke()
			if err := call.do(t.Context(), c); ErrorOf(err).Kind != Unauthorized {
				t.Errorf("a refused token: %v", err)
			}
			if transport.requests != 5 {
				t.Errorf("%d requests for 5 calls", transport.requests)
			}
		})
	}
}

// replayTransport carries requests and counts them. It fails the test if net/http could not send a request's body
// again.
type replayTransport struct {
	*testing.T
	http.RoundTripper
	requests int
}

func (r *replayTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r.requests++
	if req.Body == nil || req.Body == http.NoBody {
		return r.RoundTripper.RoundTrip(req)
	}
	replay, err := req.GetBody()
	if err != nil {
		r.Fatal(err)
	}
	again, _ := io.ReadAll(replay)
	body, err := io.ReadAll(req.Body)
	if err != nil || !bytes.Equal(body, again) || req.ContentLength != int64(len(body)) {
		r.Errorf("%d bytes, declared as %d; sent again: %d, %v", len(body), req.ContentLength, len(again), err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return r.RoundTripper.RoundTrip(req)
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
