package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// lounge is a group with tags.
const lounge, loungeID = int64(-1004), "-1004"

// tagTest returns the adapterTest of a bot that may set two tags in the lounge.
func tagTest(t *testing.T, changes ...func(*Config)) *adapterTest {
	withTags := func(c *Config) {
		c.Settings.StakerTags = []chat.Badge{
			{Community: loungeID, ID: "Staker"},
			{Community: loungeID, ID: "Big staker", Amount: decimal.NewFromInt(1000)},
		}
	}
	r := setUp(t, append([]func(*Config){withTags}, changes...)...)
	r.api.GrantTags(lounge, true)
	r.api.SetChat(faketelegram.ChatInfo{
		Chat:        faketelegram.Chat{ID: lounge, Type: "supergroup", Title: "Lounge"},
		Permissions: &faketelegram.ChatPermissions{},
	})
	return r
}

// giveTag makes the adapter give user 7 a tag of the lounge.
func (r *adapterTest) giveTag(tag string) {
	r.Helper()
	if err := r.adapter.Give(r.Context(), loungeID, tag, "7", ""); err != nil {
		r.Errorf("giving %q: %v", tag, err)
	}
}

// removeTag makes the adapter remove a tag of the lounge from user 7.
func (r *adapterTest) removeTag(tag string) {
	r.Helper()
	if err := r.adapter.Remove(r.Context(), loungeID, tag, "7", ""); err != nil {
		r.Errorf("removing %q: %v", tag, err)
	}
}

// checkTag fails the test unless the adapter finds that user 7 has this tag in the lounge, or none if want is "".
func (r *adapterTest) checkTag(want string) {
	r.Helper()
	tags, err := r.adapter.Worn(r.Context(), loungeID, "7")
	if got := strings.Join(tags, ", "); got != want || err != nil {
		r.Errorf("has %q, %v, want %q", got, err, want)
	}
}

func TestGivingATagReplacesTheOldOne(t *testing.T) {
	r := tagTest(t)
	r.checkTag("")
	r.api.SetTag(lounge, 7, "Newcomer")
	for _, tag := range []string{"Staker", "Staker", "Big staker"} {
		r.giveTag(tag)
		r.checkTag(tag)
	}
	check(t, "calls that set a tag", len(r.api.TagCalls()), 3)
}

func TestRemovingATagLeavesAnother(t *testing.T) {
	for _, present := range []string{"Big staker", "Helper", ""} {
		r := tagTest(t)
		r.api.SetTag(lounge, 7, present)
		r.removeTag("Staker")
		check(t, "tag", r.api.Tag(lounge, 7), present)
		check(t, "calls that set a tag", len(r.api.TagCalls()), 0)
	}
}

func TestATagIsRemovedOnce(t *testing.T) {
	r := tagTest(t)
	r.api.SetTag(lounge, 7, "Big staker")
	r.checkTag("Big staker")
	r.removeTag("Big staker")
	r.checkTag("")
	r.removeTag("Big staker")
	check(t, "tag", r.api.Tag(lounge, 7), "")
	check(t, "calls that set a tag", len(r.api.TagCalls()), 1)
}

func TestTagsAndGroupsHaveTheirNames(t *testing.T) {
	r := tagTest(t)
	check(t, "one tag each", r.adapter.OneEach(), true)
	check(t, "tags", len(r.adapter.Settings.StakerTags), 2)
	check(t, "name of a tag", r.adapter.BadgeName(loungeID, "Big staker"), "Big staker")
	check(t, "name of a group that was not read", r.adapter.CommunityName(loungeID), "")
	if _, _, err := r.adapter.Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
	check(t, "name of a group that was read", r.adapter.CommunityName(loungeID), "Lounge")
	check(t, "name of another group", r.adapter.CommunityName("-5"), "")
}

// withStatus gives user 7 a status in the lounge.
func withStatus(status string) func(*adapterTest) {
	return func(r *adapterTest) { r.api.Promote(lounge, 7, status) }
}

// failing makes the next call of a method fail.
func failing(method string, fault telegramtest.Fault) func(*adapterTest) {
	return func(r *adapterTest) { r.api.Fail(method, fault) }
}

// refusing makes Telegram refuse the next call of a method.
func refusing(method string, status int, description string) func(*adapterTest) {
	return failing(method, telegramtest.Fault{Status: status, Description: description})
}

// tagRefusal is something that happens while user 7 has a tag, and the problem that each method then returns. The
// problem is "" if the method succeeds.
type tagRefusal struct {
	happens func(r *adapterTest)
	give    chat.BadgeProblem
	remove  chat.BadgeProblem
	worn    chat.BadgeProblem
}

// checkTagRefusals calls the three methods in each of the cases.
func checkTagRefusals(t *testing.T, cases map[string]tagRefusal) {
	t.Helper()
	for name, tt := range cases {
		r := tagTest(t)
		r.api.SetTag(lounge, 7, "Staker")
		tt.happens(r)
		giveErr := r.adapter.Give(t.Context(), loungeID, "Staker", "7", "")
		removeErr := r.adapter.Remove(t.Context(), loungeID, "Staker", "7", "")
		_, wornErr := r.adapter.Worn(t.Context(), loungeID, "7")
		checkProblem(t, name+": give", giveErr, tt.give)
		checkProblem(t, name+": remove", removeErr, tt.remove)
		checkProblem(t, name+": worn", wornErr, tt.worn)
	}
}

// checkProblem checks that err is a BadgeError with a problem and nothing else, or nil if the problem is "".
func checkProblem(t *testing.T, what string, err error, want chat.BadgeProblem) {
	t.Helper()
	if want == "" {
		check(t, what, err, nil)
		return
	}
	failed, ok := errors.AsType[*chat.BadgeError](err)
	if !ok || failed.Problem != want || failed.OutcomeUnknown || failed.RetryAfter != 0 {
		t.Errorf("%s: got %+v of %v, want %q", what, failed, err, want)
	}
}

func TestTagRefusedByTheMembersStatus(t *testing.T) {
	const restrictedOutside = `{"ok":true,"result":{"status":"restricted","user":{"id":7}}}`
	checkTagRefusals(t, map[string]tagRefusal{
		"left": {
			happens: withStatus("left"),
			give:    chat.NotAMember,
			remove:  chat.NotAMember,
			worn:    chat.NotAMember,
		},
		"banned": {
			happens: withStatus("kicked"),
			give:    chat.NotAMember,
			remove:  chat.NotAMember,
			worn:    chat.NotAMember,
		},
		"restricted": {
			happens: withStatus("restricted"),
		},
		"restricted, and outside": {
			happens: func(r *adapterTest) {
				r.divert("getChatMember", time.Hour, fixedAnswer(http.StatusOK, restrictedOutside))
			},
			remove: chat.NotAMember,
			worn:   chat.NotAMember,
		},
		"an administrator": {
			happens: withStatus("administrator"),
			give:    chat.CannotHave,
			worn:    chat.CannotHave,
		},
		"the owner": {
			happens: withStatus("creator"),
			give:    chat.CannotHave,
			worn:    chat.CannotHave,
		},
	})
}

func TestTagRefusedByTheBotsStatus(t *testing.T) {
	noRight := func(r *adapterTest) { r.api.GrantTags(lounge, false) }
	removed := func(r *adapterTest) { r.api.Promote(lounge, faketelegram.BotID, "kicked") }
	membersHidden := refusing("getChatMember", http.StatusBadRequest, "Bad Request: member list is inaccessible")
	checkTagRefusals(t, map[string]tagRefusal{
		"no right": {
			happens: noRight,
			give:    chat.MissingRight,
			remove:  chat.MissingRight,
		},
		"the bot removed": {
			happens: removed,
			give:    chat.MissingRight,
			remove:  chat.MissingRight,
			worn:    chat.MissingRight,
		},
		"members not shown": {
			happens: membersHidden,
			remove:  chat.MissingRight,
		},
	})
}

func TestTagRefusedAfterTheGroupIsGone(t *testing.T) {
	unknown := func(r *adapterTest) {
		r.api.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Chat{ID: lounge}, Unknown: true})
	}
	migrated := func(r *adapterTest) { r.api.Migrate(lounge, -1005) }
	deleted := refusing("setChatMemberTag", http.StatusForbidden, "Forbidden: the group chat was deleted")
	checkTagRefusals(t, map[string]tagRefusal{
		"no such group": {
			happens: unknown,
			give:    chat.CommunityGone,
			remove:  chat.CommunityGone,
			worn:    chat.CommunityGone,
		},
		"a supergroup now": {
			happens: migrated,
			give:    chat.CommunityGone,
			remove:  chat.CommunityGone,
			worn:    chat.CommunityGone,
		},
		"deleted": {
			happens: deleted,
			give:    chat.CommunityGone,
		},
	})
}

func TestTagCallsFail(t *testing.T) {
	unreachable := func(r *adapterTest) { r.api.Break("getChatMember", telegramtest.ResetBefore()) }
	newError := refusing("setChatMemberTag", http.StatusBadRequest, "Bad Request: TAG_SOMETHING")
	checkTagRefusals(t, map[string]tagRefusal{
		"a new error": {
			happens: newError,
			give:    chat.BadgeFailed,
		},
		"cannot be asked": {
			happens: unreachable,
			remove:  chat.BadgeFailed,
			worn:    chat.BadgeFailed,
		},
	})
}

func TestAFailedTagCallTellsWhatFollows(t *testing.T) {
	for name, tt := range map[string]struct {
		fault telegramtest.Fault
		want  chat.BadgeError
	}{
		"too many requests": {
			telegramtest.TooMany(9 * time.Second),
			chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: 9 * time.Second},
		},
		"a broken server": {
			telegramtest.Page(http.StatusBadGateway),
			chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true},
		},
		"a refusal": {
			telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: TAG_SOMETHING"},
			chat.BadgeError{Problem: chat.BadgeFailed},
		},
	} {
		r := tagTest(t)
		r.api.Fail("setChatMemberTag", tt.fault)
		err := r.adapter.Give(t.Context(), loungeID, "Staker", "7", "")
		got, ok := errors.AsType[*chat.BadgeError](err)
		if !ok {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		check(t, name+": problem", got.Problem, tt.want.Problem)
		check(t, name+": the outcome is unknown", got.OutcomeUnknown, tt.want.OutcomeUnknown)
		check(t, name+": wait", got.RetryAfter, tt.want.RetryAfter)
	}
}

// A bot may write to a user in private only after they have started it. User 8 has not.
func TestNoticesGoToPrivateChatsThatExist(t *testing.T) {
	for way, change := range ways {
		synctest.Test(t, func(t *testing.T) {
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

// senderReport is an action of user 7, and the report about them: their ID, the group and their tags. The report is ""
// if there is none.
type senderReport struct {
	tag  string // of user 7 in the lounge
	does func(r *adapterTest)
	want string
}

// checkSenderReports runs an adapter in each of the cases.
func checkSenderReports(t *testing.T, cases map[string]senderReport, changes ...func(*Config)) {
	t.Helper()
	for name, tt := range cases {
		synctest.Test(t, func(t *testing.T) {
			var seen []string
			r := tagTest(t, changes...)
			r.handler.OnSeen = func(user chat.User, group string, has []string) {
				seen = append(seen, fmt.Sprint(user.ID, " ", group, " ", has))
			}
			r.api.SetTag(lounge, 7, tt.tag)
			stop := r.run()
			tt.does(r)
			time.Sleep(time.Minute)
			_ = stop()
			check(t, name+": reported", strings.Join(seen, ", "), tt.want)
		})
	}
}

// withOneTag removes the lounge's second tag from the settings.
func withOneTag(c *Config) { c.Settings.StakerTags = c.Settings.StakerTags[:1] }

// The adapter reports every tag: Members decides who lacks one.
func TestSenderInAGroupWithTagsIsReportedWithTheirTag(t *testing.T) {
	ephemerally := func(r *adapterTest) { r.api.PushEphemeral(writes(faketelegram.Group(lounge), 7, "/price")) }
	cases := map[string]senderReport{
		"without a tag": {
			does: asksPriceIn(lounge),
			want: "7 -1004 []",
		},
		"with another tag": {
			tag:  "Helper",
			does: asksPriceIn(lounge),
			want: "7 -1004 [Helper]",
		},
		"with the tag": {
			tag:  "Staker",
			does: asksPriceIn(lounge),
			want: "7 -1004 [Staker]",
		},
		"seen by its user alone": {
			tag:  "Helper",
			does: ephemerally,
			want: "7 -1004 [Helper]",
		},
	}
	checkSenderReports(t, cases, withOneTag)
	checkSenderReports(t, map[string]senderReport{
		"with one of two tags": {
			tag:  "Staker",
			does: asksPriceIn(lounge),
			want: "7 -1004 [Staker]",
		},
	})
}

func TestSenderWithoutAKnownTagIsNotReported(t *testing.T) {
	loungeGroup := faketelegram.Group(lounge)
	cases := map[string]senderReport{
		"in another group": {does: asksPriceIn(-1009)},
		"in private":       {does: asksPriceIn(7)},
		"by a press": {
			tag:  "Helper",
			does: func(r *adapterTest) { r.api.Press(7, loungeGroup, 1, "1 e 0 price") },
		},
		"no command": {
			does: func(r *adapterTest) { r.api.Push(writes(loungeGroup, 7, "hello")) },
		},
		"in a basic group": {
			does: func(r *adapterTest) { r.api.Push(writes(faketelegram.Chat{ID: lounge, Type: "group"}, 7, "/price")) },
		},
		"an unnamed moderator": {
			does: func(r *adapterTest) {
				m := writes(loungeGroup, 7, "/price")
				m["sender_chat"] = loungeGroup
				r.api.Push(m)
			},
		},
	}
	checkSenderReports(t, cases, withOneTag)
}

// asksPriceIn returns a function with which user 7 asks for the price in a chat.
func asksPriceIn(id int64) func(*adapterTest) {
	return func(r *adapterTest) { r.api.Push(writes(faketelegram.ChatOf(id), 7, "/price")) }
}

func TestStakerTagsAreSortedByGroupAndAmount(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  string
	}{
		{
			value: "telegram:-2: Big staker :1000, telegram:-1:b:5,telegram:-2:Staker",
			want:  "[{-1 b 5} {-2 Staker 0} {-2 Big staker 1000}]",
		},
		{
			value: "telegram:-1:a:5,telegram:-1:b:5.5,telegram:-2:a",
			want:  "[{-1 a 5} {-1 b 5.5} {-2 a 0}]",
		},
		{
			value: "telegram:-1:Стейкер,telegram:-2:质押者",
			want:  "[{-1 Стейкер 0} {-2 质押者 0}]",
		},
		{
			value: "telegram:-1:  0123456789abcdef  ,telegram:-2:a-b(c)",
			want:  "[{-1 0123456789abcdef 0} {-2 a-b(c) 0}]",
		},
	} {
		var s Settings
		if err := s.setStakerTags(tt.value); err != nil {
			t.Error(err)
		}
		check(t, tt.value, fmt.Sprint(s.StakerTags), tt.want)
	}
}
