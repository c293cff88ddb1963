package outbox

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/go-telegram/bot/models"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
)

// whole is a message that has every part which it can do without.
func whole() Message {
	m := message(group, person, "x")
	m.To.Thread = 7
	m.To.ReplyTo = 9
	m.Content = full
	m.Content.Picture = picture()
	return m
}

func TestWhatAMessageCanDoWithout(t *testing.T) {
	edit := whole()
	edit.EditID = 5
	ephemeral := whole()
	ephemeral.Ephemeral = botapi.NewEphemeralMessage(group, person, 1, "")
	code := message(person, person, "0x1")
	code.Content.Entities = []models.MessageEntity{{Type: models.MessageEntityTypeCode, Length: 3}}
	ofAChannel := message(group, person, "x")
	ofAChannel.To.DirectTopic = 3
	for _, test := range []struct {
		name string
		m    Message
		want part
	}{
		{name: "everything", m: whole(), want: allParts},
		{name: "an edit", m: edit, want: linkPart | formatPart},
		{name: "an ephemeral message", m: ephemeral, want: linkPart | formatPart},
		{name: "plain text", m: message(group, person, "x")},
		{name: "code", m: code},
		{name: "a channel's direct message", m: ofAChannel},
	} {
		if got := test.m.parts(); got != test.want {
			t.Errorf("%s: %b, want %b", test.name, got, test.want)
		}
	}
}

// lookOf describes the message that was sent.
func lookOf(c *outboxTest) string {
	sent := c.api.Sent()[0]
	kind, method := "text", "sendMessage"
	if sent.Photo != nil {
		kind, method = "picture", "sendPhoto"
	}
	calls := c.api.Calls(method)
	_, replies := calls[len(calls)-1].Params["reply_parameters"]
	entities, rows := len(sent.Entities), len(sent.Markup.Rows)
	reply := ""
	if !replies {
		reply = ", no reply"
	}
	return fmt.Sprintf("thread %d, %s, %d entities, %d rows%s", sent.Thread, kind, entities, rows, reply)
}

// refusedParts is what Telegram refuses of the message of whole, and how the message looks that it accepts.
type refusedParts struct {
	name   string
	refuse []func(*outboxTest)
	url    string // of a button; "" to leave the buttons as they are
	want   string // what lookOf returns
	calls  int
}

func checkRefusedParts(t *testing.T, cases []refusedParts) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *outboxTest) {
				for _, refuse := range test.refuse {
					refuse(c)
				}
				m := whole()
				if test.url != "" {
					m.Content.Markup = buttonsWith(test.url)
				}
				if r := c.Send(t.Context(), m); r.Result != Delivered {
					t.Fatalf("%+v", r)
				}
				if got := lookOf(c); got != test.want || c.calls != test.calls {
					t.Errorf("got %s after %d calls, want %s after %d", got, c.calls, test.want, test.calls)
				}
			})
		})
	}
}

// buttonsWith returns two rows of buttons. One button opens a URL.
func buttonsWith(url string) *models.InlineKeyboardMarkup {
	return &models.InlineKeyboardMarkup{
		InlineKeyboard: [][]models.InlineKeyboardButton{
			{{Text: "Refresh", CallbackData: "1:price"}, {Text: "Register", URL: url}},
			{{Text: "More", CallbackData: "1:x"}},
		},
	}
}

// badURL is refused by Telegram.
const badURL = "https://localhost/x"

func refuseTopic(c *outboxTest)    { c.api.LoseTopic(group, 7) }
func refusePictures(c *outboxTest) { c.api.ForbidPhotos(group) }

func refuseReply(c *outboxTest) {
	refusal := "Bad Request: message to be replied not found"
	c.api.Fail("sendPhoto", telegramtest.Fault{Status: http.StatusBadRequest, Description: refusal})
}

func TestAMessageIsSentWithoutThePartThatIsRefused(t *testing.T) {
	checkRefusedParts(t, []refusedParts{
		{
			name:  "nothing",
			want:  "thread 7, picture, 3 entities, 2 rows",
			calls: 1,
		},
		{
			name:   "a topic",
			refuse: []func(*outboxTest){refuseTopic},
			want:   "thread 0, picture, 3 entities, 2 rows",
			calls:  2,
		},
		{
			name:   "a picture",
			refuse: []func(*outboxTest){refusePictures},
			want:   "thread 7, text, 3 entities, 2 rows",
			calls:  2,
		},
		{
			name:  "a link",
			url:   badURL,
			want:  "thread 7, picture, 2 entities, 2 rows",
			calls: 2,
		},
		{
			name:   "a reply",
			refuse: []func(*outboxTest){refuseReply},
			want:   "thread 7, picture, 3 entities, 2 rows, no reply",
			calls:  2,
		},
	})
}

func TestAMessageIsSentWithoutSeveralPartsThatAreRefused(t *testing.T) {
	checkRefusedParts(t, []refusedParts{
		{
			name:   "a topic and a picture",
			refuse: []func(*outboxTest){refuseTopic, refusePictures},
			want:   "thread 0, text, 3 entities, 2 rows",
			calls:  3,
		},
		{
			name:   "a topic, a picture and a link",
			refuse: []func(*outboxTest){refuseTopic, refusePictures},
			url:    badURL,
			want:   "thread 0, text, 2 entities, 2 rows",
			calls:  4,
		},
	})
}
