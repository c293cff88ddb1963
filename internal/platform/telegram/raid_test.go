package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/platformtest"
	"herald/internal/query"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/service/partner"
	"herald/internal/transport"
)

// source is a query.Source.
type source[K, V any] func(context.Context, K) (V, error)

func (f source[K, V]) Get(ctx context.Context, key K) (query.Snapshot[V], error) {
	value, err := f(ctx, key)
	return query.Snapshot[V]{Value: value, At: time.Now()}, err
}

// joinRouter returns the Router of the bot's own commands with these sources. The groups are in
// JoinChats.
func joinRouter(t *testing.T, accounts query.Source[core.Identity, core.Account], stakes query.Source[common.Address, core.Stake]) *router.Router {
	t.Helper()
	w := commandstest.Healthy()
	from := w.Sources()
	from.Accounts, from.Stakes = accounts, stakes
	w.Options.JoinChats = map[string]chat.Requirement{
		fmt.Sprint("telegram:", holders): {}, fmt.Sprint("telegram:", stakers): {Staker: true}, fmt.Sprint("telegram:", whales): {Staker: true},
	}
	router, err := router.New(router.Config{
		Commands: commands.All(from, w.Options), Timeout: 20 * time.Second, Limiter: ratelimit.NewMemory(), UserPerMinute: 20, ChatPerMinute: 120,
		Language: chat.English, Nearest: config.Nearest, Explain: commands.Explain, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return router
}

// raiders is the lowest ID of those who ask to join in a raid.
const raiders = 1_000_000

// slowPartner says after some time whether a user is registered.
// It counts the calls in flight about raiders.
type slowPartner struct {
	takes      time.Duration
	registered func(user int) bool

	mu           sync.Mutex
	atOnce, most int
}

func (p *slowPartner) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atOnce += n
	p.most = max(p.most, p.atOnce)
}

func (p *slowPartner) fetch(ctx context.Context, id core.Identity) (core.Account, error) {
	user, _ := strconv.Atoi(id.UID)
	if user >= raiders {
		p.count(1)
		defer p.count(-1)
	}
	if !transport.Sleep(ctx, p.takes) {
		return core.Account{}, ctx.Err()
	}
	if p.registered(user) {
		return core.Account{DID: "did:x:" + id.UID}, nil
	}
	return core.Account{}, nil
}

// Call and Lookup implement query.Observer.
func (*slowPartner) Call(*core.Service, query.Outcome, time.Duration) {}
func (*slowPartner) Lookup(string, query.Result, time.Duration)       {}

// accounts asks the partner as the bot does.
func (p *slowPartner) accounts(t *testing.T) query.Source[core.Identity, core.Account] {
	cache := query.NewCache(query.CacheConfig{MaxItems: 100_000, CallTimeout: 10 * time.Second, Timeout: 20 * time.Second, Observer: p})
	t.Cleanup(cache.Close)
	upstream := query.NewUpstream(cache, partner.Service, time.Minute, nil)
	return query.New(upstream, query.Config[core.Identity, core.Account]{Name: "accounts", TTL: time.Minute, Fetch: p.fetch})
}

// People ask to join, by the hundred a second or 2,000 at once, and the partner is slow or hangs.
// Those who may come in are in within a minute, and are told. Queries come first and have their
// answers in time. Members are answered as ever.
func TestARaidDelaysNoCommandAndKeepsNobodyOut(t *testing.T) {
	type raid struct {
		people       int
		every, takes time.Duration // between two requests, and a call of the partner
		perQuery     int           // requests for one query
		query        time.Duration // the answer to one
		calls        int           // of the partner at a time, at most
	}
	raids := map[string]raid{
		"at once": {2000, 0, 100 * time.Millisecond, 2000, 2 * time.Second, maxChecks},
		"slow":    {4000, 6 * time.Millisecond, 50 * time.Millisecond, 2, answerWithin, maxChecks},
		// A call outlasts its check by two seconds.
		"hanging": {4000, 6 * time.Millisecond, 9 * time.Second, 2, answerWithin, 2 * maxChecks},
	}
	within := map[string]time.Duration{"polling": time.Second, "webhook": time.Second / 5}
	for way, change := range ways {
		inBubble(t, raids, func(t *testing.T, tt raid) {
			r, asked, goroutines := joinTest(t, change, paced), map[int64]time.Time{}, 0
			mayCheck := tt.takes < answerWithin-approveTime
			p := &slowPartner{takes: tt.takes, registered: func(user int) bool { return user%99 == 0 }}
			r.serve(platformtest.Routed{Router: joinRouter(t, p.accounts(t), commandstest.Healthy().Sources().Stakes)})
			time.Sleep(time.Second)
			go func() {
				for user := range int64(80) {
					asked[1+user] = time.Now()
					r.send(inPrivate(1+user, "/price"))
					time.Sleep(300 * time.Millisecond)
				}
			}()
			for i := range tt.people {
				r.asks(int64(raiders+i), (i+1)%tt.perQuery == 0)
				synctest.Wait() // Whatever need not wait ends.
				goroutines = max(goroutines, runtime.NumGoroutine())
				time.Sleep(tt.every)
			}
			time.Sleep(patience) // for those who wait
			r.joined(raiders)
			var took []time.Duration
			in, told := 0, 0
			for _, m := range r.api.Sent() {
				if at, is := asked[m.Chat]; is {
					took = append(took, m.At.Sub(at))
					delete(asked, m.Chat)
				}
				told += strings.Count(m.Text, "✅ You're in: ")
			}
			slices.Sort(took)
			if median, slowest := took[len(took)/2], took[len(took)-1]; len(asked) > 0 || median > 50*time.Millisecond || slowest > within[way] {
				t.Errorf("%s: /price is answered after %v, half of them after %v, and %d not", way, slowest, median, len(asked))
			}
			for _, j := range r.api.JoinRequests() {
				approved, allowed := j.State == faketelegram.JoinApproved, time.Minute
				if approved {
					in++
				}
				if j.QueryID != "" {
					allowed = tt.query
				}
				answered := len(j.Answers) == 1 && j.Answers[0].At.Sub(j.At) <= allowed
				if approved != (mayCheck && p.registered(int(j.From.ID))) || answered != (approved || j.QueryID != "") {
					t.Fatalf("%s: %+v", way, j)
				}
			}
			check(t, way+": told that they are in", told, in)
			check(t, way+": counted", r.events.Of("join_approved")+r.events.Of("join_left_open")+r.events.Of("join_unknown"), tt.people)
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.most > tt.calls || goroutines > 200 {
				t.Errorf("%s: the door makes %d calls of the partner at a time; %d goroutines", way, p.most, goroutines)
			}
		})
	}
}

// Join requests that wait take no goroutines, and no places from commands.
func TestJoinRequestsInFlightAreBounded(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		for i := range int64(6000) {
			r.asks(1000+i, i%2 == 0)
		}
		time.Sleep(2 * time.Second)
		if n := runtime.NumGoroutine(); n > 200 || len(r.api.Pending()) > 0 || r.adapter.joins.count() < 3000 {
			t.Errorf("%d goroutines for %d requests, %d are queued", n, r.adapter.joins.count(), len(r.api.Pending()))
		}
		check(t, "places that are taken", r.adapter.InFlight(), 0)
		check(t, "checks at a time", len(r.handler.Requests()), maxChecks)
		time.Sleep(6 * time.Minute)
		check(t, "requests in flight in the end", r.adapter.joins.count(), 0)
	})
}
