package telegram

import (
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
)

// topicCase is a command from ann in a topic that Telegram refuses, and the messages that the bot sends.
type topicCase struct {
	command string
	reply   *chat.Reply
	started bool    // whether ann has started the bot
	chats   []int64 // of the messages, in order
	says    string  // within the last message
}

// The answer goes to the group, outside the topic.
func TestACommandInARefusedTopicIsAnswered(t *testing.T) {
	confidential := &chat.Reply{Title: chat.Say("confidential")}
	inBubble(t, map[string]topicCase{
		"public": {
			command: "/price",
			reply:   &chat.Reply{Title: chat.Say("$1")},
			chats:   []int64{group},
			says:    "$1",
		},
		"a forbidden picture": {
			command: "/price",
			reply:   pictured(t, 200),
			chats:   []int64{group},
			says:    "Price",
		},
		"private": {
			command: "/mylogins",
			reply:   confidential,
			started: true,
			chats:   []int64{ann, group},
			says:    said(answeredPrivately),
		},
		"private, to a stranger": {
			command: "/mylogins",
			reply:   confidential,
			chats:   []int64{group},
			says:    said(pressStart),
		},
	}, func(t *testing.T, tt topicCase) {
		r := setUp(t, paced)
		r.api.LoseTopic(group, 7)
		r.api.ForbidPhotos(group)
		if tt.started {
			r.api.Start(ann)
		}
		r.answerAllWith(tt.reply)
		r.run()
		_, asked := r.api.Push(inGroup(ann, tt.command).In(7))
		sent := r.waitSent(len(tt.chats))
		for i, m := range sent {
			check(t, "chat", m.Chat, tt.chats[i])
			check(t, "topic", m.Thread, 0)
		}
		last := sent[len(sent)-1]
		check(t, "reply to", last.ReplyTo, asked)
		if !strings.Contains(last.Text, tt.says) {
			t.Errorf("it says %q, want %q", last.Text, tt.says)
		}
		r.checkOthersSawNoSecret()
	})
}

// links maps a link that a setting may have to whether Telegram accepts it: its host is an IP address, or has a dot.
var links = map[string]bool{
	"https://example.org/x":       true,
	"http://127.0.0.1:8080/x":     true,
	"https://[2001:db8::1]:443/x": true,
	"https://localhost/x":         false,
	"http://localhost:8080":       false,
	"https://explorer":            false,
}

func TestALinkThatTelegramWouldRefuseIsLeftOut(t *testing.T) {
	for link, accepted := range links {
		simulated(t, func(t *testing.T, r *adapterTest) {
			r.answerAllWith(&chat.Reply{
				Title: chat.Say("x"),
				Sections: []chat.Section{{
					Fields: []chat.Field{{Value: chat.Address{Hex: testWallet, URL: link}}},
				}},
				Actions: []chat.Action{{Label: chat.Say("Register"), URL: link}},
			})
			r.run()
			r.api.Push(inGroup(ann, "/price"))
			m := r.one()
			check(t, link+": calls", len(r.api.Calls("sendMessage")), 1)
			wantButtons := ""
			if accepted {
				wantButtons = " [Register]"
			}
			check(t, link+": buttons", labelsOf(m), wantButtons)
			check(t, link+": is on the wallet", slices.Contains(typesOf(m.Entities), "text_link"), accepted)
		})
	}
}

func TestBotCheckNamesTheSettingOfARefusedLink(t *testing.T) {
	for link, accepted := range links {
		r := setUp(t, func(c *Config) { c.Links = []Link{{"REGISTER_URL", ""}, {"STAKE_URL", link}} })
		details, _, err := r.adapter.Check(t.Context(), nil)
		if err != nil {
			t.Error(err)
		}
		isNamed := strings.Contains(strings.Join(details, "\n"), "STAKE_URL: ")
		check(t, link+": is named", isNamed, !accepted)
	}
}
