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

// The door is what decides who may join a group. It lets registered people into one group, and stakers into
// another.
func TestTheDoorLetsPeopleInOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.TelegramWays {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			world := d.fakes.World
			bot := d.platform.Serve(d.fakes, d.settings...)

			d.requestJoin(world.Newcomer, members, guarded, 2)
			d.awaitMessage(world.Newcomer, "You're in: MAT Holders")

			d.requestJoin(world.Unregistered, members, unguarded, 1)
			d.awaitMessage(world.Unregistered, "you're not registered yet")

			d.requestJoin(world.Registered, stakers, unguarded, 1)
			question := d.awaitMessage(world.Registered, "MAT Stakers: two things")
			d.answerQuestion(world.Registered, question, world.Staker.Hex())
			d.awaitMessage(world.Registered, "You're in: MAT Stakers")

			d.awaitJoins("approved open approved")
			checkEvents(t, bot, "join_approved", 2)
			checkEvents(t, bot, "join_left_open", 2) // The third request was left open until its question was answered.
		})
	}
}

// Once the bot knows their names, /help names the role or tag, and on Telegram the groups that can be joined.
func TestHelpNamesTheWayToARole(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			d.platform.Serve(d.fakes, d.settings...)
			want := []string{"/verify gets you Staker", "join on Telegram: MAT Holders ·\u00a0MAT Stakers"}
			if way.OnDiscord {
				want = []string{"gets you Staker", "mylogins"} // In a server it also lists the commands.
			}
			user := int64(9000) // another user in each attempt
			e2etest.Eventually(t, strings.Join(want, " and "), func() bool {
				user++
				help := d.platform.Ask(e2etest.Command{User: user, Group: true, Name: "help"}).Wait()
				lacks := func(part string) bool { return !strings.Contains(help.Text, part) }
				return !slices.ContainsFunc(want, lacks)
			})
		})
	}
}

// Groups of Telegram that people ask to join.
var (
	members = faketelegram.Chat{ID: -1005, Type: "supergroup", Title: "MAT Holders"} // for registered people
	stakers = faketelegram.Chat{ID: -1006, Type: "supergroup", Title: "MAT Stakers"} // for stakers
)

// door is all that a bot needs to give a role or a tag and, on Telegram, to answer join requests. Tests start
// the bot.
type door struct {
	*testing.T
	fakes    *fault.Fakes
	platform *e2etest.Platform
	redis    *miniredis.Miniredis
	settings []string // of the bot, besides those of fakes and platform
}

// newDoor starts everything except the bot.
func newDoor(t *testing.T, way e2etest.Way) *door {
	t.Helper()
	d := &door{
		T:        t,
		fakes:    fault.Start(t),
		platform: way.Open(t),
		redis:    miniredis.RunT(t),
	}
	d.settings = e2etest.OnRedis(d.redis)
	if way.OnDiscord {
		d.openDiscord()
	} else {
		d.openTelegram()
	}
	return d
}

// openDiscord adds a server in which the bot can give a role.
func (d *door) openDiscord() {
	roles := []fakediscord.Role{
		{ID: "7", Name: "Staker", Position: 1},
		{ID: "8", Name: "Herald", Position: 2, Permissions: discordgo.PermissionManageRoles},
	}
	d.platform.Discord.AddGuild(e2etest.GuildID, roles, "8")
	d.settings = append(d.settings, "STAKER_ROLES=discord:"+e2etest.GuildID+":7")
}

// openTelegram adds two groups that people ask to join, and one in which the bot can give a tag.
func (d *door) openTelegram() {
	for _, group := range []faketelegram.Chat{members, stakers} {
		d.platform.Telegram.GrantInvite(group.ID, true)
		d.platform.Telegram.SetChat(faketelegram.ChatInfo{Chat: group, JoinByRequest: true})
	}
	d.platform.Telegram.GrantTags(e2etest.GroupID, true)
	d.settings = append(d.settings,
		fmt.Sprintf("JOIN_CHATS=telegram:%d:registered,telegram:%d:staker", members.ID, stakers.ID),
		fmt.Sprintf("STAKER_TAGS=telegram:%d:Staker", e2etest.GroupID))
}

// guard is whether the bot is the guard of a group: whether Telegram waits for the bot's answer before it shows a
// join request to administrators.
type guard bool

const (
	guarded   guard = true
	unguarded guard = false
)

// requestJoin makes a person ask to join a group. Telegram delivers the request the given number of times.
func (d *door) requestJoin(p services.Person, group faketelegram.Chat, g guard, times int) {
	user := d.platform.User(p)
	d.platform.Deliver(user, times, func() {
		d.platform.Telegram.RequestJoin(group, faketelegram.Person(user), bool(g))
	})
}

// awaitJoins waits until the join requests have these states, the oldest first, as in "approved open". It ends
// the test if a request is answered twice.
func (d *door) awaitJoins(want string) {
	d.Helper()
	e2etest.Eventually(d, "join requests are "+want, func() bool {
		var states []string
		for _, j := range d.platform.Telegram.JoinRequests() {
			if len(j.Answers) > 1 {
				d.Fatalf("a join request is answered with %v", j.Answers)
			}
			states = append(states, string(j.State))
		}
		return strings.Join(states, " ") == want
	})
}

// awaitMessage waits until a person gets a private message that contains text, and returns it.
func (d *door) awaitMessage(p services.Person, text string) (message faketelegram.Sent) {
	d.Helper()
	e2etest.Eventually(d, text, func() bool {
		sent := d.platform.Telegram.Sent()
		i := slices.IndexFunc(sent, func(m faketelegram.Sent) bool {
			return m.Chat == d.platform.User(p) && strings.Contains(m.Text, text)
		})
		if i < 0 {
			return false
		}
		message = sent[i]
		return true
	})
	return message
}

// answerQuestion makes a person reply with text to a question that the bot asked in private.
func (d *door) answerQuestion(p services.Person, question faketelegram.Sent, text string) {
	user := d.platform.User(p)
	message := faketelegram.Text(faketelegram.Private(user), faketelegram.Person(user), text)
	d.platform.Deliver(user, 1, func() { d.platform.Telegram.Push(message.ReplyingTo(question)) })
}

// checkEvents fails the test unless the bot has counted an event on Telegram this many times.
func checkEvents(t *testing.T, bot *e2etest.Bot, event string, times int) {
	t.Helper()
	want := fmt.Sprintf(`herald_adapter_events_total{event="%s",platform="telegram"} %d`, event, times)
	if !strings.Contains(e2etest.Metrics(t, bot.URL), want) {
		t.Errorf("the metrics lack %s", want)
	}
}
