package telegram

import (
	"fmt"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/transport"
)

// helloAfter is how long the bot waits before it says hello. If a group becomes a supergroup,
// Telegram reports the bot as added there, and the move in another update.
const helloAfter = time.Second

// peek, passed to event, has nothing happen.
const peek = -time.Millisecond

// Events in a group after which another update needs no answer.
const botAdded, groupMoved = "added", "moved"

// membership is a change of what the bot is in a chat.
type membership struct {
	Chat tgChat                  `json:"chat"`
	Old  struct{ Status string } `json:"old_chat_member"`
	New  struct{ Status string } `json:"new_chat_member"`
}

// added reports whether the bot was added to a chat. It may write there unless nobody may.
func (m *membership) added() bool {
	return m != nil && slices.Contains([]string{"left", "kicked"}, m.Old.Status) &&
		slices.Contains([]string{"member", "administrator"}, m.New.Status)
}

// needless reports whether u needs no answer: the bot came with a group that has moved, or hello
// answers the /start that is sent by the link which adds the bot. It blocks for helloAfter at
// most, because such updates come in any order.
func (s *session) needless(u *update, c *command) bool {
	switch group := u.chat(); {
	case u.Member != nil && c != nil:
		s.event(0, botAdded, group)
		transport.Sleep(s.tasks.Commands, helloAfter)
		return s.event(peek, groupMoved, group)
	case u.Message != nil && u.Message.MigrateTo != 0:
		return s.event(0, groupMoved, u.Message.MigrateTo)
	case c != nil && c.request.Command == "start" && !c.request.Direct:
		transport.Sleep(s.tasks.Commands, helloAfter/2)
		return s.event(peek, botAdded, group)
	}
	return false
}

// event reports whether an event has happened in a group in the last ten seconds. If within is
// 0 and not peek, it happens now. Replicas with one Limiter share events.
func (s *session) event(within time.Duration, name string, group int64) bool {
	limit := chat.Limit{Key: fmt.Sprint("telegram ", s.me.ID, " ", name, " ", group), Count: 1, Window: 10 * time.Second}
	wait, _ := s.a.Limiter.Reserve(s.tasks.Commands, within, limit)
	return wait > 0
}
