package e2e

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/words"
)

var privateDraw = flag.Duration("private.draw", time.Second, "how long commands, presses and failures are drawn for each way in")

// maxDraw bounds how long everything is drawn again until all that is judged was
// there, which one round nearly always does. A circuit that is open hides answers for
// seconds.
const maxDraw = time.Minute

// Commands, presses of buttons that are there and of forged ones, replies to
// questions, and failures of services are drawn, by somebody who is registered, a
// moderator and a stranger, in groups and in private. What the bot shows, to anybody and however shortly, never holds a DID. What others can see
// holds no login, no account, no verdict of a private command and nothing of the
// wallet that only private commands were asked about.
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
			deadline := time.Now().Add(*privateDraw)
			var failed atomic.Bool // then rapid looks for the shortest way to it
			for began := time.Now(); len(a.unseen()) > 0 && time.Since(began) < maxDraw && !t.Failed(); {
				rapid.Check(t, func(rt *rapid.T) {
					if time.Now().After(deadline) && len(a.unseen()) == 0 && !failed.Load() {
						return
					}
					defer func() { failed.CompareAndSwap(false, rt.Failed()) }()
					rt.Repeat(a.actions())
				})
			}
			if unseen := a.unseen(); len(unseen) > 0 {
				t.Errorf("never seen, and so never judged: %q; seen %v", unseen, a.seen)
			}
		})
	}
}

// audience is people on both platforms of one bot, and what they are shown.
type audience struct {
	fakes    *fault.Fakes
	telegram *telegramAudience
	discord  *discordAudience
	verdicts []string
	personal []string
	seen     map[string]int // by platform and kind
}

const serviceName = "Zebra Passport"

// listedGroup and listedServer are in MODERATOR_CHATS, other ones are not.
const (
	listedGroup, otherGroup   = -1001, -1002
	listedServer, otherServer = "41", "42"
)

func newAudience(t *testing.T, language string, byHTTP bool) *audience {
	a := &audience{fakes: e2etest.Sandbox(t), seen: map[string]int{}, verdicts: verdicts()}
	for _, p := range a.people() {
		a.personal = append(a.personal, p.UID("Telegram"), p.UID("Discord"))
	}
	wallet := a.wallet()
	a.personal = append(a.personal, wallet, strings.ToLower(wallet), wallet[:6], "1,012,345", "1 012 345")
	a.telegram, a.discord = newTelegramAudience(t, a), &discordAudience{audience: a, t: t, fake: e2etest.Discord(t)}
	way := slices.Concat(e2etest.Polling(a.telegram.fake), e2etest.Gateway(a.discord.fake))
	if byHTTP {
		way = slices.Concat(e2etest.Webhook(a.telegram.fake), e2etest.Interactions(a.discord.fake))
	}
	bot := e2etest.ServeReady(t, a.fakes, append(way, "CHAT_LANGUAGE="+language, "SERVICE_NAME="+serviceName,
		"EXPLORER_URL=https://explorer.example", "STAKING_PENDING_METHOD="+services.PendingMethod, "STALE_FOR=0s",
		fmt.Sprintf("MODERATOR_CHATS=telegram:%d,discord:%s", listedGroup, listedServer))...)
	if byHTTP {
		a.telegram.hook, a.discord.hook = bot.URL+e2etest.WebhookPath, bot.URL+e2etest.InteractionsPath
	}
	return a
}

// wallet is the one that only private commands are asked about. Public ones are
// asked about the idle wallet.
func (a *audience) wallet() string { return a.fakes.World.Staker.Hex() }

// people are somebody with logins, a moderator and a stranger.
func (a *audience) people() []services.Person {
	w := a.fakes.World
	return []services.Person{w.Registered, w.Newcomer, w.Unregistered}
}

// person has an account on the platform; nil if nobody of the audience does.
func (a *audience) person(platform, uid string) *services.Person {
	for _, p := range a.people() {
		if p.UID(platform) == uid {
			return &p
		}
	}
	return nil
}

// actions are what may happen next.
func (a *audience) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"a service fails, or all are well again": func(rt *rapid.T) {
			f := rapid.SampledFrom([]fault.Fault{
				{}, {}, fault.Answer(500, "text/html", "down"), fault.Answer(200, "application/json", "{}"), fault.Answer(429, "text/plain", ""),
			}).Draw(rt, "fault")
			service := rapid.SampledFrom(fault.Targets).Draw(rt, "service")
			for _, target := range fault.Targets {
				if target == service || f.Name == "" {
					a.fakes.At(target).SetFault(f)
				}
			}
		},
	}
	for _, actions := range []map[string]func(*rapid.T, services.Person){a.telegram.actions(), a.discord.actions()} {
		for name, act := range actions {
			all[name] = func(rt *rapid.T) { act(rt, a.people()[rapid.IntRange(0, 2).Draw(rt, "person")]) }
		}
	}
	return all
}

// lines are commands with their arguments, as people give them.
func (a *audience) lines() [][]string {
	idle, registered, wallet := a.fakes.World.Idle.Hex(), a.fakes.World.Registered.UID("Telegram"), a.wallet()
	return [][]string{
		{"staked", idle}, {"price"}, {"price", "7d"}, {"supply"}, {"status"}, {"help"}, {"start"}, {"moon"},
		{"staked"}, {"staked", "0x12"}, {"mylogins"}, {"mylogins"}, {"mylogins", "2"}, {"mylogins", "x"},
		{"exists"}, {"exists", registered}, {"exists", "telegram", registered}, {"exists", "EVM", wallet}, {"exists", "x"},
		{"verify"}, {"verify", wallet}, {"verify", idle}, {"verify", registered, wallet}, {"verify", "0x12"},
	}
}

// states are what the buttons of a message hand back, or what nobody was shown.
func (a *audience) states(rt *rapid.T, buttons []string) []string {
	if len(buttons) > 0 && rapid.Bool().Draw(rt, "a button that is there") {
		return buttons
	}
	registered, wallet := a.fakes.World.Registered.UID("Telegram"), a.wallet()
	forged := []string{"0 e 0 mylogins", "1 e", strings.Repeat("x", 64)}
	for _, command := range []string{
		"mylogins", "mylogins 2", "exists", "exists " + registered, "verify " + wallet, "verify " + registered, "staked", "price",
		"exists Telegram " + registered, "moon",
	} {
		forged = append(forged, "1 e 0 "+command, "1 n 0 "+command)
	}
	return forged
}

// see judges what the bot has shown to reader, or to everybody if reader is nil.
func (a *audience) see(rt rapid.TB, platform, how string, reader *services.Person, text string) {
	w := a.fakes.World
	text = e2etest.Plain(text)
	not := func(what string, private ...string) {
		for _, p := range private {
			if strings.Contains(text, p) {
				rt.Errorf("%s: %s shows %s %q: %q", platform, how, what, p, text)
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

// unseen is what is judged and was never there.
func (a *audience) unseen() []string {
	return slices.DeleteFunc([]string{
		"Telegram: public", "Telegram: a verdict", "Telegram: logins", "Telegram: a question was answered", "Telegram: a button was pressed",
		"Telegram: an ephemeral answer",
		"Discord: public", "Discord: a verdict", "Discord: logins", "Discord: a button was pressed",
	}, func(kind string) bool { return a.seen[kind] > 0 })
}

// verdicts are what only answers to private commands say, in lower case and in
// every language.
func verdicts() (all []string) {
	for _, l := range chat.Languages() {
		for _, platform := range []string{"Telegram", "Discord", "EVM"} {
			for _, key := range []string{
				"exists.no", "exists.you.yes", "exists.you.no", "exists.they.yes", "exists.they.no", "logins.none_text",
				"verify.you.yes", "verify.you.no", "verify.they.yes", "verify.they.no",
			} {
				said := words.Say(l, chat.SayWith(key, chat.Values{"platform": chat.Plain(platform), "service": chat.Plain(serviceName)}))
				all = append(all, strings.ToLower(e2etest.Plain(said)))
			}
		}
	}
	return all
}
