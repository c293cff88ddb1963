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

// hall is the ID of a group that becomes a supergroup with the ID hallNow.
const hall, hallNow = int64(-1002), int64(-1000000001003)

// withHall puts the hall into every setting that names groups.
func withHall(c *Config) {
	withJoins(c)
	c.Moves = &platform.Moves{}
	c.ModeratorChats = []string{fmt.Sprint(hall)}
	c.LanguageChats = []string{fmt.Sprint(hall)}
	c.Settings.StakerTags = []chat.Badge{{Community: fmt.Sprint(hall), ID: "Staker"}}
}

// movesSettings are the settings that name the hall.
const movesSettings = "JOIN_CHATS, STAKER_TAGS, MODERATOR_CHATS, CHAT_LANGUAGE"

// migrated delivers the service message about a move in a chat. The field member has the other ID.
func migrated(c faketelegram.Chat, member string, other int64) func(*adapterTest) {
	return func(r *adapterTest) {
		r.deliverMessage(faketelegram.Message{"date": 0, "chat": c, "from": faketelegram.Person(1), member: other})
	}
}

// runMove runs the adapter, moves the hall, and calls learns twice, so that the adapter learns of the move.
func (r *adapterTest) runMove(learns func(*adapterTest)) {
	r.run()
	time.Sleep(time.Second)
	r.api.Migrate(hall, hallNow)
	learns(r)
	learns(r)
	time.Sleep(time.Minute)
}

func TestTheNewIDOfAGroupIsTold(t *testing.T) {
	before, after := faketelegram.Chat{ID: hall, Type: "group"}, faketelegram.Group(hallNow)
	id := fmt.Sprint(hall)
	for way, setting := range ways {
		inBubble(t, map[string]func(*adapterTest){
			"an update in the group":      migrated(before, "migrate_to_chat_id", hallNow),
			"an update in the supergroup": migrated(after, "migrate_from_chat_id", hall),
			"an answer":                   func(r *adapterTest) { r.deliverMessage(writes(before, ann, "/price")) },
			"an approval":                 func(r *adapterTest) { _ = r.adapter.approveJoin(r.Context(), hall, ann) },
			"a question about a role":     func(r *adapterTest) { _, _ = r.adapter.Role(r.Context(), userOf(ann), id) },
			"a tag":                       func(r *adapterTest) { _ = r.adapter.Give(r.Context(), id, "Staker", "7", "") },
		}, func(t *testing.T, learns func(*adapterTest)) {
			r := setUp(t, setting, withHall)
			r.runMove(learns)
			line := fmt.Sprintf("settings=%q from=telegram:%d to=telegram:%d", movesSettings, hall, hallNow)
			check(t, way+": lines of the log", r.logs.Lines(line), 1)
			check(t, way+": all lines of the log", r.logs.Lines("become a supergroup with"), 1)
			move, known := r.adapter.Moves.To(fmt.Sprint("telegram:", hallNow))
			check(t, way+": moderators are told", known, true)
			check(t, way+": settings that moderators see", move.Settings, movesSettings)
		})
	}
}

func TestTheNewIDOfAGroupThatNoSettingNamesIsNotTold(t *testing.T) {
	withoutHall := func(c *Config) { c.Moves = &platform.Moves{} }
	inBubble(t, ways, func(t *testing.T, setting func(*Config)) {
		r := setUp(t, setting, withoutHall)
		r.runMove(migrated(faketelegram.Chat{ID: hall, Type: "group"}, "migrate_to_chat_id", hallNow))
		check(t, "lines of the log", r.logs.Lines("become a supergroup with"), 0)
		_, known := r.adapter.Moves.To(fmt.Sprint("telegram:", hallNow))
		check(t, "moderators are told", known, false)
	})
}

// A process that starts after the move learns of it by getChat.
func TestBotCheckNamesTheEntryOfAGroupThatMoved(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.Migrate(hall, hallNow)
		_, rights, err := r.adapter.Check(t.Context(), nil,
			platform.Entry{Setting: "MODERATOR_CHATS", ID: fmt.Sprint(hall)},
			platform.Entry{Setting: "CHAT_LANGUAGE", ID: fmt.Sprint(hall)},
		)
		if err != nil {
			t.Fatal(err)
		}
		for i, setting := range strings.Split(movesSettings, ", ") {
			line := rights[i].Lines()[0]
			isNamed := strings.HasPrefix(line, setting+", group -1002: ")
			if !isNamed || !strings.Contains(line, "write -1000000001003 in the entry") {
				t.Errorf("%s: %s", setting, line)
			}
		}
		_, known := r.adapter.Moves.To(fmt.Sprint("telegram:", hallNow))
		check(t, "moderators are told", known, true)
	}, withHall)
}

// The settings do not name the new ID, so nobody is approved by it. The moderators decide about open requests.
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
