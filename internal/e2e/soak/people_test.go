//go:build soak

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
	"herald/internal/transport"
)

const (
	// pause is the maximum time before a person's next question.
	pause = 2 * time.Second
	// look is how often a person looks for the answer.
	look = 50 * time.Millisecond
	// firstBurst is the number of the first of the people who ask at once.
	firstBurst = 1000
	// groups is how many groups of Telegram there are.
	groups = 12
	// maxData is what a button can hand back, in bytes.
	maxData = 64
)

// badWord is in every malformed input; no answer may repeat it.
const badWord = "zqxtyped"

var oldButton = e2etest.Say("button.old.title", nil)

// privateCommands are answered only to their user.
var privateCommands = []string{"mylogins", "exists", "verify", "save", "forget", "details"}

// person has an account on one platform. They ask one question after another, so that each answer can
// be matched with its question.
type person struct {
	*soak
	platform *e2etest.Platform
	account  core.Identity
	id       int64
	inbox    chan faketelegram.Event
	asked    []*question // all but the last are answered
	busy     sync.Mutex  // held while they ask
}

// question is a command or a press.
type question struct {
	*e2etest.Asked
	person *person
	about  truth.Question
	// refusal is the title of the refusal that must be the answer, or "".
	refusal string
	private bool              // only its person may be shown the answer
	pressed bool              // it is a press
	edits   bool              // the answer replaces the card that was pressed
	card    faketelegram.Sent // that was pressed on Telegram
	told    time.Time         // when the button stopped waiting on Telegram
	answer  faketelegram.Sent // on Telegram
	ended   time.Time         // when it was answered; zero before
}

func (q *question) String() string {
	return fmt.Sprintf("/%s %s by %d, pressed %v", q.about.Command, q.Argument, q.User, q.pressed)
}

// person returns the nth person of a platform. On Telegram it returns the same person again. The first
// three are registered, registered without logins, and not registered.
func (s *soak) person(platform *e2etest.Platform, n int) *person {
	w := s.fakes.World
	p := &person{
		soak:     s,
		platform: platform,
		id:       7_100_000_000 + int64(n),
		inbox:    make(chan faketelegram.Event, 1000),
	}
	if n < 3 {
		p.id = platform.User([]services.Person{w.Registered, w.Newcomer, w.Unregistered}[n])
	}
	uid := strconv.FormatInt(p.id, 10)
	if platform.OnDiscord {
		p.account = core.Identity{Platform: "Discord", UID: uid}
		return p
	}
	p.account = core.Identity{Platform: "Telegram", UID: uid}
	platform.Telegram.Start(p.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people[p.id] == nil {
		s.people[p.id] = p
	}
	return s.people[p.id]
}

// live asks until ctx is done, and waits for the last answer.
func (p *person) live(ctx context.Context, r *rand.Rand) {
	defer p.forget(0)
	for transport.Sleep(ctx, time.Duration(r.Int64N(int64(pause)))) {
		if !p.platform.OnDiscord && r.IntN(4) == 0 {
			p.inline(r)
		}
		q := p.askOnce(r)
		for ctx.Err() == nil && r.IntN(2) == 0 && q != nil && !q.ended.IsZero() {
			q = p.press(q, r)
		}
	}
}

// askOnce asks a question and waits for the answer. It returns nil at once if p waits for another answer.
func (p *person) askOnce(r *rand.Rand) *question {
	if !p.busy.TryLock() {
		return nil
	}
	defer p.busy.Unlock()
	q, command := p.next(r)
	if r.IntN(25) == 0 {
		command.Times = 2 // The platform gets no response, and delivers it again.
	}
	group := faketelegram.Group(e2etest.GroupID - r.Int64N(groups))
	command.Alter = func(m faketelegram.Message) {
		if command.Group {
			m["chat"] = group
		}
	}
	command.Ephemeral = command.Group && !p.platform.OnDiscord && r.IntN(8) == 0
	q.private = q.private || command.Ephemeral
	p.mu.Lock()
	q.Asked = p.platform.Ask(command)
	p.counts["commands"]++
	if command.Group && !command.Ephemeral {
		p.owners[messageKey{group.ID, q.Message}] = q
	}
	p.mu.Unlock()
	p.await(q)
	return q
}

// kinds lists commands, a malformed one and an unknown one. People ask more often what is listed more
// often.
var kinds = []string{
	"price", "price",
	"supply", "supply",
	"staked", "staked", "staked",
	"mylogins",
	"exists",
	"verify",
	"status",
	"help",
	"bad",
	"unknown",
}

// malformedWallets returns arguments that are not wallets.
func malformedWallets(wallet string) []string {
	return []string{
		badWord,
		"0x12",
		badWord + ".eth",
		wallet[2:41],
		"\u202e" + wallet,
		strings.Repeat("9", 3000),
		"<@1>@everyone" + badWord,
		"0x" + strings.Repeat("𝟘", 40),
		"\x00" + badWord,
	}
}

// next returns a random question, and how to type it.
func (p *person) next(r *rand.Rand) (*question, e2etest.Command) {
	w := p.fakes.World
	q := &question{person: p, about: truth.Question{Account: p.account}}
	wallets := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}
	command := e2etest.Command{User: p.id, Name: kinds[r.IntN(len(kinds))], Group: r.IntN(4) > 0}
	q.private = slices.Contains(privateCommands, command.Name)
	switch command.Name {
	case "staked", "verify":
		q.about.Wallet = wallets[r.IntN(len(wallets))]
		command.Argument = q.about.Wallet.Hex()
		if r.IntN(3) == 0 {
			command.Argument = strings.ToLower(command.Argument)
		}
	case "bad":
		bad := malformedWallets(w.Staker.Hex())
		command.Name = "staked"
		command.Argument = bad[r.IntN(len(bad))]
		q.refusal = e2etest.Say("check.wallet", nil)
	case "unknown":
		command.Name = badWord
		command.Group = false // In a group of Telegram it may be another bot's command.
		q.refusal = e2etest.Say("unknown.title", nil)
	}
	q.about.Command = command.Name
	return q, command
}

// press presses a button below the answer to q, or sends a forged state, and waits for the answer. It
// returns nil if there is no button.
func (p *person) press(q *question, r *rand.Rand) *question {
	states := p.states(q)
	if len(states) == 0 {
		return nil
	}
	next, state := p.forged(r)
	if r.IntN(3) > 0 {
		state = states[r.IntN(len(states))]
		next = p.meant(state)
	}
	next.pressed = true
	next.card = q.answer
	if p.platform.OnDiscord {
		next.Asked = q.Press(p.id, state)
	} else {
		p.pressOnTelegram(next, state)
	}
	p.count("presses", 1)
	p.await(next)
	return next
}

// states returns the states of the buttons of the answer to q, except [Details]: its answer, which only
// moderators get, is a message that looks like others.
func (p *person) states(q *question) (all []string) {
	if p.platform.OnDiscord {
		for _, b := range slices.Concat(q.Pending.Answer().Buttons...) {
			all = append(all, b.CustomID)
		}
	}
	for _, b := range slices.Concat(q.answer.Markup.Rows...) {
		all = append(all, b.Data)
	}
	return slices.DeleteFunc(all, func(state string) bool {
		return state == "" || strings.HasSuffix(state, " details")
	})
}

// meant returns the question that a button of the bot asks.
func (p *person) meant(state string) *question {
	words := strings.Fields(state)
	q := &question{person: p, edits: words[1] == "e"}
	q.about = truth.Question{Account: p.account, Command: words[3], Argument: strings.Join(words[4:], " ")}
	if common.IsHexAddress(q.about.Argument) {
		q.about.Wallet = common.HexToAddress(q.about.Argument)
		q.about.Argument = ""
	}
	q.private = slices.Contains(privateCommands, q.about.Command)
	return q
}

// forged returns a state that no button of the bot has, and the question that it asks.
func (p *person) forged(r *rand.Rand) (*question, string) {
	q, command := p.next(r)
	kind := []string{"e", "n"}[r.IntN(2)]
	q.edits = kind == "e"
	state := strings.TrimSpace("1 " + kind + " 0 " + command.Name + " " + command.Argument)
	if r.IntN(8) == 0 || len(state) > maxData {
		broken := []string{
			"0" + state[1:],
			state[:5],
			badWord,
			strings.Repeat("x", maxData),
			"1 e \u202e " + command.Name,
		}
		state = broken[r.IntN(len(broken))]
		q.refusal = oldButton
		q.private = false
	}
	return q, state
}

// pressOnTelegram presses a button of the question's card.
func (p *person) pressOnTelegram(q *question, state string) {
	c, fake := q.card, p.platform.Telegram
	q.Asked = &e2etest.Asked{
		Command: e2etest.Command{User: p.id, Group: c.Chat < 0},
		Message: c.ID,
		At:      time.Now(),
	}
	q.private = q.private || c.Ephemeral != 0 && q.refusal != oldButton
	p.mu.Lock()
	defer p.mu.Unlock()
	p.platform.Deliver(p.id, 1, func() {
		if c.Ephemeral != 0 {
			p.presses[fake.PressEphemeral(faketelegram.ChatOf(c.Chat), c.Ephemeral, state)] = q
		} else {
			p.presses[fake.Press(p.id, faketelegram.ChatOf(c.Chat), c.ID, state)] = q
		}
	})
}

// await judges all that is shown to p until q is answered. A press on Telegram may have no answer if
// its button keeps waiting, which the adapter counts.
func (p *person) await(q *question) {
	p.forget(afterwards)
	p.asked = append(p.asked, q)
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for ; time.Since(q.At) < patience; <-ticks.C {
		p.read()
		if p.platform.OnDiscord {
			p.lookOnDiscord(q)
		}
		p.asItStood(q)
		if !q.ended.IsZero() {
			return
		}
	}
	if q.pressed && q.told.IsZero() && !p.platform.OnDiscord {
		p.end(q, "expired")
		return
	}
	waited := p.stalls.during(q.At, q.At.Add(p.discord.Discord.FirstResponse))
	if p.platform.OnDiscord && waited >= stallExcuse {
		p.end(q, "late")
		p.count("late on a stalled machine", 1)
		return
	}
	p.end(q, "unanswered")
	p.count("unanswered", 1)
	p.Logf("%v is not answered, asked at %v, on Discord %v, with stalls of %v", q, q.At, p.platform.OnDiscord, waited)
}

// read judges what Telegram has shown to p since the last call.
func (p *person) read() {
	for len(p.inbox) > 0 {
		p.see(<-p.inbox)
	}
}

// lookOnDiscord judges the answer to q on Discord if it is there.
func (p *person) lookOnDiscord(q *question) {
	a, shown := q.Pending.Answer(), q.Pending.Shown()
	if a.Final == 0 || len(shown) == 0 {
		return
	}
	m := shown[len(shown)-1]
	for _, m := range shown {
		p.checkLeaks(q, m.Everything(), !m.Ephemeral)
	}
	isThis := func(other *question) bool { return other == q }
	p.judge(lines(m.Text()), !m.Ephemeral, q.pressed && m.Edited > 0, faketelegram.Sent{}, isThis)
	if q.ended.IsZero() {
		p.end(q, "wrong")
	}
}

// forget drops questions that were answered this long ago. It counts the calls that were repeated on
// Discord, and makes the fake forget the messages.
func (p *person) forget(old time.Duration) {
	p.asked = slices.DeleteFunc(p.asked, func(q *question) bool {
		over := time.Since(q.ended) >= old
		if over && p.platform.OnDiscord {
			a := q.Pending.Answer()
			p.count("calls repeated", max(a.Callbacks-1, 0))
			if a.Deferred {
				p.count("calls repeated", max(a.Edits-1, 0))
			}
			q.Pending.Forget()
		}
		return over && (old > 0 || p.platform.OnDiscord)
	})
}

// inline makes p write an inline query, perhaps without its last letters.
func (p *person) inline(r *rand.Rand) {
	w := p.fakes.World
	wallet := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}[r.IntN(3)].Hex()
	all := []string{
		"",
		"price",
		"/price",
		"supply",
		"Supply",
		wallet,
		"staked " + wallet,
		"mylogins",
		"exists",
		"verify " + wallet,
		badWord,
	}
	query := all[r.IntN(len(all))]
	query = query[:len(query)-r.IntN(1+min(len(query), 4))]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.platform.Deliver(p.id, 1, func() { p.queries[p.platform.Telegram.Inline(p.id, query, "")] = query })
	p.counts["inline queries"]++
}
