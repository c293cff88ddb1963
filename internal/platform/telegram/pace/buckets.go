package pace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"herald/internal/chat"
)

// buckets give out turns that keep to some rates. Those of this process are in
// alone; shared, if any, knows those of the other replicas too.
type buckets struct {
	rates  []chat.Rate
	shared chat.Turns

	mu    sync.Mutex // held while a turn of all of alone is taken
	alone []*rate.Limiter
}

// buckets makes full ones. The name says whose turns they give out.
func (l *Limiter) buckets(name string, rates ...chat.Rate) *buckets {
	b := &buckets{rates: slices.Clone(rates), shared: l.shared}
	for i, r := range rates {
		b.rates[i].Key = fmt.Sprintf("%s %s %d", l.bot, name, i)
		b.alone = append(b.alone, rate.NewLimiter(rate.Every(r.Every), r.Burst))
	}
	return b
}

// take takes the next turn, unless it comes later than within from now. It does
// not wait for it.
func (b *buckets) take(ctx context.Context, within time.Duration) (wait time.Duration, taken bool) {
	if b.shared != nil {
		if wait, known := b.shared.Take(ctx, within, b.rates...); known {
			return wait, wait <= within
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var turns []*rate.Reservation
	for _, l := range b.alone {
		turn := l.ReserveN(now, 1)
		turns = append(turns, turn)
		wait = max(wait, turn.DelayFrom(now))
	}
	if wait <= within {
		return wait, true
	}
	for _, turn := range turns {
		turn.CancelAt(now)
	}
	return wait, false
}

// wait takes the next turn, and waits for it. This process keeps to the rates by
// itself in any case, so that losing the shared turns changes as little as
// possible.
func (b *buckets) wait(ctx context.Context) error {
	for _, l := range b.alone {
		if err := l.Wait(ctx); err != nil {
			return err
		}
	}
	if b.shared == nil || len(b.rates) == 0 {
		return ctx.Err()
	}
	if wait, known := b.shared.Take(ctx, math.MaxInt64, b.rates...); known {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
