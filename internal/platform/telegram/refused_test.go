package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
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

// links are links of settings, and whether Telegram accepts them.
var links = map[string]bool{
	"https://example.org/x":       true,
	"http://127.0.0.1:8080/x":     true,
	"https://[2001:db8::1]:443/x": true,
	"https://localhost/x":         false,
	"http://localhost:8080":       false,
	"https://explorer":            false,
}

func TestALinkThatTelegramRefusesCostsNoSecondSend(t *testing.T) {
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
			check(t, link+": is on a button", labelsOf(m) == " [Register]", accepted)
			check(t, link+": buttons", labelsOf(m) != "", accepted)
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

// channel is a chat of a channel's direct messages.
const channel = -1009

// inDirect returns a message of a user in the channel's direct messages.
func inDirect(user int64, text string) faketelegram.Message {
	return writes(faketelegram.DirectMessages(channel), user, text)
}

// answerDirect answers messages in a channel's direct messages, and returns the chat and topic of each message sent.
func (r *adapterTest) answerDirect(
	reply func(context.Context, *chat.Request) *chat.Reply, messages ...faketelegram.Message,
) string {
	r.Helper()
	r.handler.Reply = reply
	r.run()
	r.pushAndWait(messages...)
	var sent []string
	for _, m := range r.api.Sent() {
		sent = append(sent, fmt.Sprint(m.Chat, " ", m.DirectTopic))
		check(r, "deleted", m.Deleted, false)
	}
	check(r, "chat actions", len(r.api.Calls("sendChatAction")), 0)
	for _, req := range r.handler.Requests() {
		check(r, "is a moderator", req.Role == chat.Moderator, false)
		check(r, "direct", req.Direct, false)
	}
	r.checkOthersSawNoSecret()
	slices.Sort(sent)
	return strings.Join(sent, ", ")
}

// priceReply answers every command with a price.
func priceReply(context.Context, *chat.Request) *chat.Reply {
	return &chat.Reply{Title: chat.Say("$1")}
}

// Each user has a topic in a channel's direct messages.
func TestAChannelsDirectMessagesAreAnsweredInTheirTopics(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		const people = 12 // more than are answered without a wait
		var messages []faketelegram.Message
		var topics []string
		for i := range int64(people) {
			messages = append(messages, inDirect(ann+i, "/price"))
			topics = append(topics, fmt.Sprint(channel, " ", ann+i))
		}
		check(t, "sent", r.answerDirect(priceReply, messages...), strings.Join(topics, ", "))
		check(t, "calls", len(r.api.Calls("sendMessage")), people)
	}, paced, withCleanChat)
}

// The channel's administrators read all direct messages, so a private answer goes to the private chat.
func TestPrivateAnswersAreNotInDirectMessages(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.Start(ann)
		sent := r.answerDirect(secretReply, inDirect(ann, "/mylogins"))
		check(t, "sent to a user who started the bot", sent, "-1009 501, 501 0")
		check(t, "calls", len(r.api.Calls("sendMessage")), 2)
	}, paced, withCleanChat)
	simulated(t, func(t *testing.T, r *adapterTest) {
		check(t, "sent to a stranger", r.answerDirect(secretReply, inDirect(ann, "/mylogins")), "-1009 501")
		check(t, "calls", len(r.api.Calls("sendMessage")), 2)
	}, paced, withCleanChat)
	simulated(t, func(t *testing.T, r *adapterTest) {
		byAdministrator := onBehalfOf(channel-1, inDirect(ann, "/exists 5"))
		check(t, "sent to an administrator of the channel", r.answerDirect(secretReply, byAdministrator), "-1009 501")
		check(t, "calls", len(r.api.Calls("sendMessage")), 1)
	}, paced, withCleanChat)
}

func TestADirectMessageWithoutATopicIsIgnored(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		withoutTopic := inDirect(ann, "/price")
		delete(withoutTopic, "direct_messages_topic")
		check(t, "sent", r.answerDirect(secretReply, withoutTopic), "")
		check(t, "calls", len(r.api.Calls("sendMessage")), 0)
	}, paced, withCleanChat)
}
