package e2e

import (
	"strconv"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/words"
)

const serviceName = "Zebra Passport"

// A member of a group and a stranger send every private command, while services answer and while they fail. The
// member presses every button below the answers, and both press forged buttons below a public answer. Nobody is
// shown a DID. Only the member is shown their logins, accounts, verdicts and wallet.
func TestNobodySeesWhatIsPrivateToAnother(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, way)
			asked := g.askWhileServicesAnswerAndFail()
			g.bot.Stop()
			if err := g.bot.AwaitEnd(); err != nil {
				t.Fatal(err)
			}
			g.judge(t, g.everythingShown(asked))
		})
	}
}

// group is a bot in a group with two users.
type group struct {
	fakes    *fault.Fakes
	platform *e2etest.Platform
	bot      *e2etest.Bot
	member   int64 // a registered user, who has started the bot
	stranger int64 // an unregistered user, who has not
}

// shown is a text that a user was shown.
type shown struct {
	reader int64 // the user, or everybody
	text   string
}

// everybody stands for all users in the group.
const everybody = 0

func newGroup(t *testing.T, way e2etest.Way) *group {
	t.Helper()
	g := &group{fakes: fault.Start(t), platform: way.Open(t)}
	language := "en"
	if way.ByHTTP {
		language = "ru"
	}
	g.bot = g.platform.Serve(g.fakes,
		"CHAT_LANGUAGE="+language,
		"SERVICE_NAME="+serviceName,
		"EXPLORER_URL=https://explorer.example",
		"STALE_FOR=0s",
		"RATE_LIMIT_USER=1000",
		"RATE_LIMIT_CHAT=1000")
	g.member = way.User(g.fakes.World.Registered)
	g.stranger = way.User(g.fakes.World.Unregistered)
	if !way.OnDiscord {
		g.platform.Telegram.Start(g.member)
	}
	return g
}

// judge fails the test for each text with private data of the member that somebody else was shown. It also fails
// the test if there are too few texts, because then something was not tested.
func (g *group) judge(t *testing.T, all []shown) {
	t.Helper()
	w := g.fakes.World
	private, others := 0, 0
	for _, s := range all {
		switch {
		case s.reader != g.member:
			others++
			checkHides(t, s, secretsFrom(g.platform.Way, w, s.reader))
		case strings.Contains(s.text, w.Logins[0].Dapp) || strings.Contains(s.text, w.Staker.Hex()):
			private++
		}
	}
	if private < 3 || others < 10 {
		t.Errorf("only %d private texts and %d texts for others were judged", private, others)
	}
}

// askWhileServicesAnswerAndFail asks everything twice, and waits for the answers.
func (g *group) askWhileServicesAnswerAndFail() (all []*e2etest.Asked) {
	for _, f := range []fault.Fault{{}, fault.Answer(500, "text/html", "down")} {
		for _, target := range fault.Targets {
			g.fakes.At(target).SetFault(f)
		}
		all = append(all, g.askEverything()...)
	}
	for _, asked := range all {
		asked.Wait()
	}
	return all
}

// askEverything sends every private command and presses every button, real and forged.
func (g *group) askEverything() (all []*e2etest.Asked) {
	wallet := g.fakes.World.Staker.Hex()
	for _, c := range []e2etest.Command{
		{Name: "mylogins"},
		{Name: "exists"},
		{Name: "verify"},
		{Name: "verify", Argument: wallet},
		{Name: "forget"},
		{Name: "mylogins", Ephemeral: true},
		{Name: "verify", Argument: wallet, Ephemeral: true},
	} {
		c.Group = true
		c.Ephemeral = c.Ephemeral && !g.platform.OnDiscord
		all = append(all, g.askBoth(c)...)
	}
	return append(all, g.pressForged()...)
}

// askBoth makes the member and then the stranger send a command. The member presses every button below the answer,
// unless the command is ephemeral.
func (g *group) askBoth(c e2etest.Command) (all []*e2etest.Asked) {
	for _, c.User = range []int64{g.member, g.stranger} {
		asked := g.platform.Ask(c)
		asked.Wait()
		all = append(all, asked)
		if c.User == g.stranger || c.Ephemeral {
			continue
		}
		for _, state := range asked.States() {
			all = append(all, asked.Press(g.member, state))
		}
	}
	return all
}

// pressForged makes the stranger send a public command. Both then press buttons of private commands below its
// answer, which has no such buttons.
func (g *group) pressForged() (all []*e2etest.Asked) {
	public := g.platform.Ask(e2etest.Command{User: g.stranger, Group: true, Name: "help"})
	public.Wait()
	all = append(all, public)
	wallet := g.fakes.World.Staker.Hex()
	for _, state := range []string{
		"mylogins",
		"mylogins 2",
		"exists",
		"exists Telegram " + g.fakes.World.Registered.UID("Telegram"),
		"verify " + wallet,
		"save " + wallet,
		"forget",
		"details",
	} {
		for _, presser := range []int64{g.member, g.stranger} {
			// One button asks the bot to edit the answer, the other to send a message.
			all = append(all, public.Press(presser, "1 e 0 "+state), public.Press(presser, "1 n 0 "+state))
		}
	}
	return all
}

// everythingShown returns each text that the platform showed in answer to these commands and presses.
func (g *group) everythingShown(all []*e2etest.Asked) (seen []shown) {
	if !g.platform.OnDiscord {
		for _, s := range g.platform.Telegram.Seen() {
			seen = append(seen, shown{reader: s.Reader, text: s.Text}) // A Reader of 0 is everybody.
		}
		return seen
	}
	for _, asked := range all {
		for _, m := range asked.Pending.Shown() {
			s := shown{reader: everybody, text: m.Everything()}
			if m.Ephemeral {
				s.reader, _ = strconv.ParseInt(m.SeenBy, 10, 64)
			}
			seen = append(seen, s)
		}
	}
	return seen
}

// secretsFrom returns what a reader other than the member may not be shown. The stranger may be shown verdicts
// about themselves, and the wallet that they asked about.
func secretsFrom(way e2etest.Way, w services.World, reader int64) []string {
	secrets := []string{
		w.Registered.DID,
		w.Registered.DID[len("did:"):],
		w.Newcomer.DID,
		strconv.FormatInt(way.User(w.Registered), 10),
	}
	for _, login := range w.Logins {
		secrets = append(secrets, login.Dapp)
	}
	if reader != everybody {
		return secrets
	}
	secrets = append(secrets,
		w.Staker.Hex(),
		strings.ToLower(w.Staker.Hex()),
		w.Staker.Hex()[:6],
		strconv.FormatInt(way.User(w.Unregistered), 10),
		"1,012,345",
		"1 012 345")
	return append(secrets, verdicts()...)
}

// verdicts returns every text that says whether an account or a wallet is registered, or whose it is, in every
// language.
func verdicts() (all []string) {
	keys := []string{
		"exists.no", "exists.you.yes", "exists.you.no", "logins.none_text", "verify.you.yes", "verify.you.no",
	}
	for _, language := range chat.Languages() {
		for _, platform := range []string{"Telegram", "Discord", "EVM"} {
			values := chat.Values{"platform": chat.Plain(platform), "service": chat.Plain(serviceName)}
			for _, key := range keys {
				all = append(all, e2etest.Plain(words.Say(language, chat.SayWith(key, values))))
			}
		}
	}
	return all
}

// checkHides fails the test for each secret that a text contains.
func checkHides(t *testing.T, s shown, secrets []string) {
	t.Helper()
	text := e2etest.Plain(s.text)
	for _, secret := range secrets {
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			t.Errorf("reader %d is shown %q: %q", s.reader, secret, text)
		}
	}
}
