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
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
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
	if _, _, err := r.adapter.Check(t.Context(), nil); err != nil {
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
		"left":       {func(r *adapterTest) { r.api.Promote(lounge, 7, "left") }, chat.NotAMember, chat.NotAMember, chat.NotAMember},
		"banned":     {func(r *adapterTest) { r.api.Promote(lounge, 7, "kicked") }, chat.NotAMember, chat.NotAMember, chat.NotAMember},
		"restricted": {func(r *adapterTest) { r.api.Promote(lounge, 7, "restricted") }, "", "", ""},
		"restricted, and outside": {func(r *adapterTest) {
			r.carry("getChatMember", time.Hour, answersWith(http.StatusOK, `{"ok":true,"result":{"status":"restricted","user":{"id":7}}}`))
		}, "", chat.NotAMember, chat.NotAMember},
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
		"cannot be asked": {func(r *adapterTest) { r.api.Break("getChatMember", telegramtest.ResetBefore()) }, "", chat.BadgeFailed, chat.BadgeFailed},
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
			notice := &chat.Reply{Language: chat.English, Title: chat.Say("exists.no")}
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

// Nobody is reported who speaks as a chat, presses a button, or is where Telegram tells no tag. Members decides who
// lacks a tag.
func TestSenderInAGroupOfTheSettingsIsReportedWithTheirTag(t *testing.T) {
	for name, test := range map[string]struct {
		two  bool // the group has a second tag
		tag  string
		push func(r *adapterTest)
		want string
	}{
		"without a tag":    {push: say(lounge), want: "[7 -1004 []]"},
		"with another tag": {tag: "Helper", push: say(lounge), want: "[7 -1004 [Helper]]"},
		"with the tag":     {tag: "Staker", push: say(lounge), want: "[7 -1004 [Staker]]"},
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
			r := tagTest(t)
			r.handler.OnSeen = func(user chat.User, group string, has []string) {
				seen = append(seen, fmt.Sprint(user.ID, " ", group, " ", has))
			}
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

func TestStakerTagsAreSortedByGroupAndAmount(t *testing.T) {
	for value, want := range map[string]string{
		"telegram:-2: Big staker :1000, telegram:-1:b:5,telegram:-2:Staker": "[{-1 b 5} {-2 Staker 0} {-2 Big staker 1000}]",
		"telegram:-1:a:5,telegram:-1:b:5.5,telegram:-2:a":                   "[{-1 a 5} {-1 b 5.5} {-2 a 0}]",
		"telegram:-1:Стейкер,telegram:-2:质押者":                               "[{-1 Стейкер 0} {-2 质押者 0}]",
		"telegram:-1:  0123456789abcdef  ,telegram:-2:a-b(c)":               "[{-1 0123456789abcdef 0} {-2 a-b(c) 0}]",
	} {
		var s Settings
		if err := s.setStakerTags(value); err != nil || fmt.Sprint(s.StakerTags) != want {
			t.Errorf("%s is read as %v, %v", value, s.StakerTags, err)
		}
	}
}
