package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// batch is the most updates that one getUpdates answers.
const batch = 100

// crowd queues one command each of n people in their private chats.
func crowd(fake *telegramtest.Server, n int) {
	for i := range n {
		user := int64(10_000 + i)
		fake.Push(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/price"))
	}
}

// answersByChat counts what each chat was sent.
func answersByChat(fake *telegramtest.Server) map[int64]int {
	n := map[int64]int{}
	for _, m := range fake.Sent() {
		n[m.Chat]++
	}
	return n
}

// crowdSize is how many ask the processes of twoLives.
const crowdSize = 500

// twoLives answers a crowd by a process that is ended in the middle, and by
// the one that comes after it. Telegram takes so many messages, and holds what
// is sent after them until it is released.
func twoLives(t *testing.T, taken int, end func(first *child, release func())) (fake *telegramtest.Server, twice int) {
	t.Helper()
	const n = crowdSize
	world := e2etest.Sandbox(t)
	fake = telegramtest.New(t)
	crowd(fake, n)
	held := make(chan struct{})
	fake.Fail("sendMessage", make([]telegramtest.Fault, taken)...)
	fake.Fail("sendMessage", slices.Repeat([]telegramtest.Fault{telegramtest.Held(held)}, n-taken)...)
	first := spawn(t, world, e2etest.Polling(fake)...)
	fake.WaitSent(taken, e2etest.Patience)
	end(first, func() { close(held) })
	if len(fake.Sent()) >= n {
		t.Fatal("the end came too late to be in the middle")
	}
	second := spawn(t, world, e2etest.Polling(fake)...)
	if !fake.WaitAcknowledged(e2etest.Patience) {
		t.Errorf("%d updates are left", len(fake.Pending()))
	}
	second.signal(syscall.SIGTERM)
	second.leaves(exitOK)
	answers := answersByChat(fake)
	if len(answers) != n {
		t.Errorf("%d of %d people are answered", len(answers), n)
	}
	for user, count := range answers {
		switch count {
		case 1:
		case 2:
			twice++
		default:
			t.Errorf("user %d has %d answers", user, count)
		}
	}
	return fake, twice
}

func TestStoppedInTheMiddleEachIsAnsweredOnce(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			_, twice := twoLives(t, crowdSize/3, func(c *child, release func()) {
				c.signal(s)
				e2etest.Eventually(t, "the process drains", func() bool { return c.readyz() == http.StatusServiceUnavailable })
				release()
				c.leaves(exitOK)
			})
			if twice != 0 {
				t.Errorf("%d people have two answers", twice)
			}
		})
	}
}

func TestKilledInTheMiddleNothingIsLost(t *testing.T) {
	t.Parallel()
	// Fewer than a batch are held: the stuck head of a full one is acknowledged
	// after a while, and lost to SIGKILL.
	fake, twice := twoLives(t, crowdSize-batch/2, func(c *child, release func()) { c.kill(); release() })
	if twice > batch {
		t.Errorf("%d people have two answers, more than one batch", twice)
	}
	if len(fake.Pending()) != 0 {
		t.Errorf("%d updates are left", len(fake.Pending()))
	}
}

// A command that hangs when the process is told to leave is told that it could
// not be checked, on both platforms, and by nobody else again.
func TestStoppedWhileAServiceHangs(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			world := e2etest.Sandbox(t)
			world.Price.SetFault(fault.Hang())
			world.Supply.SetFault(fault.Hang())
			telegram, discord := telegramtest.New(t), e2etest.Discord(t)
			settings := slices.Concat(e2etest.Polling(telegram), e2etest.Gateway(discord),
				[]string{"UPSTREAM_TIMEOUT=30s", "COMMAND_TIMEOUT=60s"})
			first := spawn(t, world, settings...)
			first.awaitReady()
			telegram.Push(telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price"))
			// /supply asks for the price too, so it comes second.
			e2etest.Eventually(t, "/price is in hand", func() bool { return world.Price.Requests() > 0 })
			pending, err := discord.Push(discordtest.Interaction{Command: "supply"})
			if err != nil {
				t.Fatal(err)
			}
			e2etest.Eventually(t, "/supply is in hand", func() bool { return world.Supply.Requests() > 0 })
			first.signal(s)
			first.leaves(exitOK)

			world.Price.SetFault(fault.Fault{})
			world.Supply.SetFault(fault.Fault{})
			second := spawn(t, world, settings...)
			second.awaitReady()
			if !telegram.WaitAcknowledged(e2etest.Patience) {
				t.Error("the update is not acknowledged")
			}
			if sent := telegram.Sent(); len(sent) != 1 || !strings.Contains(sent[0].Text, "Could not be checked") {
				t.Errorf("telegram: %+v", sent)
			}
			answer := pending.Answer()
			if answer.Callbacks != 1 || answer.Edits != 1 || !strings.Contains(answer.Text(), "Could not be checked") {
				t.Errorf("discord: %+v", answer)
			}
		})
	}
}

// What a replica has in hand when it dies is answered by another once a command
// could have taken no longer.
func TestAKilledReplicaKeepsItsUpdatesForNoLongerThanACommand(t *testing.T) {
	t.Parallel()
	const commandTimeout = 30 * time.Second
	world, fake, redis := e2etest.Sandbox(t), telegramtest.New(t), miniredis.RunT(t)
	world.Price.SetFault(fault.Hang())
	settings := slices.Concat(e2etest.Webhook(fake), e2etest.OnRedis(redis),
		[]string{"COMMAND_TIMEOUT=" + commandTimeout.String(), "UPSTREAM_TIMEOUT=" + commandTimeout.String()})
	first, second := spawn(t, world, settings...), spawn(t, world, settings...)
	first.awaitReady()
	second.awaitReady()
	update := fake.Update(telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price"))
	go fake.Deliver(t.Context(), first.url()+e2etest.WebhookPath, update) // it breaks off
	e2etest.Eventually(t, "the command is in hand", func() bool { return world.Price.Requests() > 0 })
	first.kill()
	world.Price.SetFault(fault.Fault{})

	deliver := func() int {
		status, err := fake.Deliver(t.Context(), second.url()+e2etest.WebhookPath, update)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	if got := deliver(); got != http.StatusServiceUnavailable {
		t.Errorf("just after the other's death: %d, want 503", got)
	}
	redis.FastForward(commandTimeout)
	if got := deliver(); got != http.StatusOK {
		t.Errorf("after a command's time: %d, want 200", got)
	}
	if sent := fake.Sent(); len(sent) != 1 || !strings.Contains(sent[0].Text, e2etest.Price) {
		t.Errorf("sent %+v", sent)
	}
}

// A command in hand when the process dies is answered by the next.
func TestKilledWhileAServiceHangs(t *testing.T) {
	t.Parallel()
	world := e2etest.Sandbox(t)
	world.Price.SetFault(fault.Hang())
	fake := telegramtest.New(t)
	first := spawn(t, world, e2etest.Polling(fake)...)
	crowd(fake, 3)
	e2etest.Eventually(t, "the commands are in hand", func() bool { return world.Price.Requests() > 0 })
	// It goes on polling meanwhile, which must acknowledge none of them.
	fake.WaitCalls("getUpdates", len(fake.Offsets())+2, e2etest.Patience)
	first.kill()
	world.Price.SetFault(fault.Fault{})
	spawn(t, world, e2etest.Polling(fake)...)
	if !fake.WaitAcknowledged(e2etest.Patience) {
		t.Error("the updates are not acknowledged")
	}
	if got := fmt.Sprint(answersByChat(fake)); got != "map[10000:1 10001:1 10002:1]" {
		t.Errorf("answers by chat: %s", got)
	}
}
