package replicas

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

// redeliverAfter is how long Telegram waits before it delivers an update again;
// the real one takes longer.
const redeliverAfter = 200 * time.Millisecond

// maxDeliveries is how many Telegram makes at a time: the most that a bot can
// ask for, https://core.telegram.org/bots/api#setwebhook.
const maxDeliveries = 100

// telegram delivers updates to a webhook, each until the answer is 200.
type telegram struct {
	*telegramtest.Server
	hook string

	slots chan struct{}
	all   sync.WaitGroup

	mu   sync.Mutex
	open map[string]bool // delivered, and not acknowledged
}

func newTelegram(t *testing.T) *telegram {
	return &telegram{Server: telegramtest.New(t), slots: make(chan struct{}, maxDeliveries), open: map[string]bool{}}
}

// deliver delivers an update in the background. The id is the test's own.
func (tg *telegram) deliver(ctx context.Context, id string, update []byte) {
	tg.all.Go(func() {
		select {
		case tg.slots <- struct{}{}:
			defer func() { <-tg.slots }()
		case <-ctx.Done():
			return
		}
		tg.set(id, true)
		for ctx.Err() == nil {
			status, err := post(ctx, tg.hook, id, http.Header{"X-Telegram-Bot-Api-Secret-Token": {e2etest.WebhookSecret}}, update)
			if err == nil && status == http.StatusOK {
				tg.set(id, false)
				return
			}
			again := time.NewTimer(redeliverAfter)
			select {
			case <-again.C:
			case <-ctx.Done():
				again.Stop()
			}
		}
	})
}

func (tg *telegram) set(id string, open bool) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if open {
		tg.open[id] = true
	} else {
		delete(tg.open, id)
	}
}

// unacknowledged are the updates that were delivered and not acknowledged, and
// that keep picks.
func (tg *telegram) unacknowledged(keep func(id string) bool) map[string]bool {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	picked := map[string]bool{}
	for id := range tg.open {
		if keep(id) {
			picked[id] = true
		}
	}
	return picked
}

// post posts a body and returns the status.
func post(ctx context.Context, url, id string, header http.Header, body []byte) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	r.Header = header
	r.Header.Set(requestID, id)
	resp, err := noKeepAlive.RoundTrip(r)
	if err != nil {
		return 0, fmt.Errorf("post: %w", err)
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// discord posts interactions, each once.
type discord struct {
	*discordtest.Server
	endpoint string
	all      sync.WaitGroup

	mu    sync.Mutex
	asked []*discordtest.Pending
}

// ask posts an interaction in the background; the balancer knows it by its ID.
func (d *discord) ask(ctx context.Context, i discordtest.Interaction) *discordtest.Pending {
	pending, body := d.Prepare(i)
	d.mu.Lock()
	d.asked = append(d.asked, pending)
	d.mu.Unlock()
	d.all.Go(func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.endpoint, bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header = d.Sign(body, time.Now())
		r.Header.Set(requestID, pending.ID)
		pending.Send()
		resp, err := noKeepAlive.RoundTrip(r)
		if err != nil {
			return // It stays without an answer.
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			_ = pending.Responded(resp.Body) // What Discord refuses it notes itself.
		}
	})
	return pending
}

// unanswered are the IDs of the interactions that have no text yet, and that
// keep picks.
func (d *discord) unanswered(keep func(id string) bool) map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	picked := map[string]bool{}
	for _, p := range d.asked {
		if p.Answer().Text() == "" && keep(p.ID) {
			picked[p.ID] = true
		}
	}
	return picked
}
