package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"reflect"
	"testing"

	"github.com/go-telegram/bot/models"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/secret"
)

// full is content of everything that the bot can say, and its members as JSON.
var (
	full = Content{
		Text: "Price now, docs, more",
		Entities: []models.MessageEntity{
			{Type: models.MessageEntityTypeBold, Length: 5},
			{Type: models.MessageEntityTypeDateTime, Offset: 6, Length: 3, UnixTime: 1750000000, DateTimeFormat: "r"},
			{Type: models.MessageEntityTypeTextLink, Offset: 11, Length: 4, URL: "https://example.com/"},
		},
		Markup: &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{
			{
				{Text: "Refresh", CallbackData: "1:price", Style: "primary"},
				{Text: "Explorer", URL: "https://example.com/x"},
			},
			{{Text: "Copy", CopyText: &models.CopyTextButton{Text: "0x1"}}},
		}},
	}
	entities = `[{"type":"bold","offset":0,"length":5},` +
		`{"type":"date_time","offset":6,"length":3,"unix_time":1750000000,"date_time_format":"r"},` +
		`{"type":"text_link","offset":11,"length":4,"url":"https://example.com/"}]`
	keyboard = `{"inline_keyboard":[[{"text":"Refresh","callback_data":"1:price","style":"primary"},` +
		`{"text":"Explorer","url":"https://example.com/x"}],[{"text":"Copy","copy_text":{"text":"0x1"}}]]}`
	textJSON    = `"text":"Price now, docs, more","entities":` + entities + `,"link_preview_options":{"is_disabled":true}`
	captionJSON = `"caption":"Price now, docs, more","caption_entities":` + entities
)

// picture is a PNG of one pixel.
func picture() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // A buffer takes everything.
	return b.Bytes()
}

// openOutbox returns an Outbox that is connected to a fake of Telegram.
func openOutbox(t *testing.T) (*Outbox, *telegramtest.Server) {
	t.Helper()
	s := telegramtest.NewInMemory(t)
	api := botapi.New(botapi.Config{Token: secret.New(faketelegram.Token), URL: s.URL, Transport: s})
	return New(Config{API: api, Count: func(string) {}}), s
}

func TestContentGoesOutWhole(t *testing.T) {
	pictured := full
	pictured.Picture = picture()
	to := Destination{Chat: group, Thread: 7, ReplyTo: 9, Silent: true}
	const edited = `{"chat_id":-1001,"message_id":1,`
	markup := `,"reply_markup":` + keyboard
	const where = `{"chat_id":-1001,"message_thread_id":7,"disable_notification":true,` +
		`"reply_parameters":{"message_id":9,"allow_sending_without_reply":true},`
	media := `"media":{"type":"photo","media":"attach://photo",` + captionJSON + `}`
	for method, tt := range map[string]struct {
		content Content
		edit    bool
		want    string
	}{
		"sendMessage": {
			content: full,
			want:    where + textJSON + markup + `}`,
		},
		"sendPhoto": {
			content: pictured,
			want:    where + captionJSON + `,"photo":"attach://photo"` + markup + `}`,
		},
		"editMessageText": {
			content: full,
			edit:    true,
			want:    edited + textJSON + markup + `}`,
		},
		"editMessageMedia": {
			content: pictured,
			edit:    true,
			want:    edited + media + markup + `}`,
		},
	} {
		t.Run(method, func(t *testing.T) {
			o, s := openOutbox(t)
			var err error
			if tt.edit {
				id, failed := o.post(t.Context(), to, Content{Text: "x"})
				_, err = o.edit(t.Context(), MessageRef{Chat: group, MessageID: id}, tt.content)
				err = errors.Join(failed, err)
			} else {
				_, err = o.post(t.Context(), to, tt.content)
			}
			if err != nil {
				t.Fatal(err)
			}
			given, _ := json.Marshal(s.Calls(method)[0].Params)
			var got, want any
			if err := errors.Join(json.Unmarshal(given, &got), json.Unmarshal([]byte(tt.want), &want)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("it sends %s, want %s", given, tt.want)
			}
		})
	}
}

func TestAnEditThatChangesNothingSucceeds(t *testing.T) {
	o, s := openOutbox(t)
	id, err := o.post(t.Context(), Destination{Chat: group}, Content{Text: "x"})
	for _, want := range []bool{true, false} {
		changed, failed := o.edit(t.Context(), MessageRef{Chat: group, MessageID: id}, Content{Text: "y"})
		err = errors.Join(err, failed)
		if changed != want {
			t.Errorf("changed: %t, want %t", changed, want)
		}
	}
	if err != nil || s.Sent()[0].Edits != 1 {
		t.Errorf("%v; sent %+v", err, s.Sent())
	}
}
