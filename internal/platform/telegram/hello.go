package telegram

import (
	"fmt"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// helloAfter is how long the bot waits before it says hello in a group. If a group becomes a supergroup, which has
// another ID, Telegram reports that the bot was added to the supergroup, and reports the move in another update.
const helloAfter = time.Second

// groupEvent is an event in a group after which another update needs no answer.
type groupEvent string

const (
	// botAdded: the bot was added to the group. The /start of the link that added it needs no answer.
	botAdded groupEvent = "added"
	// groupMoved: the group moved to another ID. The bot says no hello under the new ID.
	groupMoved groupEvent = "moved"
)

// recordGroupChange records a groupEvent if u reports one: the bot was added to the group, or the group moved.
func (s *session) recordGroupChange(u *update) {
	switch group := u.chat(); {
	case u.MyChatMember != nil: // The bot was added (addsBot).
		s.syncMenusAfterAdding(group)
		s.recordEvent(botAdded, group)
	case u.Message != nil && u.Message.MigrateToChatID != 0:
		s.recordEvent(groupMoved, u.Message.MigrateToChatID)
		s.adapter.moved(group, u.Message.MigrateToChatID)
	case u.Message != nil && u.Message.MigrateFromChatID != 0:
		s.adapter.moved(u.Message.MigrateFromChatID, group)
	}
}

// waitForRelated waits for the updates that Telegram sends together with u, in any order, and reports whether u then
// still needs an answer. u needs none if:
//
//   - u reports that the bot was added to a group, but the group only moved to another ID,
//   - u is the /start of the link that added the bot, which the hello answers,
//   - another message of u's album is answered.
//
// waitForRelated blocks for at most albumWait. c is the command of u, or nil.
func (s *session) waitForRelated(u *update, c *command) (needsAnswer bool) {
	switch group := u.chat(); {
	case u.MyChatMember != nil:
		transport.Sleep(s.work.Commands, helloAfter)
		return !s.happened(groupMoved, group)
	case c != nil && c.request.Command == "start" && !c.request.Direct:
		transport.Sleep(s.work.Commands, helloAfter/2)
		return !s.happened(botAdded, group)
	case c != nil && u.Message != nil:
		return s.needsAnswerInAlbum(u.Message, c.guessed)
	}
	return true
}

// recordEvent remembers an event in a group for ten seconds. Replicas with one Limiter share events.
func (s *session) recordEvent(event groupEvent, group int64) {
	_, _ = s.adapter.Limiter.Reserve(s.work.Commands, 0, s.eventLimit(event, group))
}

// happened reports whether an event was recorded in a group in the last ten seconds.
func (s *session) happened(event groupEvent, group int64) bool {
	return s.adapter.Limiter.Peek(s.work.Commands, s.eventLimit(event, group)) > 0
}

// eventLimit returns the limit whose slot is taken while an event in a group is remembered.
func (s *session) eventLimit(event groupEvent, group int64) ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("telegram ", s.me().ID, " ", event, " ", group),
		Burst: 1,
		Every: 10 * time.Second,
	}
}

// addsBot reports whether a change of the bot's own membership adds it to a chat, with more rights than a restricted
// member. m may be nil.
func addsBot(m *models.ChatMemberUpdated) bool {
	if m == nil {
		return false
	}
	before, after := m.OldChatMember.Type, m.NewChatMember.Type
	wasOut := before == models.ChatMemberTypeLeft || before == models.ChatMemberTypeBanned
	isIn := after == models.ChatMemberTypeMember || after == models.ChatMemberTypeAdministrator
	return wasOut && isIn
}
