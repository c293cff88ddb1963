package telegram

import (
	"testing"

	"herald/internal/chat"
)

// updateSeeds are updates as Telegram sends them, and broken ones.
var updateSeeds = []string{
	`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"group"},"from":{"id":2},
		"text":"/exists 😀 Ann","entities":[
			{"type":"bot_command","offset":0,"length":7},
			{"type":"text_mention","offset":11,"length":3,"user":{"id":3}}]}}`,
	`{"update_id":1,"message":{"text":"/a","chat":{"type":"private"},"from":{},
		"entities":[{"type":"bot_command","length":9}]}}`,
	`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"group"},"from":{"id":2},
		"caption":"@OurBot /price","caption_entities":[
			{"type":"mention","length":7},
			{"type":"bot_command","offset":8,"length":6}]}}`,
	`{"update_id":1,"message":{"message_id":1,
		"chat":{"id":-1,"type":"supergroup","is_direct_messages":true},"direct_messages_topic":{"topic_id":5},
		"from":{"id":2},"text":"/price","entities":[{"type":"bot_command","length":6}]}}`,
	`{"update_id":9223372036854775807,"message":[]}`,
	`{"update_id":1,"callback_query":{"id":"1","from":{"id":2},"data":"1 e 0 mylogins 2",
		"message":{"message_id":1,"date":0,"chat":{"id":-1,"type":"group"}}}}`,
	`{"update_id":1,"callback_query":{"data":"1 n zz price"}}`,
	`{"update_id":1,"message":{"message_id":2,"chat":{"id":-1,"type":"group"},"from":{"id":2},
		"text":"0x1","reply_to_message":{"from":{"id":99},"entities":[
			{"type":"text_link","length":1,"url":"https://t.me/OurBot?start=ask-staked"}]}}}`,
	`{"update_id":1,"message":{"reply_to_message":{"reply_to_message":{}}}}`,
	`{"update_id":1,"message":{"message_id":0,"ephemeral_message_id":7,"chat":{"id":-1,"type":"group"},
		"from":{"id":2},"text":"/price","entities":[{"type":"bot_command","length":6}]}}`,
	`{"update_id":1,"callback_query":{"id":"1","from":{"id":2},"data":"1 e 0 mylogins 2",
		"message":{"message_id":0,"ephemeral_message_id":8,"date":1,"chat":{"id":-1,"type":"group"}}}}`,
	`{"update_id":1,"my_chat_member":{"chat":{"id":-5,"type":"group"},
		"old_chat_member":{"status":"left"},
		"new_chat_member":{"status":"restricted","is_member":true,"can_send_messages":true}}}`,
	`{"update_id":1,"inline_query":{"id":"1","from":{"id":2},
		"query":"staked 0x52908400098527886E0F7030069857D2E4169EE7","offset":""}}`,
}

// Whatever an update contains, parse does not panic, does not make a private answer public, and gives nobody
// another's identity or role.
func FuzzParse(f *testing.F) {
	for _, seed := range updateSeeds {
		f.Add([]byte(seed))
	}
	a := &Adapter{Config: Config{Count: func(string) {}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, answerable := a.read(raw)
		if !answerable {
			return
		}
		if u.InlineQuery != nil {
			checkInlineIsPublic(t, u.InlineQuery.Query)
		}
		if c, ours := parsed(u); ours {
			checkPrivacy(t, u, c)
			checkSender(t, u, c)
		}
	})
}

func checkInlineIsPublic(t *testing.T, query string) {
	for _, req := range parseInline(query, testCommands) {
		if asked, known := testCommands.Find(req.Command); !known || asked.Visibility != chat.Public {
			t.Errorf("an inline query asks %+v", req)
		}
	}
}

// checkPrivacy checks that the answer is private if its command is, or if the message was ephemeral.
func checkPrivacy(t *testing.T, u *update, c command) {
	asked, _ := testCommands.Find(c.request.Command)
	ephemeral := c.ephemeral.Arrived()
	if want := asked.Visibility == chat.Private || ephemeral; c.private != want {
		t.Errorf("private is %v, want %v: %+v", c.private, want, c)
	}
	if ephemeral && u.message().EphemeralMessageID <= 0 {
		t.Errorf("a message without an ephemeral ID is ephemeral: %+v", c)
	}
}

// checkSender checks that a sender in a chat's name has no ID, and that parse gives no user of a community a role.
func checkSender(t *testing.T, u *update, c command) {
	req := c.request
	if u.Press == nil && u.message().SenderChat != nil && req.From.ID != "" {
		t.Errorf("an anonymous sender has an ID: %+v", req.From)
	}
	if req.From.ID != "" && req.Community != "" && req.Role != chat.UnknownRole {
		t.Errorf("a sender has a role that nobody asked for: %+v", req)
	}
}
