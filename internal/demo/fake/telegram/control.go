package telegram

import "time"

// SetWebhook sets a webhook as another process would, without a secret.
func (s *Server) SetWebhook(url string) { s.Change(func() { s.webhook = Webhook{URL: url} }) }

// FailDelivery makes getWebhookInfo report a delivery that has just failed, also for a
// webhook that is set later.
func (s *Server) FailDelivery(why string) {
	s.Change(func() {
		s.failedAt = time.Now().Add(s.ahead)
		s.failure = why
	})
}

// SetAhead sets how far the server's clock is ahead of this machine's.
func (s *Server) SetAhead(d time.Duration) { s.Change(func() { s.ahead = d }) }

// Start lets the bot write to a user, as pressing Start does.
func (s *Server) Start(user int64) { s.Change(func() { s.started[user] = true }) }

// Revoke makes the server answer 401 to every call.
func (s *Server) Revoke() { s.Change(func() { s.revoked = true }) }

// Meet sets how a user appears in presses and inline queries. Until then they are Person.
func (s *Server) Meet(u User) { s.Change(func() { s.people[u.ID] = u }) }

// person returns a user as Meet has set them, or a Person, under the lock.
func (s *Server) person(id int64) User {
	if u, met := s.people[id]; met {
		return u
	}
	return Person(id)
}

// Promote sets a user's status in a chat: "creator", "administrator",
// "member", "left" and so on. It is "member" until then, or what the user's last join
// request says: "left", and "member" once it is approved.
func (s *Server) Promote(chat, user int64, status string) {
	s.Change(func() {
		s.status[[2]int64{chat, user}] = status
		if status == "left" || status == "kicked" {
			delete(s.tags, [2]int64{chat, user})
		}
	})
}

// Migrate turns a group into a supergroup with another ID.
func (s *Server) Migrate(from, to int64) { s.Change(func() { s.moved[from] = to }) }

// Delete removes a message, so that nothing can reply to it.
func (s *Server) Delete(chat, id int64) {
	s.Change(func() { s.remove([2]int64{chat, id}) })
}

// LoseTopic makes the server refuse a topic's number, as it does once the topic is deleted.
func (s *Server) LoseTopic(chat, thread int64) {
	s.Change(func() { s.lostTopics[[2]int64{chat, thread}] = true })
}

// ForbidPhotos makes a chat forbid pictures.
func (s *Server) ForbidPhotos(chat int64) { s.Change(func() { s.withoutPhotos[chat] = true }) }

// Rename gives the bot another username, as @BotFather does. Links to the old one then lead to
// somebody else.
func (s *Server) Rename(username string) { s.Change(func() { s.name = username }) }
