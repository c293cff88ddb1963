package telegramtest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// watched is what a server is seen to do, in few words.
func watched(s *Server) *[]string {
	var seen []string
	s.Watch(func(e Event) {
		switch {
		case e.Said != nil:
			seen = append(seen, fmt.Sprintf("%d says %s", e.Said["from"].(User).ID, e.Said["text"]))
		case e.Message != nil:
			seen = append(seen, fmt.Sprintf("%d/%d for %d: %s %v", e.Message.ID, e.Message.Ephemeral, e.Message.Reader, e.Message.Text, e.Message.Deleted))
		case e.Notice != nil:
			seen = append(seen, fmt.Sprintf("%d is told in %d: %s", e.Notice.User, e.Chat, e.Notice.Text))
		case e.Typing:
			seen = append(seen, fmt.Sprintf("types in %d", e.Chat))
		case e.Menus:
			seen = append(seen, "menus")
		}
	})
	return &seen
}

func TestAWatcherSeesWhatPeopleSee(t *testing.T) {
	s := NewInMemory(t)
	seen := watched(s)
	s.Push(Text(Group(group), Person(ann), "/price"))
	s.do(t, "sendChatAction", `{"chat_id":-1001,"action":"typing"}`)
	s.do(t, "sendChatAction", `{"chat_id":502,"action":"typing"}`) // who has not started the bot
	s.do(t, "sendMessage", `{"chat_id":-1001,"text":"Price","reply_parameters":{"message_id":1}}`)
	callback := s.Press(bob, Group(group), 2, "x")
	s.do(t, "answerCallbackQuery", `{"callback_query_id":"`+callback+`","text":"Well"}`)
	s.do(t, "answerCallbackQuery", `{"callback_query_id":"`+callback+`","text":"Again"}`) // refused
	s.do(t, "editMessageText", `{"chat_id":-1001,"message_id":2,"text":"Newer"}`)
	s.do(t, "deleteMessage", `{"chat_id":-1001,"message_id":2}`)
	_, id := s.PushEphemeral(Text(Group(group), Person(ann), "/exists"))
	s.do(t, "sendMessage", fmt.Sprintf(`{"chat_id":-1001,"text":"Yes","reply_parameters":{"ephemeral_message_id":%d},"ephemeral_message_parameters":{"receiver_user_id":501}}`, id))
	s.do(t, "deleteEphemeralMessage", `{"chat_id":-1001,"receiver_user_id":501,"ephemeral_message_id":2}`)
	s.do(t, "setMyCommands", `{"commands":[{"command":"price","description":"The price"}]}`)
	want := []string{
		"501 says /price", "types in -1001", "2/0 for 0: Price false", "502 is told in -1001: Well",
		"2/0 for 0: Newer false", "2/0 for 0: Newer true",
		"501 says /exists", "0/2 for 501: Yes false", "0/2 for 501: Yes true", "menus",
	}
	if !slices.Equal(*seen, want) {
		t.Errorf("%q", *seen)
	}
}

func TestAServerThatForgetsKeepsTheLast(t *testing.T) {
	s := NewInMemory(t)
	const most = 10
	s.Remember(most)
	for i := range 5 * most {
		s.Push(Text(Group(group), Person(ann), "/price"))
		_, ephemeral := s.PushEphemeral(Text(Group(group), Person(ann), "/exists"))
		id := s.do(t, "sendMessage", `{"chat_id":-1001,"text":"Price"}`).sentID(t)
		s.do(t, "sendMessage", fmt.Sprintf(`{"chat_id":-1001,"text":"Yes","reply_parameters":{"ephemeral_message_id":%d},"ephemeral_message_parameters":{"receiver_user_id":501}}`, ephemeral))
		callback := s.Press(bob, Group(group), id, "x")
		s.do(t, "answerCallbackQuery", `{"callback_query_id":"`+callback+`"}`)
		query := s.Inline(bob, "price", "")
		s.do(t, "answerInlineQuery", `{"inline_query_id":"`+query+`","results":[{"type":"article","id":"a","title":"Price","input_message_content":{"message_text":"Price"}}]}`)
		if _, sent := s.Choose(query, "a", Group(group)); !sent {
			t.Fatal("nothing to choose")
		}
		s.do(t, "getUpdates", fmt.Sprintf(`{"offset":%d}`, 1000+4*(i+1)))
	}
	for what, n := range map[string]int{
		"calls": len(s.calls), "sent": len(s.sent), "seen": len(s.seen), "offsets": len(s.offsets), "notices": len(s.notices),
		"own": len(s.own), "others": len(s.others), "ephemerals": len(s.ephemerals), "presses": len(s.presses),
		"queries": len(s.queries), "answers": len(s.inlineAnswers), "inline": len(s.inline), "queue": len(s.queue),
	} {
		if n > most {
			t.Errorf("%d of %s are kept", n, what)
		}
	}
	newest := s.nextID - 1
	if a := s.do(t, "editMessageText", fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":"Newer"}`, newest)); !a.OK {
		t.Errorf("the newest message cannot be edited: %s", a.Description)
	}
}

func TestTheNarrowestMenuIsListed(t *testing.T) {
	s := NewInMemory(t)
	set := func(name, scope, language string) {
		s.do(t, "setMyCommands", `{"commands":[{"command":"`+name+`","description":"d"}],"scope":{"type":"`+scope+`"},"language_code":"`+language+`"}`)
	}
	s.Promote(group, ann, "administrator")
	listed := func(chat Chat, user int64, language string) string {
		if menu := s.MenuFor(chat, user, language); menu != nil {
			return menu[0].Command
		}
		return ""
	}
	for _, step := range []struct {
		name, scope, language         string
		admin, member, private, other string // listed after it is set, the last in another language
	}{
		{"a", "default", "", "a", "a", "a", "a"},
		{"b", "default", "es", "b", "b", "b", "a"},
		{"c", "all_group_chats", "", "c", "c", "b", "c"},
		{"d", "all_chat_administrators", "", "d", "c", "b", "c"},
		{"e", "all_private_chats", "es", "d", "c", "e", "c"},
	} {
		set(step.name, step.scope, step.language)
		got := []string{listed(Group(group), ann, "es"), listed(Group(group), bob, "es"), listed(Private(bob), bob, "es"), listed(Group(group), bob, "ru")}
		if want := []string{step.admin, step.member, step.private, step.other}; !slices.Equal(got, want) {
			t.Errorf("after %s: %q, want %q", step.name, got, want)
		}
	}
}

func TestAnInlineQueryIsWaitedFor(t *testing.T) {
	simulated(t, func(t *testing.T, s *Server) {
		query := s.Inline(ann, "price", "")
		if _, answered := s.WaitInline(query, time.Second); answered {
			t.Error("it is answered by nobody")
		}
		go s.do(t, "answerInlineQuery", `{"inline_query_id":"`+query+`","results":[]}`)
		if a, answered := s.WaitInline(query, time.Second); !answered || a.User != ann {
			t.Errorf("%+v", a)
		}
	})
}
