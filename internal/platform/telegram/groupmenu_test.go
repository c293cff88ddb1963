package telegram

import (
	"fmt"
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
	"herald/internal/words"
)

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
			for in, want := range map[int64]chat.Language{
				turkish: chat.Turkish,
				spanish: chat.Spanish,
				group:   elsewhere,
			} {
				where := fmt.Sprintf("in %d, by an app in %q", in, app)
				everybodys := words.Say(want, chat.Say("command.exists"))
				moderators := words.Say(want, chat.Say("command.exists.moderators"))
				check(t, "a member's menu "+where, r.seenMenu(in, ann, string(app)), everybodys)
				check(t, "a moderator's menu "+where, r.seenMenu(in, moderator, string(app)), moderators)
			}
		}
	})
}

// A menu that Telegram refuses is logged once, with its group, and keeps no other from being set.
func TestARefusedMenuOfAGroupIsLoggedOnce(t *testing.T) {
	type test struct {
		refuse func(*telegramtest.Server)
		moves  int // lines of the log about a new ID
	}
	unknown := faketelegram.ChatInfo{Chat: faketelegram.Group(turkish), Unknown: true}
	inBubble(t, map[string]test{
		"unknown": {refuse: func(s *telegramtest.Server) { s.SetChat(unknown) }},
		"kicked":  {refuse: func(s *telegramtest.Server) { s.Promote(turkish, faketelegram.BotID, "kicked") }},
		"moved":   {refuse: func(s *telegramtest.Server) { s.Migrate(turkish, hallNow) }, moves: 1},
	}, func(t *testing.T, tt test) {
		r, answers := inLanguages(t)
		tt.refuse(r.api)
		r.serve(platformtest.Routed{Router: answers})
		time.Sleep(time.Hour)
		check(t, "lines about the group", r.logs.Lines(fmt.Sprintf("the menus of group %d in CHAT_LANGUAGE: ", turkish)), 1)
		check(t, "lines about menus", r.logs.Lines("cannot be set"), 1)
		check(t, "lines about the new ID", r.logs.Lines("settings=CHAT_LANGUAGE"), tt.moves)
		check(t, "calls that set menus", len(r.api.Calls("setMyCommands")), menus+2)
		inSpanish := words.Say(chat.Spanish, chat.Say("command.exists"))
		check(t, "the other group's menu", r.seenMenu(spanish, ann, "en"), inSpanish)
	})
}

// deliverByWebhook delivers the queued updates if the adapter takes a webhook's.
func (r *adapterTest) deliverByWebhook() {
	if r.adapter.Settings.WebhookURL == "" {
		return
	}
	for _, body := range r.api.Dequeue() {
		r.deliver(body)
	}
}

// At the start the bot is not in the group. An outage delays the menus, and nothing else.
func TestMenusOfAGroupAreSetOnceTheBotIsThere(t *testing.T) {
	inEnglish := words.Say(chat.English, chat.Say("command.exists"))
	inTurkish := words.Say(chat.Turkish, chat.Say("command.exists"))
	faults := map[string]telegramtest.Fault{"": {}, "after an outage": telegramtest.Page(502)}
	for way, setting := range ways {
		inBubble(t, faults, func(t *testing.T, fault telegramtest.Fault) {
			r, answers := inLanguages(t)
			setting(&r.adapter.Config)
			r.api.Promote(turkish, faketelegram.BotID, "left")
			r.serve(platformtest.Routed{Router: answers})
			time.Sleep(time.Minute)
			check(t, way+": the menu before", r.seenMenu(turkish, ann, "en"), inEnglish)
			r.api.Fail("getMyCommands", fault)
			r.api.ChangeBot(faketelegram.Group(turkish), gone, member)
			r.deliverByWebhook()
			time.Sleep(time.Minute)
			check(t, way+": the menu after", r.seenMenu(turkish, ann, "en"), inTurkish)
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
			r.api.SetUser(person)
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
