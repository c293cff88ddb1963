//go:build soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"regexp"
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

// badWord is a word of every malformed input; no answer and no log line may
// repeat it.
const badWord = "zqxtyped"

// question is a command that was asked, and what became of it.
type question struct {
	*e2etest.Asked
	about truth.Question
	// refusal is the title of the refusal that is due; none is an answer.
	refusal string
	private bool
	channel bool // it is asked by a channel, which may be told something else, or nothing
	// messages are how often the answer is there, text what it says.
	messages int
	text     string
	ended    time.Time // when the first answer was there
}

func (q *question) String() string {
	return fmt.Sprintf("/%s %s by %d", q.Asked.Name, q.Argument, q.User)
}

// next is a random question by somebody, and how it is typed. User is 0 where
// anybody may ask.
func (s *soak) next(r *rand.Rand, platform string) (*question, e2etest.Command) {
	w := s.world.World
	p := []services.Person{w.Registered, w.Newcomer, w.Unregistered}[r.IntN(3)]
	q := &question{about: truth.Question{Account: core.Identity{Platform: platform, UID: p.UID(platform)}}}
	wallets := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}
	kinds := []string{"price", "price", "supply", "supply", "staked", "staked", "staked", "mylogins", "exists", "verify", "status", "help", "bad", "unknown"}
	command := e2etest.Command{Name: kinds[r.IntN(len(kinds))], Group: r.IntN(4) > 0}
	command.User, _ = strconv.ParseInt(q.about.Account.UID, 10, 64)
	switch command.Name {
	case "mylogins", "exists":
		q.private = true
	case "staked", "verify":
		q.private = command.Name == "verify"
		q.about.Wallet = wallets[r.IntN(len(wallets))]
		if command.Argument = q.about.Wallet.Hex(); r.IntN(3) == 0 {
			command.Argument = strings.ToLower(command.Argument)
		}
	case "bad":
		bad := []string{badWord, "0x12", badWord + ".eth", w.Staker.Hex()[2:], "\u202e" + w.Staker.Hex(), strings.Repeat("9", 3000),
			"<@1>@everyone" + badWord, "0x" + strings.Repeat("𝟘", 40), "\x00" + badWord}
		command.Name, command.Argument, q.refusal = "staked", bad[r.IntN(len(bad))], e2etest.Say("check.wallet", nil)
	case "unknown": // in a group of Telegram it may be another bot's
		command.Name, command.Group, q.refusal = badWord, false, e2etest.Say("unknown.title", nil)
	}
	q.about.Command = command.Name
	return q, command
}

// groups are Telegram's. In the first one everything comments a channel's
// post, and a channel floods the second.
const groups = 12

// channel speaks in groups, and forwards its posts.
var channel = faketelegram.Chat{ID: -1007654321098, Type: "channel", Title: badWord}

// in has a message stand in a group, as a comment if that is the first.
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
	if !q.private && r.IntN(2) == 0 || q.about.Account.UID == s.world.World.Unregistered.UID("Telegram") { // others, who are registered nowhere
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

// crowd has more people ask at once, each in private, than Telegram makes
// deliveries.
func (s *soak) crowd(r *rand.Rand) {
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

// flood has somebody ask as a channel.
func (s *soak) flood(r *rand.Rand) {
	q, command := s.next(r, "Telegram")
	if command.Name == badWord {
		return // In a group it may be another bot's.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q.channel, command.Group = true, true
	command.Alter = func(m faketelegram.Message) {
		in(1, m)
		m["from"], m["sender_chat"] = faketelegram.User{ID: 136817688, IsBot: true, FirstName: "Channel"}, channel
	}
	s.ask(q, command)
}

// ask asks on Telegram, with s.mu held.
func (s *soak) ask(q *question, command e2etest.Command) {
	s.telegram.Telegram.Start(command.User)
	q.Asked = s.telegram.Ask(command)
	s.open[q] = true
	s.asked++
}

// elsewhere is the open question that a person has asked in a group and is to be
// answered privately, with s.mu held.
func (s *soak) elsewhere(user int64) *question {
	for q := range s.open {
		if !q.OnDiscord() && q.private && q.Group && !q.channel && q.User == user {
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

// collect takes what was said since the last time, and forgets what is over.
func (s *soak) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, calls := s.telegram.Telegram.Take()
	for _, c := range calls {
		if c.Method == "sendMessage" && c.Fault.Unclear() {
			s.unknown++
		}
		if c.Params["parse_mode"] != nil {
			s.Errorf("a message is sent as markup: %s", c.Params)
		}
	}
	for _, m := range sent {
		s.said(m)
	}
	for q := range s.open {
		if q.OnDiscord() && q.ended.IsZero() {
			if a := q.Pending.Answer(); a.Final > 0 {
				s.answer(q, lines(a.Text()), !a.Ephemeral)
			}
		}
		switch {
		case q.ended.IsZero() && time.Since(q.At) > patience && q.channel:
			s.channel["nothing"]++
		case q.ended.IsZero() && time.Since(q.At) > patience:
			s.unanswered++
			s.Logf("%v is not answered, asked at %v", q, q.At)
		case !q.ended.IsZero() && time.Since(q.ended) > afterwards:
		default:
			continue
		}
		s.forget(q)
	}
}

// forget drops a question that is over.
func (s *soak) forget(q *question) {
	delete(s.open, q)
	if !q.OnDiscord() {
		return
	}
	a := q.Pending.Answer()
	s.repeated += max(a.Callbacks-1, 0)
	if a.Deferred {
		s.repeated += max(a.Edits-1, 0)
	}
	q.Pending.Forget()
}

// What a group of Telegram is told about a private command, and a channel about
// any.
var (
	pointer   = e2etest.Say("telegram.answered", nil)
	anonymous = e2etest.Say("telegram.anonymous", nil)
	limited   = e2etest.Say("limit.title", nil)
)

// said takes a message of Telegram's.
func (s *soak) said(m faketelegram.Sent) {
	var asked *question
	for q := range s.open {
		if !q.OnDiscord() && q.Message == m.ReplyTo && (m.Chat == q.User || m.Chat < 0) {
			asked = q
		}
	}
	if asked == nil && m.Chat > 0 {
		asked = s.elsewhere(m.Chat)
		if asked == nil && s.unknown > 0 { // once more than needed, for one that is over
			s.doubled++
			return
		}
	}
	if asked == nil {
		s.Errorf("a message to %d that answers nothing open: %q", m.Chat, m.Text)
		return
	}
	says := lines(m.Text)
	switch {
	case asked.channel && (says[0] == limited || asked.private && says[0] == anonymous):
		asked.ended = time.Now()
		s.channel[says[0]]++
	case asked.private && m.Chat < 0:
		if m.Text != pointer || asked.channel {
			s.leaks.Errorf("%v: the group is told %q", asked, m.Text)
		}
	default:
		if asked.channel {
			s.channel["answered"]++
		}
		s.answer(asked, says, m.Chat < 0)
	}
}

// answer judges one answer.
func (s *soak) answer(q *question, lines []string, public bool) {
	if q.messages++; q.messages > 1 {
		if s.doubled++; q.text != strings.Join(lines, "\n") {
			s.Errorf("%v is answered twice, and differently: %q, %q", q, q.text, lines)
		}
		return
	}
	q.ended, q.text = time.Now(), strings.Join(lines, "\n")
	w := s.world.World
	for _, secret := range []string{w.Registered.DID, w.Newcomer.DID, badWord, s.world.SecretKey, s.world.PriceKey} {
		if strings.Contains(q.text, secret) {
			s.leaks.Errorf("%v: an answer has %s: %q", q, secret, q.text)
		}
	}
	if public && (q.private || strings.Contains(q.text, w.Logins[0].Dapp)) {
		s.leaks.Errorf("%v: everybody is told %q", q, q.text)
	}
	if q.refusal != "" {
		if s.verdicts["refused"]++; lines[0] != q.refusal {
			s.wrong++
			s.Errorf("%v: %q, want %q", q, lines, q.refusal)
		}
		return
	}
	got, err := s.judge.Judge(q.about, lines)
	if err != nil {
		s.wrong++
		s.Errorf("%v: %v", q, err)
	}
	verdict := truth.Right
	for _, o := range got {
		if o != truth.Right {
			verdict = o
		}
	}
	s.verdicts[string(verdict)]++
}

// dots tell Telegram's readers whether a price rises.
var dots = strings.NewReplacer("🟢", "", "🔴", "")

// discordTime is a time that Discord shows in its reader's way, discordCommand a
// command that can be tapped there.
var discordTime, discordCommand = regexp.MustCompile(`<t:(\d+):R>`), regexp.MustCompile(`<(/\w+):\d+>`)

// lines are the lines of an answer without emoji and markup, with single spaces and
// with times to the minute.
func lines(text string) (all []string) {
	for _, mark := range []string{"\u200b", "✅ ", "❌ ", "⚠️ "} { // the first holds a question's command
		text = strings.TrimPrefix(text, mark)
	}
	text = discordTime.ReplaceAllStringFunc(text, func(mark string) string {
		seconds, _ := strconv.ParseInt(discordTime.FindStringSubmatch(mark)[1], 10, 64)
		return e2etest.Minute(time.Unix(seconds, 0))
	})
	text = discordCommand.ReplaceAllString(text, "$1")
	for line := range strings.Lines(e2etest.Plain(text)) {
		if line = strings.Join(strings.Fields(dots.Replace(line)), " "); line != "" {
			all = append(all, line)
		}
	}
	return append(all, make([]string, max(0, 1-len(all)))...)
}
