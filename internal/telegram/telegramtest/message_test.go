package telegramtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// refused fails the test unless an answer is a refusal with these words.
func refused(t *testing.T, what string, a answer, words string) {
	t.Helper()
	if a.OK || !strings.Contains(a.Description, words) {
		t.Errorf("%s: answered %+v, want %q", what, a, words)
	}
}

func taken(t *testing.T, what string, a answer) {
	t.Helper()
	if !a.OK {
		t.Errorf("%s: refused: %s", what, a.Description)
	}
}

func TestAnEditChangesWhatIsThereAndNothingElse(t *testing.T) {
	s := NewInMemory(t)
	id := s.do(t, "sendMessage", `{"chat_id":-1001,"text":"old",`+keyboard(`"callback_data":"1"`)+`}`).sentID(t)
	_, theirs := s.Push(Text(Group(group), Person(ann), "hello"))
	edit := func(id int64, rest string) answer {
		return s.do(t, "editMessageText", fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,%s}`, id, rest))
	}
	refused(t, "the same", edit(id, `"text":"old",`+keyboard(`"callback_data":"1"`)), "Bad Request: message is not modified: specified new message content")
	refused(t, "nobody's", edit(999, `"text":"new"`), "Bad Request: message to edit not found")
	refused(t, "somebody else's", edit(theirs, `"text":"new"`), "message can't be edited")
	refused(t, "too long", edit(id, `"text":`+quote(strings.Repeat("x", 4097))), "message is too long")
	refused(t, "a button of no action", edit(id, `"text":"new",`+keyboard(`"style":"primary"`)), "one action")
	refused(t, "a forced reply", s.do(t, "editMessageText", fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":"x","reply_markup":{"force_reply":true}}`, id)), "")
	s.ExpectViolations()
	if m := s.Sent()[0]; m.Text != "old" || m.Edits != 0 {
		t.Errorf("a refused edit changed the message: %+v", m)
	}
	taken(t, "an edit", edit(id, `"text":"new"`))
	if m := s.Sent(); len(m) != 1 || m[0].Text != "new" || m[0].Edits != 1 || m[0].Markup.Rows != nil {
		t.Errorf("the message is %+v", m)
	}
	seen := s.Seen()
	if len(seen) != 2 || !strings.HasPrefix(seen[0].Text, "old\nPress\n1") || !strings.HasPrefix(seen[1].Text, "new") {
		t.Errorf("people saw %+v", seen)
	}
}

func TestAPictureIsReplacedInPlace(t *testing.T) {
	s := NewInMemory(t)
	s.Start(ann)
	id := s.upload(t, "sendPhoto", map[string]string{"chat_id": "501", "caption": "24 hours"}, "photo", picture(800, 400)).sentID(t)
	edit := func(caption, name string, content []byte) answer {
		return s.upload(t, "editMessageMedia", map[string]string{
			"chat_id": "501", "message_id": fmt.Sprint(id),
			"media": `{"type":"photo","media":"attach://photo","caption":"` + caption + `"}`,
		}, name, content)
	}
	refused(t, "the same", edit("24 hours", "photo", picture(800, 400)), "message is not modified")
	refused(t, "another name", edit("7 days", "image", picture(800, 401)), "there is no photo")
	refused(t, "a text", s.do(t, "editMessageText", fmt.Sprintf(`{"chat_id":501,"message_id":%d,"text":"x"}`, id)), "there is no text in the message to edit")
	taken(t, "another picture", edit("24 hours", "photo", picture(800, 401)))
	taken(t, "another caption", edit("7 days", "photo", picture(800, 401)))
	m := s.Sent()[0]
	if m.Text != "7 days" || string(m.Photo) != string(picture(800, 401)) || m.Reader != ann {
		t.Errorf("the message is %+v", m)
	}
	if seen := s.Seen(); len(seen) != 3 || string(seen[0].Photo) != string(picture(800, 400)) || seen[2].Text[:6] != "7 days" {
		t.Errorf("people saw %d things", len(seen))
	}
}

func TestOwnMessagesAreDeletedForTwoDaysAndOthersByRight(t *testing.T) {
	simulated(t, func(t *testing.T, s *Server) {
		_, theirs := s.Push(Text(Group(group), Person(ann), "hello"))
		_, private := s.Push(Text(Private(ann), Person(ann), "hello"))
		first := s.do(t, "sendMessage", `{"chat_id":-1001,"text":"x"}`).sentID(t)
		second := s.do(t, "sendMessage", `{"chat_id":-1001,"text":"y"}`).sentID(t)
		remove := func(chat, id int64) answer {
			return s.do(t, "deleteMessage", fmt.Sprintf(`{"chat_id":%d,"message_id":%d}`, chat, id))
		}
		time.Sleep(deletable)
		taken(t, "its own", remove(group, first))
		refused(t, "its own, twice", remove(group, first), "message to delete not found")
		refused(t, "somebody's in a group", remove(group, theirs), "message can't be deleted")
		taken(t, "somebody's in private", remove(ann, private))
		s.Promote(group, BotID, "administrator")
		taken(t, "somebody's, by right", remove(group, theirs))
		time.Sleep(time.Second)
		refused(t, "its own, too old", remove(group, second), "message can't be deleted")
		if m := s.Sent(); !m[0].Deleted || m[1].Deleted {
			t.Errorf("deleted are %+v", m)
		}
		refused(t, "an edit of what is deleted", s.do(t, "editMessageText", fmt.Sprintf(`{"chat_id":-1001,"message_id":%d,"text":"z"}`, first)), "message to edit not found")
	})
}

func TestAServerBeforeDateTimeRefusesIt(t *testing.T) {
	s := NewInMemory(t)
	const params = `{"chat_id":-1001,"text":"12:00","entities":[{"type":"date_time","offset":0,"length":5,"unix_time":1750000000}]}`
	taken(t, "a newer server", s.do(t, "sendMessage", params))
	s.MakeOlder(Older{DateTime: true})
	refused(t, "an older server", s.do(t, "sendMessage", params), "unsupported entity type")
}

func TestAnOlderServerRefusesFoldedQuotes(t *testing.T) {
	s := NewInMemory(t)
	const params = `{"chat_id":-1001,"text":"x","entities":[{"type":"expandable_blockquote","offset":0,"length":1}]}`
	taken(t, "a newer server", s.do(t, "sendMessage", params))
	s.MakeOlder(Older{Quote: true})
	refused(t, "an older server", s.do(t, "sendMessage", params), "unsupported entity type")
}

func TestATextBecomesAPictureButNotOnAnOlderServer(t *testing.T) {
	s := NewInMemory(t)
	id := s.do(t, "sendMessage", `{"chat_id":-1001,"text":"x"}`).sentID(t)
	edit := func() answer {
		return s.upload(t, "editMessageMedia", map[string]string{
			"chat_id": "-1001", "message_id": fmt.Sprint(id), "media": `{"type":"photo","media":"attach://photo"}`,
		}, "photo", picture(800, 400))
	}
	s.MakeOlder(Older{TextToMedia: true})
	refused(t, "an older server", edit(), "there is no media in the message to edit")
	s.MakeOlder(Older{})
	taken(t, "a newer server", edit())
	if m := s.Sent(); len(m) != 1 || m[0].Photo == nil || m[0].Text != "" {
		t.Errorf("the message is %+v", m)
	}
}

func TestMenusAreKeptByScopeAndLanguage(t *testing.T) {
	s := NewInMemory(t)
	taken(t, "everybody's", s.do(t, "setMyCommands", `{"commands":[{"command":"price","description":"Price"}]}`))
	taken(t, "groups'", s.do(t, "setMyCommands", `{"commands":[{"command":"logins","description":"Accesos","is_ephemeral":true}],"scope":{"type":"all_group_chats"},"language_code":"es"}`))
	if m := s.Menu(); len(m) != 1 || m[0].Command != "price" {
		t.Errorf("everybody's menu is %+v", m)
	}
	spanish := MenuKey{Scope: "all_group_chats", Language: "es"}
	if m := s.MenuOf(spanish); len(m) != 1 || !m[0].Ephemeral {
		t.Errorf("the groups' menu is %+v", m)
	}
	const ephemeral = `{"commands":[{"command":"logins","description":"Accesos","is_ephemeral":true}]}`
	s.MakeOlder(Older{Ephemeral: true})
	taken(t, "a server that ignores it", s.do(t, "setMyCommands", ephemeral))
	if m := s.Menu(); len(m) != 1 || m[0].Ephemeral {
		t.Errorf("an older server's menu is %+v", m)
	}
	s.MakeOlder(Older{Ephemeral: true, EphemeralMenu: true})
	refused(t, "a server that refuses it", s.do(t, "setMyCommands", ephemeral), "is_ephemeral")
}
