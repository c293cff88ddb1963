// Package commandstest holds scenes and their replies, for the tests of the commands and of the platforms that show
// their replies.
package commandstest

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/internal/belief"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/platform"
	"herald/internal/query"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

// Noon is when services answered. In Cases it is two minutes ago.
var Noon = time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)

// Answers are what the services answer, and what they were asked.
type Answers struct {
	Price     query.Snapshot[*core.Quote]
	PriceErr  error
	Supply    query.Snapshot[core.Supply]
	SupplyErr error
	Stake     core.Stake
	StakeErr  error
	// StakeFreshUntil is the FreshUntil of Stake.
	StakeFreshUntil time.Time
	// Total is what all wallets have staked. TotalLate is how long a question about it takes. If Total has checked no
	// pool and TotalErr is nil, nobody can be asked.
	Total     query.Snapshot[core.Stake]
	TotalErr  error
	TotalLate time.Duration

	Accounts    map[core.Identity]core.Account
	AccountsErr error
	// AccountErrs has the error of each platform whose accounts cannot be asked about.
	AccountErrs map[string]error
	// AccountsAge has how long before Noon the answer about a platform's accounts was given.
	AccountsAge map[string]time.Duration
	// Logins are Ann's, or everybody's if AnybodysLogins is set.
	Logins         []core.Login
	AnybodysLogins bool
	LoginsErr      error

	// Chart is the answer for every period. Charted are the quotes that were drawn, and
	// ChartedIn their languages.
	Chart     core.Chart
	ChartErr  error
	Charted   []core.Quote
	ChartedIn []chat.Language

	Options commands.Options

	Joins platform.JoinLog
	Moves platform.Moves

	Saved Saved

	// Failing makes every service fail, for this reason. If it is empty, each service has its own error, above.
	Failing core.Reason
	// Stale makes the answers of MayBeOld stale, and StaleFor makes them older.
	Stale    bool
	StaleFor time.Duration
	// NeverAsked says that no call to a service has ended yet. FailingFor is how long a failing service has failed. If it
	// is 0, the service has failed since 18 minutes before Noon.
	NeverAsked bool
	FailingFor time.Duration

	// StakesAsked counts the questions about stakes, and AccountsAsked those about
	// each account.
	StakesAsked   int
	AccountsAsked map[core.Identity]int

	asked []string // names of the services that commands except /status have asked
	mu    sync.Mutex
}

// Ann and Bob are registered with a wallet each, and Ann has logins. The Stranger and Wallet are not registered. The
// Operator, and in Community its moderators, may ask about others. Members and Stakers are groups that users ask to
// join.
const (
	Ann        = "1"
	Bob        = "12345"
	Stranger   = "404"
	Operator   = "77"
	Wallet     = "0x52908400098527886E0F7030069857D2E4169EE7"
	AnnsWallet = "0x00000000000000000000000000000000000a0001"
	BobsWallet = "0x00000000000000000000000000000000000b0002"
	Community  = "-1001234567890"
	Members    = "-1001"
	Stakers    = "-1002"
)

const (
	annsDID = "did:x:ann"
	bobsDID = "did:x:bob"
)

func wallet(address string) core.Identity { return core.IdentityOf(common.HexToAddress(address)) }

// Healthy returns Answers in which every service works.
func Healthy() *Answers {
	return &Answers{
		Price: query.Snapshot[*core.Quote]{
			At:         Noon.Add(time.Minute),
			FreshUntil: Noon.Add(90 * time.Second),
			Value:      healthyQuote(),
		},
		Supply: query.Snapshot[core.Supply]{
			At:         Noon,
			FreshUntil: Noon.Add(5 * time.Minute),
			Value:      core.Supply{Total: number("1000000000"), Circulating: number("98765432.100000000000000001")},
		},
		Stake:           healthyStake(),
		StakeFreshUntil: Noon.Add(2 * time.Minute),
		Accounts: map[core.Identity]core.Account{
			{Platform: "Telegram", UID: Ann}:  {DID: annsDID},
			{Platform: "Discord", UID: "5"}:   {DID: "did:x:eve"},
			{Platform: "Email", UID: "a@b.c"}: {DID: "did:x:mail"},
			{Platform: "Telegram", UID: Bob}:  {DID: bobsDID},
			wallet(AnnsWallet):                {DID: annsDID},
			wallet(BobsWallet):                {DID: bobsDID},
		},
		AccountsAsked: map[core.Identity]int{},
		Logins: []core.Login{
			{Dapp: "Swap **x**", Platform: "EVM", At: Noon},
			{Dapp: "Game\nnight", Platform: "Telegram", At: Noon.Add(-time.Hour)},
		},
		Chart: healthyChart(),
		Options: commands.Options{
			Symbol:      "TKN",
			ExplorerURL: "https://explorer.example",
			RegisterURL: "https://register.example",
			StakeURL:    "https://stake.example",
		},
		Saved: Saved{Off: true},
	}
}

func healthyQuote() *core.Quote {
	return &core.Quote{
		Price:       number("0.0123456789"),
		Change1h:    known("0.125"),
		Change24h:   known("-3.5"),
		Change7d:    known("0"),
		MarketCap:   known("1234567.891"),
		Volume24h:   known("999.5"),
		LastUpdated: Noon,
		Source:      "CoinMarketCap",
		Page:        "https://provider.example/currencies/herald/",
	}
}

func healthyStake() core.Stake {
	return core.Stake{
		Block:     22_000_077,
		BlockTime: time.Now().Add(-12 * time.Second),
		Checked:   21,
		Staked: []core.PoolAmount{
			{
				Pool:   core.Pool{Address: common.HexToAddress("0x01"), Name: "Genesis @all"},
				Amount: number("1234567.000000000000000001"),
			},
			{
				Pool:   core.Pool{Address: common.HexToAddress("0x02")},
				Amount: number("0.5"),
			},
		},
	}
}

func healthyChart() core.Chart {
	return core.Chart{
		PNG:     picture,
		HasLine: true,
		First:   number("0.0120"),
		Last:    number("0.0123456789"),
		Change:  known("2.88"),
		Lowest:  number("0.01"),
		Highest: number("0.0125"),
		Seen:    1,
		Since:   Noon.AddDate(0, 0, -7),
	}
}

// Doubt makes the price doubtful: because of the price so far, which was believed at a time, or
// because of the market cap if that time is zero.
func (w *Answers) Doubt(price string, last time.Time) {
	doubt := &belief.DoubtError{Answer: w.Price}
	if !last.IsZero() {
		doubt.Last = core.PricedAt{At: last, Price: w.Price.Value.Price}
	}
	doubt.Answer.Value.Price = number(price)
	w.PriceErr = doubt
}

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func known(s string) decimal.NullDecimal { return decimal.NewNullDecimal(number(s)) }

// picture is a PNG of one white pixel.
var picture, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGL6DwgAAP//AQUBAlrdOc0AAAAASUVORK5CYII=")

// MayBeOld names the services that have a Query with SharedAs. While they fail, their last answer is shown.
var MayBeOld = []string{market.Service.Name, supply.Service.Name}

// ask is a query.Source.
type ask[K, V any] func(K) (query.Snapshot[V], error)

func (f ask[K, V]) Get(_ context.Context, key K) (query.Snapshot[V], error) { return f(key) }

// source returns a source that answers with get unless Failing or Stale overrides it, and adds the service to asked.
func source[K, V any](w *Answers, s *core.Service, get func(K) (query.Snapshot[V], error)) query.Source[K, V] {
	return ask[K, V](func(key K) (query.Snapshot[V], error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, s.Name)
		if w.Failing != "" {
			return query.Snapshot[V]{}, failed(s, w.Failing)
		}
		answer, err := get(key)
		if w.Stale && slices.Contains(MayBeOld, s.Name) {
			answer.Stale = true
			answer.At = answer.At.Add(-w.StaleFor)
		}
		return asAnswered(answer, s), err
	})
}

// Sources answer as w says.
func (w *Answers) Sources() commands.Sources {
	return commands.Sources{
		Price: source(w, market.Service, func(struct{}) (query.Snapshot[*core.Quote], error) {
			return w.Price, w.PriceErr
		}),
		Supply: source(w, supply.Service, func(struct{}) (query.Snapshot[core.Supply], error) {
			return w.Supply, w.SupplyErr
		}),
		Stakes: source(w, staking.Service, func(common.Address) (query.Snapshot[core.Stake], error) {
			w.StakesAsked++
			return query.Snapshot[core.Stake]{Value: w.Stake, At: Noon, FreshUntil: w.StakeFreshUntil}, w.StakeErr
		}),
		Total: w.total(),
		Accounts: source(w, partner.Service, func(id core.Identity) (query.Snapshot[core.Account], error) {
			w.AccountsAsked[id]++
			answer := query.Snapshot[core.Account]{
				Value: w.Accounts[id],
				At:    Noon.Add(-w.AccountsAge[id.Platform]),
			}
			return answer, cmp.Or(w.AccountsErr, w.AccountErrs[id.Platform])
		}),
		Logins: source(w, partner.Service, func(did string) (query.Snapshot[[]core.Login], error) {
			if did != annsDID && !w.AnybodysLogins {
				return query.Snapshot[[]core.Login]{}, errors.New("asked for somebody else")
			}
			return query.Snapshot[[]core.Login]{Value: w.Logins, At: Noon}, w.LoginsErr
		}),
		Chart:   w.drawn,
		Joins:   &w.Joins,
		Moves:   &w.Moves,
		Started: Noon.AddDate(0, 0, -3),
		Members: w.Saved.members(w),
		Services: []commands.Service{
			service(w, market.Service, w.PriceErr, w.Price),
			service(w, supply.Service, w.SupplyErr, w.Supply),
			service(w, staking.Service, w.StakeErr, query.Snapshot[core.Stake]{Value: w.Stake}),
			service(w, partner.Service, w.AccountsErr, query.Snapshot[struct{}]{}),
		},
	}
}

// asAnswered returns s as a Query returns it: an old answer has no FreshUntil, and has a Why. If s has none, Why is
// that the service is unreachable.
func asAnswered[V any](s query.Snapshot[V], of *core.Service) query.Snapshot[V] {
	if s.Stale {
		s.FreshUntil = time.Time{}
		s.Why = cmp.Or(s.Why, failed(of, core.Unreachable))
	}
	return s
}

// Late is a query.Source of one value that answers late.
type Late[V any] struct {
	query.Source[struct{}, V]
	After time.Duration // how long an answer takes
	Asked int           // how often Get was called
}

// Get implements query.Source.
func (l *Late[V]) Get(ctx context.Context, key struct{}) (query.Snapshot[V], error) {
	l.Asked++
	select {
	case <-time.After(l.After):
		return l.Source.Get(ctx, key)
	case <-ctx.Done():
		return query.Snapshot[V]{}, ctx.Err()
	}
}

// total returns the source of Total, or nil if it has none.
func (w *Answers) total() query.Source[struct{}, core.Stake] {
	if w.Total.Value.Checked == 0 && w.TotalErr == nil {
		return nil
	}
	total := func(struct{}) (query.Snapshot[core.Stake], error) { return w.Total, w.TotalErr }
	return &Late[core.Stake]{Source: source(w, staking.Service, total), After: w.TotalLate}
}

// fakeService is a commands.Service whose Health is set.
type fakeService struct {
	query.HealthCheck
	health query.Health
}

func (s fakeService) Health() query.Health { return s.health }

// service returns a service that answered at Noon, or that fails with err, as w says.
func service[V any](w *Answers, s *core.Service, err error, answer query.Snapshot[V]) fakeService {
	if w.Failing != "" {
		err = failed(s, w.Failing)
	}
	h := query.Health{Service: s, LastCall: Noon}
	failed, ok := errors.AsType[*core.Error](err)
	if ok && failed.Reason != core.Paused && failed.Reason != core.NoCredit && !w.NeverAsked {
		h.FailingSince = Noon.Add(-18 * time.Minute)
		h.Reason = failed.Reason
		if w.FailingFor > 0 {
			h.FailingSince = time.Now().Add(-w.FailingFor)
		}
	}
	ping := ask[struct{}, V](func(struct{}) (query.Snapshot[V], error) { return asAnswered(answer, s), err })
	check := query.NewHealthCheck(query.NewUpstream(nil, s, 0, nil), ping).WithEnded(market.EndedEndpoints)
	return fakeService{check, h}
}

// drawn implements commands.Chart.
func (w *Answers) drawn(
	_ context.Context, q core.Quote, _ time.Duration, l chat.Language, _, _ string,
) (core.Chart, error) {
	w.Charted = append(w.Charted, q)
	w.ChartedIn = append(w.ChartedIn, l)
	return w.Chart, w.ChartErr
}

// limit is a ratelimit.Limiter that always returns its own value as the wait.
type limit time.Duration

func (l limit) Reserve(context.Context, time.Duration, ...ratelimit.Limit) (wait time.Duration, ok bool) {
	return time.Duration(l), true
}

// Peek implements ratelimit.Limiter.
func (l limit) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

// Router answers requests from w's services.
func (w *Answers) Router(t testing.TB) *router.Router { return w.router(t, 0, chat.English) }

// roleOf returns the role of a user whose Request does not tell it. Only Ann moderates.
func roleOf(_ context.Context, user chat.User, _ string) (chat.Role, error) {
	if user.ID == Ann {
		return chat.Moderator, nil
	}
	return chat.Member, nil
}

func (w *Answers) router(t testing.TB, wait limit, l chat.Language) *router.Router {
	t.Helper()
	r, err := router.New(router.Config{
		Commands:       commands.All(w.Sources(), w.Options),
		Operators:      []chat.User{{Platform: "telegram", ID: Operator}},
		ModeratorChats: []string{"telegram:" + Community},
		Roles:          map[chat.Platform]router.AskRole{"telegram": roleOf},
		Timeout:        time.Minute,
		Limiter:        wait,
		UserPerMinute:  1,
		Language:       l,
		Nearest:        config.Nearest,
		Explain:        commands.Explain,
		Log:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
