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

const (
	// directChat is the chat of a channel's direct messages.
	directChat = -1009
	channel    = directChat - 1
)

// inDirect returns a message of a user in the channel's direct messages.
func inDirect(user int64, text string) faketelegram.Message {
	return writes(faketelegram.DirectMessages(directChat), user, text)
}

// answerDirect answers messages in a channel's direct messages, and returns the chat and topic of each message sent,
// sorted as text.
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
	for _, req := range r.handler.Requests() { // Not even the channel's administrators are moderators.
		check(r, "is a moderator", req.Role == chat.Moderator, false)
		check(r, "direct", req.Direct, false) // The channel's administrators read this chat, too.
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
			topics = append(topics, fmt.Sprint(directChat, " ", ann+i))
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
		noticeInTopic, answer := fmt.Sprint(directChat, " ", ann), fmt.Sprint(ann, " 0")
		check(t, "sent to a user who started the bot", sent, noticeInTopic+", "+answer)
		check(t, "calls", len(r.api.Calls("sendMessage")), 2)
	}, paced, withCleanChat)
	simulated(t, func(t *testing.T, r *adapterTest) {
		sent := r.answerDirect(secretReply, inDirect(ann, "/mylogins"))
		check(t, "sent to a stranger", sent, fmt.Sprint(directChat, " ", ann))
		check(t, "calls", len(r.api.Calls("sendMessage")), 2) // the refused private answer, and the notice
	}, paced, withCleanChat)
	simulated(t, func(t *testing.T, r *adapterTest) {
		sent := r.answerDirect(secretReply, onBehalfOf(channel, inDirect(ann, "/exists 5")))
		check(t, "sent to an administrator of the channel", sent, fmt.Sprint(directChat, " ", ann))
		check(t, "the notice", r.one().Text, said(stayedAnonymous))
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
