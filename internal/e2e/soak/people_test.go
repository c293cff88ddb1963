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
	// pause is how long a person waits at most before the next question.
	pause = 2 * time.Second
	// look is how often a person looks for the answer.
	look = 50 * time.Millisecond
	// firstBurst is the number of the first person of those who ask at once.
	firstBurst = 1000
	// groups is how many groups of Telegram there are.
	groups = 12
	// maxData is what a button can hand back, in bytes.
	maxData = 64
)

// badWord is in every malformed input; no answer may repeat it.
const badWord = "zqxtyped"

var oldButton = e2etest.Say("button.old.title", nil)

// privately are the commands that are answered to their user alone.
var privately = []string{"mylogins", "exists", "verify", "save", "forget", "details"}

// person has an account on one platform. They ask one question after another, so that every
// answer tells which question it is to.
type person struct {
	*soak
	platform *e2etest.Platform
	account  core.Identity
	id       int64
	inbox    chan faketelegram.Event
	asked    []*question // the newest is the last; those before are over
	busy     sync.Mutex  // held while they ask
}

// question is a command or a press.
type question struct {
	*e2etest.Asked
	person *person
	about  truth.Question
	// refusal is the title of the refusal that must come; empty if an answer must.
	refusal string
	private bool
	// pressed is true for a press, and edits if its answer replaces the card.
	pressed, edits bool
	card           faketelegram.Sent // that was pressed on Telegram
	told           time.Time         // when the button stopped waiting on Telegram
	answer         faketelegram.Sent // on Telegram
	ended          time.Time
}

func (q *question) String() string {
	return fmt.Sprintf("/%s %s by %d, pressed %v", q.about.Command, q.Argument, q.User, q.pressed)
}

// person returns the nth person of a platform, on Telegram the same one again. The first three are registered, registered
// without logins, and not.
func (s *soak) person(platform *e2etest.Platform, n int) *person {
	w, name := s.fakes.World, map[bool]string{false: "Telegram", true: "Discord"}[platform.OnDiscord]
	p := &person{soak: s, platform: platform, id: 7_100_000_000 + int64(n), inbox: make(chan faketelegram.Event, 1000)}
	if n < 3 {
		p.id = platform.User([]services.Person{w.Registered, w.Newcomer, w.Unregistered}[n])
	}
	p.account = core.Identity{Platform: name, UID: strconv.FormatInt(p.id, 10)}
	if platform.OnDiscord {
		return p
	}
	platform.Telegram.Start(p.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people[p.id] == nil {
		s.people[p.id] = p
	}
	return s.people[p.id]
}

// live asks until ctx is done and the last answer is there.
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

// askOnce asks a question and waits for the answer. It returns nil if p waits for another.
func (p *person) askOnce(r *rand.Rand) *question {
	if !p.busy.TryLock() {
		return nil
	}
	defer p.busy.Unlock()
	q, command := p.next(r)
	if r.IntN(25) == 0 { // the platform gets no response, and delivers it again
		command.Times = 2
	}
	group := faketelegram.Group(e2etest.GroupID - r.Int64N(groups))
	command.Alter = func(m faketelegram.Message) {
		if command.Group {
			m["chat"] = group
		}
	}
	if command.Ephemeral = command.Group && !p.platform.OnDiscord && r.IntN(8) == 0; command.Ephemeral {
		q.private = true
	}
	p.mu.Lock()
	q.Asked = p.platform.Ask(command)
	p.counts["commands"]++
	if command.Group && !command.Ephemeral {
		p.owners[[2]int64{group.ID, q.Message}] = q
	}
	p.mu.Unlock()
	p.await(q)
	return q
}

// next returns a random question, and how to type it.
func (p *person) next(r *rand.Rand) (*question, e2etest.Command) {
	w := p.fakes.World
	q := &question{person: p, about: truth.Question{Account: p.account}}
	wallets := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}
	kinds := []string{"price", "price", "supply", "supply", "staked", "staked", "staked", "mylogins", "exists", "verify", "status", "help", "bad", "unknown"}
	command := e2etest.Command{User: p.id, Name: kinds[r.IntN(len(kinds))], Group: r.IntN(4) > 0}
	q.private = slices.Contains(privately, command.Name)
	switch command.Name {
	case "staked", "verify":
		q.about.Wallet = wallets[r.IntN(len(wallets))]
		command.Argument = q.about.Wallet.Hex()
		if r.IntN(3) == 0 {
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

// press presses a button under the answer to q, or sends a forged state, and waits for what
// comes. It returns nil if there is no button.
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
	next.pressed, next.card = true, q.answer
	if p.platform.OnDiscord {
		next.Asked = q.Press(p.id, state)
	} else {
		p.pressOnTelegram(next, state)
	}
	p.count("presses", 1)
	p.await(next)
	return next
}

// states returns what the buttons of the newest answer hand back, but for [Details]: its
// answer, to moderators alone, is a message that looks like others.
func (p *person) states(q *question) (all []string) {
	if p.platform.OnDiscord {
		for _, b := range slices.Concat(q.Pending.Answer().Buttons...) {
			all = append(all, b.CustomID)
		}
	}
	for _, b := range slices.Concat(q.answer.Markup.Rows...) {
		all = append(all, b.Data)
	}
	return slices.DeleteFunc(all, func(state string) bool { return state == "" || strings.HasSuffix(state, " details") })
}

// meant returns the question that a button of the bot asks.
func (p *person) meant(state string) *question {
	words := strings.Fields(state)
	q := &question{person: p, edits: words[1] == "e"}
	q.about = truth.Question{Account: p.account, Command: words[3], Argument: strings.Join(words[4:], " ")}
	if common.IsHexAddress(q.about.Argument) {
		q.about.Wallet, q.about.Argument = common.HexToAddress(q.about.Argument), ""
	}
	q.private = slices.Contains(privately, q.about.Command)
	return q
}

// forged returns a state that no button of the bot has, and the question that it asks.
func (p *person) forged(r *rand.Rand) (*question, string) {
	q, command := p.next(r)
	kind := []string{"e", "n"}[r.IntN(2)]
	q.edits = kind == "e"
	state := strings.TrimSpace("1 " + kind + " 0 " + command.Name + " " + command.Argument)
	if r.IntN(8) == 0 || len(state) > maxData {
		state = []string{"0" + state[1:], state[:5], badWord, strings.Repeat("x", maxData), "1 e \u202e " + command.Name}[r.IntN(5)]
		q.refusal, q.private = oldButton, false
	}
	return q, state
}

func (p *person) pressOnTelegram(q *question, state string) {
	c, fake := q.card, p.platform.Telegram
	q.Asked = &e2etest.Asked{Command: e2etest.Command{User: p.id, Group: c.Chat < 0}, Message: c.ID, At: time.Now()}
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

// await judges all that is shown to p until q is answered. A press on Telegram may have no
// answer if its button was not told to stop waiting, which the adapter counts.
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
	if p.platform.OnDiscord && waited >= stalled {
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
		p.mustNotLeak(q, m.Everything(), !m.Ephemeral)
	}
	p.judge(lines(m.Text()), !m.Ephemeral, q.pressed && m.Edited > 0, faketelegram.Sent{}, func(other *question) bool { return other == q })
	if q.ended.IsZero() {
		p.end(q, "wrong")
	}
}

// forget drops questions that have been over for so long. Discord's stand-in forgets their
// messages, and its calls are counted.
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

// inline has p write an inline query, perhaps without its last letters.
func (p *person) inline(r *rand.Rand) {
	w := p.fakes.World
	wallet := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}[r.IntN(3)].Hex()
	all := []string{"", "price", "/price", "supply", "Supply", wallet, "staked " + wallet, "mylogins", "exists", "verify " + wallet, badWord}
	query := all[r.IntN(len(all))]
	query = query[:len(query)-r.IntN(1+min(len(query), 4))]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.platform.Deliver(p.id, 1, func() { p.queries[p.platform.Telegram.Inline(p.id, query, "")] = query })
	p.counts["inline queries"]++
}
