package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

var privateDraw = flag.Duration("private.draw", time.Second, "how long commands, presses and failures are drawn for each way in")

// mostRounds bounds how often all is drawn again until everything that is judged
// was there, which one round nearly always does.
const mostRounds = 10

// TestNobodySeesWhatIsPrivateToAnother draws commands, presses of the buttons
// that are there and of forged ones, replies to questions, modals, inline
// queries and failures of services, by somebody who is registered, a moderator
// and a stranger, in groups and in private. Whatever the bot shows, to whomever
// and however shortly, holds no DID; what others can see holds no login, no
// account, no verdict of a private command and nothing of the wallet that only
// private commands were asked about.
func TestNobodySeesWhatIsPrivateToAnother(t *testing.T) {
	for name, way := range map[string]struct {
		language string
		overHTTP bool
	}{
		"polling and gateway, in English":      {"en", false},
		"webhook and interactions, in Russian": {"ru", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCrowd(t, way.language, way.overHTTP)
			deadline := time.Now().Add(*privateDraw)
			var failed atomic.Bool // then go on, for the shortest way to it
			for rounds := 0; rounds == 0 || rounds < mostRounds && len(s.unseen()) > 0 && !t.Failed(); rounds++ {
				rapid.Check(t, func(rt *rapid.T) {
					if time.Now().After(deadline) && len(s.unseen()) == 0 && !failed.Load() {
						return
					}
					defer func() { failed.CompareAndSwap(false, rt.Failed()) }()
					rt.Repeat(s.actions())
				})
			}
			if unseen := s.unseen(); len(unseen) > 0 {
				t.Errorf("not once: %q, so that nothing was judged of it; seen %v", unseen, s.seen)
			}
		})
	}
}

// crowd is people on both platforms of one bot, and all that they are shown.
type crowd struct {
	world    *fault.Fakes
	telegram *telegramCrowd
	discord  *discordCrowd
	verdicts []string
	personal []string
	// seen counts what was shown, by platform and kind.
	seen map[string]int
}

// listedGroup and listedServer are in MODERATOR_CHATS, other ones are not.
const (
	listedGroup, otherGroup   = -1001, -1002
	listedServer, otherServer = "41", "42"
)

func newCrowd(t *testing.T, language string, overHTTP bool) *crowd {
	s := &crowd{world: e2etest.Sandbox(t), seen: map[string]int{}, verdicts: verdicts(t)}
	w := s.world.World
	for _, p := range s.people() {
		s.personal = append(s.personal, p.UID("Telegram"), p.UID("Discord"))
	}
	s.personal = append(s.personal, askedPrivately(w), strings.ToLower(askedPrivately(w)), askedPrivately(w)[:6], "1,012,345", "1 012 345")
	s.telegram, s.discord = newTelegramCrowd(t, s), newDiscordCrowd(t, s)
	way := slices.Concat(e2etest.Polling(s.telegram.fake), e2etest.Gateway(s.discord.fake))
	if overHTTP {
		way = slices.Concat(e2etest.Webhook(s.telegram.fake), e2etest.Interactions(s.discord.fake))
	}
	bot := e2etest.ServeReady(t, s.world, append(way, "CHAT_LANGUAGE="+language, "SERVICE_NAME=Zebra Passport",
		"EXPLORER_URL=https://explorer.example", "STAKING_PENDING_METHOD="+services.PendingMethod, "STALE_FOR=0s",
		fmt.Sprintf("MODERATOR_CHATS=telegram:%d,discord:%s", listedGroup, listedServer))...)
	if overHTTP {
		s.telegram.hook, s.discord.hook = bot.URL+e2etest.WebhookPath, bot.URL+e2etest.InteractionsPath
	}
	return s
}

// askedPrivately is the wallet that only private commands are asked about. Public ones are
// asked about the idle wallet.
func askedPrivately(w services.World) string { return w.Staker.Hex() }

// people are somebody with logins, a moderator and a stranger.
func (s *crowd) people() []services.Person {
	w := s.world.World
	return []services.Person{w.Registered, w.Newcomer, w.Unregistered}
}

// actions are what may happen next.
func (s *crowd) actions() map[string]func(*rapid.T) {
	person := rapid.SampledFrom([]int{0, 1, 2})
	all := map[string]func(*rapid.T){
		"a service fails": func(rt *rapid.T) {
			f := rapid.SampledFrom([]fault.Fault{
				{}, fault.Answer(500, "text/html", "down"), fault.Answer(200, "application/json", "{}"), fault.Answer(429, "text/plain", ""),
			}).Draw(rt, "fault")
			s.world.At(rapid.SampledFrom(fault.Targets).Draw(rt, "service")).SetFault(f)
		},
		"services are well": func(*rapid.T) {
			for _, target := range fault.Targets {
				s.world.At(target).SetFault(fault.Fault{})
			}
		},
	}
	for name, act := range s.telegram.actions() {
		all["telegram: "+name] = func(rt *rapid.T) { act(rt, s.people()[person.Draw(rt, "person")]) }
	}
	for name, act := range s.discord.actions() {
		all["discord: "+name] = func(rt *rapid.T) { act(rt, s.people()[person.Draw(rt, "person")]) }
	}
	return all
}

// lines are commands with their arguments, as people give them.
func (s *crowd) lines() [][]string {
	w := s.world.World
	idle, registered := w.Idle.Hex(), w.Registered.UID("Telegram")
	return [][]string{
		{"staked", idle}, {"price"}, {"price", "7d"}, {"supply"}, {"status"}, {"help"}, {"start"}, {"moon"},
		{"staked"}, {"staked", "0x12"}, {"mylogins"}, {"mylogins"}, {"mylogins", "2"}, {"mylogins", "x"},
		{"exists"}, {"exists", registered}, {"exists", "telegram", registered}, {"exists", "EVM", askedPrivately(w)}, {"exists", "x"},
		{"verify"}, {"verify", askedPrivately(w)}, {"verify", idle}, {"verify", registered, askedPrivately(w)}, {"verify", "0x12"},
	}
}

// forged are states of buttons that nobody was shown.
func (s *crowd) forged() []string {
	w := s.world.World
	var all []string
	for _, edit := range []string{"e", "n"} {
		for _, ask := range []string{
			"mylogins", "mylogins 2", "exists", "exists " + w.Registered.UID("Telegram"), "verify " + askedPrivately(w),
			"verify " + w.Registered.UID("Telegram"), "staked", "price", "exists Telegram " + w.Registered.UID("Telegram"), "moon",
		} {
			all = append(all, "1 "+edit+" 0 "+ask)
		}
	}
	return append(all, "0 e 0 mylogins", "1 e", strings.Repeat("x", 64), "\x00\xff")
}

// see judges what the bot has shown to reader, or to everybody if that is
// nobody.
func (s *crowd) see(rt rapid.TB, platform, how string, reader *services.Person, text string) {
	w := s.world.World
	text = e2etest.Plain(text)
	tell := func(what, found string) {
		rt.Errorf("%s: %s is shown %s %q: %q", platform, how, what, found, text)
	}
	for _, did := range []string{w.Registered.DID, w.Newcomer.DID, w.Registered.DID[len("did:"):]} {
		if strings.Contains(text, did) {
			tell("with the DID", did)
		}
	}
	registered := reader != nil && reader.DID == w.Registered.DID
	if !registered {
		for _, login := range w.Logins {
			if strings.Contains(text, login.Dapp) {
				tell("to another with the login", login.Dapp)
			}
		}
	}
	// The stranger is no moderator, and may learn about nobody else.
	if stranger := reader != nil && reader.DID == ""; stranger && strings.Contains(text, w.Registered.UID(platform)) {
		tell("to a stranger with the account", w.Registered.UID(platform))
	}
	verdict := slices.IndexFunc(s.verdicts, func(v string) bool { return strings.Contains(strings.ToLower(text), v) })
	if reader != nil {
		if verdict >= 0 {
			s.seen[platform+": a verdict"]++
		}
		if registered && strings.Contains(text, w.Logins[0].Dapp) {
			s.seen[platform+": logins"]++
		}
		return
	}
	s.seen[platform+": public"]++
	if verdict >= 0 {
		tell("to everybody with the verdict", s.verdicts[verdict])
	}
	for _, p := range s.personal {
		if strings.Contains(text, p) {
			tell("to everybody with", p)
		}
	}
}

// unseen is what is judged and was never there.
func (s *crowd) unseen() []string {
	return slices.DeleteFunc([]string{
		"Telegram: public", "Telegram: a verdict", "Telegram: logins", "Telegram: a question was answered", "Telegram: a button was pressed",
		"Telegram: an ephemeral answer", "Telegram: an inline result",
		"Discord: public", "Discord: a verdict", "Discord: logins", "Discord: a modal was sent", "Discord: a button was pressed",
	}, func(kind string) bool { return s.seen[kind] > 0 })
}

// privateKeys begin the messages of private commands' answers.
var privateKeys = regexp.MustCompile(`^(exists|verify|logins)\.`)

// verdicts are what only answers to private commands say, in lower case and in
// every language: the parts between the placeholders of their messages that
// stand in no other message.
func verdicts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../words/locales/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d languages, %v", len(files), err)
	}
	var private []string
	var others strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		messages := map[string]any{}
		if err := json.Unmarshal(content, &messages); err != nil {
			t.Fatal(err)
		}
		for key, message := range messages {
			forms := []any{message}
			if plural, ok := message.(map[string]any); ok {
				forms = slices.Collect(maps.Values(plural))
			}
			for _, form := range forms {
				text := strings.ToLower(e2etest.Plain(form.(string)))
				if !privateKeys.MatchString(key) || key == "exists.menu" || key == "exists.service" {
					others.WriteString(text + "\n")
					continue
				}
				for _, part := range placeholder.Split(text, -1) {
					part = strings.Trim(part, " .,:;()")
					if utf8.RuneCountInString(part) >= shortestVerdict(part) {
						private = append(private, part)
					}
				}
			}
		}
	}
	private = slices.DeleteFunc(private, func(v string) bool { return strings.Contains(others.String(), v) })
	slices.Sort(private)
	if private = slices.Compact(private); len(private) < 10 {
		t.Fatalf("only %d verdicts: %q", len(private), private)
	}
	return private
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// shortestVerdict is how many characters tell one verdict from other words.
func shortestVerdict(text string) int {
	if utf8.RuneLen([]rune(text + "x")[0]) > 2 { // a Chinese character says a word
		return 3
	}
	return 8
}
