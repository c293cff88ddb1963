package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// way is a platform before the bot.
type way struct {
	settings []string
	// ask has somebody ask for the price, of a bot whose HTTP server is at url.
	ask func(url string)
	// answers are what was said so far.
	answers func() []string
}

func question() telegramtest.Message {
	return telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price")
}

func onTelegram(t *testing.T, byHTTP bool) way {
	fake := telegramtest.New(t)
	w := way{settings: e2etest.Polling(fake), ask: func(string) { fake.Push(question()) }}
	if byHTTP {
		w.settings = e2etest.Webhook(fake)
		w.ask = func(url string) { go fake.Deliver(t.Context(), url+e2etest.WebhookPath, fake.Update(question())) }
	}
	w.answers = func() (texts []string) {
		for _, m := range fake.Sent() {
			texts = append(texts, m.Text)
		}
		if len(fake.Pending()) > 0 {
			texts = append(texts, "an update that is not acknowledged")
		}
		return texts
	}
	return w
}

func onDiscord(t *testing.T, byHTTP bool) way {
	fake := e2etest.Discord(t)
	w := way{settings: e2etest.Gateway(fake)}
	if byHTTP {
		w.settings = e2etest.Interactions(fake)
	}
	var asked *discordtest.Pending
	w.ask = func(url string) {
		p, body := fake.Prepare(discordtest.Interaction{Command: "price"})
		asked = p
		if !byHTTP {
			var err error
			if asked, err = fake.Push(discordtest.Interaction{Command: "price"}); err != nil {
				t.Error(err)
			}
			return
		}
		p.Send()
		go func() {
			if resp, err := fake.PostRaw(t.Context(), url+e2etest.InteractionsPath, body, time.Now()); err == nil {
				_ = p.Responded(resp.Body)
				resp.Body.Close()
			}
		}()
	}
	w.answers = func() []string { return []string{asked.Answer().Text()} }
	return w
}

// A server that platforms call goes on for a second and refuses, so that a proxy
// turns to another one.
func TestAStoppedProcessAnswersWhatIsInFlight(t *testing.T) {
	for name, test := range map[string]struct {
		open   func(t *testing.T, byHTTP bool) way
		byHTTP bool
	}{
		"polling": {onTelegram, false}, "webhook": {onTelegram, true}, "gateway": {onDiscord, false}, "interactions": {onDiscord, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := e2etest.Sandbox(t)
			world.Price.SetFault(fault.Late(500 * time.Millisecond))
			w := test.open(t, test.byHTTP)
			c := spawn(t, world, w.settings...)
			c.awaitReady()
			w.ask(c.url())
			e2etest.Eventually(t, "the command is in flight", func() bool { return world.Price.Requests() > 0 })
			c.signal(syscall.SIGTERM)
			told := time.Now()
			e2etest.Eventually(t, "the process refuses", func() bool { return c.readyz() == http.StatusServiceUnavailable })
			c.leaves(exitOK)
			if took := time.Since(told); test.byHTTP && took < time.Second {
				t.Errorf("it refused for %v only", took)
			}
			if got := w.answers(); len(got) != 1 || !strings.Contains(e2etest.Plain(got[0]), e2etest.Price) {
				t.Errorf("answered with %q", got)
			}
		})
	}
}

func TestCommandsInFlightWhenTheProcessIsKilledAreAnsweredByTheNext(t *testing.T) {
	t.Parallel()
	world, fake := e2etest.Sandbox(t), telegramtest.New(t)
	world.Price.SetFault(fault.Hang())
	first := spawn(t, world, e2etest.Polling(fake)...)
	for user := range int64(3) {
		fake.Push(telegramtest.Text(telegramtest.Private(user+1), telegramtest.Person(user+1), "/price"))
	}
	e2etest.Eventually(t, "the commands are in flight", func() bool { return world.Price.Requests() > 0 })
	// It goes on polling meanwhile, which must acknowledge none of them.
	fake.WaitCalls("getUpdates", len(fake.Offsets())+2, e2etest.Patience)
	first.kill()
	world.Price.SetFault(fault.Fault{})
	spawn(t, world, e2etest.Polling(fake)...)
	if !fake.WaitAcknowledged(e2etest.Patience) || len(fake.Sent()) != 3 {
		t.Errorf("%d updates are left, %d are answered", len(fake.Pending()), len(fake.Sent()))
	}
}
