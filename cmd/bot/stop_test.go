package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// A server that platforms call refuses for a second before it closes, so that a proxy
// turns to another one. Each platform asks another service, which shows when both
// commands are in flight.
func TestAStoppedProcessAnswersWhatIsInFlight(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(map[bool]string{false: "polling and gateway", true: "webhook and interactions"}[byHTTP], func(t *testing.T) {
			t.Parallel()
			world, telegram, discord := e2etest.Sandbox(t), faketelegram.New(t), e2etest.Discord(t)
			world.Price.SetFault(fault.Late(500 * time.Millisecond))
			world.Chain.SetFault(fault.Late(500 * time.Millisecond))
			settings := slices.Concat(e2etest.Polling(telegram), e2etest.Gateway(discord))
			if byHTTP {
				settings = slices.Concat(e2etest.Webhook(telegram), e2etest.Interactions(discord))
			}
			c := spawn(t, world, settings...)
			c.AwaitReady()
			message := faketelegram.Text(faketelegram.Private(1), faketelegram.Person(1), "/price")
			staked := fakediscord.Interaction{Command: "staked", Options: map[string]string{"wallet": world.World.Staker.Hex()}}
			asked, body := discord.Prepare(staked)
			if byHTTP {
				go telegram.Deliver(t.Context(), c.URL()+e2etest.WebhookPath, telegram.Update(message))
				asked.Send()
				go func() {
					if resp, err := discord.PostRaw(t.Context(), c.URL()+e2etest.InteractionsPath, body, time.Now()); err == nil {
						_ = asked.Responded(resp.Body)
						resp.Body.Close()
					}
				}()
			} else {
				telegram.Push(message)
				var err error
				if asked, err = discord.Push(staked); err != nil {
					t.Fatal(err)
				}
			}
			e2etest.Eventually(t, "the commands are in flight", func() bool { return world.Price.Requests() > 0 && world.Chain.Requests() > 0 })
			c.Tell(syscall.SIGTERM)
			told := time.Now()
			e2etest.Eventually(t, "the process refuses", func() bool { return c.Readyz() == http.StatusServiceUnavailable })
			c.Leaves()
			if took := time.Since(told); byHTTP && took < time.Second {
				t.Errorf("it refused for %v only", took)
			}
			sent := telegram.Sent()
			if len(sent) != 1 || !strings.Contains(e2etest.Plain(sent[0].Text), e2etest.Price) || len(telegram.Pending()) > 0 {
				t.Errorf("Telegram was sent %+v, and has %d updates left", sent, len(telegram.Pending()))
			}
			if got := e2etest.Plain(asked.Answer().Text()); !strings.Contains(got, "1,012,345.6789") {
				t.Errorf("Discord was answered with %q", got)
			}
		})
	}
}

func TestCommandsInFlightWhenTheProcessIsKilledAreAnsweredByTheNext(t *testing.T) {
	t.Parallel()
	world, fake := e2etest.Sandbox(t), faketelegram.New(t)
	world.Price.SetFault(fault.Hang())
	first := spawn(t, world, e2etest.Polling(fake)...)
	for user := range int64(3) {
		fake.Push(faketelegram.Text(faketelegram.Private(user+1), faketelegram.Person(user+1), "/price"))
	}
	e2etest.Eventually(t, "the commands are in flight", func() bool { return world.Price.Requests() > 0 })
	// Meanwhile it keeps polling, which must acknowledge none of them.
	fake.WaitCalls("getUpdates", len(fake.Calls("getUpdates"))+2, e2etest.Patience)
	first.Kill()
	world.Price.SetFault(fault.Fault{})
	spawn(t, world, e2etest.Polling(fake)...)
	if !fake.WaitAcknowledged(e2etest.Patience) || len(fake.Sent()) != 3 {
		t.Errorf("%d updates are left, %d are answered", len(fake.Pending()), len(fake.Sent()))
	}
}
