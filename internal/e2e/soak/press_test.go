//go:build soak

package soak

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
)

const (
	// pressable is how long the buttons of an answer are pressed: less than afterwards,
	// when the answer is forgotten.
	pressable = afterwards * 2 / 3
	// atOnce is how far apart two presses may be whose edits wait for each other.
	atOnce = 5 * time.Second
	// maxData is what a button can hand back, in bytes.
	maxData = 64
	// maxAlert is what an alert can say, in characters.
	maxAlert = 200
	// strangers is how many users have not started the bot; firstStranger is the first ID.
	firstStranger, strangers = 7_300_000_000, 4
)

var oldButton = e2etest.Say("button.old.title", nil)

// card is a message of the bot's with buttons, which people press.
type card struct {
	// Sent is the message on Telegram. On Discord it is empty, and root is the question that
	// the message answers.
	faketelegram.Sent
	root *question

	at      time.Time // when it was shown first
	presses []*question
}

// press is how a question was asked by a button.
type press struct {
	*card
	// edits is true if the answer replaces the card; refreshes is true if only a newer
	// answer does.
	edits, refreshes bool
	// told is when the presser's button stopped waiting on Telegram.
	told time.Time
	over bool
}

// keep lets people press the buttons of a message from now on.
func (s *soak) keep(c *card) {
	if c.at = time.Now(); len(c.states()) > 0 {
		s.cards = append(s.cards, c)
	}
}

// onDiscord reports whether the card is on Discord.
func (c *card) onDiscord() bool { return c.root != nil }

// states returns what the buttons of the card hand back, but for [Details]: its answer, to
// moderators alone, is a message that looks like others.
func (c *card) states() (all []string) {
	for _, b := range slices.Concat(c.Markup.Rows...) {
		all = append(all, b.Data)
	}
	if c.onDiscord() {
		for _, b := range slices.Concat(c.root.Pending.Answer().Buttons...) {
			all = append(all, b.CustomID)
		}
	}
	return slices.DeleteFunc(all, func(state string) bool { return state == "" || strings.HasSuffix(state, " details") })
}

// reader returns the only user who sees the card, or 0 if its whole chat does.
func (c *card) reader() int64 {
	switch {
	case !c.onDiscord():
		return c.Reader
	case !c.root.Group || c.root.Pending.Answer().Ephemeral:
		return c.root.User
	}
	return 0
}

// settled reports whether every press of the card is over.
func (c *card) settled() bool {
	return !slices.ContainsFunc(c.presses, func(q *question) bool { return !q.press.over })
}

// pressButton has somebody who sees a card press a button of it, or send a forged
// state.
func (s *soak) pressButton(r *rand.Rand, platform string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fit []*card
	for _, c := range s.cards {
		if c.onDiscord() == (platform == "Discord") && time.Since(c.at) < pressable {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return
	}
	c := fit[r.IntN(len(fit))]
	q, state := s.forged(r, platform)
	if shown := c.states(); len(shown) > 0 && r.IntN(3) > 0 {
		state = shown[r.IntN(len(shown))]
		q = pressed(state)
	}
	if q.User = c.reader(); q.User == 0 {
		q.User = s.presser(r, platform)
	}
	q.about.Account = core.Identity{Platform: platform, UID: strconv.FormatInt(q.User, 10)}
	q.press.card, q.At = c, time.Now()
	if q.Times = 1; r.IntN(25) == 0 {
		q.Times = 2
	}
	if c.onDiscord() {
		s.pressOnDiscord(q, state)
	} else {
		s.pressOnTelegram(q, state)
	}
	c.presses = append(c.presses, q)
	s.open[q] = true
	s.presses[platform]++
}

// presser returns a random user, who may be unregistered. On Telegram the strangers alone
// have not started the bot.
func (s *soak) presser(r *rand.Rand, platform string) int64 {
	if platform == "Telegram" && r.IntN(2) == 0 {
		return firstStranger + r.Int64N(strangers)
	}
	user, _ := strconv.ParseInt(s.somebody(r, platform).UID, 10, 64)
	if platform == "Telegram" {
		s.telegram.Telegram.Start(user)
	}
	return user
}

// pressed returns the question that a button of the bot asks.
func pressed(state string) *question {
	words := strings.Fields(state)
	q := &question{Asked: &e2etest.Asked{}, press: &press{edits: words[1] == "e", refreshes: words[1] == "e" && words[2] != "0"}}
	q.about.Command, q.about.Argument = words[3], strings.Join(words[4:], " ")
	q.Name, q.Argument = q.about.Command, q.about.Argument
	if common.IsHexAddress(q.Argument) {
		q.about.Wallet, q.about.Argument = common.HexToAddress(q.Argument), ""
	}
	q.private = slices.Contains(privately, q.about.Command)
	return q
}

// forged returns a state that no button of the bot has, and the question that it asks.
func (s *soak) forged(r *rand.Rand, platform string) (*question, string) {
	q, command := s.next(r, platform)
	kind := []string{"e", "n"}[r.IntN(2)]
	q.Asked, q.press = &e2etest.Asked{Command: command}, &press{edits: kind == "e"}
	state := strings.TrimSpace("1 " + kind + " 0 " + command.Name + " " + command.Argument)
	if r.IntN(8) == 0 || len(state) > maxData {
		state = []string{"0" + state[1:], state[:5], badWord, strings.Repeat("x", maxData), "1 e \u202e " + command.Name}[r.IntN(5)]
		q.refusal, q.private = oldButton, false
	}
	return q, state
}

func (s *soak) pressOnTelegram(q *question, state string) {
	c, fake := q.press.card, s.telegram.Telegram
	q.Message, q.Group = c.ID, c.Chat < 0
	q.Ephemeral = c.Ephemeral != 0
	q.private = q.private || q.Ephemeral && q.refusal != oldButton
	s.telegram.Deliver(q.User, q.Times, func() {
		if q.Ephemeral {
			s.pressed[fake.PressEphemeral(faketelegram.ChatOf(c.Chat), c.Ephemeral, state)] = q
		} else {
			s.pressed[fake.Press(q.User, faketelegram.ChatOf(c.Chat), c.ID, state)] = q
		}
	})
}

func (s *soak) pressOnDiscord(q *question, state string) {
	root := q.press.card.root
	i := root.Pending.Press(strconv.FormatInt(q.User, 10), state)
	q.Group = root.Group
	for range q.Times {
		var err error
		if q.Pending, err = s.discord.Discord.Push(i); err != nil {
			s.Error(err)
		}
		i.ID, i.Token = q.Pending.ID, q.Pending.Token
	}
}

// edited checks a message on Telegram that was changed.
func (s *soak) edited(m faketelegram.Sent) {
	i := slices.IndexFunc(s.cards, func(c *card) bool { return !c.onDiscord() && c.Chat == m.Chat && c.ID == m.ID })
	if i < 0 {
		s.Errorf("a message in %d is changed that nobody pressed: %q", m.Chat, m.Text)
		return
	}
	c := s.cards[i]
	c.Sent = m
	s.settle(c.presses, lines(m.Text), m.Chat < 0, true)
	// Of edits that wait for each other only the newest is made.
	for _, q := range c.presses {
		if q.press.edits && q.ended.IsZero() && !q.private && q.refusal == "" {
			q.ended = time.Now()
		}
	}
}

// settle finds the question that said answers, and accepts it as its answer. It fails if
// there is none. An edit that shows a refusal or an excuse answers nothing, because it
// would replace an answer.
func (s *soak) settle(asked []*question, said []string, public, edit bool) {
	var errs []error
	for _, answered := range []bool{false, true} {
		for _, q := range slices.Backward(asked) {
			if q.ended.IsZero() == answered || edit && !q.press.edits {
				continue
			}
			verdict, excuse, err := s.verdict(q, said)
			if edit && excuse {
				err = errors.Join(err, errors.New("an excuse replaces an answer"))
			}
			switch errs = append(errs, err); {
			case err != nil:
				continue
			case !answered:
				s.accept(q, verdict, said, public)
			case !edit:
				s.doubled++
			}
			s.mustNotLeak(q, strings.Join(said, "\n"), public)
			return
		}
	}
	s.wrong++
	s.Errorf("%q answers none of %v: %v", said, asked, errors.Join(errs...))
}

// noticed checks what Telegram showed to whoever pressed a button.
func (s *soak) noticed(n faketelegram.Notice) {
	q := s.pressed[n.ID]
	delete(s.pressed, n.ID)
	if q == nil {
		s.Errorf("a press is answered that nobody made: %+v", n)
		return
	}
	q.press.told = time.Now()
	said := lines(n.Text)
	s.mustNotLeak(q, n.Text, false)
	switch {
	case n.Text == "" && n.URL == "", said[0] == pointer && q.private && q.Group:
		// The answer is elsewhere.
	case n.URL != "" && q.private && q.User >= firstStranger && q.User < firstStranger+strangers:
		q.ended = time.Now()
		s.verdicts["invited"]++
	case !q.ended.IsZero() && q.press.edits && strings.HasPrefix(said[0], nothingNewer):
		// Another press of that moment has edited the card.
	case utf8.RuneCountInString(n.Text) >= maxAlert-1: // It is cut.
		q.ended = time.Now()
		s.verdicts["cut"]++
	default:
		s.settle([]*question{q}, said, false, false)
	}
}

// expired reports whether a press on Telegram was never answered: Telegram takes the
// answer to a press for some seconds only. The adapter must have counted it.
func (q *question) expired() bool {
	return q.press != nil && !q.OnDiscord() && q.press.told.IsZero()
}

// settleUnchanged ends a press after which the card did not change. The card must already
// show a right answer to the press, or to another press of that moment: of edits that wait
// for each other only the newest is made.
func (s *soak) settleUnchanged(q *question) {
	p := q.press
	if p == nil || p.onDiscord() || p.told.IsZero() || time.Since(p.told) < 5*time.Second || !q.ended.IsZero() || !p.edits || q.refusal != "" {
		return
	}
	for _, other := range p.presses {
		if other != q && (!other.press.edits || other.At.Before(q.At.Add(-atOnce))) {
			continue
		}
		if _, _, err := s.verdict(other, lines(p.Text)); err == nil {
			q.ended = time.Now()
			s.verdicts["as it stood"]++
			return
		}
	}
}

// answerOnDiscord checks the last message that a press on Discord has led to.
func (s *soak) answerOnDiscord(q *question) {
	shown := q.Pending.Shown()
	if len(shown) == 0 {
		return
	}
	m := shown[len(shown)-1]
	s.settle([]*question{q}, lines(m.Text()), !m.Ephemeral, m.ID == q.press.root.Pending.Answer().ID)
	for _, m := range shown {
		s.mustNotLeak(q, m.Everything(), !m.Ephemeral)
	}
}

// maxFailureCache is how long Telegram may cache a failed inline query, in seconds.
const maxFailureCache = 5

// inline has somebody write an inline query, perhaps without its last letters.
func (s *soak) inline(r *rand.Rand) {
	w := s.fakes.World
	wallet := []common.Address{w.Staker, w.Idle, common.BigToAddress(common.Big1)}[r.IntN(3)].Hex()
	all := []string{"", "price", "/price", "supply", "Supply", wallet, "staked " + wallet, "mylogins", "exists", "verify " + wallet, badWord}
	query, user := all[r.IntN(len(all))], 7_500_000_000+r.Int64N(6)
	query = query[:len(query)-r.IntN(1+min(len(query), 4))]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.telegram.Deliver(user, 1, func() { s.queries[s.telegram.Telegram.Inline(user, query, "")] = query })
	s.inlines++
}

// meant returns the questions that an inline query may mean, by command: a command by its
// first letters, or a whole wallet.
func meant(query string) map[string]truth.Question {
	all := map[string]truth.Question{}
	query = strings.ToLower(strings.TrimPrefix(query, "/"))
	for _, command := range []string{"price", "supply"} {
		if strings.HasPrefix(command, query) {
			all[command] = truth.Question{Command: command}
		}
	}
	if wallet := strings.TrimPrefix(query, "staked "); len(wallet) == len(common.Address{}.Hex()) && common.IsHexAddress(wallet) {
		all["staked"] = truth.Question{Command: "staked", Wallet: common.HexToAddress(wallet)}
	}
	return all
}

// answeredInline checks the results of an inline query. Everybody may read a result once it
// is sent. One may be missing only if its service could not be asked; if all are, a button
// says which.
func (s *soak) answeredInline(a faketelegram.InlineAnswer) {
	query, asked := s.queries[a.QueryID]
	delete(s.queries, a.QueryID)
	want := meant(query)
	wrong := func(why any) {
		s.wrong++
		s.Errorf("inline %q is answered by %+v: %v", query, a, why)
	}
	if !asked {
		wrong("it is answered twice")
	}
	s.mustNotLeak(&question{Asked: &e2etest.Asked{Command: e2etest.Command{Name: "inline"}}}, a.Button, true)
	for _, result := range a.Results {
		about, is := want[result.ID]
		if !is {
			wrong("a result that was not asked for")
			continue
		}
		q := &question{Asked: &e2etest.Asked{Command: e2etest.Command{Name: result.ID, Argument: query}}, about: about}
		said := result.Content.Text
		s.mustNotLeak(q, said+result.Title+result.Description, true)
		verdict, excuse, err := s.verdict(q, lines(said))
		if s.verdicts[verdict]++; err != nil || excuse {
			wrong(err)
		}
	}
	unavailable := func(command string) bool { return truth.Unavailable(command) == a.Button }
	switch missing := len(want) - len(a.Results); {
	case len(want) == 0 && (a.Button == "" || a.Personal):
		wrong("a query that asks for nothing needs a button that all may see")
	case missing > 0 && (!a.Personal || a.CacheTime > maxFailureCache):
		wrong("Telegram caches a failure")
	case missing > 0 && len(a.Results) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), unavailable):
		wrong("the button is no reason")
	case missing > 0:
		s.verdicts["inline without a result"]++
	}
}
