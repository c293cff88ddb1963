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

// addBot makes somebody add the bot to a group. Telegram delivers that this many times.
func (d *door) addBot(times int) {
	group := faketelegram.Group(e2etest.GroupID)
	d.platform.Deliver(group.ID, times, func() {
		before, after := faketelegram.Standing{Status: "left"}, faketelegram.Standing{Status: "member"}
		d.platform.Telegram.ChangeBot(group, before, after)
	})
}

// checkSettled fails the test unless the join request is approved once, the group is greeted once, and
// every update is acknowledged.
func (d *door) checkSettled() {
	d.Helper()
	d.awaitJoins("approved")
	if !d.platform.Telegram.WaitAcknowledged(e2etest.Patience) {
		d.Errorf("%d updates are not acknowledged", len(d.platform.Telegram.Pending()))
	}
	d.checkOneGreeting()
}

// checkOneGreeting fails the test unless one greeting in the group names the ways to join and to a role.
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

// serve runs the bot. By HTTP it runs two replicas, and each gets every other delivery.
func (d *door) serve() (replicas []*e2etest.Bot) {
	replicas = append(replicas, d.platform.Serve(d.fakes, d.settings...))
	if d.platform.ByHTTP {
		replicas = append(replicas, d.platform.Serve(d.fakes, d.settings...))
		d.platform.Through(replicas[0].URL, replicas[1].URL)
	}
	return replicas
}

// stop stops the replicas as SIGTERM does, all at once, and waits until they have ended.
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

// askStakes sends n commands /staked, each from another user about another wallet. The first has the number
// first. Platforms deliver each twice.
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

// stakesUser is the first user of askStakes. Their IDs begin with the digits stakesPrefix.
const (
	stakesUser   = 7_123_456_000
	stakesPrefix = "7123456"
)

// requestJoinDuringStop makes somebody ask to join a group and add the bot to another, and returns once the
// partner is asked about the request.
func (d *door) requestJoinDuringStop() {
	d.Helper()
	probes := d.fakes.Partner.Requests()
	d.requestJoin(d.fakes.World.Newcomer, members, unguarded, 2)
	e2etest.Eventually(d, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > probes })
	d.addBot(2)
}

// SIGTERM comes while commands and a join request are in flight, and while the bot is added to a group. The
// next start on the same Redis answers further commands.
func TestAStopAnswersEverythingOnce(t *testing.T) {
	t.Parallel()
	const commands = 12
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			replicas := d.serve()
			for _, bot := range replicas {
				bot.AwaitProbes()
			}
			probes := d.fakes.Chain.Requests()
			d.fakes.Chain.SetFault(fault.Late(400 * time.Millisecond))
			d.fakes.Partner.SetFault(fault.Late(time.Second))
			asked := d.askStakes(0, commands)
			if !way.OnDiscord {
				d.requestJoinDuringStop()
			}
			e2etest.Eventually(t, "all are in flight", func() bool {
				return d.fakes.Chain.Requests() >= probes+commands
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

// checkTTLInRedis waits until Redis holds an answered update, and fails the test unless Redis holds
// each for as long as the platform may deliver it again: Telegram for a day, Discord until its
// interactions are invalid. The bot must still serve, because it may release an update late if Redis is
// slow.
func checkTTLInRedis(t *testing.T, way e2etest.Way, redis *miniredis.Miniredis) {
	t.Helper()
	answered := func(key string) bool {
		value, _ := redis.Get(key)
		return value == "done"
	}
	e2etest.Eventually(t, "Redis holds an answered update", func() bool {
		return slices.ContainsFunc(redis.Keys(), answered)
	})
	want := 24 * time.Hour
	if way.OnDiscord {
		want = 15 * time.Minute
	}
	// The turn of a cycle of saved addresses is claimed in the same way, for RECHECK_EVERY.
	const recheckEvery = 6 * time.Hour
	for _, key := range redis.Keys() {
		ttl := redis.TTL(key)
		if !answered(key) || ttl.Round(time.Minute) == recheckEvery {
			continue
		}
		if ttl > want || ttl < want-time.Minute {
			t.Errorf("Redis holds an answered update for %v, want %v", ttl, want)
		}
	}
}

// wallet returns a wallet without a stake, a different one for each i.
func wallet(i int) string { return fmt.Sprintf("0x%040x", 0xabc000+i) }

// askAll sends n commands, each from another user: the next after those of asked.
func (d *door) askAll(asked []*e2etest.Asked, n int, name, argument string) []*e2etest.Asked {
	for range n {
		c := e2etest.Command{User: int64(1000 + len(asked)), Name: name, Argument: argument}
		asked = append(asked, d.platform.Ask(c))
	}
	return asked
}

// The bot is killed while one command hangs. Telegram delivers that command again, and what was
// answered after it: a poll acknowledges only updates that are answered together with all earlier ones.
func TestSIGKILLLosesNothingWhilePolling(t *testing.T) {
	t.Parallel()
	const (
		batch  = 100 // getUpdates returns at most this many updates.
		before = 250
		// behind is less than a batch: the bot acknowledges what hangs at the head of a full batch.
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
	probes := d.fakes.Partner.Requests()
	d.requestJoin(d.fakes.World.Newcomer, members, unguarded, 1)
	d.addBot(1)
	e2etest.Eventually(t, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > probes })
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
