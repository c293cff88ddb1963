package telegram

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/platformtest"
	"herald/internal/router"
	"herald/internal/secret"
	"herald/internal/words"
)

// How many calls introduce the bot: a menu for each of two scopes and two
// descriptions, each in every language and for readers of any other.
var (
	menus        = 2 * (len(chat.Languages()) + 1)
	descriptions = menus
)

// Everybody's menu, in groups and in private chats, is the default one. A menu is not set
// again at the next start, whether or not the server knows the mark of ephemeral commands.
func TestProfileIsSetOnceInEveryLanguage(t *testing.T) {
	inBubble(t, map[string]bool{"this version": true, "a server that ignores marks": false}, func(t *testing.T, marked bool) {
		r, _, router := product(t)
		if !marked {
			r.rewrite("setMyCommands", func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(`,"is_ephemeral":true`), nil) })
		}
		for range 2 {
			stop := r.serve(platformtest.Routed{Router: router})
			time.Sleep(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			described := len(r.api.Calls("setMyDescription")) + len(r.api.Calls("setMyShortDescription"))
			if n := len(r.api.Calls("setMyCommands")); n != menus || described != descriptions {
				t.Errorf("%d calls set menus, want %d, and %d descriptions", n, menus, described)
			}
			r = r.again()
		}
		for _, l := range append(chat.Languages(), "") {
			code := string(l)
			l = cmp.Or(l, chat.English)
			for scope, key := range map[string]string{"default": "command.exists", "all_chat_administrators": "command.exists.moderators"} {
				want := faketelegram.Command{Command: "exists", Description: words.Say(l, chat.Say(key)), Ephemeral: marked}
				menu := r.api.MenuOf(faketelegram.MenuKey{Scope: scope, Language: code})
				public := slices.IndexFunc(menu, func(c faketelegram.Command) bool { return c.Command == "price" && !c.Ephemeral })
				if !slices.Contains(menu, want) || public < 0 {
					t.Errorf("in %q %s read %+v, want %+v", code, scope, menu, want)
				}
			}
			topics := chat.Values{"topics": chat.List(router.Commands().Topics())}
			long := strings.Join([]string{
				words.Say(l, chat.SayWith("telegram.about", topics)),
				words.Say(l, chat.Say("telegram.about.stakes")),
				words.Say(l, chat.Say("help.honest")),
				words.Say(l, chat.Say("help.wallet")),
			}, "\n")
			if got := r.api.Description(code); got != long {
				t.Errorf("in %q the bot is described as %q, want %q", code, got, long)
			}
			short := words.Say(l, chat.SayWith("telegram.short_description", topics))
			if got := r.api.ShortDescription(code); got != short {
				t.Errorf("in %q the bot is described in short as %q, want %q", code, got, short)
			}
		}
	})
}

// The description names the first tag, and that there are groups to join. Telegram would refuse
// one that is too long.
func TestDescriptionNamesTheWaysIn(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.adapter.Settings.StakerTags = []chat.Badge{{Community: "-5", ID: "Sixteen letters."}, {Community: "-6", ID: "Whale"}}
		r.run()
		time.Sleep(time.Second)
		for _, l := range chat.Languages() {
			said := r.api.Description(string(l))
			for _, want := range []string{"/verify", "Sixteen letters.", words.Say(l, chat.Say("telegram.description.join"))} {
				if !strings.Contains(said, want) || strings.Contains(said, "Whale") {
					t.Errorf("in %q the bot is described as %q", l, said)
				}
			}
		}
	}, withJoins)
}

// Commands are answered meanwhile. A call that fails is repeated no sooner than the server
// asks for, and one that is refused is not repeated.
func TestProfileFailuresDelayNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t)
		r.api.Fail("getMyCommands", telegramtest.Hang(), telegramtest.Page(502), telegramtest.ResetBefore())
		r.api.Fail("setMyCommands", telegramtest.TooMany(10*time.Minute))
		r.api.Fail("setMyDescription", telegramtest.Status(400))
		r.api.Fail("getMyShortDescription", telegramtest.Status(404))
		r.serve(platformtest.Routed{Router: router})
		r.api.Push(inPrivate(ann, "/price"))
		started := time.Now()
		if answer := r.sent(1)[0]; !strings.Contains(answer.Text, "$0.01235") || answer.At.Sub(started) > time.Second {
			t.Errorf("answered by %+v after %v", answer, answer.At.Sub(started))
		}
		time.Sleep(time.Hour)
		calls := r.api.Calls("setMyCommands")
		if gap := calls[1].At.Sub(calls[0].At); len(calls) != menus+1 || gap < 10*time.Minute || gap > 11*time.Minute {
			t.Errorf("%d calls set menus, and a 429 is followed by the same call after %v", len(calls), gap)
		}
		if r.api.Description("") != "" || r.api.Description("en") == "" || r.api.ShortDescription("") != "" ||
			r.api.ShortDescription("vi") == "" {
			t.Errorf("the descriptions are %q, %q", r.api.Description("en"), r.api.ShortDescription("vi"))
		}
	})
}

// A call that would fail again does not hold up those behind it.
func TestACallThatWouldFailAgainDelaysNoOther(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"forbidden": telegramtest.Status(http.StatusForbidden), "refused": telegramtest.Status(http.StatusBadRequest),
	}, func(t *testing.T, fault telegramtest.Fault) {
		r, _, router := product(t)
		r.api.Break("setMyShortDescription", fault)
		r.serve(platformtest.Routed{Router: router})
		time.Sleep(time.Hour)
		check(t, "menus", len(r.api.Calls("setMyCommands")), menus)
		check(t, "descriptions", len(r.api.Calls("setMyDescription")), descriptions/2)
	})
}

// turkish and spanish are groups of CHAT_LANGUAGE.
const turkish, spanish = int64(-1005), int64(-1006)

// inLanguages has the bot answer in the languages of turkish and spanish there.
func inLanguages(t *testing.T) (*adapterTest, *router.Router) {
	t.Helper()
	r, _, answers := product(t)
	r.adapter.LanguageChats = []string{fmt.Sprint(turkish), fmt.Sprint(spanish)}
	answers.ChatLanguages = map[string]chat.Language{
		fmt.Sprint("telegram:", turkish): chat.Turkish,
		fmt.Sprint("telegram:", spanish): chat.Spanish,
	}
	return r, answers
}

// seenMenu returns how a user's app describes /exists in a group.
func (r *adapterTest) seenMenu(group, user int64, language string) string {
	menu := r.api.MenuFor(faketelegram.Group(group), user, language)
	i := slices.IndexFunc(menu, func(c faketelegram.Command) bool { return c.Command == "exists" })
	if i < 0 {
		return ""
	}
	return menu[i].Description
}

// Everybody in a group of CHAT_LANGUAGE sees its menu in its language. Elsewhere, a menu is in the language of the
// reader's app. No menu is set again at the next start.
func TestAGroupOfChatLanguageHasItsOwnMenus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, answers := inLanguages(t)
		const moderator = ann + 1
		for _, in := range []int64{turkish, spanish, group} {
			r.api.Promote(in, moderator, "administrator")
		}
		for range 2 {
			stop := r.serve(platformtest.Routed{Router: answers})
			time.Sleep(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			check(t, "calls that set menus", len(r.api.Calls("setMyCommands")), menus+4)
			r = r.again()
		}
		for _, app := range []chat.Language{chat.English, chat.Turkish, chat.Russian, "de"} {
			elsewhere := app
			if app == "de" {
				elsewhere = chat.English
			}
			for in, want := range map[int64]chat.Language{turkish: chat.Turkish, spanish: chat.Spanish, group: elsewhere} {
				where := fmt.Sprintf("in %d, by an app in %q", in, app)
				check(t, "a member's menu "+where, r.seenMenu(in, ann, string(app)), words.Say(want, chat.Say("command.exists")))
				check(t, "a moderator's menu "+where, r.seenMenu(in, moderator, string(app)),
					words.Say(want, chat.Say("command.exists.moderators")))
			}
		}
	})
}

// A menu that Telegram refuses is logged once, with its group, and keeps no other from being set.
func TestARefusedMenuOfAGroupIsLoggedOnce(t *testing.T) {
	type test struct {
		refuse func(*telegramtest.Server)
		moves  int // lines of the log
	}
	inBubble(t, map[string]test{
		"unknown": {func(s *telegramtest.Server) {
			s.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Group(turkish), Unknown: true})
		}, 0},
		"kicked": {func(s *telegramtest.Server) { s.Promote(turkish, faketelegram.BotID, "kicked") }, 0},
		"moved":  {func(s *telegramtest.Server) { s.Migrate(turkish, hallNow) }, 1},
	}, func(t *testing.T, tt test) {
		r, answers := inLanguages(t)
		tt.refuse(r.api)
		r.serve(platformtest.Routed{Router: answers})
		time.Sleep(time.Hour)
		check(t, "lines about the group", r.logs.Lines(fmt.Sprintf("the menus of group %d in CHAT_LANGUAGE: ", turkish)), 1)
		check(t, "lines about menus", r.logs.Lines("cannot be set"), 1)
		check(t, "lines about the new ID", r.logs.Lines("settings=CHAT_LANGUAGE"), tt.moves)
		check(t, "calls that set menus", len(r.api.Calls("setMyCommands")), menus+2)
		check(t, "the other group's menu", r.seenMenu(spanish, ann, "en"), words.Say(chat.Spanish, chat.Say("command.exists")))
	})
}

// At the start the bot is not in the group. An outage delays the menus, and nothing else.
func TestMenusOfAGroupAreSetOnceTheBotIsThere(t *testing.T) {
	for way, setting := range ways {
		inBubble(t, map[string]telegramtest.Fault{"": {}, "after an outage": telegramtest.Page(502)}, func(t *testing.T, fault telegramtest.Fault) {
			r, answers := inLanguages(t)
			setting(&r.adapter.Config)
			r.api.Promote(turkish, faketelegram.BotID, "left")
			r.serve(platformtest.Routed{Router: answers})
			time.Sleep(time.Minute)
			check(t, way+": the menu before", r.seenMenu(turkish, ann, "en"), words.Say(chat.English, chat.Say("command.exists")))
			r.api.Fail("getMyCommands", fault)
			r.api.ChangeBot(faketelegram.Group(turkish), gone, member)
			if r.adapter.Settings.WebhookURL != "" {
				for _, body := range r.api.Dequeue() {
					r.deliver(body)
				}
			}
			time.Sleep(time.Minute)
			check(t, way+": the menu after", r.seenMenu(turkish, ann, "en"), words.Say(chat.Turkish, chat.Say("command.exists")))
			hello := r.sent(1)[0]
			check(t, way+": the hello is Turkish", strings.Contains(hello.Text, "Bana burada sorun"), true)
		})
	}
}

// What the bot says to a group about a private command is in the group's language. What one person reads is in theirs,
// and in the group's only if the bot does not speak theirs.
func TestNoticesInAGroupAreInItsLanguage(t *testing.T) {
	for app, want := range map[string]chat.Language{"ru": chat.Russian, "de": chat.Turkish} {
		synctest.Test(t, func(t *testing.T) {
			r, answers := inLanguages(t)
			r.api.Start(ann)
			person := faketelegram.Person(ann)
			person.Language = app
			r.api.Meet(person)
			r.serve(platformtest.Routed{Router: answers})
			r.api.Push(writes(faketelegram.Group(turkish), ann, "/exists"))
			pointer := r.sent(2)[1]
			check(t, "chat of the notice", pointer.Chat, turkish)
			check(t, "notice", pointer.Text, words.Say(chat.Turkish, chat.Say("telegram.answered")))
			r.api.Press(ann, faketelegram.Group(turkish), pointer.ID, "0 of another version")
			alert := r.pressAnswers(1)[0].Text
			check(t, "alert "+alert, strings.Contains(alert, words.Say(want, chat.Say("button.old.title"))), true)
		})
	}
}

func TestCheckReportsNameAndWebhook(t *testing.T) {
	const ours = "https://bot.example/hooks/telegram"
	const path = "in-the-path-of-another"
	webhook := func(c *Config) {
		c.Settings.WebhookURL, c.Settings.WebhookPath, c.Settings.WebhookSecret = ours, "/hooks/telegram", secret.New("s")
	}
	elsewhere := func(s *telegramtest.Server) { s.SetWebhook("https://other.example/" + path) }
	for name, test := range map[string]struct {
		change func(*Config)
		set    func(*telegramtest.Server)
		want   []string
	}{
		"polling": {func(*Config) {}, func(*telegramtest.Server) {}, []string{"@herald_bot, by long polling"}},
		"polling beside a webhook": {func(*Config) {}, elsewhere, []string{
			"@herald_bot, by long polling", "a webhook is set, to other.example, which `bot run` deletes: is another program using this bot?",
		}},
		"webhook not set": {webhook, func(*telegramtest.Server) {}, []string{"@herald_bot, by webhook", "no webhook is set yet: `bot run` sets it"}},
		"webhook elsewhere": {webhook, elsewhere, []string{
			"@herald_bot, by webhook", "the webhook is set to another address, at other.example: `bot run` replaces it",
		}},
		"webhook that fails": {webhook, func(s *telegramtest.Server) {
			s.SetWebhook(ours)
			s.FailDelivery("Wrong response from the webhook:\n502 Bad Gateway \x1b[31m")
		}, []string{
			"@herald_bot, by webhook", "a delivery failed just now: Wrong response from the webhook: 502 Bad Gateway [31m",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := setUp(t, test.change)
			test.set(r.api)
			learned, _, err := r.adapter.Check(t.Context(), nil)
			for i, l := range learned {
				// A second may have passed.
				learned[i] = strings.Replace(l, "1 s ago", "just now", 1)
			}
			if err != nil || !slices.Equal(learned, test.want) {
				t.Errorf("got %q, %v, want %q", learned, err, test.want)
			}
		})
	}
}
