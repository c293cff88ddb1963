package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// deliver is one delivery to the process; 0 is no answer.
func (c *child) deliver(fake *telegramtest.Server, body []byte) (status int) {
	status, _ = fake.Deliver(c.Context(), c.url()+e2etest.WebhookPath, body)
	return status
}

// While the process drains it turns deliveries away, and says 200 to the one in
// hand only once that is answered. What it turned away the next one answers;
// what it answered the next one knows by the Redis they share.
func TestDeliveriesAreAnsweredOnceAcrossAStop(t *testing.T) {
	t.Parallel()
	world := e2etest.Sandbox(t)
	world.Price.SetFault(fault.Hang())
	fake := telegramtest.New(t)
	settings := slices.Concat(e2etest.Webhook(fake), e2etest.OnRedis(miniredis.RunT(t)), []string{"UPSTREAM_TIMEOUT=2s"})
	first := spawn(t, world, settings...)
	first.awaitReady()

	slow := fake.Update(telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price"))
	quick := fake.Update(telegramtest.Text(telegramtest.Private(2), telegramtest.Person(2), "/help"))
	type delivered struct{ status, answers int }
	result := make(chan delivered, 1)
	go func() {
		status := first.deliver(fake, slow)
		result <- delivered{status, len(fake.Sent())}
	}()
	e2etest.Eventually(t, "the command is in hand", func() bool { return world.Price.Requests() > 0 })
	first.signal(syscall.SIGTERM)
	e2etest.Eventually(t, "the process drains", func() bool { return first.readyz() == http.StatusServiceUnavailable })
	if status := first.deliver(fake, quick); status != http.StatusServiceUnavailable {
		t.Errorf("a delivery while draining: %d", status)
	}
	if got := <-result; got != (delivered{http.StatusOK, 1}) {
		t.Errorf("the delivery in hand: %+v", got)
	}
	first.leaves(exitOK)

	world.Price.SetFault(fault.Fault{})
	second := spawn(t, world, settings...)
	second.awaitReady()
	for _, body := range [][]byte{quick, slow, quick} {
		if status := second.deliver(fake, body); status != http.StatusOK {
			t.Errorf("delivered again: %d", status)
		}
	}
	sent := fake.Sent()
	if len(sent) != 2 || sent[0].Chat != 1 || !strings.Contains(sent[0].Text, "Could not be checked") || sent[1].Chat != 2 {
		t.Errorf("sent %+v", sent)
	}
}

// What hangs for longer than a drain may take is told so in time, too.
func TestADeliveryOutlastsNoDrain(t *testing.T) {
	t.Parallel()
	world := e2etest.Sandbox(t)
	world.Price.SetFault(fault.Hang())
	fake := telegramtest.New(t)
	c := spawn(t, world, append(e2etest.Webhook(fake), "UPSTREAM_TIMEOUT=30s", "COMMAND_TIMEOUT=60s")...)
	c.awaitReady()
	body := fake.Update(telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price"))
	status := make(chan int, 1)
	go func() { status <- c.deliver(fake, body) }()
	e2etest.Eventually(t, "the command is in hand", func() bool { return world.Price.Requests() > 0 })
	c.signal(syscall.SIGTERM)
	if got := <-status; got != http.StatusOK || len(fake.Sent()) != 1 {
		t.Errorf("status %d, sent %+v", got, fake.Sent())
	}
	c.leaves(exitOK)
}
