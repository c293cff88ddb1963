package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/words"
)

var privateDraw = flag.Duration("private.draw", time.Second, "how long each way in draws commands, presses and failures")

// maxDraw bounds how long a way in draws until every kind of answer was there. Most take
// less than a second; a circuit that is open hides answers for seconds.
const maxDraw = time.Minute

// A member, a moderator and a stranger type commands, press buttons that are there or
// forged, and reply to questions, in groups and in private, while services fail. Nobody
// is ever shown a DID. Others are shown no login, no account, no verdict of a private
// command, and nothing of the wallet that only private commands name.
func TestNobodySeesWhatIsPrivateToAnother(t *testing.T) {
	for name, way := range map[string]struct {
		language string
		byHTTP   bool
	}{
		"polling and gateway, in English":      {"en", false},
		"webhook and interactions, in Russian": {"ru", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAudience(t, way.language, way.byHTTP)
			began := time.Now()
			for !t.Failed() && (time.Since(began) < *privateDraw || len(a.unseen()) > 0 && time.Since(began) < maxDraw) {
				pick([]func(services.Person){
					a.failServices, a.telegram.command, a.telegram.ephemeral, a.telegram.reply, a.telegram.press, a.telegram.knock, a.discord.command, a.discord.press,
				})(pick(a.people()))
			}
			if unseen := a.unseen(); len(unseen) > 0 {
				t.Errorf("never seen, and so never judged: %q; seen %v", unseen, a.seen)
			}
		})
	}
}

// pick returns one of all at random.
func pick[T any](all []T) T { return all[rand.IntN(len(all))] }

// pickNewest returns one of the twenty newest of all at random. It returns false if all
// is empty.
func pickNewest[T any](all []T) (one T, ok bool) {
	if len(all) == 0 {
		return one, false
	}
	return pick(all[max(0, len(all)-20):]), true
}

// oneIn reports true once in n times.
func oneIn(n int) bool { return rand.IntN(n) == 0 }

// audience is the people on both platforms of one bot, and what they are shown.
type audience struct {
	*testing.T
	fakes    *fault.Fakes
	telegram *telegramAudience
	discord  *discordAudience
	verdicts []string
	personal []string
	seen     map[string]int // by platform and kind
}

const serviceName = "Zebra Passport"

// listedGroup and listedServer are in MODERATOR_CHATS; the others are not.
const (
	listedGroup, otherGroup   = -1001, -1002
	listedServer, otherServer = "41", "42"
)

func newAudience(t *testing.T, language string, byHTTP bool) *audience {
	a := &audience{T: t, fakes: fault.Start(t), seen: map[string]int{}, verdicts: verdicts()}
	for _, p := range a.people() {
		a.personal = append(a.personal, p.UID("Telegram"), p.UID("Discord"))
	}
	wallet := a.wallet()
	a.personal = append(a.personal, wallet, strings.ToLower(wallet), wallet[:6], "1,012,345", "1 012 345")
	telegram, discord := e2etest.Ways[0].Open(t), e2etest.Ways[2].Open(t)
	telegram.ByHTTP, discord.ByHTTP = byHTTP, byHTTP
	a.telegram, a.discord = newTelegramAudience(a, telegram.Telegram), &discordAudience{audience: a, fake: discord.Discord}
	bot := e2etest.ServeReady(t, a.fakes, append(append(telegram.Settings(), discord.Settings()...), "CHAT_LANGUAGE="+language, "SERVICE_NAME="+serviceName,
		"EXPLORER_URL=https://explorer.example", "STAKING_PENDING_METHOD="+services.PendingMethod, "STALE_FOR=0s",
		fmt.Sprintf("JOIN_CHATS=telegram:%d:registered,telegram:%d:staker", members.ID, stakers.ID),
		fmt.Sprintf("MODERATOR_CHATS=telegram:%d,discord:%s", listedGroup, listedServer))...)
	if byHTTP {
		a.telegram.hook, a.discord.hook = bot.URL+e2etest.WebhookPath, bot.URL+e2etest.InteractionsPath
	}
	return a
}

// wallet returns the wallet that only private commands name. Public ones name the idle
// wallet.
func (a *audience) wallet() string { return a.fakes.World.Staker.Hex() }

// people returns a member with logins, a moderator and a stranger.
func (a *audience) people() []services.Person {
	w := a.fakes.World
	return []services.Person{w.Registered, w.Newcomer, w.Unregistered}
}

// person returns who has an account on the platform, or nil.
func (a *audience) person(platform, uid string) *services.Person {
	for _, p := range a.people() {
		if p.UID(platform) == uid {
			return &p
		}
	}
	return nil
}

// failServices makes one service fail, or heals all.
func (a *audience) failServices(services.Person) {
	f := pick([]fault.Fault{
		{}, {}, fault.Answer(500, "text/html", "down"), fault.Answer(200, "application/json", "{}"), fault.Answer(429, "text/plain", ""),
	})
	failing := pick(fault.Targets)
	for _, target := range fault.Targets {
		if target == failing || f.Name == "" {
			a.fakes.At(target).SetFault(f)
		}
	}
}

// line returns a command with its arguments.
func (a *audience) line() []string {
	idle, registered, wallet := a.fakes.World.Idle.Hex(), a.fakes.World.Registered.UID("Telegram"), a.wallet()
	return pick([][]string{
		{"staked", idle}, {"price"}, {"price", "7d"}, {"supply"}, {"status"}, {"help"}, {"start"}, {"moon"},
		{"staked"}, {"staked", "0x12"}, {"mylogins"}, {"mylogins"}, {"mylogins", "2"}, {"mylogins", "x"},
		{"exists"}, {"exists", registered}, {"exists", "telegram", registered}, {"exists", "EVM", wallet}, {"exists", "x"},
		{"verify"}, {"verify", wallet}, {"verify", idle}, {"verify", registered, wallet}, {"verify", "0x12"},
	})
}

// state returns what one of the buttons hands back, or a forged state.
func (a *audience) state(buttons []string) string {
	if len(buttons) > 0 && oneIn(2) {
		return pick(buttons)
	}
	registered, wallet := a.fakes.World.Registered.UID("Telegram"), a.wallet()
	forged := []string{"0 e 0 mylogins", "1 e", strings.Repeat("x", 64)}
	for _, command := range []string{
		"mylogins", "mylogins 2", "exists", "exists " + registered, "verify " + wallet, "verify " + registered, "staked", "price",
		"exists Telegram " + registered, "moon",
	} {
		forged = append(forged, "1 e 0 "+command, "1 n 0 "+command)
	}
	return pick(forged)
}

// see checks a text that the bot has shown to reader, or to everybody if reader is nil.
func (a *audience) see(platform, how string, reader *services.Person, text string) {
	w := a.fakes.World
	text = e2etest.Plain(text)
	not := func(what string, private ...string) {
		for _, p := range private {
			if strings.Contains(text, p) {
				a.Errorf("%s: %s shows %s %q: %q", platform, how, what, p, text)
			}
		}
	}
	not("a DID", w.Registered.DID, w.Newcomer.DID, w.Registered.DID[len("did:"):])
	if reader == nil || reader.DID != w.Registered.DID {
		for _, login := range w.Logins {
			not("another the login", login.Dapp)
		}
	}
	if reader != nil && reader.DID == "" { // the stranger is no moderator
		not("a stranger the account", w.Registered.UID(platform))
	}
	if reader == nil {
		a.seen[platform+": public"]++
		not("everybody", a.personal...)
		text = strings.ToLower(text)
		not("everybody the verdict", a.verdicts...)
		return
	}
	if slices.ContainsFunc(a.verdicts, func(v string) bool { return strings.Contains(strings.ToLower(text), v) }) {
		a.seen[platform+": a verdict"]++
	}
	if strings.Contains(text, w.Logins[0].Dapp) {
		a.seen[platform+": logins"]++
	}
}

// unseen returns the kinds of answers that were never there.
func (a *audience) unseen() []string {
	return slices.DeleteFunc([]string{
		"Telegram: public", "Telegram: a verdict", "Telegram: logins", "Telegram: a question was answered", "Telegram: a button was pressed",
		"Telegram: an ephemeral answer", "Telegram: a request to join was answered",
		"Discord: public", "Discord: a verdict", "Discord: logins", "Discord: a button was pressed",
	}, func(kind string) bool { return a.seen[kind] > 0 })
}

// verdicts returns what only answers to private commands say, in every language and in
// lower case.
func verdicts() (all []string) {
	for _, l := range chat.Languages() {
		for _, platform := range []string{"Telegram", "Discord", "EVM"} {
			for _, key := range []string{
				"join.no", "exists.no", "exists.you.yes", "exists.you.no", "exists.they.yes", "exists.they.no", "logins.none_text",
				"verify.you.yes", "verify.you.no", "verify.they.yes", "verify.they.no",
			} {
				said := words.Say(l, chat.SayWith(key, chat.Values{"platform": chat.Plain(platform), "service": chat.Plain(serviceName)}))
				all = append(all, strings.ToLower(e2etest.Plain(said)))
			}
		}
	}
	return all
}
