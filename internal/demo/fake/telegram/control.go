package telegram

import "time"

// SetWebhook sets a webhook without a secret, as another process would.
func (s *Server) SetWebhook(url string) { s.Change(func() { s.webhook = Webhook{URL: url} }) }

// FailDelivery makes getWebhookInfo report that a delivery to the webhook has just failed, and why. It still reports
// that after another webhook is set.
func (s *Server) FailDelivery(why string) {
	s.Change(func() {
		s.failedAt = time.Now().Add(s.ahead)
		s.failure = why
	})
}

// SetAhead sets how far the server's clock is ahead of this machine's.
func (s *Server) SetAhead(d time.Duration) { s.Change(func() { s.ahead = d }) }

// Start allows the bot to write to a user, as if the user had pressed Start.
func (s *Server) Start(user int64) { s.Change(func() { s.started[user] = true }) }

// Revoke revokes the bot's token: the server answers every call with status 401.
func (s *Server) Revoke() { s.Change(func() { s.revoked = true }) }

// SetUser sets how the user with u's ID appears in presses and inline queries. The default is Person.
func (s *Server) SetUser(u User) { s.Change(func() { s.people[u.ID] = u }) }

// person returns the user that SetUser has set, or a Person. The caller must hold the lock.
func (s *Server) person(id int64) User {
	if u, isSet := s.people[id]; isSet {
		return u
	}
	return Person(id)
}

// Promote sets a user's status in a chat, such as "creator", "administrator", "member" or "left". Without a call of
// Promote, a user with a join request is "left" until the latest request is approved, and any other user is "member".
func (s *Server) Promote(chat, user int64, status string) {
	s.Change(func() {
		s.status[inChat{chat, user}] = status
		if status == "left" || status == "kicked" {
			delete(s.tags, inChat{chat, user})
		}
	})
}

// Migrate turns a group into a supergroup, which has another ID.
func (s *Server) Migrate(from, to int64) { s.Change(func() { s.moved[from] = to }) }

// Delete removes a message from its chat. Calls that reply to it or edit it fail.
func (s *Server) Delete(chat, id int64) {
	s.Change(func() { s.remove(inChat{chat, id}) })
}

// LoseTopic makes the server refuse messages to a topic, as if the topic had been deleted.
func (s *Server) LoseTopic(chat, thread int64) {
	s.Change(func() { s.lostTopics[inChat{chat, thread}] = true })
}

// ForbidPhotos makes a chat forbid pictures.
func (s *Server) ForbidPhotos(chat int64) { s.Change(func() { s.withoutPhotos[chat] = true }) }

// Rename gives the bot another username, as @BotFather does. Links to the old username do not lead to the bot any
// more.
func (s *Server) Rename(username string) { s.Change(func() { s.name = username }) }
