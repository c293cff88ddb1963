package telegramtest

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

func repeat(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// What is at a bound is taken, and what is beyond it refused.
func TestRefusesWhatTelegramRefuses(t *testing.T) {
	message := func(members string) string { return `{"chat_id":-1001,"text":"Today 𝔸",` + members + `}` }
	text := func(n int) string {
		return `{"chat_id":-1001,"text":"` + strings.Repeat("𝔸", n/2) + strings.Repeat("x", n%2) + `"}`
	}
	entity := func(kind string, offset, length int, more string) string {
		return message(fmt.Sprintf(`"entities":[{"type":%q,"offset":%d,"length":%d%s}]`, kind, offset, length, more))
	}
	bold := `{"type":"bold","offset":0,"length":5}`
	button := func(members string) string {
		return message(`"reply_markup":{"inline_keyboard":[[{"text":"Press",` + members + `}]]}`)
	}
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	edit := func(id int, text string) string {
		return fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":%q}`, id, text)
	}
	media := func(id int, name string) string {
		return fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"media":{"type":"photo","media":"attach://%s","caption":"24 hours"}}`, id, name)
	}
	press := func(members string) string { return `{"callback_query_id":"1"` + members + `}` }
	article := func(id, text string) string {
		return fmt.Sprintf(`{"type":"article","id":%q,"title":"Price","input_message_content":{"message_text":%q}}`, id, text)
	}
	results := func(list string) string { return `{"inline_query_id":"2","results":[` + list + `]}` }
	private := func(chat, user, id int) string {
		return fmt.Sprintf(`{"chat_id":%d,"text":"x","reply_parameters":{"ephemeral_message_id":%d},`+
			`"ephemeral_message_parameters":{"receiver_user_id":%d}}`, chat, id, user)
	}
	pressed := func(callback string, user int, replace bool) string {
		return fmt.Sprintf(`{"chat_id":-1001,"text":"x","ephemeral_message_parameters":`+
			`{"receiver_user_id":%d,"callback_query_id":%q,"replace_callback_query_message":%t}}`, user, callback, replace)
	}
	commands := func(name, description string) string {
		return `{"commands":[{"command":"` + name + `","description":` + description + `}]}`
	}
	for i, tt := range []struct {
		method, params string
		photo          []byte
		want           string
	}{
		{"sendMessage", `{"chat_id":-1001,"text":" \n"}`, nil, "message text is empty"},
		{"sendMessage", text(4096), nil, ""},
		{"sendMessage", text(4097), nil, "message is too long"},
		{"sendMessage", `{"chat_id":501,"text":"x"}`, nil, "can't initiate conversation"},
		{"sendMessage", message(`"entities":[` + repeat(bold, 100) + `]`), nil, ""},
		{"sendMessage", message(`"entities":[` + repeat(bold, 101) + `]`), nil, "entity bounds"},
		{"sendMessage", entity("bold", 6, 3, ""), nil, "entity bounds"},
		{"sendMessage", entity("bold", 6, 1, ""), nil, "entity bounds"},
		{"sendMessage", entity("loud", 0, 5, ""), nil, "unsupported entity type"},
		{"sendMessage", entity("bold", 0, 5, `,"unix_time":5`), nil, "a member of another type"},
		{"sendMessage", entity("date_time", 0, 5, `,"unix_time":1750000000,"date_time_format":"rT"`), nil, "the date is wrong"},
		{"sendMessage", entity("date_time", 0, 5, ""), nil, "the date is wrong"},
		{"sendMessage", entity("text_link", 0, 5, `,"url":"javascript:x"`), nil, "the URL is wrong"},
		{"sendMessage", button(`"callback_data":` + long(32)), nil, ""},
		{"sendMessage", button(`"callback_data":` + long(33)), nil, "BUTTON_DATA_INVALID"},
		{"sendMessage", button(`"copy_text":{"text":` + long(257) + `}`), nil, "BUTTON_COPY_TEXT_INVALID"},
		{"sendMessage", button(`"url":"http://localhost:8080"`), nil, "BUTTON_URL_INVALID"},
		{"sendMessage", button(`"style":"primary"`), nil, "one action"},
		{"sendMessage", button(`"callback_data":"1","url":"https://t.me"`), nil, "one action"},
		{"sendMessage", button(`"callback_data":"1","style":"pink"`), nil, "unknown style"},
		{"sendMessage", message(`"reply_markup":{"force_reply":true,"input_field_placeholder":` + long(65) + `}`), nil, "can't parse reply markup"},
		{"sendMessage", message(`"reply_parameters":{"message_id":0,"allow_sending_without_reply":true}`), nil, "identifier is not specified"},
		{"sendMessage", message(`"reply_parameters":{"message_id":99}`), nil, "to be replied not found"},
		{"sendMessage", message(`"reply_parameters":{"message_id":99,"allow_sending_without_reply":true}`), nil, ""},
		{"sendMessage", message(`"reply_parameters":{"ephemeral_message_id":1}`), nil, "identifier is not specified"},

		{"sendPhoto", `{"chat_id":-1001,"caption":` + long(1024) + `}`, picture(8, 4), ""},
		{"sendPhoto", `{"chat_id":-1001,"caption":` + long(1025) + `}`, picture(8, 4), "message caption is too long"},
		{"sendPhoto", `{"chat_id":-1001}`, []byte("<svg/>"), "IMAGE_PROCESS_FAILED"},
		{"sendPhoto", `{"chat_id":-1001}`, append(picture(10, 10), make([]byte, maxPhoto)...), "file is too big"},
		{"sendPhoto", `{"chat_id":-1001}`, picture(21, 1), "PHOTO_INVALID_DIMENSIONS"},
		{"sendPhoto", `{"chat_id":-1001,"photo":"https://example.com/a.png"}`, nil, "there is no photo"},

		{"editMessageText", edit(2, "new"), nil, ""},
		{"editMessageText", edit(2, "old"), nil, "message is not modified"},
		{"editMessageText", edit(1, "new"), nil, "message can't be edited"},
		{"editMessageText", edit(99, "new"), nil, "message to edit not found"},
		{"editMessageText", edit(3, "new"), nil, "there is no text in the message to edit"},
		{"editMessageMedia", media(3, "photo"), picture(8, 5), ""},
		{"editMessageMedia", media(3, "photo"), picture(8, 4), "message is not modified"},
		{"editMessageMedia", media(3, "image"), picture(8, 5), "there is no photo"},
		{"editMessageMedia", media(2, "photo"), picture(8, 5), ""},
		{"deleteMessage", `{"chat_id":-1001,"message_id":2}`, nil, ""},
		{"deleteMessage", `{"chat_id":-1001,"message_id":1}`, nil, "message can't be deleted"},
		{"deleteMessage", `{"chat_id":-1001,"message_id":99}`, nil, "message to delete not found"},

		{"answerCallbackQuery", press(`,"text":` + long(200)), nil, ""},
		{"answerCallbackQuery", press(`,"text":` + long(201)), nil, "MESSAGE_TOO_LONG"},
		{"answerCallbackQuery", press(`,"url":"https://example.com"`), nil, "URL_INVALID"},
		{"answerCallbackQuery", press(`,"url":"https://t.me/herald_bot?start=logins"`), nil, ""},
		{"answerCallbackQuery", `{"callback_query_id":"2"}`, nil, "query is too old"},
		{"answerInlineQuery", results(""), nil, ""},
		{"answerInlineQuery", results(repeat(article("1", "x"), 51)), nil, "RESULTS_TOO_MUCH"},
		{"answerInlineQuery", results(repeat(article("1", "x"), 2)), nil, "RESULT_ID_DUPLICATE"},
		{"answerInlineQuery", results(article(strings.Repeat("x", 65), "x")), nil, "RESULT_ID_INVALID"},
		{"answerInlineQuery", results(article("1", "")), nil, "message text is empty"},
		{"answerInlineQuery", `{"inline_query_id":"2","results":[],"button":{"text":"Open","start_parameter":"a b"}}`, nil, "START_PARAM_INVALID"},

		{"sendMessage", private(group, ann, 1), nil, ""},
		{"sendMessage", private(group, bob, 1), nil, "can't be sent"},
		{"sendMessage", private(group, ann, 8), nil, "can't be sent"},
		{"sendMessage", private(-1002, ann, 1), nil, "can't be sent"},
		{"sendMessage", pressed("1", ann, false), nil, ""},
		{"sendMessage", pressed("1", bob, false), nil, "can't be sent"},
		{"sendMessage", pressed("9", ann, false), nil, "can't be sent"},
		{"deleteEphemeralMessage", `{"chat_id":-1001,"receiver_user_id":502,"ephemeral_message_id":1}`, nil, "message to delete not found"},

		{"setMyCommands", commands(strings.Repeat("a", 32), long(256)), nil, ""},
		{"setMyCommands", commands(strings.Repeat("a", 33), long(1)), nil, "BOT_COMMAND_INVALID"},
		{"setMyCommands", commands("Price", long(1)), nil, "BOT_COMMAND_INVALID"},
		{"setMyCommands", commands("a", long(257)), nil, "BOT_COMMAND_DESCRIPTION_INVALID"},
		{"setMyCommands", `{"commands":[],"scope":{"type":"friends"}}`, nil, "unsupported type"},
		{"setMyCommands", `{"commands":[],"language_code":"eng"}`, nil, "language code"},
		{"setMyDescription", `{"description":` + long(513) + `}`, nil, "too long"},
		{"setMyShortDescription", `{"short_description":` + long(121) + `}`, nil, "too long"},
		{"setWebhook", `{"url":"http://bot.example"}`, nil, "HTTPS"},
	} {
		s := busy(t)
		seen := len(s.Seen())
		refusal := s.ask(t, tt.method, tt.params, tt.photo)
		if (refusal == "") != (tt.want == "") || !strings.Contains(refusal, tt.want) {
			t.Errorf("%d: %s %.200s: %q, want %q", i, tt.method, tt.params, refusal, tt.want)
		}
		if refusal != "" && len(s.Seen()) != seen {
			t.Errorf("%d: %s %.200s is refused and shown", i, tt.method, tt.params)
		}
	}
}

func TestAnswersAreTakenInTime(t *testing.T) {
	private := `{"chat_id":-1001,"text":"x","reply_parameters":{"ephemeral_message_id":1},"ephemeral_message_parameters":{"receiver_user_id":501}}`
	for _, tt := range []struct {
		method, params string
		within         time.Duration
	}{
		{"answerCallbackQuery", `{"callback_query_id":"1"}`, pressLimit},
		{"answerInlineQuery", `{"inline_query_id":"2","results":[]}`, inlineLimit},
		{"sendMessage", private, ephemeralLimit},
		{"deleteMessage", `{"chat_id":-1001,"message_id":2}`, deletable},
	} {
		for late, wait := range map[bool]time.Duration{false: tt.within, true: tt.within + time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				s := busy(t)
				time.Sleep(wait)
				if refusal := s.ask(t, tt.method, tt.params, nil); late != (refusal != "") {
					t.Errorf("%s after %v: %q", tt.method, wait, refusal)
				}
			})
		}
	}
}

// An older server ignores or refuses what it does not know: what is meant for
// one is for all.
func TestAnOlderServerLacksWhatIsNew(t *testing.T) {
	for _, tt := range []struct {
		older          Older
		method, params string
		photo          []byte
		want           string
	}{
		{Older{DateTime: true}, "sendMessage", `{"chat_id":-1001,"text":"x","entities":[{"type":"date_time","offset":0,"length":1,"unix_time":5}]}`,
			nil, "unsupported entity type"},
		{Older{Quote: true}, "sendMessage", `{"chat_id":-1001,"text":"x","entities":[{"type":"expandable_blockquote","offset":0,"length":1}]}`,
			nil, "unsupported entity type"},
		{Older{TextToMedia: true}, "editMessageMedia", `{"chat_id":-1001,"message_id":2,"media":{"type":"photo","media":"attach://photo"}}`,
			picture(8, 4), "there is no media in the message to edit"},
		{Older{EphemeralMenu: true}, "setMyCommands", `{"commands":[{"command":"a","description":"b","is_ephemeral":true}]}`, nil, "is_ephemeral"},
		{Older{Ephemeral: true}, "deleteEphemeralMessage", `{"chat_id":-1001,"receiver_user_id":501,"ephemeral_message_id":1}`, nil, "Not Found"},
		{Older{Ephemeral: true}, "sendMessage", `{"chat_id":-1001,"text":"x","reply_parameters":{"ephemeral_message_id":1},` +
			`"ephemeral_message_parameters":{"receiver_user_id":501}}`, nil, ""},
	} {
		s := busy(t)
		if refusal := s.ask(t, tt.method, tt.params, tt.photo); refusal != "" && tt.want != "" {
			t.Errorf("a newer server refuses %s: %s", tt.params, refusal)
		}
		s = busy(t)
		s.MakeOlder(tt.older)
		if refusal := s.ask(t, tt.method, tt.params, tt.photo); (refusal == "") != (tt.want == "") || !strings.Contains(refusal, tt.want) {
			t.Errorf("%s: %q, want %q", tt.params, refusal, tt.want)
		}
		if last := s.Sent()[len(s.Sent())-1]; tt.want == "" && last.Reader != 0 {
			t.Errorf("%+v is for one", last)
		}
	}
}

// What the description does not know is a mistake of the program under test. A
// call that breaks off never came.
func TestCallsThatTheBotAPIDoesNotDescribeAreViolations(t *testing.T) {
	s := NewInMemory(t)
	for _, call := range []struct{ method, params string }{
		{"sendMessage", `{"chat_id":-1001,"text":"x","receiver_user_id":501}`},
		{"sendMessage", `{"chat_id":-1001,"text":"x","ephemeral_message_parameters":{}}`},
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
	defer func() {
		if recover() != http.ErrAbortHandler || len(s.Violations()) != 0 {
			t.Errorf("half a call is a whole one: %q", s.Violations())
		}
	}()
	s.serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/bot"+Token+"/sendMessage", body))
}

// Results of an inline query that are cached and not personal are shown to
// anybody who asks the same, and a chosen one to its chat.
func TestWhoSeesInlineResults(t *testing.T) {
	for rest, public := range map[string]bool{
		"":                                    true,
		`,"cache_time":0`:                     false,
		`,"cache_time":30,"is_personal":true`: false,
	} {
		s := busy(t)
		before := len(s.SeenByOthers(ann))
		s.ask(t, "answerInlineQuery", `{"inline_query_id":"2","results":[{"type":"article","id":"1","title":"x",`+
			`"input_message_content":{"message_text":"$1"}}]`+rest+`}`, nil)
		if got := len(s.SeenByOthers(ann)) > before; got != public {
			t.Errorf("%q: seen by others: %v", rest, got)
		}
		before = len(s.SeenByOthers(ann))
		if _, ok := s.Choose("2", "1", Group(group)); !ok || len(s.SeenByOthers(ann)) != before+1 {
			t.Error("a chosen result is not in the chat")
		}
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
		s.PushEphemeral(Text(Group(group), Person(ann), "/exists"))
		s.ask(t, "sendMessage", `{"chat_id":-1001,"text":"Price"}`, nil)
		s.ask(t, "answerCallbackQuery", `{"callback_query_id":"`+s.Press(bob, Group(group), 1, "x")+`"}`, nil)
		s.ask(t, "answerInlineQuery", `{"inline_query_id":"`+s.Inline(bob, "price", "")+`","results":[]}`, nil)
		s.Dequeue()
	}
	for what, n := range map[string]int{
		"calls": len(s.calls), "sent": len(s.sent), "seen": len(s.seen), "notices": len(s.notices), "own": len(s.own), "others": len(s.others),
		"ephemerals": len(s.ephemerals), "presses": len(s.presses), "queries": len(s.queries), "answers": len(s.inlineAnswers),
	} {
		if n > most {
			t.Errorf("%d of %s are kept", n, what)
		}
	}
	newest := fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":"Newer"}`, s.nextID-1)
	if refusal := s.ask(t, "editMessageText", newest, nil); refusal != "" {
		t.Errorf("the newest message cannot be edited: %s", refusal)
	}
}
