package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// SIGTERM comes while commands are in flight and, on Telegram, while a join request is, and while the bot is
// added to a group. The bot starts again on the same Redis, and gets further commands.
func TestAStopAnswersEverythingOnce(t *testing.T) {
	t.Parallel()
	const commands = 12 // before the stop, and again after it
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			replicas := d.serve()
			for _, bot := range replicas {
				bot.AwaitProbes()
			}
			requestsBefore := d.fakes.Chain.Requests()
			d.fakes.Chain.SetFault(fault.Late(400 * time.Millisecond))
			d.fakes.Partner.SetFault(fault.Late(time.Second))
			asked := d.askStakes(0, commands)
			if !way.OnDiscord {
				d.requestJoinAndAddBot(2)
			}
			e2etest.Eventually(t, "all are in flight", func() bool {
				return d.fakes.Chain.Requests() >= requestsBefore+commands
			})
			d.stop(replicas)
			d.serve()
			asked = append(asked, d.askStakes(commands, commands)...)
			for _, a := range asked {
				a.Wait()
			}
			if !way.OnDiscord {
				d.checkSettled()
			}
			checkAnsweredOnce(t, asked)
			if way != e2etest.TelegramPolling {
				checkTTLInRedis(t, way, d.redis)
			}
			d.checkAnonymousRedis(asked)
		})
	}
}

// serve runs the bot. If the way is by HTTP, it runs two replicas, which get deliveries in turn.
func (d *door) serve() (replicas []*e2etest.Bot) {
	replicas = append(replicas, d.platform.Serve(d.fakes, d.settings...))
	if d.platform.ByHTTP {
		replicas = append(replicas, d.platform.Serve(d.fakes, d.settings...))
		d.platform.Through(replicas[0].URL, replicas[1].URL)
	}
	return replicas
}

// stop stops the replicas at once, as SIGTERM does, and waits until they have ended.
func (d *door) stop(replicas []*e2etest.Bot) {
	d.Helper()
	for _, bot := range replicas {
		bot.Stop()
	}
	for _, bot := range replicas {
		if err := bot.AwaitEnd(); err != nil {
			d.Fatal(err)
		}
	}
}

// askStakes sends n commands /staked, with the numbers first to first+n-1. The user and the wallet depend on the
// number. The platform delivers each command twice.
func (d *door) askStakes(first, n int) (asked []*e2etest.Asked) {
	for i := first; i < first+n; i++ {
		asked = append(asked, d.platform.Ask(e2etest.Command{
			User:     stakesUser + int64(i),
			Name:     "staked",
			Argument: wallet(i),
			Times:    2,
		}))
	}
	return asked
}

const (
	stakesUser   = 7_123_456_000 // the user of the command with the number 0
	stakesPrefix = "7123456"     // how the IDs of all users of askStakes begin
)

// wallet returns the ith wallet that stakes nothing.
func wallet(i int) string { return fmt.Sprintf("0x%040x", 0xabc000+i) }

// requestJoinAndAddBot makes a person ask to join a group, waits until the bot asks the partner about them, and
// adds the bot to another group. Telegram delivers each this many times.
func (d *door) requestJoinAndAddBot(times int) {
	d.Helper()
	requestsBefore := d.fakes.Partner.Requests()
	d.requestJoin(d.fakes.World.Newcomer, members, unguarded, times)
	e2etest.Eventually(d, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > requestsBefore })
	d.addBot(times)
}

// checkAnsweredOnce fails the test unless each command of askStakes has one answer.
func checkAnsweredOnce(t *testing.T, asked []*e2etest.Asked) {
	t.Helper()
	for _, a := range asked {
		answers := a.Answers()
		if len(answers) != 1 || !strings.Contains(answers[0].Text, "Not staked") {
			t.Errorf("%s is answered with %+v, want one answer", a.Argument, answers)
		}
	}
}

// checkAnonymousRedis fails the test if Redis holds a user or a wallet of askStakes.
func (d *door) checkAnonymousRedis(asked []*e2etest.Asked) {
	d.Helper()
	dump := strings.ToLower(d.redis.Dump())
	if strings.Contains(dump, stakesPrefix) {
		d.Errorf("a user is named in Redis: %s", dump)
	}
	for _, a := range asked {
		if strings.Contains(dump, strings.ToLower(a.Argument[2:])) {
			d.Errorf("the wallet %s is named in Redis: %s", a.Argument, dump)
		}
	}
}

// checkTTLInRedis waits until Redis remembers an answered update. It fails the test unless Redis remembers each
// for as long as the platform may deliver it again: Telegram for a day, Discord until the interaction is
// invalid. The bot must still run, because it may write this late if Redis is slow.
func checkTTLInRedis(t *testing.T, way e2etest.Way, redis *miniredis.Miniredis) {
	t.Helper()
	isDone := func(key string) bool {
		value, _ := redis.Get(key)
		return value == "done"
	}
	e2etest.Eventually(t, "Redis holds an answered update", func() bool {
		return slices.ContainsFunc(redis.Keys(), isDone)
	})
	want := 24 * time.Hour
	if way.OnDiscord {
		want = 15 * time.Minute
	}
	// The check of all saved addresses, once in RECHECK_EVERY, is remembered in the same way.
	const recheckEvery = 6 * time.Hour
	for _, key := range redis.Keys() {
		ttl := redis.TTL(key)
		isUpdate := isDone(key) && ttl.Round(time.Minute) != recheckEvery
		if isUpdate && (ttl > want || ttl < want-time.Minute) {
			t.Errorf("Redis holds an answered update for %v, want %v", ttl, want)
		}
	}
}

// The bot is killed while one command hangs. A poll acknowledges an update only if all earlier ones are
// answered. So Telegram delivers the command that hangs again, and also the commands after it, although they
// were answered.
func TestSIGKILLLosesNothingWhilePolling(t *testing.T) {
	t.Parallel()
	const (
		batch  = 100 // getUpdates returns at most this many updates.
		before = 250 // commands before the one that hangs
		// behind is how many commands follow the one that hangs. They are fewer than a batch, because the bot
		// acknowledges what hangs at the head of a full batch.
		behind = 90
	)
	d := newDoor(t, e2etest.TelegramPolling)
	d.fakes.Chain.SetFault(fault.Hang())
	asked := d.askAll(nil, before, "price", "")
	first := d.platform.Start(binary(t), d.fakes, d.settings...)
	d.platform.Telegram.WaitSent(before, e2etest.Patience)
	asked = d.askAll(asked, 1, "staked", wallet(before)) // It hangs.
	asked = d.askAll(asked, behind, "price", "")
	if n := len(d.platform.Telegram.WaitSent(before+behind, e2etest.Patience)); n != before+behind {
		t.Fatalf("%d messages are sent before the kill, want %d", n, before+behind)
	}
	d.fakes.Partner.SetFault(fault.Hang())
	requestsBefore := d.fakes.Partner.Requests()
	d.requestJoin(d.fakes.World.Newcomer, members, unguarded, 1)
	d.addBot(1)
	e2etest.Eventually(t, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > requestsBefore })
	first.Kill()

	d.fakes.Chain.SetFault(fault.Fault{})
	d.fakes.Partner.SetFault(fault.Fault{})
	d.platform.Start(binary(t), d.fakes, d.settings...)
	d.checkSettled()
	repeated := countRepeated(t, asked)
	if repeated < behind {
		t.Errorf("%d commands are answered twice, want at least %d: the kill came too late", repeated, behind)
	}
	if repeated > batch {
		t.Errorf("%d commands are answered twice, want at most %d", repeated, batch)
	}
}

// askAll sends a command from each of n further users, and adds the commands to asked.
func (d *door) askAll(asked []*e2etest.Asked, n int, name, argument string) []*e2etest.Asked {
	for range n {
		c := e2etest.Command{User: int64(1000 + len(asked)), Name: name, Argument: argument}
		asked = append(asked, d.platform.Ask(c))
	}
	return asked
}

// countRepeated returns how many commands have two answers. It fails the test for each that has none,
// or more than two.
func countRepeated(t *testing.T, asked []*e2etest.Asked) (repeated int) {
	t.Helper()
	for _, a := range asked {
		switch answers := len(a.Answers()); answers {
		case 1:
		case 2:
			repeated++
		default:
			t.Errorf("user %d has %d answers, want 1 or 2", a.User, answers)
		}
	}
	return repeated
}

// addBot makes a person add the bot to a group. Telegram delivers this change the given number of times.
func (d *door) addBot(times int) {
	group := faketelegram.Group(e2etest.GroupID)
	d.platform.Deliver(group.ID, times, func() {
		before, after := faketelegram.Standing{Status: "left"}, faketelegram.Standing{Status: "member"}
		d.platform.Telegram.ChangeBot(group, before, after)
	})
}

// checkSettled waits until the join request is approved, the group is greeted, and every update is acknowledged.
// It fails the test unless the request is answered once and the group is greeted once.
func (d *door) checkSettled() {
	d.Helper()
	d.awaitJoins("approved")
	if !d.platform.Telegram.WaitAcknowledged(e2etest.Patience) {
		d.Errorf("%d updates are not acknowledged", len(d.platform.Telegram.Pending()))
	}
	d.checkOneGreeting()
}

// checkOneGreeting waits until the group of addBot is greeted. It fails the test unless there is one greeting,
// which names a command, the group, and how to get its tag.
func (d *door) checkOneGreeting() {
	d.Helper()
	var greetings []string
	e2etest.Eventually(d, "the group is greeted", func() bool {
		greetings = nil
		for _, m := range d.platform.Telegram.Sent() {
			if m.Chat == e2etest.GroupID {
				greetings = append(greetings, m.Text)
			}
		}
		return len(greetings) > 0
	})
	if len(greetings) != 1 {
		d.Fatalf("the group is greeted with %q, want one greeting", greetings)
	}
	for _, want := range []string{"/price", fmt.Sprint("telegram:", e2etest.GroupID), "/verify gets you Staker"} {
		if !strings.Contains(greetings[0], want) {
			d.Errorf("%q lacks %q", greetings[0], want)
		}
	}
}
