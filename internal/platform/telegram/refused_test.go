package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// Each command in a topic whose number Telegram refuses is answered, also a private one of somebody
// to whom the bot may not write yet, and one whose picture the chat forbids too.
func TestACommandInARefusedTopicIsAnswered(t *testing.T) {
	type test struct {
		command string
		reply   *chat.Reply
		started bool
		chats   []int64
		says    string
	}
	inBubble(t, map[string]test{
		"public":                    {"/price", &chat.Reply{Title: chat.Say("$1")}, false, []int64{group}, "$1"},
		"a forbidden picture":       {"/price", pictured(t, 200), false, []int64{group}, "Price"},
		"private":                   {"/mylogins", &chat.Reply{Title: chat.Say("confidential")}, true, []int64{ann, group}, said(answeredPrivately)},
		"private, to one not there": {"/mylogins", &chat.Reply{Title: chat.Say("confidential")}, false, []int64{group}, said(pressStart)},
	}, func(t *testing.T, tt test) {
		r := setUp(t, paced)
		r.api.LoseTopic(group, 7)
		r.api.ForbidPhotos(group)
		if tt.started {
			r.api.Start(ann)
		}
		r.answer(tt.reply)
		r.run()
		_, asked := r.api.Push(inGroup(ann, tt.command).In(7))
		sent := r.sent(len(tt.chats))
		for i, m := range sent {
			check(t, "chat", m.Chat, tt.chats[i])
			check(t, "topic", m.Thread, 0)
		}
		last := sent[len(sent)-1]
		check(t, "reply to", last.ReplyTo, asked)
		if !strings.Contains(last.Text, tt.says) {
			t.Errorf("it says %q, want %q", last.Text, tt.says)
		}
		r.hidesFromOthers()
	})
}

// links are links of settings, and whether Telegram accepts them.
var links = map[string]bool{
	"https://example.org/x":       true,
	"http://127.0.0.1:8080/x":     true,
	"https://[2001:db8::1]:443/x": true,
	"https://localhost/x":         false,
	"http://localhost:8080":       false,
	"https://explorer":            false,
}

// A link that Telegram does not accept is left out before the first send, and bot check names its
// setting.
func TestALinkThatTelegramRefusesCostsNoSecondSend(t *testing.T) {
	for link, accepted := range links {
		simulated(t, func(t *testing.T, r *adapterTest) {
			reply := &chat.Reply{Title: chat.Say("x"), Actions: []chat.Action{{Label: chat.Say("Register"), URL: link}}}
			reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: chat.Address{Hex: testWallet, URL: link}}}}}
			r.answer(reply)
			r.run()
			r.api.Push(inGroup(ann, "/price"))
			m := r.one()
			check(t, link+": calls", len(r.api.Calls("sendMessage")), 1)
			check(t, link+": buttons", labelsOf(m), map[bool]string{true: " [Register]", false: ""}[accepted])
			check(t, link+": the wallet is linked", slices.Contains(typesOf(m.Entities), "text_link"), accepted)
			details, _, err := r.adapter.Check(t.Context(), nil)
			named := strings.Contains(strings.Join(details, "\n"), "STAKE_URL: ")
			if named == accepted || err != nil {
				t.Errorf("%s: bot check says %q, %v", link, details, err)
			}
		}, func(c *Config) { c.Links = []Link{{"REGISTER_URL", ""}, {"STAKE_URL", link}} })
	}
}

// channel is a chat of a channel's direct messages.
const channel = -1009

// Each user has a topic of their own in a channel's direct messages, and the channel's administrators
// read all of them.
func TestAChannelsDirectMessagesAreAnsweredInTheirTopic(t *testing.T) {
	inDirect := func(user int64, text string) faketelegram.Message {
		return writes(faketelegram.DirectMessages(channel), user, text)
	}
	withoutTopic := inDirect(ann, "/price")
	delete(withoutTopic, "direct_messages_topic")
	var crowd []faketelegram.Message // more than go out without a wait
	var topics []string
	for i := range int64(12) {
		crowd = append(crowd, inDirect(ann+i, "/price"))
		topics = append(topics, fmt.Sprint(channel, " ", ann+i))
	}
	type test struct {
		messages []faketelegram.Message
		started  bool
		want     string // chat and topic of each message
		refused  int    // calls
	}
	inBubble(t, map[string]test{
		"public":                         {[]faketelegram.Message{inDirect(ann, "/price")}, false, "-1009 501", 0},
		"by many at once":                {crowd, false, strings.Join(topics, ", "), 0},
		"private":                        {[]faketelegram.Message{inDirect(ann, "/mylogins")}, true, "-1009 501, 501 0", 0},
		"private, to one who is not":     {[]faketelegram.Message{inDirect(ann, "/mylogins")}, false, "-1009 501", 1},
		"without a topic":                {[]faketelegram.Message{withoutTopic}, false, "", 0},
		"by an administrator of channel": {[]faketelegram.Message{as(channel-1, inDirect(ann, "/exists 5"))}, false, "-1009 501", 0},
	}, func(t *testing.T, tt test) {
		r := setUp(t, paced, func(c *Config) { c.Settings.CleanChat = true })
		if tt.started {
			r.api.Start(ann)
		}
		r.handler.Reply = secretReply
		if tt.want != "" && strings.Contains(fmt.Sprint(tt.messages[0]["text"]), "price") {
			r.answer(&chat.Reply{Title: chat.Say("$1")})
		}
		r.run()
		r.give(tt.messages...)
		var got []string
		for _, m := range r.api.Sent() {
			got = append(got, fmt.Sprint(m.Chat, " ", m.DirectTopic))
			check(t, "deleted", m.Deleted, false)
		}
		slices.Sort(got)
		check(t, "sent", strings.Join(got, ", "), tt.want)
		check(t, "calls that are refused", len(r.api.Calls("sendMessage"))-len(got), tt.refused)
		check(t, "chat actions", len(r.api.Calls("sendChatAction")), 0)
		for _, req := range r.handler.Requests() {
			if req.Role == chat.Moderator || req.Direct {
				t.Errorf("asked %+v", req)
			}
		}
		r.hidesFromOthers()
	})
}
