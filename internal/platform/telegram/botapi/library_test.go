package botapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat/chattest"
)

// An update of go-telegram/bot that has one of these fails here, and says what of ours can go.
func TestLibraryStillLacks(t *testing.T) {
	chattest.StillLacks(t, models.MessageEntity{}, Entity{}, "unix_time", "Entity, for the library's in Send, Edit and AnswerInlineQuery")
	chattest.StillLacks(t, models.MessageEntity{}, Entity{}, "date_time_format", "as for unix_time")
	chattest.StillLacks(t, models.ReplyParameters{}, replyParameters{}, "ephemeral_message_id", "replyParameters")
	chattest.StillLacks(t, models.Message{}, sent{}, "ephemeral_message_id", "sent")
	chattest.StillLacks(t, models.BotCommand{}, MenuCommand{}, "is_ephemeral", "MenuCommand and SetMyCommands")
	chattest.StillLacks(t, models.ChatMemberMember{}, Member{}, "tag", "Member and GetMember")
	chattest.StillLacks(t, models.ChatMemberAdministrator{}, Member{}, "can_manage_tags", "MayTag, and Member with tag")
	chattest.StillLacks(t, models.ChatFullInfo{}, ChatInfo{}, "guard_bot", "ChatInfo and GetChat, with can_edit_tag")
	chattest.StillLacks(t, models.ChatPermissions{}, ChatInfo{}.Permissions, "can_edit_tag", "as for guard_bot")
	chattest.StillLacks(t, (*bot.Bot)(nil), (*Client)(nil), "GetUpdates", "GetUpdates, if it returns one batch undecoded")
	chattest.StillLacks(t, (*bot.Bot)(nil), (*Client)(nil), "AnswerChatJoinRequestQuery AnswerJoinQuery", "AnswerJoinQuery")
	chattest.StillLacks(t, (*bot.Bot)(nil), (*Client)(nil), "SetChatMemberTag SetTag", "SetTag")
	if text, err := json.Marshal(models.InlineKeyboardButton{Text: "x"}); err != nil || !strings.Contains(string(text), `"copy_text":{"text":""}`) {
		t.Errorf("a button of the library is %s, %v: Button and Keyboard can go", text, err)
	}
	if text, err := json.Marshal(models.InlineQueryResultsButton{Text: "x"}); err != nil || !strings.Contains(string(text), `"web_app":null`) {
		t.Errorf("a button over inline results of the library is %s, %v: InlineButton can go", text, err)
	}
}

// A press and a deletion by this package, beside the library's over the same HTTP.
func BenchmarkPress(b *testing.B) {
	c := newClient(b, "http://bot.invalid", answer{status: 200, body: `{"ok":true,"result":true}`})
	press, deletion := &bot.AnswerCallbackQueryParams{CallbackQueryID: "5"}, &bot.DeleteMessageParams{ChatID: int64(group), MessageID: 5}
	for name, call := range map[string]func() error{
		"press":            func() error { return c.AnswerCallbackQuery(b.Context(), press) },
		"press/library":    func() error { return failure(c.bot().AnswerCallbackQuery(b.Context(), press)) },
		"deletion":         func() error { return c.do(b.Context(), "deleteMessage", MessageRef{Chat: group, MessageID: 5}) },
		"deletion/library": func() error { return failure(c.bot().DeleteMessage(b.Context(), deletion)) },
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
