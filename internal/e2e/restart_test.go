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

// added has somebody add the bot to a group, which Telegram tells so many times.
func (d *door) added(times int) {
	group := faketelegram.Group(e2etest.GroupID)
	d.platform.Deliver(group.ID, times, func() {
		d.platform.Telegram.ChangeBot(group, faketelegram.Standing{Status: "left"}, faketelegram.Standing{Status: "member"})
	})
}

// mustBeSettled fails unless Telegram has every update acknowledged, the request to join is
// answered once, and the group was greeted once, with the ways to join and to a role.
func (d *door) mustBeSettled() {
	d.Helper()
	fake := d.platform.Telegram
	d.await("approved")
	if !fake.WaitAcknowledged(e2etest.Patience) {
		d.Errorf("%d updates are left", len(fake.Pending()))
	}
	var hello []string
	e2etest.Eventually(d, "the group is greeted", func() bool {
		hello = nil
		for _, m := range fake.Sent() {
			if m.Chat == e2etest.GroupID {
				hello = append(hello, m.Text)
			}
		}
		return len(hello) > 0
	})
	if len(hello) != 1 {
		d.Fatalf("the group is greeted with %q", hello)
	}
	for _, want := range []string{"/price", fmt.Sprint("telegram:", e2etest.GroupID), "/verify gets you Staker"} {
		if !strings.Contains(hello[0], want) {
			d.Errorf("%q lacks %q", hello[0], want)
		}
	}
}

// serve runs the bot, by HTTP with two replicas, of which each gets every other delivery.
func (d *door) serve() (replicas []*e2etest.Bot) {
	replicas = append(replicas, d.platform.Serve(d.fakes, d.settings...))
	if d.platform.ByHTTP {
		replicas = append(replicas, d.platform.Serve(d.fakes, d.settings...))
		d.platform.Through(replicas[0].URL, replicas[1].URL)
	}
	return replicas
}

// SIGTERM comes while commands and a request to join are in flight and the bot is added to a
// group, and platforms deliver each update twice. The next start on the same Redis answers
// further commands.
func TestAStopAnswersEverythingOnce(t *testing.T) {
	t.Parallel()
	const commands, firstUser = 12, 7_123_456_000
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
			var asked []*e2etest.Asked
			ask := func() {
				for range commands {
					i := len(asked)
					asked = append(asked, d.platform.Ask(e2etest.Command{User: firstUser + int64(i), Name: "staked", Argument: wallet(i), Times: 2}))
				}
			}
			ask()
			if !way.OnDiscord {
				probes := d.fakes.Partner.Requests()
				d.knock(d.fakes.World.Newcomer, members, false, 2)
				e2etest.Eventually(t, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > probes })
				d.added(2)
			}
			e2etest.Eventually(t, "all are in flight", func() bool { return d.fakes.Chain.Requests() >= probes+commands })
			for _, bot := range replicas {
				bot.Stop()
			}
			for _, bot := range replicas {
				if err := bot.Leave(); err != nil {
					t.Fatal(err)
				}
			}
			d.serve()
			ask()
			for _, a := range asked {
				if got := a.Wait(); !strings.Contains(got.Text, "Not staked") {
					t.Errorf("answered with %q", got.Text)
				}
			}
			if !way.OnDiscord {
				d.mustBeSettled()
			}
			for _, a := range asked {
				if n := len(a.Answers()); n != 1 {
					t.Errorf("%s is answered %d times", a.Argument, n)
				}
			}
			if way.Name != "telegram polling" {
				checkAnsweredInRedis(t, way, d.redis)
			}
			dump := strings.ToLower(d.redis.Dump())
			for _, a := range asked {
				if strings.Contains(dump, strings.ToLower(a.Argument[2:])) || strings.Contains(dump, "7123456") {
					t.Errorf("a user or a wallet is named in Redis: %s", dump)
				}
			}
		})
	}
}

// checkAnsweredInRedis waits until Redis holds an answered update, and checks how long
// Redis holds each. The bot must still serve: a Redis that was too slow for a call is told
// later.
func checkAnsweredInRedis(t *testing.T, way e2etest.Way, redis *miniredis.Miniredis) {
	t.Helper()
	answered := func(key string) bool {
		value, _ := redis.Get(key)
		return value == "done"
	}
	e2etest.Eventually(t, "Redis holds an answered update", func() bool { return slices.ContainsFunc(redis.Keys(), answered) })
	// Telegram may deliver again for a day. Discord's interactions are void by then.
	want := map[bool]time.Duration{false: 24 * time.Hour, true: 15 * time.Minute}[way.OnDiscord]
	const look = 6 * time.Hour // RECHECK_EVERY: a look at kept wallets is claimed too
	for _, key := range redis.Keys() {
		if ttl := redis.TTL(key); answered(key) && ttl.Round(time.Minute) != look && (ttl > want || ttl < want-time.Minute) {
			t.Errorf("Redis holds an answered update for %v, want %v", ttl, want)
		}
	}
}

// wallet returns a wallet without a stake, a different one for each i.
func wallet(i int) string { return fmt.Sprintf("0x%040x", 0xabc000+i) }

// The built binary is killed while one command hangs. Telegram repeats that command and
// what was answered after it, because a poll acknowledges only what is answered together
// with all before it.
func TestSIGKILLLosesNothingWhilePolling(t *testing.T) {
	t.Parallel()
	// One getUpdates returns 100 updates at most. behind is smaller, because the bot
	// acknowledges what hangs at the head of a full batch.
	const batch, before, behind = 100, 250, 90
	d := newDoor(t, e2etest.Ways[0])
	d.fakes.Chain.SetFault(fault.Hang())
	var asked []*e2etest.Asked
	ask := func(n int, name, argument string) {
		for range n {
			c := e2etest.Command{User: int64(1000 + len(asked)), Name: name, Argument: argument}
			asked = append(asked, d.platform.Ask(c))
		}
	}
	ask(before, "price", "")
	first := d.platform.Start(binary(t), d.fakes, d.settings...)
	d.platform.Telegram.WaitSent(before, e2etest.Patience)
	ask(1, "staked", wallet(before))
	ask(behind, "price", "")
	if n := len(d.platform.Telegram.WaitSent(before+behind, e2etest.Patience)); n != before+behind {
		t.Fatalf("%d messages are sent before the kill, want %d", n, before+behind)
	}
	d.fakes.Partner.SetFault(fault.Hang())
	probes := d.fakes.Partner.Requests()
	d.knock(d.fakes.World.Newcomer, members, false, 1)
	d.added(1)
	e2etest.Eventually(t, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > probes })
	first.Kill()
	d.fakes.Chain.SetFault(fault.Fault{})
	d.fakes.Partner.SetFault(fault.Fault{})
	d.platform.Start(binary(t), d.fakes, d.settings...)
	d.mustBeSettled()
	repeated := 0
	for _, a := range asked {
		answers := len(a.Answers())
		if answers < 1 || answers > 2 {
			t.Errorf("user %d has %d answers, want 1 or 2", a.User, answers)
		}
		repeated += max(answers-1, 0)
	}
	if repeated < behind {
		t.Errorf("%d commands are answered twice, want at least %d: the kill came too late", repeated, behind)
	}
	if repeated > batch {
		t.Errorf("%d commands are answered twice, want at most %d", repeated, batch)
	}
}
