package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// members and stakers are groups of Telegram that people ask to join.
var (
	members = faketelegram.Chat{ID: -1005, Type: "supergroup", Title: "MAT Holders"}
	stakers = faketelegram.Chat{ID: -1006, Type: "supergroup", Title: "MAT Stakers"}
)

// door is a platform and services before a bot on Redis that gives a role and, on Telegram,
// answers requests to join.
type door struct {
	*testing.T
	fakes    *fault.Fakes
	platform *e2etest.Platform
	redis    *miniredis.Miniredis
	settings []string
}

func newDoor(t *testing.T, way e2etest.Way) *door {
	t.Helper()
	d := &door{T: t, fakes: fault.Start(t), platform: way.Open(t), redis: miniredis.RunT(t)}
	d.settings = e2etest.OnRedis(d.redis)
	if way.OnDiscord {
		d.platform.Discord.AddGuild(e2etest.GuildID, []fakediscord.Role{
			{ID: "7", Name: "Staker", Position: 1}, {ID: "8", Name: "Herald", Position: 2, Permissions: discordgo.PermissionManageRoles},
		}, "8")
		d.settings = append(d.settings, "STAKER_ROLES=discord:"+e2etest.GuildID+":7")
		return d
	}
	for _, group := range []faketelegram.Chat{members, stakers} {
		d.platform.Telegram.GrantInvite(group.ID, true)
		d.platform.Telegram.SetChat(faketelegram.ChatInfo{Chat: group, JoinByRequest: true})
	}
	d.platform.Telegram.GrantTags(e2etest.GroupID, true)
	d.settings = append(d.settings, fmt.Sprintf("JOIN_CHATS=telegram:%d:registered,telegram:%d:staker", members.ID, stakers.ID),
		fmt.Sprintf("STAKER_TAGS=telegram:%d:Staker", e2etest.GroupID))
	return d
}

// knock has a person ask to join a group; Telegram delivers that so many times.
func (d *door) knock(p services.Person, group faketelegram.Chat, guarded bool, times int) {
	user := d.platform.User(p)
	d.platform.Deliver(user, times, func() { d.platform.Telegram.RequestJoin(group, faketelegram.Person(user), guarded) })
}

// await waits until every request has its answer, in the order of the requests, and fails
// unless it has that one alone.
func (d *door) await(want string) {
	d.Helper()
	e2etest.Eventually(d, "answers "+want, func() bool {
		var states []string
		for _, j := range d.platform.Telegram.JoinRequests() {
			if len(j.Answers) > 1 {
				d.Fatalf("answered with %v", j.Answers)
			}
			states = append(states, string(j.State))
		}
		return strings.Join(states, " ") == want
	})
}

// told waits until a person is told a text in private, and returns the message.
func (d *door) told(p services.Person, text string) (told faketelegram.Sent) {
	d.Helper()
	e2etest.Eventually(d, text, func() bool {
		return slices.ContainsFunc(d.platform.Telegram.Sent(), func(m faketelegram.Sent) bool {
			told = m
			return m.Chat == d.platform.User(p) && strings.Contains(m.Text, text)
		})
	})
	return told
}

// People are let in or told why not, by polling and by webhook, and the metrics count
// that.
func TestTheDoorLetsPeopleIn(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways[:2] {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			w, bot := d.fakes.World, d.platform.Serve(d.fakes, d.settings...)
			d.knock(w.Newcomer, members, true, 2)
			d.told(w.Newcomer, "You're in: MAT Holders")
			d.knock(w.Unregistered, members, false, 1)
			d.told(w.Unregistered, "you're not registered yet")
			d.knock(w.Registered, stakers, false, 1)
			question := d.told(w.Registered, "MAT Stakers: two things")
			user := way.User(w.Registered)
			d.platform.Deliver(user, 1, func() {
				d.platform.Telegram.Push(faketelegram.Text(faketelegram.Private(user), faketelegram.Person(user), w.Staker.Hex()).ReplyingTo(question))
			})
			d.told(w.Registered, "You're in: MAT Stakers")
			d.await("approved open approved")
			page := e2etest.Metrics(t, bot.URL)
			for _, counted := range []string{`{event="join_approved",platform="telegram"} 2`, `{event="join_left_open",platform="telegram"} 2`} {
				if !strings.Contains(page, "herald_adapter_events_total"+counted) {
					t.Errorf("the metrics lack %s", counted)
				}
			}
		})
	}
}

// /help in a group or a server names the role there and the groups that can be joined, once
// their names are known. In a server it has the list of all commands.
func TestHelpNamesTheWayToARole(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			d.platform.Serve(d.fakes, d.settings...)
			want := []string{"/verify gets you Staker", "join on Telegram: MAT Holders ·\u00a0MAT Stakers"}
			if way.OnDiscord {
				want = []string{"gets you Staker", "mylogins"}
			}
			user := int64(9000)
			e2etest.Eventually(t, strings.Join(want, " and "), func() bool {
				user++
				text := d.platform.Ask(e2etest.Command{User: user, Group: true, Name: "help"}).Wait().Text
				return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) })
			})
		})
	}
}
