package botapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat/chattest"
)

// An update of go-telegram/bot that has one of these fails here, and says what of ours can go.
// Ours has each of them, so that a row cannot be misspelt, or outlive its use.
func TestLibraryStillLacks(t *testing.T) {
	for _, row := range []struct {
		library, ours reflect.Type
		// lacks is the member of the JSON, or the names of the methods in the library and here.
		lacks, canGo string
	}{
		{reflect.TypeFor[models.MessageEntity](), reflect.TypeFor[Entity](), "unix_time", "Entity, for the library's in Send, Edit and AnswerInlineQuery"},
		{reflect.TypeFor[models.MessageEntity](), reflect.TypeFor[Entity](), "date_time_format", "as for unix_time"},
		{reflect.TypeFor[models.ReplyParameters](), reflect.TypeFor[replyParameters](), "ephemeral_message_id", "replyParameters"},
		{reflect.TypeFor[models.Message](), reflect.TypeFor[sent](), "ephemeral_message_id", "sent"},
		{reflect.TypeFor[models.BotCommand](), reflect.TypeFor[MenuCommand](), "is_ephemeral", "MenuCommand and SetMyCommands"},
		{reflect.TypeFor[models.ChatMemberMember](), reflect.TypeFor[Member](), "tag", "Member and GetMember"},
		{reflect.TypeFor[models.ChatMemberAdministrator](), reflect.TypeFor[Member](), "can_manage_tags", "MayTag, and Member with tag"},
		{reflect.TypeFor[models.ChatFullInfo](), reflect.TypeFor[ChatInfo](), "guard_bot", "ChatInfo and GetChat, with can_edit_tag"},
		{reflect.TypeFor[models.ChatPermissions](), reflect.TypeOf(ChatInfo{}.Permissions), "can_edit_tag", "as for guard_bot"},
		{reflect.TypeFor[*bot.Bot](), reflect.TypeFor[*Client](), "GetUpdates", "GetUpdates, if it returns one batch undecoded"},
		{reflect.TypeFor[*bot.Bot](), reflect.TypeFor[*Client](), "AnswerChatJoinRequestQuery AnswerJoinQuery", "AnswerJoinQuery"},
		{reflect.TypeFor[*bot.Bot](), reflect.TypeFor[*Client](), "SetChatMemberTag SetTag", "SetTag"},
	} {
		theirs, own, renamed := strings.Cut(row.lacks, " ")
		if !renamed {
			own = theirs
		}
		if chattest.HasMember(row.library, theirs) {
			t.Errorf("%v has %s now: what can go is %s", row.library, theirs, row.canGo)
		}
		if !chattest.HasMember(row.ours, own) {
			t.Errorf("%v has no %s", row.ours, own)
		}
	}
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
