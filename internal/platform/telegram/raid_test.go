package telegram

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
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

// source is a query.Source that calls a function for each question.
type source[K, V any] func(context.Context, K) (V, error)

func (f source[K, V]) Get(ctx context.Context, key K) (query.Snapshot[V], error) {
	value, err := f(ctx, key)
	return query.Snapshot[V]{Value: value, At: time.Now()}, err
}

// joinRouter returns the Router of the product's commands with these sources. Registered users may join holders. Users
// who stake may join stakers and whales.
func joinRouter(
	t *testing.T,
	accounts query.Source[core.Identity, core.Account],
	stakes query.Source[common.Address, core.Stake],
) *router.Router {
	t.Helper()
	w := commandstest.Healthy()
	from := w.Sources()
	from.Accounts = accounts
	from.Stakes = stakes
	w.Options.JoinChats = map[string]chat.Requirement{
		fmt.Sprint("telegram:", holders): {},
		fmt.Sprint("telegram:", stakers): {Staker: true},
		fmt.Sprint("telegram:", whales):  {Staker: true},
	}
	router, err := router.New(router.Config{
		Commands:      commands.All(from, w.Options),
		Timeout:       20 * time.Second,
		Limiter:       ratelimit.NewMemory(),
		UserPerMinute: 20,
		ChatPerMinute: 120,
		Language:      chat.English,
		Nearest:       config.Nearest,
		Explain:       commands.Explain,
		Log:           slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return router
}

// raiders is the lowest ID of the users who ask to join in a raid.
const raiders = 1_000_000

// slowPartner answers slowly whether a user is registered. It counts the calls in flight about raiders.
type slowPartner struct {
	takes      time.Duration
	registered func(user int) bool

	mu          sync.Mutex
	inFlight    int
	maxInFlight int
}

// count changes the number of calls in flight by n.
func (p *slowPartner) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight += n
	p.maxInFlight = max(p.maxInFlight, p.inFlight)
}

// mostAtOnce returns the maximum number of calls that were in flight at a time.
func (p *slowPartner) mostAtOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.maxInFlight
}

// fetch returns an account if the user is registered, after a time.
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
func (*slowPartner) Call(*core.Service, query.CallResult, time.Duration) {}
func (*slowPartner) Lookup(string, query.LookupResult, time.Duration)    {}

// accounts asks the partner as the bot does.
func (p *slowPartner) accounts(t *testing.T) query.Source[core.Identity, core.Account] {
	cache := query.NewCache(query.CacheConfig{
		MaxItems:    100_000,
		CallTimeout: 10 * time.Second,
		Timeout:     20 * time.Second,
		Observer:    p,
	})
	t.Cleanup(cache.Close)
	upstream := query.NewUpstream(cache, partner.Service, time.Minute, nil)
	return query.New(upstream, query.Config[core.Identity, core.Account]{
		Name:  "accounts",
		TTL:   time.Minute,
		Fetch: p.fetch,
	})
}

var raidsAll = flag.Bool("raids.all", false, "play each raid by polling and by webhook, not only in one way")

// raid is many users who ask to join a group in a short time.
type raid struct {
	way           string // in which it is played, unless -raids.all is set
	people        int
	pause         time.Duration // between two requests
	callTakes     time.Duration // a call of the partner
	nthHasQuery   int           // Every nth request has a query: the bot must answer it within answerWithin.
	nthRegistered int           // Every nth user is registered, and so may come in.
	limitedMethod string        // a method that answers 429 for 25 seconds, from the third second on
}

// isRegistered reports whether the partner knows a user.
func (d raid) isRegistered(user int) bool { return user%d.nthRegistered == 0 }

// mustComeIn reports whether the bot has to let a user in: it can find out in time that they are registered.
func (d raid) mustComeIn(user int) bool { return d.callTakes < checkTime && d.isRegistered(user) }

// hasStarted reports whether a user has started the bot. Half of those who are registered have.
func (d raid) hasStarted(user int) bool { return user%(2*d.nthRegistered) == 0 }

// raidTest is a raid while other users ask for the price.
type raidTest struct {
	*adapterTest
	raid
	partner *slowPartner
	asked   map[int64]time.Time // when users asked for the price
}

// runRaid plays a raid to its end.
func runRaid(t *testing.T, way func(*Config), d raid) *raidTest {
	r := &raidTest{
		adapterTest: joinTest(t, way, paced),
		raid:        d,
		partner: &slowPartner{
			takes:      d.callTakes,
			registered: d.isRegistered,
		},
		asked: map[int64]time.Time{},
	}
	r.divert(d.limitedMethod, time.Hour, r.heldFrom(4*time.Second, 25*time.Second))
	r.serve(platformtest.Routed{Router: joinRouter(t, r.partner.accounts(t), commandstest.Healthy().Sources().Stakes)})
	time.Sleep(time.Second)
	go r.askForPrices()
	for i := range d.people {
		user := raiders + i
		if d.hasStarted(user) {
			r.api.Start(int64(user))
		}
		r.requestJoin(int64(user), (i+1)%d.nthHasQuery == 0)
		synctest.Wait()
		time.Sleep(d.pause)
	}
	time.Sleep(welcomeTime) // for users who wait
	r.settledRequest(raiders)
	return r
}

// askForPrices makes 80 users ask for the price, one after another.
func (r *raidTest) askForPrices() {
	for user := range int64(80) {
		r.asked[1+user] = time.Now()
		r.deliverMessage(inPrivate(1+user, "/price"))
		time.Sleep(300 * time.Millisecond)
	}
}

// checkPrices fails the test unless each /price was answered within slowest, and half of them at once.
func (r *raidTest) checkPrices(slowest time.Duration) {
	r.Helper()
	var took []time.Duration
	for _, m := range r.api.Sent() {
		if askedAt, isAnswer := r.asked[m.Chat]; isAnswer {
			took = append(took, m.At.Sub(askedAt))
			delete(r.asked, m.Chat)
		}
	}
	slices.Sort(took)
	check(r, "/price without an answer", len(r.asked), 0)
	if median := took[len(took)/2]; median > 50*time.Millisecond {
		r.Errorf("half of /price are answered after %v", median)
	}
	if last := took[len(took)-1]; last > slowest {
		r.Errorf("/price is answered after %v", last)
	}
}

// checkAnswers checks that everybody who must come in is let in within a minute, that nobody else is, and that each
// query is answered in time.
func (r *raidTest) checkAnswers() {
	r.Helper()
	for _, j := range r.api.JoinRequests() {
		wantApproved := r.mustComeIn(int(j.From.ID))
		hasQuery := j.QueryID != ""
		allowed := time.Minute
		if hasQuery {
			allowed = answerWithin
		}
		check(r, "approved", j.State == faketelegram.JoinApproved, wantApproved)
		isAnswered := len(j.Answers) == 1 && j.Answers[0].At.Sub(j.At) <= allowed
		check(r, "answered in time", isAnswered, wantApproved || hasQuery)
		if r.Failed() {
			r.Fatalf("%+v", j)
		}
	}
}

// checkMessages checks that each user who started the bot and is let in is told so, and that no message is false.
func (r *raidTest) checkMessages() {
	r.Helper()
	told := map[int64]string{}
	for _, m := range r.api.Sent() {
		told[m.Chat] += m.Text
	}
	for _, j := range r.api.JoinRequests() {
		text := told[j.From.ID]
		isIn := j.State == faketelegram.JoinApproved
		saysIn := strings.HasPrefix(text, "✅ You're in: ")
		saysNotIn := strings.HasPrefix(text, "Not in yet")
		saysUndecided := strings.HasPrefix(text, "Letting you in")
		switch {
		case saysIn && !isIn, saysNotIn && isIn, saysUndecided:
			r.Fatalf("%+v is told %q", j, text)
		case isIn && !saysIn && r.hasStarted(int(j.From.ID)):
			r.Fatalf("%+v is let in, and told %q", j, text)
		}
	}
}

// checkEnd fails the test unless each request is counted, and nothing is in flight.
func (r *raidTest) checkEnd() {
	r.Helper()
	counted := r.events.Of("join_approved") + r.events.Of(string(lacking)) + r.events.Of(string(undecided))
	check(r, "counted", counted, r.people)
	check(r, "in flight", r.requestsInFlight(), 0)
	check(r, "panics", r.events.Of("panic"), 0)
	if n := r.partner.mostAtOnce(); n >= query.MaxCalls/2 {
		r.Errorf("the door makes %d calls of the partner at a time", n)
	}
}

// raids are the cases of TestARaidDelaysNoCommandAndKeepsNobodyOut.
var raids = map[string]raid{
	"at once, few can come in": {
		way:           "webhook",
		people:        2000,
		callTakes:     100 * time.Millisecond,
		nthHasQuery:   2000,
		nthRegistered: 99,
	},
	"at once, half can come in": {
		way:           "polling",
		people:        2000,
		callTakes:     100 * time.Millisecond,
		nthHasQuery:   2000,
		nthRegistered: 2,
	},
	"at once, a 429 for approvals": {
		way:           "webhook",
		people:        2000,
		callTakes:     100 * time.Millisecond,
		nthHasQuery:   3000,
		nthRegistered: 2,
		limitedMethod: "approveChatJoinRequest",
	},
	"slow": {
		way:           "webhook",
		people:        4000,
		pause:         6 * time.Millisecond,
		callTakes:     50 * time.Millisecond,
		nthHasQuery:   2,
		nthRegistered: 99,
	},
	"slow, half can come in": {
		way:           "polling",
		people:        4000,
		pause:         6 * time.Millisecond,
		callTakes:     50 * time.Millisecond,
		nthHasQuery:   2,
		nthRegistered: 2,
	},
	"the partner hangs": { // A call outlasts its check by two seconds.
		way:           "polling",
		people:        4000,
		pause:         6 * time.Millisecond,
		callTakes:     9 * time.Second,
		nthHasQuery:   2,
		nthRegistered: 99,
	},
}

// By default, half of the raids come by polling, and the others by webhook.
func TestARaidDelaysNoCommandAndKeepsNobodyOut(t *testing.T) {
	slowest := map[string]time.Duration{
		"polling": time.Second,
		"webhook": time.Second / 5,
	}
	for name, way := range ways {
		played := maps.Clone(raids)
		maps.DeleteFunc(played, func(_ string, d raid) bool { return d.way != name && !*raidsAll })
		inBubble(t, played, func(t *testing.T, d raid) {
			r := runRaid(t, way, d)
			r.checkPrices(slowest[name])
			r.checkAnswers()
			r.checkMessages()
			r.checkEnd()
		})
	}
}

// The few users in a raid who are let in are told, although none of them has started the bot.
func TestTheFewInARaidAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 2000
		r := joinTest(t, paced)
		r.handler.Reply = joinReplyAfter(100 * time.Millisecond)
		r.runJoins()
		for user := range int64(people) {
			if user%99 == 0 {
				r.requestJoin(1+user/99, false)
			} else {
				r.requestJoin(1000+user, false)
			}
		}
		r.settledRequest(1)
		time.Sleep(contactTime)
		for user := range int64(people / 99) {
			r.checkTold(1+user, "✅ You're in: MAT Holders")
		}
	})
}

// A 429 in the middle of a raid delays messages. They must be true when they are delivered.
func TestARaidIsToldAfterA429(t *testing.T) {
	methods := map[string]string{
		"new messages": "sendMessage",
		"edits":        "editMessageText",
	}
	inBubble(t, methods, func(t *testing.T, method string) {
		r := runRaid(t, ways["polling"], raid{
			people:        2000,
			callTakes:     100 * time.Millisecond,
			nthHasQuery:   3000,
			nthRegistered: 2,
			limitedMethod: method,
		})
		r.checkAnswers()
		r.checkMessages()
		r.checkEnd()
	})
}
