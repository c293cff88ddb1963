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
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/service/partner"
	"herald/internal/transport"
)

// source is a core.Source.
type source[K, V any] func(context.Context, K) (V, error)

func (f source[K, V]) Get(ctx context.Context, key K) (core.Snapshot[V], error) {
	value, err := f(ctx, key)
	return core.Snapshot[V]{Value: value, At: time.Now()}, err
}

// joinRouter returns the Router of the bot's own commands with these sources. Both groups
// are in JoinChats.
func joinRouter(t *testing.T, limiter chat.Limiter, accounts core.Source[core.Identity, core.Account], stakes core.Source[common.Address, core.Stake]) *chat.Router {
	t.Helper()
	w := commandstest.Healthy()
	from := w.Sources()
	from.Accounts, from.Stakes = accounts, stakes
	w.Options.JoinChats = map[string]chat.Requirement{fmt.Sprint("telegram:", holders): {}, fmt.Sprint("telegram:", stakers): {Staker: true}}
	router, err := chat.NewRouter(chat.Config{
		Commands: commands.All(from, w.Options), Timeout: 20 * time.Second, Limiter: limiter, UserPerMinute: 20, ChatPerMinute: 120,
		Language: chat.English, Nearest: config.Nearest, Explain: commands.Explain, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return router
}

// raiders is the lowest ID of those who ask to join in a raid.
const raiders = 1_000_000

// slowPartner says after some time whether a user is registered; without a function nobody is.
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
	if p.registered != nil && p.registered(user) {
		return core.Account{DID: "did:x:" + id.UID}, nil
	}
	return core.Account{}, nil
}

// Call and Lookup implement core.Observer.
func (*slowPartner) Call(*core.Service, string, time.Duration) {}
func (*slowPartner) Lookup(string, string, time.Duration)      {}

// accounts asks the partner as the bot does.
func (p *slowPartner) accounts(t *testing.T) core.Source[core.Identity, core.Account] {
	cache := core.NewCache(core.CacheConfig{MaxItems: 100_000, CallTimeout: 10 * time.Second, Timeout: 20 * time.Second, Observer: p})
	t.Cleanup(cache.Close)
	upstream := core.NewUpstream(cache, partner.Service, time.Minute, nil)
	return core.NewQuery(upstream, &core.Query[core.Identity, core.Account]{Name: "accounts", TTL: time.Minute, Fetch: p.fetch})
}

// People ask to join, 167 a second, and the partner is slow or hangs. Members
// are answered within a second, and Telegram hears of each query in time.
func TestARaidDelaysNoCommand(t *testing.T) {
	within := map[string]time.Duration{"polling": time.Second, "webhook": time.Second / 5}
	const every, perCommand, second = 6 * time.Millisecond, 50, 4 * 50
	const raid = 4000 // lasts longer than any answer but the last of those who wait
	for way, change := range ways {
		inBubble(t, map[string]time.Duration{way + " slow": 50 * time.Millisecond, way + " hangs": 9 * time.Second}, func(t *testing.T, takes time.Duration) {
			r, p, asked, goroutines := joinTest(t, change, paced), &slowPartner{takes: takes}, map[int64]time.Time{}, 0
			r.serve(joinRouter(t, r.adapter.Limiter, p.accounts(t), commandstest.Healthy().Sources().Stakes))
			time.Sleep(time.Second)
			for i := range int64(raid) {
				if r.asks(raiders+i, i%2 == 0); i%perCommand == 0 {
					asked[i+1] = time.Now()
					r.send(inPrivate(i+1, "/price"))
					goroutines = max(goroutines, runtime.NumGoroutine())
				}
				if i%second == 0 {
					r.send(inPrivate(500_000+i, "/exists"))
					r.send(inPrivate(600_000+i, "/staked "+commandstest.Wallet))
				}
				time.Sleep(every)
			}
			time.Sleep(patience) // for those who wait
			r.joined(raiders)
			var took []time.Duration
			for _, m := range r.api.Sent() {
				if at, is := asked[m.Chat]; is {
					took = append(took, m.At.Sub(at))
					delete(asked, m.Chat)
				}
			}
			slices.Sort(took)
			if median, slowest := took[len(took)/2], took[len(took)-1]; median > 50*time.Millisecond || slowest > within[way] {
				t.Errorf("/price is answered after %v, and half of them after %v", slowest, median)
			}
			for _, j := range r.api.JoinRequests() {
				if len(j.Answers) > 1 || j.QueryID != "" && (len(j.Answers) == 0 || j.Answers[0].At.Sub(j.At) > answerWithin) || j.State != faketelegram.JoinOpen {
					t.Fatalf("%+v", j)
				}
			}
			check(t, "commands without an answer", len(asked), 0)
			check(t, "requests that are counted", r.events.Of("join_left_open")+r.events.Of("join_unknown"), raid)
			p.mu.Lock()
			defer p.mu.Unlock()
			// A call of 9 seconds outlasts its check by two.
			if allowed := map[bool]int{false: core.MaxCalls / 4, true: core.MaxCalls / 2}[takes > answerWithin-approveTime]; p.most > allowed || goroutines > 2*maxQueries {
				t.Errorf("the door makes %d calls of the partner at a time; %d goroutines", p.most, goroutines)
			}
		})
	}
}

// Two thousand people ask at once, and the partner takes 100 ms a call. Those who may come in
// are in within a minute, whoever is in front of them, and a query among them has its answer.
func TestARaidKeepsNobodyOut(t *testing.T) {
	for way, change := range ways {
		simulated(t, func(t *testing.T, r *adapterTest) {
			r.api.GrantInvite(holders, true)
			p := &slowPartner{takes: 100 * time.Millisecond, registered: func(user int) bool { return user%50 == 49 }}
			r.serve(joinRouter(t, r.adapter.Limiter, p.accounts(t), commandstest.Healthy().Sources().Stakes))
			time.Sleep(time.Second)
			for i := range int64(2000) {
				r.asks(raiders+i, false)
			}
			began := time.Now()
			time.Sleep(2 * time.Second)
			const guarded = raiders + 10_049
			r.asks(guarded, true)
			for i := range int64(50) {
				r.send(inPrivate(i+1, "/price"))
				time.Sleep(time.Second)
			}
			in := 0
			time.Sleep(time.Until(began.Add(time.Minute)))
			for _, j := range r.api.JoinRequests() {
				if j.State == faketelegram.JoinApproved {
					in++
				}
				if j.From.ID == guarded && (fmt.Sprint(answersOf(j)) != "[approve]" || j.Answers[0].At.Sub(j.At) > 2*time.Second) {
					t.Errorf("%s: the query is answered with %v", way, j.Answers)
				}
			}
			if in < 39 {
				t.Errorf("%s: %d of 41 are in after a minute", way, in)
			}
			prices, told := 0, 0
			for _, m := range r.api.Sent() {
				if m.Chat <= 50 {
					prices++
				} else if strings.HasPrefix(m.Text, "✅ You're in: ") {
					told++
				}
			}
			check(t, way+": answers to /price", prices, 50)
			check(t, way+": people who are told that they are in", told, in)
			r.joined(guarded)
		}, change, withJoins, paced)
	}
}

// letsIn admits everybody.
func letsIn(_ context.Context, req chat.Request) chat.Reply {
	time.Sleep(50 * time.Millisecond)
	return admitted(req)
}

// A stop comes in the middle of full batches, whose requests are acknowledged already.
func TestAStopLosesNoJoinRequest(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.GrantInvite(holders, true)
		r.handler.Reply = letsIn
		stop := r.run()
		time.Sleep(time.Second)
		for i := range int64(300) {
			r.asks(1000+i, false)
		}
		time.Sleep(time.Millisecond)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.again().run()
		r.joined(1000)
		for _, j := range r.api.JoinRequests() {
			if j.State != faketelegram.JoinApproved || len(j.Answers) != 1 {
				t.Fatalf("%+v; %v", j, r.events)
			}
		}
	}, withJoins)
}

// A 429 delays the first message. The minute until the second counts from its delivery.
func TestAMinuteBetweenMessagesCountsFromTheirDelivery(t *testing.T) {
	inBubble(t, map[string]time.Duration{"briefly": 10 * time.Second, "for long": 70 * time.Second}, func(t *testing.T, held time.Duration) {
		r := joinTest(t)
		r.handler.Reply = joinReply
		r.runJoins()
		r.api.Fail("sendMessage", telegramtest.TooMany(held))
		for range 3 {
			r.asks(700, false)
			time.Sleep(62 * time.Second)
			r.api.CloseJoin(holders, 700, faketelegram.JoinWithdrawn)
		}
		sent := r.api.Sent()
		for i := range max(1, len(sent)) - 1 {
			if gap := sent[i+1].At.Sub(sent[i].At); gap < time.Minute {
				t.Errorf("two messages within %v", gap)
			}
		}
		check(t, "something is said", len(sent) > 0, true)
	})
}

func TestJoinRequestsInFlightAreBounded(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.GrantInvite(holders, true)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		for i := range int64(6000) {
			r.asks(1000+i, i%2 == 0)
		}
		time.Sleep(2 * time.Second)
		if n := runtime.NumGoroutine(); n > 200 || len(r.api.Pending()) > 0 || r.adapter.joins.held() < 3000 {
			t.Errorf("%d goroutines for %d requests, %d are queued", n, r.adapter.joins.held(), len(r.api.Pending()))
		}
		time.Sleep(6 * time.Minute)
		check(t, "requests in flight in the end", r.adapter.joins.held(), 0)
	}, withJoins)
}

// Of 20 people a second, as many as the bound on messages allows are told that they are in.
func TestACrowdThatIsLetInIsTold(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.GrantInvite(holders, true)
		r.handler.Reply = letsIn
		r.runJoins()
		for i := range int64(200) {
			r.asks(1000+i, false)
			time.Sleep(time.Second / 20)
		}
		r.joined(1000)
		if n := len(r.api.Sent()); n < 10*admissions || n > 13*admissions {
			t.Errorf("%d messages in 10 seconds", n)
		}
		check(t, "let in", r.events.Of("join_approved"), 200)
	}, withJoins)
}
