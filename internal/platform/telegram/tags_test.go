package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
)

const lounge, loungeID = int64(-1004), "-1004"

// tagTest makes an adapter of a bot that may set tags in the lounge.
func tagTest(t *testing.T, changes ...func(*Config)) *adapterTest {
	r := setUp(t, append(changes, func(c *Config) {
		c.Settings.StakerTags = []chat.Badge{{Community: loungeID, ID: "Staker"}, {Community: loungeID, ID: "Big staker", Amount: decimal.NewFromInt(1000)}}
	})...)
	r.api.GrantTags(lounge, true)
	r.api.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Chat{ID: lounge, Type: "supergroup", Title: "Lounge"}, Permissions: &faketelegram.ChatPermissions{}})
	return r
}

func TestATagIsGivenAndRemoved(t *testing.T) {
	r := tagTest(t)
	has := func(want string) {
		t.Helper()
		if tags, err := r.adapter.Has(t.Context(), loungeID, "7"); fmt.Sprint(tags) != want || err != nil {
			t.Errorf("has %q, %v, want %s", tags, err, want)
		}
	}
	has("[]")
	r.api.SetTag(lounge, 7, "Newcomer") // The member asked for another one.
	for _, tag := range []string{"Staker", "Staker", "Big staker"} {
		if err := r.adapter.Give(t.Context(), loungeID, tag, "7", ""); err != nil {
			t.Error(err)
		}
		has("[" + tag + "]")
	}
	for _, tag := range []string{"Staker", "Big staker", "Big staker"} { // The first is not theirs any more.
		has(map[bool]string{true: "[Big staker]", false: "[]"}[r.api.Tag(lounge, 7) != ""])
		if err := r.adapter.Remove(t.Context(), loungeID, tag, "7", ""); err != nil {
			t.Error(err)
		}
	}
	has("[]")
	r.api.SetTag(lounge, 7, "Helper")
	if err := r.adapter.Remove(t.Context(), loungeID, "Staker", "7", ""); err != nil || r.api.Tag(lounge, 7) != "Helper" {
		t.Errorf("a moderator's tag is %q, %v", r.api.Tag(lounge, 7), err)
	}
	if n := len(r.api.TagCalls()); n != 4 {
		t.Errorf("%d calls set a tag, want 4", n)
	}
}

func TestTagsAndGroupsHaveTheirNames(t *testing.T) {
	r := tagTest(t)
	names := func() string {
		a := r.adapter
		return fmt.Sprintf("%t %d %s, %s, %s", a.OneEach(), len(a.Settings.StakerTags), a.BadgeName(loungeID, "Big staker"), a.CommunityName(loungeID), a.CommunityName("-5"))
	}
	if got := names(); got != "true 2 Big staker, , " {
		t.Errorf("before the group is known: %q", got)
	}
	if _, _, err := r.adapter.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if got := names(); got != "true 2 Big staker, Lounge, " {
		t.Errorf("after that: %q", got)
	}
}

func TestEachRefusalOfATagHasItsProblem(t *testing.T) {
	const set = "setChatMemberTag"
	fail := func(f telegramtest.Fault) func(*adapterTest) { return func(r *adapterTest) { r.api.Fail(set, f) } }
	for name, test := range map[string]struct {
		change       func(r *adapterTest)
		give, remove chat.BadgeProblem
		has          chat.BadgeProblem
	}{
		"left":             {func(r *adapterTest) { r.api.Promote(lounge, 7, "left") }, chat.NotAMember, chat.NotAMember, chat.NotAMember},
		"banned":           {func(r *adapterTest) { r.api.Promote(lounge, 7, "kicked") }, chat.NotAMember, chat.NotAMember, chat.NotAMember},
		"restricted":       {func(r *adapterTest) { r.api.Promote(lounge, 7, "restricted") }, "", "", ""},
		"an administrator": {func(r *adapterTest) { r.api.Promote(lounge, 7, "administrator") }, chat.CannotHave, "", chat.CannotHave},
		"the owner":        {func(r *adapterTest) { r.api.Promote(lounge, 7, "creator") }, chat.CannotHave, "", chat.CannotHave},
		"no right":         {func(r *adapterTest) { r.api.GrantTags(lounge, false) }, chat.MissingRight, chat.MissingRight, ""},
		"the bot removed":  {func(r *adapterTest) { r.api.Promote(lounge, faketelegram.BotID, "kicked") }, chat.MissingRight, chat.MissingRight, chat.MissingRight},
		"no such group": {func(r *adapterTest) {
			r.api.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Chat{ID: lounge}, Unknown: true})
		}, chat.CommunityGone, chat.CommunityGone, chat.CommunityGone},
		"a supergroup now": {func(r *adapterTest) { r.api.Migrate(lounge, -1005) }, chat.CommunityGone, chat.CommunityGone, chat.CommunityGone},
		"too many":         {fail(telegramtest.TooMany(9 * time.Second)), chat.BadgeFailed, "", ""},
		"broken":           {fail(telegramtest.Page(http.StatusBadGateway)), chat.BadgeFailed, "", ""},
		"a new error":      {fail(telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: TAG_SOMETHING"}), chat.BadgeFailed, "", ""},
		"deleted":          {fail(telegramtest.Fault{Status: http.StatusForbidden, Description: "Forbidden: the group chat was deleted"}), chat.CommunityGone, "", ""},
		"members not shown": {func(r *adapterTest) {
			r.api.Fail("getChatMember", telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: member list is inaccessible"})
		}, "", chat.MissingRight, ""},
		"cannot be read": {func(r *adapterTest) { r.api.Fail("getChatMember", telegramtest.Page(http.StatusBadGateway)) }, "", chat.BadgeFailed, ""},
	} {
		r := tagTest(t)
		r.api.SetTag(lounge, 7, "Staker")
		test.change(r)
		giveErr := r.adapter.Give(t.Context(), loungeID, "Staker", "7", "")
		removeErr := r.adapter.Remove(t.Context(), loungeID, "Staker", "7", "")
		_, hasErr := r.adapter.Has(t.Context(), loungeID, "7")
		for what, x := range map[string]struct {
			err  error
			want chat.BadgeProblem
		}{"give": {giveErr, test.give}, "remove": {removeErr, test.remove}, "has": {hasErr, test.has}} {
			failed, _ := errors.AsType[*chat.BadgeError](x.err)
			if failed == nil {
				failed = &chat.BadgeError{}
			}
			if failed.Problem != x.want || (x.err == nil) != (x.want == "") {
				t.Errorf("%s: %s: %v, want %q", name, what, x.err, x.want)
			}
			if unknown := name == "broken" && what == "give"; failed.OutcomeUnknown != unknown {
				t.Errorf("%s: %s: the outcome is unknown: %t", name, what, failed.OutcomeUnknown)
			}
			if limited := name == "too many" && what == "give"; (failed.RetryAfter == 9*time.Second) != limited {
				t.Errorf("%s: %s: waits %v", name, what, failed.RetryAfter)
			}
		}
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

// A restricted user may be outside the group, and then has no tag.
func TestARestrictedUserOutsideIsAbsent(t *testing.T) {
	for member, absent := range map[botapi.Member]bool{
		{Status: "restricted"}: true, {Status: "restricted", IsMember: true}: false, {Status: "member"}: false, {Status: "creator"}: false,
		{Status: "left"}: true, {Status: "kicked"}: true,
	} {
		if member.Absent() != absent {
			t.Errorf("%+v is absent: %t", member, !absent)
		}
	}
}

// Nobody is reported who has the one tag, speaks as a chat, presses a button, or is where
// Telegram tells no tag.
func TestWhoComesWithoutATagIsReportedWithTheirTag(t *testing.T) {
	for name, test := range map[string]struct {
		two  bool // the group has a second tag
		tag  string
		push func(r *adapterTest)
		want string
	}{
		"without a tag":    {push: say(lounge), want: "[7 -1004 []]"},
		"with another tag": {tag: "Helper", push: say(lounge), want: "[7 -1004 [Helper]]"},
		"with the tag":     {tag: "Staker", push: say(lounge)},
		"by a press":       {tag: "Helper", push: func(r *adapterTest) { r.api.Press(7, faketelegram.Group(lounge), 1, "1 e 0 price") }},
		"with one of two":  {two: true, tag: "Staker", push: say(lounge), want: "[7 -1004 [Staker]]"},
		"in another group": {push: say(-1009)},
		"in private":       {push: say(7)},
		"seen by its user alone": {tag: "Helper", push: func(r *adapterTest) {
			r.api.PushEphemeral(faketelegram.Text(faketelegram.Group(lounge), faketelegram.Person(7), "/price"))
		}, want: "[7 -1004 [Helper]]"},
		"no command": {push: func(r *adapterTest) {
			r.api.Push(faketelegram.Text(faketelegram.Group(lounge), faketelegram.Person(7), "hello"))
		}},
		"in a basic group": {push: func(r *adapterTest) {
			r.api.Push(faketelegram.Text(faketelegram.Chat{ID: lounge, Type: "group"}, faketelegram.Person(7), "/price"))
		}},
		"an unnamed moderator": {push: func(r *adapterTest) {
			m := faketelegram.Text(faketelegram.Group(lounge), faketelegram.Person(7), "/price")
			m["sender_chat"] = faketelegram.Group(lounge)
			r.api.Push(m)
		}},
	} {
		simulated(t, func(t *testing.T, _ *adapterTest) {
			var seen []string
			r := tagTest(t, func(c *Config) {
				c.Seen = func(user chat.User, group string, has []string) {
					seen = append(seen, fmt.Sprint(user.ID, " ", group, " ", has))
				}
			})
			if !test.two {
				r.adapter.Settings.StakerTags = r.adapter.Settings.StakerTags[:1]
			}
			r.api.SetTag(lounge, 7, test.tag)
			stop := r.run()
			test.push(r)
			time.Sleep(time.Minute)
			_ = stop()
			if got := strings.Trim(fmt.Sprint(seen), "[]"); got != strings.Trim(test.want, "[]") {
				t.Errorf("%s: seen %s, want %s", name, seen, test.want)
			}
		})
	}
}

// say returns a function with which user 7 asks for the price in a chat.
func say(id int64) func(*adapterTest) {
	return func(r *adapterTest) {
		r.api.Push(faketelegram.Text(faketelegram.ChatOf(id), faketelegram.Person(7), "/price"))
	}
}

func TestStakerTagsAreReadStrictly(t *testing.T) {
	table := append(new(Settings).Table(), config.Setting{Name: "DATA_DIR", Set: func(string) error { return nil }})
	try := func(value string) config.Errors {
		return configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", "DATA_DIR=x", "STAKER_TAGS="+value)
	}
	for _, value := range []string{
		"telegram:-1:Staker", "telegram:-1:Стейкер,telegram:-2:质押者", "telegram:-1:a-b(c)", "telegram:-1:0123456789abcdef",
		"telegram:-1:a,telegram:-1:b:1", "telegram:-1:a:5,telegram:-1:b:5.5", "telegram:-1:a,telegram:-2:a", "telegram:-1:a b c", "telegram:-1:a,",
		"telegram:-1:  0123456789abcdef  ",
	} {
		if wrong := try(value); len(wrong) > 0 {
			t.Errorf("%s: %v", value, wrong)
		}
	}
	const characters, amount, twice = "must have a tag of 1 to 16 letters", "a colon ends the tag, which has none itself", "must have each tag of a group once"
	for value, want := range map[string]string{
		"telegram:-1:0123456789abcdefg": characters, "telegram:-1::5": characters, "telegram:-1: :5": characters, "telegram:-1:🐳": characters,
		"telegram:-1:1\uFE0F\u20E3": characters, "telegram:-1:🇹🇷": characters, "telegram:-1:a\u200db": characters, "telegram:-1:©": characters,
		"telegram:-1:": "must be telegram:ID:TAG or telegram:ID:TAG:AMOUNT", "telegram:-1": "must be telegram:ID:TAG", "telegram:1:Staker": "must be telegram:ID:TAG",
		"discord:1:Staker": "must be telegram:ID:TAG", "telegram:-1:a telegram:-2:b": amount,
		"telegram:-1:a:b": amount, "telegram:-1:a:b:5": amount, "telegram:-1:a:": amount, "telegram:-1:a:0": amount, "telegram:-1:a:-1": amount,
		"telegram:-1:a:abc": amount, "telegram:-1:a:1e30": amount, "telegram:-2:b,telegram:-1:a:x": "entry 2",
		"telegram:-1:a,telegram:-1:b": twice, "telegram:-1:a:5,telegram:-1:b:5.0": twice, "telegram:-1:a:5,telegram:-1:a:6": twice,
	} {
		configtest.OneMistake(t, table, try(value), "STAKER_TAGS", want)
	}
	configtest.OneMistake(t, table, configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", "STAKER_TAGS=telegram:-1:a"), "STAKER_TAGS", "needs DATA_DIR or REDIS_URL")
}

func TestStakerTagsAreSortedByGroupAndAmount(t *testing.T) {
	var s Settings
	if err := s.setStakerTags("telegram:-2: Big staker :1000, telegram:-1:b:5,telegram:-2:Staker"); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(s.StakerTags); got != "[{-1 b 5} {-2 Staker 0} {-2 Big staker 1000}]" {
		t.Error(got)
	}
}
