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

// shown is a text that one reader was shown, or everybody if reader is 0.
type shown struct {
	reader int64
	text   string
}

// In a group a member and a stranger give every private command, press every button below
// the answers, and send forged presses below a public one, while services answer and while
// they fail. Nobody is shown a DID, and nobody else a login, an account, a verdict or the
// wallet.
func TestNobodySeesWhatIsPrivateToAnother(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes, platform, language := fault.Start(t), way.Open(t), map[bool]string{false: "en", true: "ru"}[way.ByHTTP]
			bot := platform.Serve(fakes, "CHAT_LANGUAGE="+language, "SERVICE_NAME="+serviceName, "EXPLORER_URL=https://explorer.example",
				"STALE_FOR=0s", "RATE_LIMIT_USER=1000", "RATE_LIMIT_CHAT=1000")
			w := fakes.World
			member, stranger := way.User(w.Registered), way.User(w.Unregistered) // who has not started the bot
			if !way.OnDiscord {
				platform.Telegram.Start(member)
			}
			all := askPrivately(platform, fakes, member, stranger)
			bot.Stop()
			if err := bot.Leave(); err != nil {
				t.Fatal(err)
			}
			told, others := 0, 0
			for _, s := range everythingShown(platform, all) {
				switch {
				case s.reader != member:
					others++
					mustNotTell(t, s, secretsOf(way, w, s.reader == 0))
				case strings.Contains(s.text, w.Logins[0].Dapp) || strings.Contains(s.text, w.Staker.Hex()):
					told++
				}
			}
			if told < 3 || others < 10 {
				t.Errorf("nothing was judged: %d private answers, %d texts for others", told, others)
			}
		})
	}
}

// askPrivately asks everything, once while all services answer and once while all fail.
func askPrivately(platform *e2etest.Platform, fakes *fault.Fakes, member, stranger int64) (all []*e2etest.Asked) {
	wallet := fakes.World.Staker.Hex()
	for _, f := range []fault.Fault{{}, fault.Answer(500, "text/html", "down")} {
		for _, target := range fault.Targets {
			fakes.At(target).SetFault(f)
		}
		public := platform.Ask(e2etest.Command{User: stranger, Group: true, Name: "help"})
		public.Wait()
		all = append(all, public)
		for _, c := range []e2etest.Command{
			{Name: "mylogins"}, {Name: "exists"}, {Name: "verify"}, {Name: "verify", Argument: wallet}, {Name: "forget"},
			{Name: "mylogins", Ephemeral: true}, {Name: "verify", Argument: wallet, Ephemeral: true},
		} {
			for _, c.User = range []int64{member, stranger} {
				c.Group, c.Ephemeral = true, c.Ephemeral && !platform.OnDiscord
				asked := platform.Ask(c)
				asked.Wait()
				all = append(all, asked)
				if c.User == stranger || c.Ephemeral {
					continue
				}
				for _, state := range asked.States() {
					all = append(all, asked.Press(member, state))
				}
			}
		}
		for _, state := range []string{
			"mylogins", "mylogins 2", "exists", "exists Telegram " + fakes.World.Registered.UID("Telegram"), "verify " + wallet, "save " + wallet, "forget", "details",
		} {
			all = append(all, public.Press(member, "1 e 0 "+state), public.Press(member, "1 n 0 "+state),
				public.Press(stranger, "1 e 0 "+state), public.Press(stranger, "1 n 0 "+state))
		}
	}
	for _, asked := range all {
		asked.Wait()
	}
	return all
}

// everythingShown returns all that the platform showed while all was asked.
func everythingShown(platform *e2etest.Platform, all []*e2etest.Asked) (seen []shown) {
	if !platform.OnDiscord {
		for _, s := range platform.Telegram.Seen() {
			seen = append(seen, shown{s.Reader, s.Text})
		}
		return seen
	}
	for _, asked := range all {
		for _, m := range asked.Pending.Shown() {
			s := shown{text: m.Everything()}
			if m.Ephemeral {
				s.reader, _ = strconv.ParseInt(m.SeenBy, 10, 64)
			}
			seen = append(seen, s)
		}
	}
	return seen
}

// secretsOf returns what only the member may read. A stranger is told their own verdicts.
func secretsOf(way e2etest.Way, w services.World, everybody bool) []string {
	secrets := []string{
		w.Registered.DID, w.Registered.DID[len("did:"):], w.Newcomer.DID, strconv.FormatInt(way.User(w.Registered), 10),
	}
	for _, login := range w.Logins {
		secrets = append(secrets, login.Dapp)
	}
	if !everybody {
		return secrets
	}
	secrets = append(secrets, w.Staker.Hex(), strings.ToLower(w.Staker.Hex()), w.Staker.Hex()[:6], strconv.FormatInt(way.User(w.Unregistered), 10), "1,012,345", "1 012 345")
	for _, l := range chat.Languages() {
		for _, platform := range []string{"Telegram", "Discord", "EVM"} {
			for _, key := range []string{"exists.no", "exists.you.yes", "exists.you.no", "logins.none_text", "verify.you.yes", "verify.you.no"} {
				said := words.Say(l, chat.SayWith(key, chat.Values{"platform": chat.Plain(platform), "service": chat.Plain(serviceName)}))
				secrets = append(secrets, e2etest.Plain(said))
			}
		}
	}
	return secrets
}

func mustNotTell(t *testing.T, s shown, secrets []string) {
	t.Helper()
	text := e2etest.Plain(s.text)
	for _, secret := range secrets {
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			t.Errorf("reader %d is shown %q: %q", s.reader, secret, text)
		}
	}
}
