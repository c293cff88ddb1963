package telegramtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// update is what the tests read of an update.
type update struct {
	CallbackQuery struct {
		ID       string
		From     User
		Data     string
		InlineID string `json:"inline_message_id"`
		Message  struct {
			ID          int64 `json:"message_id"`
			EphemeralID int64 `json:"ephemeral_message_id"`
			Date        int64
			Text        string
			Markup      Markup `json:"reply_markup"`
		}
	} `json:"callback_query"`
	InlineQuery struct{ ID, Query, Offset string } `json:"inline_query"`
	Message     struct {
		ID          int64 `json:"message_id"`
		EphemeralID int64 `json:"ephemeral_message_id"`
		ReplyTo     struct {
			ID   int64 `json:"message_id"`
			From User
			Text string
		} `json:"reply_to_message"`
	}
}

// next takes the one update that is queued.
func (s *Server) next(t *testing.T) (u update) {
	t.Helper()
	bodies := s.Dequeue()
	if len(bodies) != 1 {
		t.Fatalf("%d updates are queued", len(bodies))
	}
	if err := json.Unmarshal(bodies[0], &u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAPressCarriesTheMessageAndItsData(t *testing.T) {
	s := NewInMemory(t)
	id := s.do(t, "sendMessage", `{"chat_id":-1001,"text":"Price",`+keyboard(`"callback_data":"1:price"`)+`}`).sentID(t)

	callback := s.Press(bob, Group(group), id, "1:price")
	q := s.next(t).CallbackQuery
	if q.ID != callback || q.From.ID != bob || q.Data != "1:price" || q.Message.ID != id || q.Message.Text != "Price" ||
		q.Message.Date == 0 || q.Message.Markup.Rows[0][0].Data != "1:price" {
		t.Errorf("the press is %+v", q)
	}
	s.Press(bob, Group(group), id, "\x00forged")
	if q := s.next(t).CallbackQuery; q.Data != "\x00forged" {
		t.Errorf("a forged press is %+v", q)
	}
	s.PressOld(bob, Group(group), id, "1:price")
	if q := s.next(t).CallbackQuery; q.Message.ID != id || q.Message.Date != 0 || q.Message.Text != "" {
		t.Errorf("the press of an old message is %+v", q)
	}
	s.Delete(group, id)
	s.Press(bob, Group(group), id, "1:price")
	if q := s.next(t).CallbackQuery; q.Message.Date != 0 || q.Message.Text != "" {
		t.Errorf("the press of a deleted message is %+v", q)
	}
}

func TestAPressIsAnsweredOnceAndSoon(t *testing.T) {
	simulated(t, func(t *testing.T, s *Server) {
		respond := func(id, rest string) answer {
			return s.do(t, "answerCallbackQuery", fmt.Sprintf(`{"callback_query_id":%q%s}`, id, rest))
		}
		pressed := func() string { return s.Press(ann, Group(group), 7, "x") }
		const old = "query is too old and response timeout expired or query ID is invalid"

		first := pressed()
		refused(t, "201 characters", respond(first, `,"text":`+quote(strings.Repeat("é", 201))), "MESSAGE_TOO_LONG")
		refused(t, "a foreign page", respond(first, `,"url":"https://example.com"`), "URL_INVALID")
		taken(t, "200 characters", respond(first, `,"show_alert":true,"text":`+quote(strings.Repeat("é", 200))))
		refused(t, "again", respond(first, ""), old)
		refused(t, "nobody's", respond("999", ""), old)
		taken(t, "the private chat", respond(pressed(), `,"url":"https://t.me/herald_bot?start=logins"`))
		late, tooLate := pressed(), pressed()
		time.Sleep(pressLimit)
		taken(t, "just in time", respond(late, ""))
		time.Sleep(time.Millisecond)
		refused(t, "too late", respond(tooLate, ""), old)

		n := s.Notices()
		if len(n) != 3 || n[0].User != ann || !n[0].Alert || len([]rune(n[0].Text)) != 200 || n[1].URL == "" || n[2].CallbackID != late {
			t.Errorf("notices: %+v", n)
		}
		if others := s.SeenByOthers(ann); len(others) != 0 || len(s.Seen()) != 3 {
			t.Errorf("others saw %+v", others)
		}
	})
}

func article(id, text string) string {
	return fmt.Sprintf(`{"type":"article","id":%q,"title":"Price","input_message_content":{"message_text":%s},%s}`, id, quote(text), keyboard(`"callback_data":"1"`))
}

func TestAnInlineQueryIsAnsweredWithinBounds(t *testing.T) {
	simulated(t, func(t *testing.T, s *Server) {
		respond := func(id, results, rest string) answer {
			return s.do(t, "answerInlineQuery", fmt.Sprintf(`{"inline_query_id":%q,"results":[%s]%s}`, id, results, rest))
		}
		many := func(n int) string {
			var list []string
			for i := range n {
				list = append(list, article(fmt.Sprint(i), "x"))
			}
			return strings.Join(list, ",")
		}
		id := s.Inline(ann, strings.Repeat("é", maxQuery), "")
		if q := s.next(t).InlineQuery; q.ID != id || len([]rune(q.Query)) != maxQuery {
			t.Errorf("the query is %+v", q)
		}
		refused(t, "51 results", respond(id, many(51), ""), "RESULTS_TOO_MUCH")
		refused(t, "the same ID twice", respond(id, article("1", "x")+","+article("1", "y"), ""), "RESULT_ID_DUPLICATE")
		refused(t, "an ID of 65 bytes", respond(id, article(strings.Repeat("x", 65), "x"), ""), "RESULT_ID_INVALID")
		refused(t, "an ID of none", respond(id, article("", "x"), ""), "RESULT_ID_INVALID")
		refused(t, "no text", respond(id, article("1", ""), ""), "message text is empty")
		refused(t, "a long text", respond(id, article("1", strings.Repeat("x", 4097)), ""), "message is too long")
		refused(t, "a button to nowhere", respond(id, "", `,"button":{"text":"Open","start_parameter":"a b"}`), "START_PARAM_INVALID")
		taken(t, "50 results", respond(id, many(50), `,"cache_time":30,"button":{"text":"Open","start_parameter":"a-b"}`))
		refused(t, "again", respond(id, many(1), ""), "query is too old")
		late := s.Inline(ann, "", "")
		time.Sleep(inlineLimit + time.Millisecond)
		refused(t, "too late", respond(late, many(1), ""), "query is too old")
		if a := s.InlineAnswers(); len(a) != 1 || a[0].User != ann || a[0].CacheTime != 30 || a[0].Personal || len(a[0].Results) != 50 || a[0].Start != "a-b" {
			t.Errorf("answers: %d", len(a))
		}
	})
}

func TestAChosenInlineResultIsPublicAndCanBeEdited(t *testing.T) {
	s := NewInMemory(t)
	id := s.Inline(ann, "price", "")
	taken(t, "results", s.do(t, "answerInlineQuery", fmt.Sprintf(`{"inline_query_id":%q,"results":[%s],"is_personal":true}`, id, article("1", "$1"))))
	if others := s.SeenByOthers(ann); len(others) != 0 {
		t.Errorf("others saw %+v", others)
	}
	if _, ok := s.Choose(id, "2", Group(group)); ok {
		t.Error("a result that is not there was chosen")
	}
	m, ok := s.Choose(id, "1", Group(group))
	if others := s.SeenByOthers(ann); !ok || len(others) != 1 || !strings.HasPrefix(others[0].Text, "$1\nPress\n1") {
		t.Errorf("others saw %+v", others)
	}
	s.Dequeue()
	s.PressInline(bob, m.Inline, "1")
	if q := s.next(t).CallbackQuery; q.InlineID != m.Inline || q.Message.ID != 0 || q.From.ID != bob {
		t.Errorf("the press is %+v", q)
	}
	taken(t, "an edit", s.do(t, "editMessageText", fmt.Sprintf(`{"inline_message_id":%q,"text":"$2"}`, m.Inline)))
	if got := s.InlineMessage(m.Inline); got.Text != "$2" {
		t.Errorf("the message is %+v", got)
	}
	refused(t, "a new picture", s.upload(t, "editMessageMedia", map[string]string{
		"inline_message_id": m.Inline, "media": `{"type":"photo","media":"attach://photo"}`,
	}, "photo", picture(8, 4)), "can't be uploaded")
}

// What is cached for a query and is not personal is shown to anybody who asks
// the same.
func TestCachedInlineResultsAreSeenByAnybody(t *testing.T) {
	for rest, public := range map[string]bool{
		"":                                    true,
		`,"cache_time":30`:                    true,
		`,"cache_time":0`:                     false,
		`,"cache_time":30,"is_personal":true`: false,
	} {
		s := NewInMemory(t)
		id := s.Inline(ann, "price", "")
		taken(t, rest, s.do(t, "answerInlineQuery", fmt.Sprintf(`{"inline_query_id":%q,"results":[%s]%s}`, id, article("1", "$1"), rest)))
		if got := len(s.SeenByOthers(ann)) > 0; got != public {
			t.Errorf("%q: seen by others: %v", rest, got)
		}
	}
}

// A kind that was not asked for never arrives, by polling or by webhook.
func TestOnlyTheKindsAskedForAreDelivered(t *testing.T) {
	s := NewInMemory(t)
	mixed := func() {
		s.Press(ann, Group(group), 7, "x")
		s.Inline(ann, "x", "")
		s.PushRaw(`"novelty":{}`)
	}
	mixed()
	poll := s.do(t, "getUpdates", `{"allowed_updates":["message","inline_query"]}`)
	if got := string(poll.Result); strings.Contains(got, "callback_query") || !strings.Contains(got, "inline_query") || !strings.Contains(got, "novelty") {
		t.Errorf("polled %s", got)
	}
	s.Dequeue()
	taken(t, "a webhook", s.do(t, "setWebhook", `{"url":"https://bot.invalid","allowed_updates":["callback_query"]}`))
	mixed()
	if got := s.Dequeue(); len(got) != 2 || !strings.Contains(string(got[0]), "callback_query") || !strings.Contains(string(got[1]), "novelty") {
		t.Errorf("delivered %s", got)
	}
}

func TestAReplyCarriesTheMessageThatForcedIt(t *testing.T) {
	s := NewInMemory(t)
	s.do(t, "sendMessage", `{"chat_id":-1001,"text":"Which wallet?","reply_markup":{"force_reply":true}}`)
	s.Push(Text(Group(group), Person(ann), "0x1").ReplyingTo(s.Sent()[0]))
	if r := s.next(t).Message.ReplyTo; r.ID != s.Sent()[0].ID || r.From.ID != BotID || r.Text != "Which wallet?" {
		t.Errorf("it replies to %+v", r)
	}
}
