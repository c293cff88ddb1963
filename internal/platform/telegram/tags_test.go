package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

const lounge, loungeID = int64(-1004), "-1004"

// tagTest makes an adapter of a bot that may set tags in the lounge.
func tagTest(t *testing.T, changes ...func(*Config)) *adapterTest {
	r := setUp(t, append(changes, func(c *Config) { c.Settings.StakerTags = map[int64]string{lounge: "Staker"} })...)
	r.api.GrantTags(lounge, true)
	r.api.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Chat{ID: lounge, Type: "supergroup", Title: "Lounge"}, Permissions: &faketelegram.ChatPermissions{}})
	return r
}

func TestATagIsGivenAndTaken(t *testing.T) {
	r := tagTest(t)
	r.api.SetTag(lounge, 7, "Newcomer") // The member asked for another one.
	for range 2 {
		if err := r.adapter.Give(t.Context(), loungeID, "7", ""); err != nil || r.api.Tag(lounge, 7) != "Staker" {
			t.Errorf("given: %q, %v", r.api.Tag(lounge, 7), err)
		}
	}
	for range 2 {
		if err := r.adapter.Take(t.Context(), loungeID, "7", ""); err != nil || r.api.Tag(lounge, 7) != "" {
			t.Errorf("taken: %q, %v", r.api.Tag(lounge, 7), err)
		}
	}
	r.api.SetTag(lounge, 7, "Helper")
	if err := r.adapter.Take(t.Context(), loungeID, "7", ""); err != nil || r.api.Tag(lounge, 7) != "Helper" {
		t.Errorf("a moderator's tag is %q, %v", r.api.Tag(lounge, 7), err)
	}
	if n := len(r.api.TagCalls()); n != 3 {
		t.Errorf("%d calls set a tag, want 3", n)
	}
	if got := fmt.Sprint(r.adapter.Communities(), r.adapter.BadgeName(loungeID), r.adapter.BadgeName("-5")); got != "[-1004]Staker" {
		t.Error(got)
	}
	if _, err := r.adapter.Wearers(t.Context(), loungeID); err == nil {
		t.Error("Telegram counts tags")
	}
}

func TestEachRefusalOfATagHasItsProblem(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(r *adapterTest)
		problem chat.BadgeProblem
	}{
		"left":     {func(r *adapterTest) { r.api.Promote(lounge, 7, "left") }, chat.NotAMember},
		"an admin": {func(r *adapterTest) { r.api.Promote(lounge, 7, "administrator") }, chat.CannotWear},
		"no right": {func(r *adapterTest) { r.api.GrantTags(lounge, false) }, chat.MissingRight},
		"not there": {func(r *adapterTest) {
			r.api.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Chat{ID: lounge}, Unknown: true})
		}, chat.MissingRight},
		"kicked out": {func(r *adapterTest) { r.api.Fail("setChatMemberTag", telegramtest.Fault{Status: http.StatusForbidden}) }, chat.MissingRight},
		"too many":   {func(r *adapterTest) { r.api.Fail("setChatMemberTag", telegramtest.TooMany(9*time.Second)) }, chat.BadgeFailed},
		"broken":     {func(r *adapterTest) { r.api.Fail("setChatMemberTag", telegramtest.Page(http.StatusBadGateway)) }, chat.BadgeFailed},
		"a new error": {func(r *adapterTest) {
			r.api.Fail("setChatMemberTag", telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: TAG_SOMETHING"})
		}, chat.BadgeFailed},
	} {
		r := tagTest(t)
		test.change(r)
		err := r.adapter.Give(t.Context(), loungeID, "7", "")
		failed, _ := errors.AsType[*chat.BadgeError](err)
		if failed == nil || failed.Problem != test.problem || (failed.RetryAfter == 9*time.Second) != (name == "too many") {
			t.Errorf("%s: %v, want %s", name, err, test.problem)
		}
		if err := r.adapter.Take(t.Context(), loungeID, "7", ""); name == "left" && (err == nil || !strings.HasPrefix(err.Error(), string(chat.NotAMember))) {
			t.Errorf("taken from who is not there: %v", err)
		}
	}
}

func TestCheckRefusesTagsThatCannotBeTrue(t *testing.T) {
	yes, no := true, false
	for want, test := range map[string]struct {
		permissions faketelegram.ChatPermissions
		may, wrong  bool
	}{
		"the bot may set tags (Lounge)":               {faketelegram.ChatPermissions{CanEditTag: &no, CanPinMessages: true}, true, false},
		"members may edit their own tags":             {faketelegram.ChatPermissions{CanEditTag: &yes}, true, true},
		"switch off Edit Own Tags":                    {faketelegram.ChatPermissions{CanPinMessages: true}, true, true}, // the default
		"with the right to manage member tags":        {faketelegram.ChatPermissions{}, false, true},
		"STAKER_TAGS, group -1004: the bot may not s": {faketelegram.ChatPermissions{}, false, true},
	} {
		simulated(t, func(t *testing.T, _ *adapterTest) {
			r := tagTest(t)
			r.api.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Chat{ID: lounge, Title: "Lounge"}, Permissions: &test.permissions})
			r.api.GrantTags(lounge, test.may)
			details, err := r.adapter.Check(t.Context())
			_, wrong := errors.AsType[*config.WrongError](err)
			if all := strings.Join(details, "\n"); wrong != test.wrong || !strings.Contains(all, want) {
				t.Errorf("%q: check says %q, %v", want, all, err)
			}
			stop := r.run()
			time.Sleep(time.Minute)
			if warned := r.logs.Lines("a tag of STAKER_TAGS"); (warned == 1) != test.wrong || warned > 1 {
				t.Errorf("%q: %d warnings", want, warned)
			}
			_ = stop()
		})
	}
}

// A private chat exists with those who started the bot, and is not made.
func TestNoticesGoToPrivateChatsThatExist(t *testing.T) {
	for way, change := range ways {
		simulated(t, func(t *testing.T, _ *adapterTest) {
			r := tagTest(t, change)
			notice := chat.Reply{Language: chat.English, Title: chat.Say("exists.no")}
			r.adapter.Notify(t.Context(), "7", notice) // before Run
			stop := r.run()
			time.Sleep(time.Second)
			r.api.Start(7)
			for _, user := range []string{"7", "8"} {
				r.adapter.Notify(t.Context(), user, notice)
			}
			if sent := r.api.Sent(); len(sent) != 1 || sent[0].Chat != 7 {
				t.Errorf("%s: sent %+v", way, sent)
			}
			if r.logs.Lines("level=WARN") > 0 {
				t.Errorf("%s: logged %s", way, r.logs)
			}
			_ = stop()
		})
	}
}

func TestStakerTagsAreReadStrictly(t *testing.T) {
	table := append(new(Settings).Table(), config.Setting{Name: "DATA_DIR", Set: func(string) error { return nil }})
	for value, valid := range map[string]bool{
		"telegram:-1:Staker": true, "telegram:-1:Стейкер,telegram:-2:质押者": true, "telegram:-1:a:b(c)": true, "telegram:-1:0123456789abcdef": true,
		"telegram:-1:0123456789abcdefg": false, "telegram:-1:": false, "telegram:-1": false, "telegram:1:Staker": false,
		"telegram:-1:a,telegram:-1:b": false, "telegram:-1:🐳": false, "telegram:-1:1\uFE0F\u20E3": false, "telegram:-1:🇹🇷": false,
		"telegram:-1:a\u200db": false, "telegram:-1:©": false, "discord:1:Staker": false,
	} {
		if wrong := configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", "DATA_DIR=x", "STAKER_TAGS="+value); valid != (len(wrong) == 0) {
			t.Errorf("%s: %v", value, wrong)
		}
	}
	configtest.OneMistake(t, table, configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", "STAKER_TAGS=telegram:-1:a"), "STAKER_TAGS", "needs DATA_DIR or REDIS_URL")
}
