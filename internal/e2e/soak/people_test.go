//go:build soak

package soak

// This file has the people who ask.

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
	// maxPause is the maximum time between an answer and the person's next question.
	maxPause = 2 * time.Second
	// lookEvery is how often a person looks for the answer.
	lookEvery = 50 * time.Millisecond
	// repeatTime is how long after an answer another one to the same question counts as doubled. After that, the
	// question is forgotten.
	repeatTime = time.Minute
	// groups is how many groups of Telegram there are.
	groups = 12
	// stallExcuse is the minimum time for which the process was stalled within Discord's 3 seconds, so that a late first
	// response is excused.
	stallExcuse = time.Second
)

// person has an account on one platform. A person asks one question at a time, so that the test knows
// which question an answer belongs to.
type person struct {
	*soak
	platform *e2etest.Platform
	account  core.Identity
	id       int64 // the account's user ID
	// inbox holds what Telegram has shown to the person until readInbox judges it.
	inbox chan faketelegram.Event
	// asked lists the questions that may still be answered again, oldest first, and the current one.
	asked []*question
	// busy is held while askOnce asks a question and waits for the answer, because people of two bursts may overlap. Only
	// live presses buttons, and no burst has its people.
	busy sync.Mutex
}

// question is a command, or a press of a button.
type question struct {
	*e2etest.Asked
	person *person
	about  truth.Question
	// refusal is the title of the refusal that must be the answer, or "" if the bot must not refuse.
	refusal   string
	isPrivate bool // nobody else may be shown the answer

	isPress     bool
	editsCard   bool              // the answer to the press replaces the card with the button
	pressedCard faketelegram.Sent // the card with the button, on Telegram
	noticedAt   time.Time         // when Telegram ended the press with a notice; zero before

	answerCard faketelegram.Sent // the message that answers the question, on Telegram
	endedAt    time.Time         // when the question was answered or given up; zero before
}

func (q *question) isEnded() bool { return !q.endedAt.IsZero() }

func (q *question) String() string {
	return fmt.Sprintf("/%s %s by %d, pressed %v", q.about.Command, q.Argument, q.User, q.isPress)
}

// live asks one question after another until ctx is done, and waits for the last answer.
func (p *person) live(ctx context.Context, r *rand.Rand) {
	for transport.Sleep(ctx, time.Duration(r.Int64N(int64(maxPause)))) {
		if !p.platform.OnDiscord && r.IntN(4) == 0 {
			p.sendInlineQuery(r)
		}
		q := p.askOnce(r)
		for ctx.Err() == nil && r.IntN(2) == 0 && q != nil && q.isEnded() {
			q = p.pressButton(q, r)
		}
	}
	if p.platform.OnDiscord {
		p.forgetQuestions(0) // On Telegram, the end of the phase forgets them.
	}
}

// person returns person n of a platform. Persons 0 to 2 are people of the fakes: one is registered, one is
// registered without logins, and one is not registered. On Telegram, person returns the same person for the
// same n, so that they still get late answers.
func (s *soak) person(platform *e2etest.Platform, n int) *person {
	p := s.newPerson(platform, n)
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

func (s *soak) newPerson(platform *e2etest.Platform, n int) *person {
	id := 7_100_000_000 + int64(n)
	w := s.fakes.World
	known := []services.Person{w.Registered, w.Newcomer, w.Unregistered}
	if n < len(known) {
		id = platform.User(known[n])
	}
	account := core.Identity{Platform: "Telegram", UID: strconv.FormatInt(id, 10)}
	if platform.OnDiscord {
		account.Platform = "Discord"
	}
	return &person{
		soak:     s,
		platform: platform,
		account:  account,
		id:       id,
		inbox:    make(chan faketelegram.Event, 1000),
	}
}

// askOnce sends a random command and waits for the answer. It returns nil at once if the person is still
// waiting for another answer, as people of two bursts may be.
func (p *person) askOnce(r *rand.Rand) *question {
	if !p.busy.TryLock() {
		return nil
	}
	defer p.busy.Unlock()
	q, command := p.randomCommand(r)
	if r.IntN(25) == 0 {
		command.Times = 2 // The platform gets no response, and delivers it again.
	}
	group := faketelegram.Group(e2etest.GroupID - r.Int64N(groups))
	if command.Group {
		command.Alter = func(m faketelegram.Message) { m["chat"] = group }
	}
	command.Ephemeral = command.Group && !p.platform.OnDiscord && r.IntN(8) == 0
	q.isPrivate = q.isPrivate || command.Ephemeral
	p.mu.Lock()
	q.Asked = p.platform.Ask(command)
	p.counts[commandsSent]++
	if command.Group && !command.Ephemeral && !p.platform.OnDiscord {
		p.owners[messageKey{group.ID, q.Message}] = q
	}
	p.mu.Unlock()
	p.awaitAnswer(q)
	return q
}

// commandNames lists what people send, besides a malformed wallet and an unknown command. A name that is
// listed twice is sent twice as often.
var commandNames = []string{
	"price", "price",
	"supply", "supply",
	"staked", "staked", "staked",
	"mylogins",
	"exists",
	"verify",
	"status",
	"help",
	malformed,
	unknown,
}

// In commandNames, these stand for commands that must be refused.
const (
	malformed = "malformed" // /staked with an argument that is not a wallet
	unknown   = "unknown"   // a command that does not exist
)

// privateCommands are answered only to their user.
var privateCommands = []string{"mylogins", "exists", "verify", "save", "forget", "details"}

// badWord is in some malformed input. No answer may repeat it.
const badWord = "zqxtyped"

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

// someWallets returns a wallet that stakes, one that does not, and one that was never used.
func (p *person) someWallets() []common.Address {
	w := p.fakes.World
	return []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}
}

// randomCommand returns a random question, and the command that asks it.
func (p *person) randomCommand(r *rand.Rand) (*question, e2etest.Command) {
	q := &question{person: p, about: truth.Question{Account: p.account}}
	command := e2etest.Command{User: p.id, Name: commandNames[r.IntN(len(commandNames))], Group: r.IntN(4) > 0}
	q.isPrivate = slices.Contains(privateCommands, command.Name)
	switch command.Name {
	case "staked", "verify":
		wallets := p.someWallets()
		q.about.Wallet = wallets[r.IntN(len(wallets))]
		command.Argument = q.about.Wallet.Hex()
		if r.IntN(3) == 0 {
			command.Argument = strings.ToLower(command.Argument)
		}
	case malformed:
		wallets := malformedWallets(p.fakes.World.Staker.Hex())
		command.Name = "staked"
		command.Argument = wallets[r.IntN(len(wallets))]
		q.refusal = e2etest.Say("check.wallet", nil)
	case unknown:
		command.Name = badWord
		command.Group = false // In a group of Telegram it may be another bot's command.
		q.refusal = e2etest.Say("unknown.title", nil)
	}
	q.about.Command = command.Name
	return q, command
}

// pressButton presses a button below the answer to q, and waits for the next answer. One press in three is
// forged: the bot gets a state that no button has. pressButton returns nil if the answer has no button.
func (p *person) pressButton(q *question, r *rand.Rand) *question {
	states := p.buttonStates(q)
	if len(states) == 0 {
		return nil
	}
	press, state := p.forgedPress(r)
	if r.IntN(3) > 0 {
		state = states[r.IntN(len(states))]
		press = p.realPress(state)
	}
	press.isPress = true
	press.pressedCard = q.answerCard
	if p.platform.OnDiscord {
		press.Asked = q.Press(p.id, state)
	} else {
		p.pressOnTelegram(press, state)
	}
	p.count(pressesMade, 1)
	p.awaitAnswer(press)
	return press
}

// buttonStates returns the states of the buttons below the answer to q, except that of [Details]. Only
// moderators get its answer, a message that looks like others.
func (p *person) buttonStates(q *question) (all []string) {
	if p.platform.OnDiscord {
		for _, b := range slices.Concat(q.Pending.Answer().Buttons...) {
			all = append(all, b.CustomID)
		}
	}
	for _, b := range slices.Concat(q.answerCard.Markup.Rows...) {
		all = append(all, b.Data)
	}
	return slices.DeleteFunc(all, func(state string) bool {
		return state == "" || strings.HasSuffix(state, " details")
	})
}

// The second word of a button's state says where the answer to a press appears.
const (
	editCard   = "e" // in place of the card
	newMessage = "n"
)

// realPress returns the question that a button of the bot asks, given its state, as in "1 e 0 staked 0x…".
// See State of chat.Action.
func (p *person) realPress(state string) *question {
	words := strings.Fields(state)
	q := &question{person: p, editsCard: words[1] == editCard}
	q.about = truth.Question{Account: p.account, Command: words[3], Argument: strings.Join(words[4:], " ")}
	if common.IsHexAddress(q.about.Argument) {
		q.about.Wallet = common.HexToAddress(q.about.Argument)
		q.about.Argument = ""
	}
	q.isPrivate = slices.Contains(privateCommands, q.about.Command)
	return q
}

// forgedPress returns a state that no button of the bot has, and the question that it asks. One state in
// eight is broken, and must be refused.
func (p *person) forgedPress(r *rand.Rand) (*question, string) {
	const maxState = 64 // bytes that a platform lets a button hand back
	q, command := p.randomCommand(r)
	where := []string{editCard, newMessage}[r.IntN(2)]
	q.editsCard = where == editCard
	state := strings.TrimSpace("1 " + where + " 0 " + command.Name + " " + command.Argument)
	if r.IntN(8) == 0 || len(state) > maxState {
		broken := []string{
			"0" + state[1:],
			state[:5],
			badWord,
			strings.Repeat("x", maxState),
			"1 e \u202e " + command.Name,
		}
		state = broken[r.IntN(len(broken))]
		q.refusal = oldButton
		q.isPrivate = false
	}
	return q, state
}

// oldButton is the title of the refusal of a state that the bot cannot read.
var oldButton = e2etest.Say("button.old.title", nil)

// pressOnTelegram presses a button with this state below the press's card.
func (p *person) pressOnTelegram(press *question, state string) {
	card, fake := press.pressedCard, p.platform.Telegram
	press.Asked = &e2etest.Asked{
		Command: e2etest.Command{User: p.id, Group: card.Chat < 0},
		Message: card.ID,
		At:      time.Now(),
	}
	isEphemeral := card.Ephemeral != 0
	press.isPrivate = press.isPrivate || isEphemeral && press.refusal != oldButton
	p.mu.Lock()
	defer p.mu.Unlock()
	p.platform.Deliver(p.id, 1, func() {
		chat := faketelegram.ChatOf(card.Chat)
		if isEphemeral {
			p.presses[fake.PressEphemeral(chat, card.Ephemeral, state)] = press
		} else {
			p.presses[fake.Press(p.id, chat, card.ID, state)] = press
		}
	})
}

// awaitAnswer judges all that the person is shown until q is answered, or for at most patience.
func (p *person) awaitAnswer(q *question) {
	p.forgetQuestions(repeatTime)
	p.asked = append(p.asked, q)
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for ; time.Since(q.At) < patience; <-ticks.C {
		p.readInbox()
		if p.platform.OnDiscord {
			p.judgeOnDiscord(q)
		}
		p.acceptUnchangedCard(q)
		if q.isEnded() {
			return
		}
	}
	p.giveUp(q)
}

// giveUp ends a question that was not answered within patience. It counts the question as unanswered,
// unless there is an excuse.
func (p *person) giveUp(q *question) {
	if q.isPress && !p.platform.OnDiscord && q.noticedAt.IsZero() {
		p.end(q, expired)
		return
	}
	stalled := p.stalls.between(q.At, q.At.Add(p.discord.Discord.FirstResponse))
	if p.platform.OnDiscord && stalled >= stallExcuse {
		p.end(q, late)
		p.count(lateResponses, 1)
		return
	}
	p.end(q, unanswered)
	p.count(unansweredQuestions, 1)
	p.Logf("%v is not answered, asked at %v, on Discord %v, with stalls of %v", q, q.At, p.platform.OnDiscord, stalled)
}

// readInbox judges what Telegram has shown to the person since the last call.
func (p *person) readInbox() {
	for len(p.inbox) > 0 {
		p.see(<-p.inbox)
	}
}

// forgetQuestions forgets the questions that ended at least this long ago. On Discord it first counts the
// calls that the bot repeated for them, and makes the fake forget them, too.
func (p *person) forgetQuestions(age time.Duration) {
	p.asked = slices.DeleteFunc(p.asked, func(q *question) bool {
		if time.Since(q.endedAt) < age {
			return false
		}
		if p.platform.OnDiscord {
			p.countRepeatedCalls(q)
			q.Pending.Forget()
		}
		return true
	})
}

// countRepeatedCalls counts the calls beyond the first of each kind that the bot made to answer q on Discord.
func (p *person) countRepeatedCalls(q *question) {
	a := q.Pending.Answer()
	p.count(repeatedCalls, max(a.Callbacks-1, 0))
	if a.Deferred {
		p.count(repeatedCalls, max(a.Edits-1, 0))
	}
}

// sendInlineQuery makes the person write an inline query. Up to four of its last letters are missing, as
// while somebody types.
func (p *person) sendInlineQuery(r *rand.Rand) {
	wallet := p.someWallets()[r.IntN(3)].Hex()
	texts := []string{
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
	text := texts[r.IntN(len(texts))]
	text = text[:len(text)-r.IntN(1+min(len(text), 4))]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.platform.Deliver(p.id, 1, func() { p.queries[p.platform.Telegram.Inline(p.id, text, "")] = text })
	p.counts[queriesSent]++
}
