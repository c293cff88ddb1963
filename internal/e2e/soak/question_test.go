//go:build soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
)

// badWord is in every malformed input; no answer may repeat it.
const badWord = "zqxtyped"

// question is a command or a press, and its answers so far.
type question struct {
	*e2etest.Asked
	about truth.Question
	// refusal is the title of the refusal that must come; empty if an answer must.
	refusal string
	private bool
	press   *press // nil if it was typed
	card    *card  // its answer, on Discord
	// messages counts the answers; text is the first one.
	messages int
	text     string
	ended    time.Time // when the first answer was there
}

func (q *question) String() string {
	if q.press != nil {
		return fmt.Sprintf("a press of %d on %q for /%s %s", q.User, q.press.Text, q.Asked.Name, q.Argument)
	}
	return fmt.Sprintf("/%s %s by %d", q.Asked.Name, q.Argument, q.User)
}

// privately are the commands that are answered to their user alone.
var privately = []string{"mylogins", "exists", "verify", "save", "forget", "details"}

// somebody returns a random account on a platform, which may be unregistered.
func (s *soak) somebody(r *rand.Rand, platform string) core.Identity {
	w := s.fakes.World
	p := []services.Person{w.Registered, w.Newcomer, w.Unregistered}[r.IntN(3)]
	return core.Identity{Platform: platform, UID: p.UID(platform)}
}

// next returns a random question by somebody, and how to type it.
func (s *soak) next(r *rand.Rand, platform string) (*question, e2etest.Command) {
	w := s.fakes.World
	q := &question{about: truth.Question{Account: s.somebody(r, platform)}}
	wallets := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}
	kinds := []string{"price", "price", "supply", "supply", "staked", "staked", "staked", "mylogins", "exists", "verify", "status", "help", "bad", "unknown"}
	command := e2etest.Command{Name: kinds[r.IntN(len(kinds))], Group: r.IntN(4) > 0}
	command.User, _ = strconv.ParseInt(q.about.Account.UID, 10, 64)
	q.private = slices.Contains(privately, command.Name)
	switch command.Name {
	case "staked", "verify":
		q.about.Wallet = wallets[r.IntN(len(wallets))]
		if command.Argument = q.about.Wallet.Hex(); r.IntN(3) == 0 {
			command.Argument = strings.ToLower(command.Argument)
		}
	case "bad":
		bad := []string{badWord, "0x12", badWord + ".eth", w.Staker.Hex()[2:41], "\u202e" + w.Staker.Hex(), strings.Repeat("9", 3000),
			"<@1>@everyone" + badWord, "0x" + strings.Repeat("𝟘", 40), "\x00" + badWord}
		command.Name, command.Argument, q.refusal = "staked", bad[r.IntN(len(bad))], e2etest.Say("check.wallet", nil)
	case "unknown": // in a group of Telegram it may be another bot's
		command.Name, command.Group, q.refusal = badWord, false, e2etest.Say("unknown.title", nil)
	}
	q.about.Command = command.Name
	return q, command
}

// groups is how many groups of Telegram there are. In the first one every command is a
// comment on a channel's post.
const groups = 12

// channel forwards its posts to the first group.
var channel = faketelegram.Chat{ID: -1007654321098, Type: "channel", Title: badWord}

// in puts a message into a group, as a comment if the group is the first.
func in(group int64, m faketelegram.Message) {
	where := faketelegram.Group(e2etest.GroupID - group)
	if m["chat"] = where; group == 0 {
		m["message_thread_id"] = 1
		m["reply_to_message"] = faketelegram.Message{"message_id": 1, "date": m["date"], "chat": where, "sender_chat": channel,
			"from": faketelegram.User{ID: 777000, FirstName: "Telegram"}, "is_automatic_forward": true, "text": badWord}
	}
}

func (s *soak) askTelegram(r *rand.Rand) {
	q, command := s.next(r, "Telegram")
	if !q.private && r.IntN(2) == 0 || q.about.Account.UID == s.fakes.World.Unregistered.UID("Telegram") { // others, who are registered nowhere
		command.User = 7_100_000_000 + r.Int64N(12)
		q.about.Account.UID = strconv.FormatInt(command.User, 10)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.private && command.Group && s.elsewhere(command.User) != nil {
		return
	}
	if group := r.Int64N(groups); command.Group {
		command.Alter = func(m faketelegram.Message) { in(group, m) }
	}
	if r.IntN(25) == 0 { // Telegram gets no response, and delivers it again
		command.Times = 2
	}
	s.ask(q, command)
}

// askEphemerally has somebody ask in a group of Telegram where only they see it.
func (s *soak) askEphemerally(r *rand.Rand) {
	q, command := s.next(r, "Telegram")
	if command.Name == badWord {
		return // In a group it may be another bot's.
	}
	if !q.private {
		command.User = 7_400_000_000 + r.Int64N(100)
		q.about.Account.UID = strconv.FormatInt(command.User, 10)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elsewhere(command.User) != nil {
		return
	}
	group := r.Int64N(groups)
	q.private, command.Group, command.Ephemeral = true, true, true
	command.Alter = func(m faketelegram.Message) { in(group, m) }
	s.ask(q, command)
	s.ephemerals++
}

// askAtOnce has 130 people ask in private: more than Telegram makes deliveries at a time.
func (s *soak) askAtOnce(r *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range int64(130) {
		q, command := s.next(r, "Telegram")
		if command.Group = false; !q.private {
			command.User = 7_200_000_000 + i
			s.ask(q, command)
		}
	}
}

// ask asks on Telegram, with s.mu held.
func (s *soak) ask(q *question, command e2etest.Command) {
	s.telegram.Telegram.Start(command.User)
	q.Asked = s.telegram.Ask(command)
	s.open[q] = true
	s.asked++
}

// elsewhere returns the open question of a user in a group whose answer must come
// privately, or nil. s.mu is held.
func (s *soak) elsewhere(user int64) *question {
	for q := range s.open {
		if !q.OnDiscord() && q.private && q.Group && q.User == user {
			return q
		}
	}
	return nil
}

func (s *soak) askDiscord(r *rand.Rand) {
	q, command := s.next(r, "Discord")
	if r.IntN(25) == 0 { // Discord delivers an interaction again
		command.Times = 2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q.Asked = s.discord.Ask(command)
	s.open[q] = true
	s.asked++
}

// joined is a group that only unregistered people ask to join. Their IDs are above
// firstJoining.
var joined = faketelegram.Group(-1005005005005)

const firstJoining = 7_500_000_000

// knock has somebody ask to join, often once more a little later.
func (s *soak) knock(r *rand.Rand) {
	user := faketelegram.Person(firstJoining + 1 + r.Int64N(50))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.telegram.Telegram.CloseJoin(joined.ID, user.ID, faketelegram.JoinWithdrawn)
	s.telegram.Deliver(user.ID, 1+r.IntN(10)/9, func() { s.telegram.Telegram.RequestJoin(joined, user, r.IntN(2) == 0) })
	s.knocks++
}

// answeredJoin checks what the bot does with a request: it may queue it once.
func (s *soak) answeredJoin(j faketelegram.JoinRequest) {
	if j.State == faketelegram.JoinOpen {
		s.left += len(j.Answers)
	}
	if j.State == faketelegram.JoinApproved || len(j.Answers) > 1 {
		s.Errorf("%d asks to join: %s, %v", j.From.ID, j.State, j.Answers)
	}
}

// toldJoining checks what somebody is told who asks to join.
func (s *soak) toldJoining(m faketelegram.Sent) {
	told := lines(m.Text)[0]
	if told != e2etest.Say("join.no", nil) && told != e2etest.Say("join.unknown", nil) && told != e2etest.Say("limit.title", nil) {
		s.Errorf("%d asks to join, and is told %q", m.Chat, m.Text)
	}
}

// collect checks everything that was shown since the last call, and forgets questions that
// are over.
func (s *soak) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.telegram.Telegram.Take(patience / 2) {
		if slices.Contains(showing, c.Method) && c.Fault.Unclear() {
			s.unknown++
		}
		if c.Params["parse_mode"] != nil {
			s.Errorf("a message is sent as markup: %s", c.Params)
		}
	}
	for len(s.events) > 0 {
		e := <-s.events
		switch m := e.Message; {
		case e.Notice != nil:
			s.noticed(*e.Notice)
		case e.Inline != nil:
			s.answeredInline(*e.Inline)
		case e.Join != nil:
			s.answeredJoin(*e.Join)
		case m == nil:
		case m.Chat > firstJoining:
			s.toldJoining(*m)
		case m.Deleted:
			s.deleted(*m)
		case m.Edits > 0:
			s.edited(*m)
		default:
			s.said(*m)
			s.keep(&card{Sent: *m})
		}
	}
	for q := range s.open {
		if q.OnDiscord() && q.ended.IsZero() {
			s.lookOnDiscord(q)
		}
		s.settleUnchanged(q)
		switch {
		case q.ended.IsZero() && time.Since(q.At) > patience && q.expired():
			s.verdicts["expired"]++
		case q.ended.IsZero() && time.Since(q.At) > patience:
			s.unanswered++
			s.Logf("%v is not answered, asked at %v", q, q.At)
		case !q.ended.IsZero() && time.Since(q.ended) > afterwards && (q.card == nil || q.card.settled()):
		default:
			continue
		}
		s.forget(q)
	}
	s.cards = slices.DeleteFunc(s.cards, func(c *card) bool { return c.Deleted || time.Since(c.at) > afterwards && c.settled() })
}

// lookOnDiscord checks the answer to a question on Discord if it is there.
func (s *soak) lookOnDiscord(q *question) {
	a := q.Pending.Answer()
	switch {
	case a.Final == 0:
	case q.press != nil:
		s.answerOnDiscord(q)
	default:
		s.answer(q, lines(a.Text()), !a.Ephemeral)
		q.card = &card{root: q}
		s.keep(q.card)
	}
}

// forget drops a question that is over. On Discord an answer is forgotten with all
// presses on it.
func (s *soak) forget(q *question) {
	delete(s.open, q)
	if q.press != nil {
		q.press.over = true
	}
	if !q.OnDiscord() {
		return
	}
	a := q.Pending.Answer()
	s.repeated += max(a.Callbacks-1, 0)
	if a.Deferred {
		s.repeated += max(a.Edits-1, 0)
	}
	if q.press != nil {
		return
	}
	if q.card != nil {
		for _, press := range q.card.presses {
			press.Pending.Forget()
		}
	}
	q.Pending.Forget()
}

// pointer is what a group of Telegram is shown about a private command.
var pointer = e2etest.Say("telegram.answered", nil)

// nothingNewer begins the notice to a press that would show an older answer, or the same.
const nothingNewer = "Nothing newer yet"

// answers reports whether a message may answer q, by its chat and the message that it
// replies to.
func (q *question) answers(m faketelegram.Sent) bool {
	elsewhere := q.private && q.Group && m.Chat == q.User && m.ReplyTo == 0
	switch {
	case q.OnDiscord():
		return false
	case m.Ephemeral != 0: // A press on one is answered without a reply.
		return q.Ephemeral && q.User == m.Reader && (m.ReplyTo == q.Message || m.ReplyTo == 0 && q.press != nil)
	case q.Ephemeral:
		return elsewhere
	case q.press != nil && m.ReplyTo == 0: // The card may be gone.
		return elsewhere || !q.private && q.press.Chat == m.Chat
	}
	return elsewhere || q.Message == m.ReplyTo && (m.Chat == q.User || m.Chat < 0)
}

// byNeed sorts questions that only a message answers behind presses that an edit may answer
// too: settle begins at the end.
func byNeed(a, b *question) int {
	edited := func(q *question) int {
		if q.press != nil && q.press.edits {
			return 1
		}
		return 0
	}
	return edited(b) - edited(a)
}

// said checks a new message on Telegram.
func (s *soak) said(m faketelegram.Sent) {
	var asked *question
	var all []*question
	for q := range s.open {
		if q.answers(m) {
			asked, all = q, append(all, q)
		}
	}
	slices.SortFunc(all, byNeed)
	says, public := lines(m.Text), m.Chat < 0 && m.Ephemeral == 0
	switch {
	case len(all) > 1 || len(all) == 1 && asked.press != nil:
		s.settle(all, says, public, false)
	case asked == nil && !public && s.unknown > 0: // once more than needed, for one that is over
		s.doubled++
	case asked == nil:
		s.Errorf("a message to %d that answers nothing open: %q", m.Chat, m.Text)
	case asked.private && public:
		if m.Text != pointer || asked.Ephemeral {
			s.Errorf("%v: the group is told %q", asked, m.Text)
		}
	default:
		s.answer(asked, says, public)
	}
}

// deleted marks a message on Telegram, so that nobody presses its buttons any more.
func (s *soak) deleted(m faketelegram.Sent) {
	for _, c := range s.cards {
		if !c.onDiscord() && c.Chat == m.Chat && c.ID == m.ID {
			c.Deleted = true
		}
	}
}
