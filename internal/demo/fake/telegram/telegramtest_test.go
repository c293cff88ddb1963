package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

const (
	ann   = 501
	bob   = 502
	group = -1001
)

// ask makes a call with its parameters as JSON, or as a form if there is a
// photo, and returns the refusal's text, "" if there is none.
func (s *Server) ask(t *testing.T, method, params string, photo []byte) (refusal string) {
	t.Helper()
	body, contentType := bytes.NewBufferString(params), "application/json"
	if photo != nil {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(params), &fields); err != nil {
			t.Fatal(err)
		}
		body = &bytes.Buffer{}
		w := multipart.NewWriter(body)
		for name, value := range fields {
			_ = w.WriteField(name, strings.Trim(string(value), `"`)) // a buffer takes everything
		}
		part, _ := w.CreateFormFile("photo", "photo.png")
		_, _ = part.Write(photo)
		_ = w.Close()
		contentType = w.FormDataContentType()
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/bot"+Token+"/"+method, body)
	req.Header.Set("Content-Type", contentType)
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		OK          bool
		Description string
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.OK != (answer.Description == "") {
		t.Fatalf("%+v, %v", answer, err)
	}
	return answer.Description
}

// picture is a PNG of this size.
func picture(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// busy is a server with, in a group, somebody's message 1, the bot's message 2
// and its picture 3, the press 1 and the inline query 2 of Ann, and her
// ephemeral message 1.
func busy(t *testing.T) *Server {
	s := NewInMemory(t)
	s.Push(Text(Group(group), Person(ann), "hello"))
	for _, refusal := range []string{
		s.ask(t, "sendMessage", `{"chat_id":-1001,"text":"old"}`, nil),
		s.ask(t, "sendPhoto", `{"chat_id":-1001,"caption":"24 hours"}`, picture(8, 4)),
	} {
		if refusal != "" {
			t.Fatal(refusal)
		}
	}
	s.Press(ann, Group(group), 2, "x")
	s.Inline(ann, "price", "")
	s.PushEphemeral(Text(Group(group), Person(ann), "/logins"))
	return s
}

// What is at a bound is taken, and what is beyond it refused; what comes late or
// to an older server too.
func TestRefusesWhatTelegramRefuses(t *testing.T) {
	message := func(members string) string { return `{"chat_id":-1001,"text":"Today 𝔸",` + members + `}` }
	text := func(n int) string {
		return `{"chat_id":-1001,"text":"` + strings.Repeat("𝔸", n/2) + strings.Repeat("x", n%2) + `"}`
	}
	entity := func(kind string, offset, length int, more string) string {
		return message(fmt.Sprintf(`"entities":[{"type":%q,"offset":%d,"length":%d%s}]`, kind, offset, length, more))
	}
	button := func(members string) string {
		return message(`"reply_markup":{"inline_keyboard":[[{"text":"Press",` + members + `}]]}`)
	}
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	edit := func(id int, text string) string {
		return fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":%q}`, id, text)
	}
	media := func(id int) string {
		return fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"media":{"type":"photo","media":"attach://photo","caption":"24 hours"}}`, id)
	}
	press := func(members string) string { return `{"callback_query_id":"1"` + members + `}` }
	results := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"type":"article","id":%q,"title":"Price","input_message_content":{"message_text":"x"}}`, id))
		}
		return `{"inline_query_id":"2","results":[` + strings.Join(list, ",") + `]}`
	}
	private := func(chat, user int) string {
		return fmt.Sprintf(`{"chat_id":%d,"text":"x","reply_parameters":{"ephemeral_message_id":1},`+
			`"ephemeral_message_parameters":{"receiver_user_id":%d}}`, chat, user)
	}
	pressed := func(callback string, user int) string {
		return fmt.Sprintf(`{"chat_id":-1001,"text":"x","ephemeral_message_parameters":{"receiver_user_id":%d,"callback_query_id":%q}}`, user, callback)
	}
	commands := func(name, description string) string {
		return `{"commands":[{"command":"` + name + `","description":` + description + `}]}`
	}
	late, old := func(limit time.Duration) func(*Server) {
		return func(*Server) { time.Sleep(limit + time.Millisecond) }
	}, func(o Older) func(*Server) { return func(s *Server) { s.MakeOlder(o) } }
	for i, tt := range []struct {
		method, params, want string
		photo                []byte
		before               func(*Server)
	}{
		{method: "sendMessage", params: `{"chat_id":-1001,"text":" \n"}`, want: "message text is empty"},
		{method: "sendMessage", params: text(4096)},
		{method: "sendMessage", params: text(4097), want: "message is too long"},
		{method: "sendMessage", params: `{"chat_id":501,"text":"x"}`, want: "can't initiate conversation"},
		{method: "sendMessage", params: entity("bold", 6, 3, ""), want: "entity bounds"},
		{method: "sendMessage", params: entity("bold", 6, 1, ""), want: "entity bounds"},
		{method: "sendMessage", params: entity("loud", 0, 5, ""), want: "unsupported entity type"},
		{method: "sendMessage", params: entity("date_time", 0, 5, `,"unix_time":1,"date_time_format":"rT"`), want: "the date is wrong"},
		{method: "sendMessage", params: entity("date_time", 0, 5, `,"unix_time":1`)},
		{method: "sendMessage", params: entity("date_time", 0, 5, `,"unix_time":1`), want: "unsupported entity", before: old(Older{DateTime: true})},
		{method: "sendMessage", params: entity("expandable_blockquote", 0, 5, ""), want: "unsupported entity", before: old(Older{Quote: true})},
		{method: "sendMessage", params: entity("text_link", 0, 5, `,"url":"javascript:x"`), want: "the URL is wrong"},
		{method: "sendMessage", params: button(`"callback_data":` + long(32))},
		{method: "sendMessage", params: button(`"callback_data":` + long(33)), want: "BUTTON_DATA_INVALID"},
		{method: "sendMessage", params: button(`"copy_text":{"text":` + long(257) + `}`), want: "BUTTON_COPY_TEXT_INVALID"},
		{method: "sendMessage", params: button(`"url":"http://localhost:8080"`), want: "BUTTON_URL_INVALID"},
		{method: "sendMessage", params: button(`"callback_data":"1","url":"https://t.me"`), want: "one action"},
		{method: "sendMessage", params: message(`"reply_parameters":{"message_id":0}`), want: "identifier is not specified"},
		{method: "sendMessage", params: message(`"reply_parameters":{"message_id":99}`), want: "to be replied not found"},
		{method: "sendMessage", params: message(`"reply_parameters":{"ephemeral_message_id":1}`), want: "identifier is not specified"},
		{method: "sendPhoto", params: `{"chat_id":-1001,"caption":` + long(1025) + `}`, photo: picture(8, 4), want: "is too long"},
		{method: "sendPhoto", params: `{"chat_id":-1001}`, photo: []byte("<svg/>"), want: "IMAGE_PROCESS_FAILED"},
		{method: "sendPhoto", params: `{"chat_id":-1001}`, photo: picture(21, 1), want: "PHOTO_INVALID_DIMENSIONS"},

		{method: "editMessageText", params: edit(2, "new")},
		{method: "editMessageText", params: edit(2, "old"), want: "message is not modified"},
		{method: "editMessageText", params: edit(1, "new"), want: "message can't be edited"},
		{method: "editMessageText", params: edit(99, "new"), want: "message to edit not found"},
		{method: "editMessageText", params: edit(3, "new"), want: "there is no text in the message to edit"},
		{method: "editMessageMedia", params: media(3), photo: picture(8, 4), want: "message is not modified"},
		{method: "editMessageMedia", params: media(2), photo: picture(8, 5)},
		{method: "editMessageMedia", params: media(2), photo: picture(8, 5), want: "there is no media", before: old(Older{TextToMedia: true})},
		{method: "deleteMessage", params: `{"chat_id":-1001,"message_id":2}`},
		{method: "deleteMessage", params: `{"chat_id":-1001,"message_id":2}`, want: "can't be deleted", before: late(deletable)},
		{method: "deleteMessage", params: `{"chat_id":-1001,"message_id":1}`, want: "can't be deleted"},

		{method: "answerCallbackQuery", params: press(`,"text":` + long(200))},
		{method: "answerCallbackQuery", params: press(`,"text":` + long(201)), want: "MESSAGE_TOO_LONG"},
		{method: "answerCallbackQuery", params: press(`,"url":"https://example.com"`), want: "URL_INVALID"},
		{method: "answerCallbackQuery", params: press(""), want: "query is too old", before: late(pressLimit)},
		{method: "answerInlineQuery", params: results("1", "2")},
		{method: "answerInlineQuery", params: results("1", "1"), want: "RESULT_ID_DUPLICATE"},
		{method: "answerInlineQuery", params: results(strings.Repeat("x", 65)), want: "RESULT_ID_INVALID"},
		{method: "answerInlineQuery", params: results("1"), want: "query is too old", before: late(inlineLimit)},

		{method: "sendMessage", params: private(group, ann)},
		{method: "sendMessage", params: private(group, ann), want: "can't be sent", before: late(ephemeralLimit)},
		{method: "sendMessage", params: private(group, bob), want: "can't be sent"},
		{method: "sendMessage", params: private(-1002, ann), want: "can't be sent"},
		{method: "sendMessage", params: pressed("1", ann)},
		{method: "sendMessage", params: pressed("1", bob), want: "can't be sent"},
		{method: "setMyCommands", params: commands(strings.Repeat("a", 33), long(1)), want: "BOT_COMMAND_INVALID"},
		{method: "setMyCommands", params: commands("a", long(257)), want: "BOT_COMMAND_DESCRIPTION_INVALID"},
		{method: "setMyCommands", params: commands("a", `"b","is_ephemeral":true`), want: "is_ephemeral", before: old(Older{EphemeralMenu: true})},
		{method: "setMyCommands", params: `{"commands":[],"language_code":"eng"}`, want: "language code"},
		{method: "setMyShortDescription", params: `{"short_description":` + long(121) + `}`, want: "too long"},
		{method: "setWebhook", params: `{"url":"http://bot.example"}`, want: "HTTPS"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := busy(t)
			if tt.before != nil {
				tt.before(s)
			}
			seen := len(s.Seen())
			refusal := s.ask(t, tt.method, tt.params, tt.photo)
			if (refusal == "") != (tt.want == "") || !strings.Contains(refusal, tt.want) {
				t.Errorf("%d: %s %.200s: %q, want %q", i, tt.method, tt.params, refusal, tt.want)
			}
			if refusal != "" && len(s.Seen()) != seen {
				t.Errorf("%d: %s %.200s is refused and shown", i, tt.method, tt.params)
			}
		})
	}
}

// What the description does not know is a mistake of the program under test. A
// call that breaks off never came.
func TestCallsThatTheBotAPIDoesNotDescribeAreViolations(t *testing.T) {
	s := NewInMemory(t)
	for _, call := range []struct{ method, params string }{
		{"sendMessage", `{"chat_id":-1001,"text":"x","receiver":501}`},
		{"sendMessage", `{"chat_id":-1001,"text":null}`},
		{"sendMessage", `{"chat_id":-1001,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"x","copy":"x"}]]}}`},
		{"answerInlineQuery", `{"inline_query_id":"1","results":[{"type":"article","id":"1","title":"x"}]}`},
		{"editMessageMedia", `{"media":{"type":"photo"}}`},
		{"sendRocket", `{}`},
	} {
		if s.ask(t, call.method, call.params, nil) == "" || len(s.Violations()) != 1 {
			t.Errorf("taken: %+v", call)
		}
		s.violations = nil
	}
	body := io.MultiReader(strings.NewReader(`{"chat_id":`), iotest.ErrReader(errors.New("broken off")))
	req := httptest.NewRequest(http.MethodPost, "/bot"+Token+"/sendMessage", body)
	if _, err := s.RoundTrip(req); err == nil || len(s.Violations()) != 0 {
		t.Errorf("half a call is a whole one: %q", s.Violations())
	}
}

// What is meant for one is for all where the server is older, where results of
// an inline query are cached and not personal, and where one is chosen.
func TestWhoSeesWhatWasMeantForOne(t *testing.T) {
	s := busy(t)
	seen := func() int { return len(s.SeenByOthers(ann)) }
	results := `{"inline_query_id":"2","results":[{"type":"article","id":"1","title":"x","input_message_content":{"message_text":"$1"}}]`
	before := seen()
	s.ask(t, "answerInlineQuery", results+`,"cache_time":30,"is_personal":true}`, nil)
	if seen() != before {
		t.Error("others see personal results")
	}
	if _, ok := s.Choose("2", "1", Group(group)); !ok || seen() != before+1 {
		t.Error("a chosen result is not in the chat")
	}
	s.queries["2"].answered = false
	s.ask(t, "answerInlineQuery", results+`}`, nil)
	if seen() != before+2 {
		t.Error("others do not see results that are cached")
	}
	s.MakeOlder(Older{Ephemeral: true})
	s.ask(t, "sendMessage", `{"chat_id":-1001,"text":"x","ephemeral_message_parameters":{"receiver_user_id":501,"callback_query_id":"1"}}`, nil)
	if seen() != before+3 {
		t.Error("others do not see what an older server takes for a message")
	}
}

// A kind that was not asked for never arrives, by polling or by webhook.
func TestOnlyTheKindsAskedForAreDelivered(t *testing.T) {
	s := busy(t)
	s.PushRaw(`"novelty":{}`)
	s.ask(t, "getUpdates", `{"allowed_updates":["inline_query"]}`, nil)
	if got := s.Dequeue(); len(got) != 2 || !strings.Contains(string(got[0]), "inline_query") || !strings.Contains(string(got[1]), "novelty") {
		t.Errorf("polled %s", got)
	}
	s.ask(t, "setWebhook", `{"url":"https://bot.invalid","allowed_updates":["callback_query"]}`, nil)
	s.Press(ann, Group(group), 7, "x")
	s.Inline(ann, "x", "")
	if got := s.Dequeue(); len(got) != 1 || !strings.Contains(string(got[0]), "callback_query") {
		t.Errorf("delivered %s", got)
	}
}

func TestAServerThatForgetsKeepsTheLast(t *testing.T) {
	s := NewInMemory(t)
	const most = 10
	s.Remember(most)
	for range 3 * most {
		s.Push(Text(Group(group), Person(ann), "/price"))
		s.ask(t, "sendMessage", `{"chat_id":-1001,"text":"Price"}`, nil)
		s.ask(t, "answerCallbackQuery", `{"callback_query_id":"`+s.Press(bob, Group(group), 1, "x")+`"}`, nil)
	}
	if n := max(len(s.calls), len(s.sent), len(s.seen), len(s.notices), len(s.own), len(s.others), len(s.presses)); n > most {
		t.Errorf("%d of something are kept", n)
	}
	newest := fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":"Newer"}`, s.nextID-1)
	if refusal := s.ask(t, "editMessageText", newest, nil); refusal != "" {
		t.Errorf("the newest message cannot be edited: %s", refusal)
	}
}
