package telegram

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/state"
	"herald/internal/telegram/telegramtest"
)

// redisClock sets a Redis to the test's time before each call.
type redisClock struct {
	*miniredis.Miniredis
	away atomic.Bool
	held chan struct{}
}

// inStep is a replica's Redis with such a clock.
type inStep struct {
	*state.Redis
	clock *redisClock
}

func (r inStep) Take(ctx context.Context, within time.Duration, rates ...chat.Rate) (wait time.Duration, known bool) {
	for {
		r.clock.held <- struct{}{}
		r.clock.SetTime(time.Now())
		wait, known = r.Redis.Take(ctx, within, rates...)
		<-r.clock.held
		if known || r.clock.away.Load() {
			return wait, known
		}
		time.Sleep(2 * time.Second) // Only a busy machine answers so late.
	}
}

// replicas are two adapters that take deliveries, beside one Telegram and on
// one Redis.
type replicas struct {
	*testing.T
	api   *telegramtest.Server
	redis *redisClock
	rigs  []*rig
	asked int
	all   sync.WaitGroup
}

func newReplicas(t *testing.T, server *miniredis.Miniredis) *replicas {
	t.Helper()
	both := &replicas{T: t, api: telegramtest.NewInMemory(t), redis: &redisClock{Miniredis: server, held: make(chan struct{}, 1)}}
	for range 2 {
		settings := state.Settings{RedisURL: config.NewSecret("redis://" + server.Addr())}
		redis, err := state.NewRedis(settings, []byte("salt"), time.Minute, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { redis.Close() })
		r := setUpBeside(t, both.api, func(c *Config) {
			c.Pacing, c.WebhookURL, c.WebhookSecret = true, "https://bot.example/hook", config.NewSecret(secret)
			c.Dedup, c.Turns = &memory{}, inStep{redis, both.redis}
		})
		r.carriedBy(&wire{Server: both.api})
		r.run()
		r.waitFor("ready", r.adapter.Ready)
		both.rigs = append(both.rigs, r)
	}
	return both
}

// lose and find take Redis away from the replicas, and give it back.
func (r *replicas) lose() {
	r.redis.away.Store(true)
	r.redis.SetError("LOADING")
}

func (r *replicas) find() {
	r.redis.SetError("")
	time.Sleep(2 * time.Second) // They ask again after one.
	r.redis.away.Store(false)
}

// ask delivers a command that nobody else asks, to one replica after the other.
func (r *replicas) ask(chat telegramtest.Chat) {
	r.asked++
	m := telegramtest.Text(chat, telegramtest.Person(int64(r.asked)), fmt.Sprint("/staked ", r.asked))
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(r.api.Update(m)))
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	adapter := r.rigs[r.asked%len(r.rigs)].adapter
	r.all.Go(func() { adapter.ServeHTTP(httptest.NewRecorder(), req) })
}

func (r *replicas) sent() []telegramtest.Sent {
	r.all.Wait()
	return r.api.Sent()
}

func TestReplicasKeepAGroupsRatesTogether(t *testing.T) {
	server := miniredis.RunT(t)
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, server)
		for range 40 {
			r.ask(telegramtest.Group(group))
		}
		time.Sleep(time.Minute)
		for range 150 {
			r.ask(telegramtest.Group(group))
			time.Sleep(700 * time.Millisecond)
		}
		sent := r.sent()
		keepsRates(t, sent)
		_, saidBusy := inChat(sent, group)
		if answers := len(sent) - saidBusy; answers < 30 || saidBusy < 2 || saidBusy > 3 {
			t.Errorf("%d answers, busy is said %d times", answers, saidBusy)
		}
	})
}

func TestReplicasKeepTheRateOfAllTogether(t *testing.T) {
	const people = 300
	server := miniredis.RunT(t)
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, server)
		start := time.Now()
		for i := range int64(people) {
			r.ask(telegramtest.Private(10_000 + i))
		}
		sent := r.sent()
		keepsRates(t, sent)
		if took := time.Since(start); len(perChat(sent)) != people || took > 20*time.Second {
			t.Errorf("%d of %d are answered in %v", len(perChat(sent)), people, took)
		}
	})
}

// While Redis is away each replica keeps the rates by itself, and both together
// again once it is back.
func TestReplicasPaceAloneWhileRedisIsAway(t *testing.T) {
	server := miniredis.RunT(t)
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, server)
		flood := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				r.ask(telegramtest.Group(group))
			}
		}
		flood(2 * time.Minute)
		r.lose()
		lost := time.Now()
		flood(5 * time.Minute)
		r.find()
		back := time.Now()
		flood(5 * time.Minute)

		between := func(from, to time.Time) (there []telegramtest.Sent) {
			for _, m := range r.sent() {
				if !m.At.Before(from) && m.At.Before(to) {
					there = append(there, m)
				}
			}
			return there
		}
		// What was given out before a change is sent within a command's time.
		const rest = 25 * time.Second
		keepsRates(t, between(time.Time{}, lost))
		keepsRates(t, between(back.Add(rest), time.Now()))
		if alone := most(between(lost, back), time.Minute); alone <= 20 || alone > 40 {
			t.Errorf("%d messages in a minute while Redis is away", alone)
		}
		if n := most(r.sent(), time.Minute); n > 40 {
			t.Errorf("%d messages in a minute", n)
		}
		if n := len(between(back.Add(rest), time.Now())); n < 40 {
			t.Errorf("%d messages in the last minutes", n)
		}
	})
}
