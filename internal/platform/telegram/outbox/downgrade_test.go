package outbox

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/go-telegram/bot/models"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
)

// whole is a message that has every part which it can do without.
func whole() Message {
	m := message(group, person, "x")
	m.To.Thread, m.To.ReplyTo = 7, 9
	m.Content = full
	m.Content.Picture = picture()
	return m
}

// Each row is a description of a refusal, and the parts that are left out one after the other while
// that refusal comes again.
func TestARefusedPartIsLeftOutOnce(t *testing.T) {
	edit, alert := whole(), whole()
	edit.EditID = 5
	alert.Ephemeral = botapi.NewEphemeralMessage(group, person, 1, "")
	for name, tt := range map[string]struct {
		m           Message
		code        int
		description string
		left        []part
	}{
		"a topic":               {whole(), 400, "message thread not found", []part{topicPart, replyPart}},
		"a closed topic":        {whole(), 400, "TOPIC_CLOSED", []part{topicPart, replyPart}},
		"a reply":               {whole(), 400, "message to be replied not found", []part{replyPart}},
		"a link":                {whole(), 400, "inline keyboard button URL 'x' is invalid: Wrong HTTP URL", []part{linkPart}},
		"a picture":             {whole(), 400, "PHOTO_INVALID_DIMENSIONS", []part{picturePart}},
		"pictures there":        {whole(), 403, "CHAT_SEND_PHOTOS_FORBIDDEN", []part{picturePart}},
		"anything":              {whole(), 400, "we do not say", []part{stylePart, picturePart, stylePart, topicPart, replyPart}},
		"anything of a text":    {message(group, person, "x"), 400, "we do not say", nil},
		"another chat":          {whole(), 400, "chat not found", []part{picturePart}},
		"no refusal":            {whole(), 500, "we do not say", nil},
		"a topic of an edit":    {edit, 400, "message thread not found", nil},
		"a link of an edit":     {edit, 400, "BUTTON_URL_INVALID", []part{linkPart}},
		"anything of an edit":   {edit, 400, "we do not say", []part{stylePart}},
		"a topic, for one user": {alert, 400, "message thread not found", nil},
	} {
		err := refusal(t, tt.code, tt.description)
		d := newDelivery(nil, tt.m)
		d.whole = tt.m.Content
		var left []part
		for p := refusedPart(err, &d.m); p != noPart && len(left) < 9; p = refusedPart(err, &d.m) {
			left = append(left, p)
			d.leaveOut(p)
		}
		if !slices.Equal(left, tt.left) {
			t.Errorf("%s: left out are %v, want %v", name, left, tt.left)
		}
	}
}

// refusal returns the error of a call that Telegram refused so.
func refusal(t *testing.T, code int, description string) *botapi.Error {
	t.Helper()
	o, s := openOutbox(t)
	s.Fail("sendMessage", telegramtest.Fault{Status: code, Description: description})
	_, err := o.post(t.Context(), Destination{Chat: group}, Content{Text: "x"})
	return botapi.ErrorOf(err)
}

// What Telegram refuses is left out, in pairs too, and everything else stays.
func TestAMessageIsSentWithoutWhatIsRefused(t *testing.T) {
	noReply := telegramtest.Fault{
		Status: http.StatusBadRequest, Description: "Bad Request: message to be replied not found",
	}
	topic := func(c *outboxTest) { c.api.LoseTopic(group, 7) }
	photo := func(c *outboxTest) { c.api.ForbidPhotos(group) }
	for name, tt := range map[string]struct {
		refuse []func(*outboxTest)
		fault  telegramtest.Fault // of the first call
		url    string             // of a button
		want   string
		calls  int
	}{
		"nothing":             {want: "thread 7, picture, 3 entities, 2 rows", calls: 1},
		"a topic":             {refuse: []func(*outboxTest){topic}, want: "thread 0, picture, 3 entities, 2 rows", calls: 2},
		"a picture":           {refuse: []func(*outboxTest){photo}, want: "thread 7, text, 3 entities, 2 rows", calls: 2},
		"a link":              {url: "https://localhost/x", want: "thread 7, picture, 2 entities, 2 rows", calls: 2},
		"a topic and picture": {refuse: []func(*outboxTest){topic, photo}, want: "thread 0, text, 3 entities, 2 rows", calls: 3},
		"all three":           {refuse: []func(*outboxTest){topic, photo}, url: "https://localhost/x", want: "thread 0, text, 2 entities, 2 rows", calls: 4},
		"a reply":             {fault: noReply, want: "thread 7, picture, 3 entities, 2 rows", calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *outboxTest) {
				for _, refuse := range tt.refuse {
					refuse(c)
				}
				c.api.Fail("sendPhoto", tt.fault)
				m := whole()
				if tt.url != "" {
					rows := [][]models.InlineKeyboardButton{
						{{Text: "Refresh", CallbackData: "1:price"}, {Text: "Register", URL: tt.url}},
						{{Text: "More", CallbackData: "1:x"}},
					}
					m.Content.Markup = &models.InlineKeyboardMarkup{InlineKeyboard: rows}
				}
				if r := c.Send(t.Context(), m); r.Result != Delivered {
					t.Fatalf("%+v", r)
				}
				sent := c.api.Sent()[0]
				kind := map[bool]string{true: "picture", false: "text"}[sent.Photo != nil]
				entities, rows := len(sent.Entities), len(sent.Markup.Rows)
				got := fmt.Sprintf("thread %d, %s, %d entities, %d rows", sent.Thread, kind, entities, rows)
				if got != tt.want || c.calls != tt.calls {
					t.Errorf("got %s after %d calls, want %s after %d", got, c.calls, tt.want, tt.calls)
				}
			})
		})
	}
}
