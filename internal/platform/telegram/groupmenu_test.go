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
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
	"herald/internal/router"
	"herald/internal/words"
)

// turkish and spanish are groups of CHAT_LANGUAGE.
const turkish, spanish = int64(-1005), int64(-1006)

// menusPerGroup is the number of menus of a group of CHAT_LANGUAGE: for its members and for its administrators.
const menusPerGroup = 2

// inTwoLanguages returns a bot that speaks Turkish in one group and Spanish in another, and the Router that answers.
func inTwoLanguages(t *testing.T) (*adapterTest, *router.Router) {
	t.Helper()
	r, _, answers := product(t)
	r.adapter.LanguageChats = []string{fmt.Sprint(turkish), fmt.Sprint(spanish)}
	answers.ChatLanguages = map[string]chat.Language{
		fmt.Sprint("telegram:", turkish): chat.Turkish,
		fmt.Sprint("telegram:", spanish): chat.Spanish,
	}
	return r, answers
}

// seenMenu returns how the menu that a user sees in a group describes /exists. language is the language of their app.
func (r *adapterTest) seenMenu(group, user int64, language string) string {
	menu := r.api.MenuFor(faketelegram.Group(group), user, language)
	i := slices.IndexFunc(menu, func(c faketelegram.Command) bool { return c.Command == "exists" })
	if i < 0 {
		return ""
	}
	return menu[i].Description
}

// runForAMinute starts the bot, and ends it after a minute.
func (r *adapterTest) runForAMinute(h platform.Handler) {
	r.Helper()
	stop := r.serve(h)
	time.Sleep(time.Minute)
	if err := stop(); err != nil {
		r.Error(err)
	}
}

func TestMenusOfAGroupAreSetOnlyAtTheFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, answers := inTwoLanguages(t)
		want := menus + 2*menusPerGroup
		r.runForAMinute(platformtest.Routed{Router: answers})
		check(t, "menus that the first start sets", len(r.api.Calls("setMyCommands")), want)
		r.secondAdapter().runForAMinute(platformtest.Routed{Router: answers})
		check(t, "menus that both starts set", len(r.api.Calls("setMyCommands")), want)
	})
}

// In a group of CHAT_LANGUAGE, everybody sees the menu in the group's language. Elsewhere, a menu is in the language of
// the reader's app, or in English if the bot does not speak it.
func TestAGroupOfChatLanguageHasItsOwnMenus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, answers := inTwoLanguages(t)
		const moderator = ann + 1
		for _, in := range []int64{turkish, spanish, group} {
			r.api.Promote(in, moderator, "administrator")
		}
		r.runForAMinute(platformtest.Routed{Router: answers})
		for app, elsewhere := range map[string]chat.Language{
			"en": chat.English,
			"tr": chat.Turkish,
			"ru": chat.Russian,
			"de": chat.English, // The bot does not speak German.
		} {
			for in, want := range map[int64]chat.Language{
				turkish: chat.Turkish,
				spanish: chat.Spanish,
				group:   elsewhere,
			} {
				where := fmt.Sprintf("in %d, by an app in %q", in, app)
				everybodys := words.Say(want, chat.Say("command.exists"))
				moderators := words.Say(want, chat.Say("command.exists.moderators"))
				check(t, "a member's menu "+where, r.seenMenu(in, ann, app), everybodys)
				check(t, "a moderator's menu "+where, r.seenMenu(in, moderator, app), moderators)
			}
		}
	})
}

// If Telegram refuses a group's menus, the bot logs that once, with the group, and sets the other group's. It reads a
// menu before it sets it, so it never sets those of the refused group.
func TestARefusedMenuOfAGroupIsLoggedOnce(t *testing.T) {
	type test struct {
		refuse func(*telegramtest.Server)
		moves  int // how many lines of the log report a new ID
	}
	unknown := faketelegram.ChatInfo{Chat: faketelegram.Group(turkish), Unknown: true}
	inBubble(t, map[string]test{
		"unknown": {refuse: func(s *telegramtest.Server) { s.SetChat(unknown) }},
		"kicked":  {refuse: func(s *telegramtest.Server) { s.Promote(turkish, faketelegram.BotID, "kicked") }},
		"moved":   {refuse: func(s *telegramtest.Server) { s.Migrate(turkish, hallNow) }, moves: 1},
	}, func(t *testing.T, tt test) {
		r, answers := inTwoLanguages(t)
		tt.refuse(r.api)
		r.serve(platformtest.Routed{Router: answers})
		time.Sleep(time.Hour)
		aboutTheGroup := fmt.Sprintf("the menus of group %d in CHAT_LANGUAGE: ", turkish)
		check(t, "lines about the group", r.logs.Lines(aboutTheGroup), 1)
		check(t, "lines about menus", r.logs.Lines("cannot be set"), 1)
		check(t, "lines about the new ID", r.logs.Lines("settings=CHAT_LANGUAGE"), tt.moves)
		check(t, "calls that set menus", len(r.api.Calls("setMyCommands")), menus+menusPerGroup)
		inSpanish := words.Say(chat.Spanish, chat.Say("command.exists"))
		check(t, "the other group's menu", r.seenMenu(spanish, ann, "en"), inSpanish)
	})
}

// deliverByWebhook delivers the queued updates if the adapter has a webhook. Otherwise the adapter polls them.
func (r *adapterTest) deliverByWebhook() {
	if r.adapter.Settings.WebhookURL == "" {
		return
	}
	for _, body := range r.api.Dequeue() {
		r.postUpdate(body)
	}
}

// When the bot starts, it is not in the group yet. It sets the group's menus once it is added. An outage of Telegram
// then delays the menus, but not the hello.
func TestMenusOfAGroupAreSetOnceTheBotIsThere(t *testing.T) {
	inEnglish := words.Say(chat.English, chat.Say("command.exists"))
	inTurkish := words.Say(chat.Turkish, chat.Say("command.exists"))
	faults := map[string]telegramtest.Fault{
		"at once":         {},
		"after an outage": telegramtest.Page(502),
	}
	for way, setting := range ways {
		inBubble(t, faults, func(t *testing.T, fault telegramtest.Fault) {
			r, answers := inTwoLanguages(t)
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
			hello := r.waitSent(1)[0]
			check(t, way+": the hello is Turkish", strings.Contains(hello.Text, "Bana burada sorun"), true)
		})
	}
}

// Everybody in the group reads the notice about a private command, in the group's language. Only the presser reads the
// alert, in their own language, or in the group's if the bot does not speak theirs.
func TestNoticesInAGroupAreInItsLanguage(t *testing.T) {
	const oldButton = "0 of another version" // the data of a button of an earlier bot
	for app, want := range map[string]chat.Language{
		"ru": chat.Russian,
		"de": chat.Turkish, // The bot does not speak German.
	} {
		synctest.Test(t, func(t *testing.T) {
			r, answers := inTwoLanguages(t)
			r.api.Start(ann)
			person := faketelegram.Person(ann)
			person.Language = app
			r.api.SetUser(person)
			r.serve(platformtest.Routed{Router: answers})
			r.api.Push(writes(faketelegram.Group(turkish), ann, "/exists"))
			pointer := r.waitSent(2)[1]
			check(t, "chat of the notice", pointer.Chat, turkish)
			check(t, "notice", pointer.Text, words.Say(chat.Turkish, chat.Say("telegram.answered")))
			r.api.Press(ann, faketelegram.Group(turkish), pointer.ID, oldButton)
			alert := r.pressAnswers(1)[0].Text
			check(t, "alert "+alert, strings.Contains(alert, words.Say(want, chat.Say("button.old.title"))), true)
		})
	}
}
