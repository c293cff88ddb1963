package telegram

import (
	"errors"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/pace"
)

// notice is the key of a sentence in the catalogue. It is all that a group is
// ever told about a private command: nothing here turns a chat.Reply into a
// notice.
type notice string

const (
	answeredPrivately notice = "telegram.answered"
	stayedAnonymous   notice = "telegram.anonymous"
	// pressStart invites an asker to whom the bot may not write yet.
	pressStart notice = "telegram.press_start"
)

// pointerLasts is how long answeredPrivately stands in a group.
const pointerLasts = 15 * time.Second

// notice is n with a button that opens the private chat.
func (s *session) notice(n notice, c commandMessage) richText {
	url := "https://t.me/" + s.me.Username
	if n == pressStart {
		url = s.startLink(c)
	}
	return s.render(chat.Reply{
		Language: c.asked.language,
		Text:     chat.Say(string(n)),
		Actions:  []chat.Action{{Label: chat.Say("telegram.open"), URL: url}},
	}, c.asked)
}

// startLink opens the private chat with a button to start the bot. A request
// without arguments travels along.
func (s *session) startLink(c commandMessage) string {
	payload := "start"
	if c.linkable {
		payload = c.request.Command
	}
	return deepLink(s.me.Username, payload)
}

// point sends a notice to where a private command was asked, for its asker alone
// if that can be; whoever else did not see the command is not told that it is
// answered. The notice goes again once it has served: answeredPrivately after a
// while, pressStart when an answer has reached the asker.
func (s *session) point(c commandMessage, n notice, deadline time.Time) error {
	if c.ephemeral.arrived() {
		if n == answeredPrivately {
			return nil
		}
		if _, err := s.sendEphemerally(c, s.notice(n, c), time.Now().Add(ephemeralLasts)); err == nil {
			return nil
		}
	}
	id, err := s.sendInTurn(c.asked, s.notice(n, c), deadline)
	ref := botapi.MessageRef{Chat: c.asked.chat, MessageID: id}
	noRoom := errors.Is(err, pace.ErrNoRoom)
	switch {
	case n == answeredPrivately:
		// The answer is out, whatever becomes of the pointer. If there is no
		// room for it, nobody has to ask again.
		if err == nil {
			s.work.AfterFunc(pointerLasts, c.request.ID, func() { s.delete(ref) })
		} else if !noRoom {
			s.logUndelivered(c.request.ID, err)
		}
		return nil
	case noRoom:
		s.sendBusy(c.asked)
	case err == nil && n == pressStart:
		s.invitations.add(c.sender, ref)
	}
	return err
}

// uninvite deletes the invitation to somebody whom an answer has reached.
func (s *session) uninvite(user int64) {
	if ref, invited := s.invitations.take(user); invited {
		s.delete(ref)
	}
}

// delete deletes a message of the bot's own. It is a courtesy: its failures
// change nothing.
func (s *session) delete(m botapi.MessageRef) {
	_ = s.api.DeleteMessage(s.work.Sends, m)
}

// maxInvitations bounds what is remembered of them.
const maxInvitations = 10_000

// invitations are the last pressStart of each asker. When there are too many all
// are forgotten, and stay where they are. The zero value is empty.
type invitations struct {
	mu sync.Mutex
	of map[int64]botapi.MessageRef
}

func (i *invitations) add(user int64, m botapi.MessageRef) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil || len(i.of) >= maxInvitations {
		i.of = map[int64]botapi.MessageRef{}
	}
	i.of[user] = m
}

func (i *invitations) take(user int64) (m botapi.MessageRef, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	m, ok = i.of[user]
	delete(i.of, user)
	return m, ok
}
