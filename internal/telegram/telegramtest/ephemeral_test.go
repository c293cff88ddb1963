package telegramtest

import (
	"fmt"
	"testing"
	"time"
)

// ephemeralAnswer is a sendMessage that answers an ephemeral message.
func (s *Server) ephemeralAnswer(t *testing.T, chat, receiver, id int64) answer {
	t.Helper()
	return s.do(t, "sendMessage", fmt.Sprintf(`{"chat_id":%d,"text":"secret","reply_parameters":{"ephemeral_message_id":%d},`+
		`"ephemeral_message_parameters":{"receiver_user_id":%d}}`, chat, id, receiver))
}

func TestAnEphemeralAnswerNeedsItsMessage(t *testing.T) {
	simulated(t, func(t *testing.T, s *Server) {
		_, id := s.PushEphemeral(Text(Group(group), Person(ann), "/logins"))
		if m := s.next(t).Message; m.ID != 0 || m.EphemeralID != id || id == 0 {
			t.Errorf("the command arrived as %+v", m)
		}
		refused(t, "to somebody else", s.ephemeralAnswer(t, group, bob, id), "can't be sent")
		refused(t, "to no message", s.ephemeralAnswer(t, group, ann, id+7), "can't be sent")
		refused(t, "in another group", s.ephemeralAnswer(t, -1002, ann, id), "can't be sent")
		s.Start(ann)
		refused(t, "in a private chat", s.ephemeralAnswer(t, ann, ann, id), "only in groups")
		refused(t, "to a message of the other kind", s.do(t, "sendMessage", `{"chat_id":-1001,"text":"x","reply_parameters":{"message_id":5},`+
			`"ephemeral_message_parameters":{"receiver_user_id":501}}`), "another kind")
		refused(t, "out of the blue", s.do(t, "sendMessage", `{"chat_id":-1001,"text":"x","ephemeral_message_parameters":{"receiver_user_id":501}}`), "can't be sent")
		time.Sleep(ephemeralLimit)
		taken(t, "just in time", s.ephemeralAnswer(t, group, ann, id))
		time.Sleep(time.Millisecond)
		refused(t, "too late", s.ephemeralAnswer(t, group, ann, id), "can't be sent")

		m := s.Sent()
		if len(m) != 1 || m[0].Reader != ann || m[0].ID != 0 || m[0].Ephemeral == 0 || m[0].ReplyTo != id {
			t.Fatalf("sent: %+v", m)
		}
		if others := s.SeenByOthers(ann); len(others) != 0 {
			t.Errorf("others saw %+v", others)
		}
		remove := func(user int64) answer {
			return s.do(t, "deleteEphemeralMessage", fmt.Sprintf(`{"chat_id":-1001,"receiver_user_id":%d,"ephemeral_message_id":%d}`, user, m[0].Ephemeral))
		}
		refused(t, "a deletion for somebody else", remove(bob), "message to delete not found")
		taken(t, "a deletion", remove(ann))
		refused(t, "a second deletion", remove(ann), "message to delete not found")
	})
}

func TestAPressOnAnEphemeralMessageIsAnsweredForItsReader(t *testing.T) {
	simulated(t, func(t *testing.T, s *Server) {
		_, id := s.PushEphemeral(Text(Group(group), Person(ann), "/logins"))
		taken(t, "an answer", s.ephemeralAnswer(t, group, ann, id))
		s.Dequeue()
		send := func(callback string, receiver int64, replace bool) answer {
			return s.do(t, "sendMessage", fmt.Sprintf(`{"chat_id":-1001,"text":"page 2","ephemeral_message_parameters":`+
				`{"receiver_user_id":%d,"callback_query_id":%q,"replace_callback_query_message":%t}}`, receiver, callback, replace))
		}
		callback := s.PressEphemeral(Group(group), s.Sent()[0].Ephemeral, "1:logins:2")
		if q := s.next(t).CallbackQuery; q.From.ID != ann || q.Message.ID != 0 || q.Message.EphemeralID != s.Sent()[0].Ephemeral {
			t.Errorf("the press is %+v", q)
		}
		refused(t, "for somebody else", send(callback, bob, false), "can't be sent")
		refused(t, "of no press", send("999", ann, false), "can't be sent")
		refused(t, "of a press in another group", send(s.Press(ann, Group(-1002), 5, "x"), ann, false), "can't be sent")
		refused(t, "in place of an ephemeral message", send(callback, ann, true), "must be edited")
		late := s.Press(ann, Group(group), 5, "x")
		time.Sleep(ephemeralLimit)
		taken(t, "an answer", send(callback, ann, false))
		if m := s.Sent(); len(m) != 2 || m[0].Deleted || m[1].Reader != ann {
			t.Errorf("sent: %+v", m)
		}
		time.Sleep(time.Millisecond)
		refused(t, "too late", send(late, ann, true), "can't be sent")
		if s.PressEphemeral(Group(group), id, "x") != "" {
			t.Error("a user's own message was pressed")
		}
	})
}

// This is the trap: what is meant for one is for all.
func TestAServerBeforeEphemeralMessagesMakesThemPublic(t *testing.T) {
	s := NewInMemory(t)
	_, id := s.PushEphemeral(Text(Group(group), Person(ann), "/logins"))
	s.MakeOlder(Older{Ephemeral: true})
	taken(t, "an answer", s.ephemeralAnswer(t, group, ann, id))
	if m := s.Sent(); len(m) != 1 || m[0].Reader != 0 || m[0].ID == 0 || m[0].Ephemeral != 0 || len(s.SeenByOthers(ann)) != 1 {
		t.Errorf("sent: %+v", m)
	}
	refused(t, "a deletion", s.do(t, "deleteEphemeralMessage", `{"chat_id":-1001,"receiver_user_id":501,"ephemeral_message_id":1}`), "Not Found")
	s.Dequeue()
	if _, id := s.PushEphemeral(Text(Group(group), Person(ann), "/logins")); id != 0 {
		t.Errorf("it delivered the ephemeral message %d", id)
	}
	if m := s.next(t).Message; m.ID == 0 || m.EphemeralID != 0 {
		t.Errorf("the command arrived as %+v", m)
	}
}
