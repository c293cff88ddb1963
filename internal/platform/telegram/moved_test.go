package telegram

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform"
)

// hall becomes hallNow.
const hall, hallNow = int64(-1002), int64(-1000000001003)

// withHall has the hall in every setting that names groups.
func withHall(c *Config) {
	withJoins(c)
	c.Moves = &platform.Moves{}
	c.ModeratorChats = []string{fmt.Sprint(hall)}
	c.LanguageChats = []string{fmt.Sprint(hall)}
	c.Settings.StakerTags = []chat.Badge{{Community: fmt.Sprint(hall), ID: "Staker"}}
}

// However Telegram says that a group has another ID, the log names the entries once, and moderators
// see it.
func TestTheNewIDOfAGroupIsTold(t *testing.T) {
	const all = "JOIN_CHATS, STAKER_TAGS, MODERATOR_CHATS, CHAT_LANGUAGE"
	before, after := faketelegram.Chat{ID: hall, Type: "group"}, faketelegram.Group(hallNow)
	id := fmt.Sprint(hall)
	service := func(c faketelegram.Chat, member string, other int64) func(*adapterTest) {
		return func(r *adapterTest) {
			r.send(faketelegram.Message{"date": 0, "chat": c, "from": faketelegram.Person(1), member: other})
		}
	}
	type test struct {
		configured bool
		happens    func(*adapterTest)
	}
	for way, setting := range ways {
		inBubble(t, map[string]test{
			"the update in the group":      {true, service(before, "migrate_to_chat_id", hallNow)},
			"the update in the supergroup": {true, service(after, "migrate_from_chat_id", hall)},
			"an answer":                    {true, func(r *adapterTest) { r.send(writes(before, ann, "/price")) }},
			"an approval":                  {true, func(r *adapterTest) { _ = r.adapter.approveJoin(r.Context(), hall, ann) }},
			"a question about a role":      {true, func(r *adapterTest) { _, _ = r.adapter.Role(r.Context(), userOf(ann), id) }},
			"a tag":                        {true, func(r *adapterTest) { _ = r.adapter.Give(r.Context(), id, "Staker", "7", "") }},
			"another group":                {false, service(before, "migrate_to_chat_id", hallNow)},
		}, func(t *testing.T, tt test) {
			change := withHall
			if !tt.configured {
				change = func(c *Config) { c.Moves = &platform.Moves{} }
			}
			r := setUp(t, setting, change)
			r.run()
			time.Sleep(time.Second)
			r.api.Migrate(hall, hallNow)
			tt.happens(r)
			tt.happens(r)
			time.Sleep(time.Minute)
			line := fmt.Sprintf("settings=%q from=telegram:%d to=telegram:%d", all, hall, hallNow)
			want := map[bool]int{true: 1}[tt.configured]
			check(t, way+": lines of the log", r.logs.Lines(line), want)
			check(t, way+": all lines of the log", r.logs.Lines("become a supergroup with"), want)
			move, known := r.adapter.Moves.To(fmt.Sprint("telegram:", hallNow))
			if known != tt.configured || known && move.Settings != all {
				t.Errorf("%s: moderators see %+v, %t", way, move, known)
			}
		})
	}
}

// A process that starts later learns of it by getChat. Bot check names each entry.
func TestBotCheckNamesTheEntryOfAGroupThatMoved(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.Migrate(hall, hallNow)
		moderated := platform.Entry{Setting: "MODERATOR_CHATS", ID: fmt.Sprint(hall)}
		spoken := platform.Entry{Setting: "CHAT_LANGUAGE", ID: fmt.Sprint(hall)}
		_, rights, err := r.adapter.Check(t.Context(), nil, moderated, spoken)
		for i, setting := range []string{"JOIN_CHATS", "STAKER_TAGS", "MODERATOR_CHATS", "CHAT_LANGUAGE"} {
			line := rights[i].Lines()[0]
			names := strings.HasPrefix(line, setting+", group -1002: ")
			if !names || !strings.Contains(line, "write -1000000001003 in the entry") || err != nil {
				t.Errorf("%s, %v", line, err)
			}
		}
		if _, known := r.adapter.Moves.To(fmt.Sprint("telegram:", hallNow)); !known {
			t.Error("moderators are not told")
		}
	}, withHall)
}

// Nobody is approved by the new ID, which the settings do not name: an open request stays open for the
// moderators.
func TestAMovedGroupsRequestsStayOpen(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = joinReply
		r.api.GrantInvite(hall, true)
		r.api.GrantInvite(hallNow, true)
		r.run()
		time.Sleep(time.Second)
		r.api.RequestJoin(faketelegram.Chat{ID: hall, Type: "group"}, faketelegram.Person(7), false)
		r.api.Migrate(hall, hallNow)
		r.api.RequestJoin(faketelegram.Group(hallNow), faketelegram.Person(8), false)
		time.Sleep(time.Minute)
		for _, request := range r.api.JoinRequests() {
			check(t, fmt.Sprint(request.Chat.ID), request.State, faketelegram.JoinOpen)
		}
		check(t, "let in", r.events.Of("join_approved"), 0)
	}, withHall)
}
