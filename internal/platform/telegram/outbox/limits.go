package outbox

import (
	"fmt"
	"strconv"
	"time"

	"herald/internal/ratelimit"
)

// Telegram's published rates are 1 message a second in a chat, with short bursts above it, 20 a minute in a group
// and 30 a second in all, https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
//
// Telegram counts messages as they arrive, some faster than others. So a window of a minute is 61 seconds here, and
// all chats together get at most 28 messages in a second.
var (
	// chatLimit is for one private chat.
	chatLimit = ratelimit.Limit{Burst: 8, Every: time.Second}
	// groupLimit is for one group. It allows at most 4 + 61/3.8 = 20 messages in any 61 seconds.
	groupLimit = ratelimit.Limit{Burst: 4, Every: 3800 * time.Millisecond}
	// answerLimit is for the answers in one group, which count against groupLimit, too. It leaves a slot of groupLimit
	// to a Notice. After a Notice, the slot comes back within 1/(1/3.8 - 1/4) = 76 seconds, however many answers wait.
	answerLimit = ratelimit.Limit{Burst: 3, Every: 4 * time.Second}
	// noticeLimit is for one kind of Notice in one chat.
	noticeLimit = ratelimit.Limit{Burst: 1, Every: 61 * time.Second}
	// senderLimit is for one sender in a group. It leaves slots of the group to other senders.
	senderLimit = ratelimit.Limit{Burst: 3, Every: 10 * time.Second}
	// globalLimit is for all chats together. It allows at most 2 + 26 messages in a second.
	globalLimit = ratelimit.Limit{Burst: 2, Every: time.Second / 26}
)

// limits are the limits that apply to one message, except the global one. The zero Limit means that there is none: see
// isSet.
type limits struct {
	// sender is the limit of the user who asked in a group. An edit has none: only one of a message's edits waits,
	// and a newer one must not overtake it while it waits for a slot of its sender.
	sender ratelimit.Limit
	// chat has the limits of the chat, the narrowest first.
	chat []ratelimit.Limit
	// planned is the narrowest limit of the chat: the plan spaces messages by it (wait.go). A Notice has none, because
	// it does not wait for the answers of its chat.
	planned ratelimit.Limit
	// notice is the limit of a kind of Notice.
	notice ratelimit.Limit
}

// isSet reports whether a field of limits has a limit.
func isSet(l ratelimit.Limit) bool { return l.Key != "" }

// limitsOf returns the limits that apply to m.
func (o *Outbox) limitsOf(m *Message) (l limits) {
	isNotice := m.Notice != ""
	if isNotice {
		kind := fmt.Sprintf("notice %s %d", m.Notice, m.To.DirectTopic)
		l.notice = o.withKey(noticeLimit, kind, m.To.Chat)
	}
	if !o.Pacing {
		return l
	}
	isPrivate := m.To.Chat > 0
	switch {
	case isPrivate:
		l.chat = []ratelimit.Limit{o.withKey(chatLimit, "chat", m.To.Chat)}
	case isNotice:
		l.chat = []ratelimit.Limit{o.withKey(groupLimit, "group", m.To.Chat)}
	default:
		l.chat = []ratelimit.Limit{
			o.withKey(answerLimit, "answers", m.To.Chat),
			o.withKey(groupLimit, "group", m.To.Chat),
		}
	}
	if !isNotice {
		l.planned = l.chat[0]
	}
	isGroupAnswer := !isNotice && !isPrivate
	isNewMessage := m.EditID == 0
	if isGroupAnswer && isNewMessage && !m.Deadline.IsZero() {
		l.sender = o.withKey(senderLimit, fmt.Sprint("sender ", m.Sender), m.To.Chat)
	}
	return l
}

// withKey returns l with a key for this bot, the kind of limit and the chat.
func (o *Outbox) withKey(l ratelimit.Limit, kind string, chat int64) ratelimit.Limit {
	l.Key = o.Bot + " " + kind + " " + strconv.FormatInt(chat, 10)
	return l
}
