package telegram

import (
	"fmt"
	"strings"
	"time"
)

// pressLimit is how long a press can be answered. Telegram does not publish the time; apps stop waiting after about as
// long.
const pressLimit = 15 * time.Second

// press is the press of a button, which the bot may answer.
type press struct {
	user, chat int64
	at         time.Time
	answered   bool
}

// Notice is the bot's answer to a press (answerCallbackQuery).
type Notice struct {
	ID    string // of the press
	User  int64
	Text  string
	Alert bool
	URL   string
}

// Notices returns the answers to presses so far, in order, including those without a text.
func (s *Server) Notices() []Notice { return list(s, &s.notices) }

// Press queues the press of a button below a message, and returns the callback's ID. The message need not have a button
// with this data. If the message is not the bot's or was deleted, it is inaccessible in the update.
func (s *Server) Press(user int64, chat Chat, messageID int64, data string) (callbackID string) {
	m := locked(s, func() *Sent { return s.own[inChat{chat.ID, messageID}] })
	pressed := Message{"chat": chat, "message_id": messageID, "date": 0} // as Telegram shows an inaccessible message
	if m != nil {
		pressed = m.Message()
	}
	s.Change(func() { callbackID = s.press(press{user: user, chat: chat.ID}, data, pressed) })
	return callbackID
}

// PressEphemeral queues the press of a button below an ephemeral message, by the user that sees it. It returns ""
// if there is no such message.
func (s *Server) PressEphemeral(chat Chat, ephemeralID int64, data string) (callbackID string) {
	s.Change(func() {
		if m := s.ephemerals[inChat{chat.ID, ephemeralID}].sent; m != nil {
			callbackID = s.press(press{user: m.Reader, chat: chat.ID}, data, m.Message())
		}
	})
	return callbackID
}

// press queues the press of a button. The caller must hold the lock.
func (s *Server) press(p press, data string, pressed Message) (callbackID string) {
	p.at = time.Now()
	s.nextQuery++
	callbackID = fmt.Sprint(s.nextQuery)
	s.presses[callbackID] = &p
	s.push("callback_query", map[string]any{
		"id":            callbackID,
		"from":          s.person(p.user),
		"chat_instance": fmt.Sprint(p.chat),
		"data":          data,
		"message":       pressed,
	})
	return callbackID
}

func (s *Server) answerCallbackQuery(params params) (result any, refused *refusal) {
	n := Notice{
		ID:    arg[string](params, "callback_query_id"),
		Text:  arg[string](params, "text"),
		Alert: arg[bool](params, "show_alert"),
		URL:   arg[string](params, "url"),
	}
	p := s.presses[n.ID]
	switch {
	case p == nil || p.answered || time.Since(p.at) > pressLimit:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case n.URL != "" && !strings.HasPrefix(strings.TrimPrefix(n.URL, "https://"), "t.me/"+s.name+"?start="):
		return nil, bad("URL_INVALID")
	}
	p.answered = true
	n.User = p.user
	s.notices = append(s.notices, n)
	s.watch(Event{Notice: &n, Chat: p.chat})
	return true, nil
}
