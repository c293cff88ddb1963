package telegram

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// How many calls introduce the bot: a menu for each of two scopes and two
// descriptions, each in six languages and for readers of any other.
const (
	menus        = 2 * 7
	descriptions = 2 * 7
)

// introducing counts the calls that ask for menus and descriptions, and those that
// set them.
func (r *rig) introducing() (gets, sets int) {
	for _, name := range []string{"MyCommands", "MyDescription", "MyShortDescription"} {
		gets += len(r.api.Calls("get" + name))
		sets += len(r.api.Calls("set" + name))
	}
	return gets, sets
}

// menuLine is a command's line in a menu.
func (r *rig) menuLine(scope, code, command string) telegramtest.Command {
	menu := r.api.MenuOf(telegramtest.MenuKey{Scope: scope, Language: code})
	i := slices.IndexFunc(menu, func(c telegramtest.Command) bool { return c.Command == command })
	if i < 0 {
		r.Errorf("the menu of %s in %q has no %s: %+v", scope, code, command, menu)
		return telegramtest.Command{}
	}
	return menu[i]
}

// Everybody's menu, in groups and in private chats, is the default one.
func TestMenusAreInTheReadersLanguageAndShowModeratorsTheirForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t, nil)
		r.serve(router)
		time.Sleep(time.Minute)
		for code, l := range map[string]chat.Language{"": chat.English, "en": chat.English, "es": chat.Spanish, "zh": chat.Chinese, "ru": chat.Russian, "tr": chat.Turkish, "vi": chat.Vietnamese} {
			for scope, key := range map[string]string{"default": "command.exists", "all_chat_administrators": "command.exists.moderators"} {
				want := telegramtest.Command{Command: "exists", Description: words.Say(l, chat.Say(key)), Ephemeral: true}
				if is := r.menuLine(scope, code, "exists"); is != want {
					t.Errorf("in %q %s read %+v, want %+v", code, scope, is, want)
				}
				if r.menuLine(scope, code, "price").Ephemeral {
					t.Errorf("in %q %s are answered /price ephemerally", code, scope)
				}
			}
			long, short := r.api.Description(code), r.api.ShortDescription(code)
			if long != words.Say(l, chat.Say("telegram.description")) || short != words.Say(l, chat.Say("telegram.short_description")) {
				t.Errorf("in %q the bot is described as %q and %q", code, long, short)
			}
			// https://core.telegram.org/bots/api#setmydescription
			if utf8.RuneCountInString(long) > 512 || utf8.RuneCountInString(short) > 120 {
				t.Errorf("in %q a description is too long", code)
			}
		}
		// The first menu is looked at again, for what the server made of it.
		if gets, sets := r.introducing(); gets != menus+descriptions+1 || sets != menus+descriptions {
			t.Errorf("%d calls asked and %d set", gets, sets)
		}
	})
}

func TestACommandForModeratorsAloneIsInTheirMenuOnly(t *testing.T) {
	run := []chat.Form{{Moderators: true}}
	all := chat.Commands{{Name: "ban", Summary: chat.Say("Ban"), Forms: run}, {Name: "price", Summary: chat.Say("Price"), Forms: []chat.Form{{}}}}
	if menu := menuOf(all, false, chat.English); len(menu) != 1 || menu[0].Command != "price" {
		t.Errorf("members read %+v", menu)
	}
	if menu := menuOf(all, true, chat.English); len(menu) != 2 {
		t.Errorf("moderators read %+v", menu)
	}
}

// What is there is not set again. A server that does not know ephemeral commands
// gets menus without them, and is asked once at each start whether it does by now.
func TestARestartSetsOnlyWhatDiffers(t *testing.T) {
	for name, tt := range map[string]struct {
		older     telegramtest.Older
		again     int // calls that set something at the next start
		upgraded  int // and once the server knows everything
		ephemeral bool
	}{
		"this version":                {telegramtest.Older{}, 0, 0, true},
		"a server that ignores marks": {telegramtest.Older{Ephemeral: true}, 1, menus, false},
		"a server that refuses them":  {telegramtest.Older{Ephemeral: true, EphemeralMenu: true}, 1, menus, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _, router := product(t, nil)
				r.api.MakeOlder(tt.older)
				sets := func() int {
					_, before := r.introducing()
					next := r.againInMemory()
					stop := next.serve(router)
					time.Sleep(time.Minute)
					if err := stop(); err != nil {
						t.Error(err)
					}
					_, after := r.introducing()
					return after - before
				}
				if n := sets(); n < menus+descriptions {
					t.Errorf("%d calls set something at first", n)
				}
				if r.menuLine("default", "", "mylogins").Ephemeral != tt.ephemeral || r.menuLine("all_chat_administrators", "vi", "mylogins").Ephemeral != tt.ephemeral {
					t.Error("the marks are wrong")
				}
				if n := sets(); n != tt.again {
					t.Errorf("%d calls set something at the next start, want %d", n, tt.again)
				}
				r.api.MakeOlder(telegramtest.Older{})
				if n := sets(); n != tt.upgraded {
					t.Errorf("%d calls set something once the server knows everything, want %d", n, tt.upgraded)
				}
				if !r.menuLine("all_chat_administrators", "vi", "mylogins").Ephemeral {
					t.Error("a mark is missing")
				}
			})
		})
	}
}

// Commands are answered meanwhile, and what fails is repeated no sooner than the
// server asks for. What is refused is left.
func TestIntroducingTheBotNeverKeepsItFromAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t, nil)
		r.api.Fail("getMyCommands", telegramtest.Hang(), telegramtest.Page(502), telegramtest.ResetBefore())
		r.api.Fail("setMyCommands", telegramtest.TooMany(10*time.Minute))
		r.api.Fail("setMyDescription", telegramtest.Status(400))
		r.api.Fail("getMyShortDescription", telegramtest.Status(404))
		r.serve(router)
		r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/price"))
		started := time.Now()
		if answer := r.sent(1)[0]; !strings.Contains(answer.Text, "Price") || answer.At.Sub(started) > time.Second {
			t.Errorf("answered by %+v after %v", answer, answer.At.Sub(started))
		}
		time.Sleep(time.Hour)
		calls := r.api.Calls("setMyCommands")
		if gap := calls[1].At.Sub(calls[0].At); gap < 10*time.Minute || gap > 11*time.Minute {
			t.Errorf("a 429 is followed by the same call after %v", gap)
		}
		if len(calls) != menus+1 || !r.menuLine("default", "", "mylogins").Ephemeral || r.api.Description("") != "" || r.api.Description("en") == "" ||
			r.api.ShortDescription("") != "" || r.api.ShortDescription("vi") == "" {
			t.Errorf("%d calls set menus, and the descriptions are %q, %q", len(calls), r.api.Description("en"), r.api.ShortDescription("vi"))
		}
	})
}
