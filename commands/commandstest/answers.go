// Package commandstest runs every command in many scenes, for the tests of the commands and of the platforms. A scene
// is a state of the services, and lines that a user types in it. Cases returns the reply to each line, and Transcripts
// compares them with golden files. Answers are fake services, for other tests.
package commandstest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/internal/belief"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/platform"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

// Noon is when services answered. In Cases it is two minutes ago.
var Noon = time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)

// Answers are what the services answer, and what they were asked. Healthy returns Answers, and a test changes some of
// their fields.
type Answers struct {
	Price     query.Snapshot[*core.Quote]
	PriceErr  error
	Supply    query.Snapshot[core.Supply]
	SupplyErr error

	// Stake is the stake of every wallet. It is fresh until StakeFreshUntil.
	Stake           core.Stake
	StakeErr        error
	StakeFreshUntil time.Time

	// Total is what all wallets together have staked. If no pool is Checked in it and TotalErr is nil, the bot has no
	// source of it. An answer takes TotalLate.
	Total     query.Snapshot[core.Stake]
	TotalErr  error
	TotalLate time.Duration

	Accounts map[core.Identity]core.Account
	// AccountsErr is the error for every account. AccountErrs has the errors for the accounts of a platform.
	AccountsErr error
	AccountErrs map[string]error
	// AccountsAge is how long before Noon the accounts of a platform were read.
	AccountsAge map[string]time.Duration

	// Logins are Ann's. If AnybodysLogins is set, they are everybody's; otherwise a question for somebody else's fails.
	Logins         []core.Login
	AnybodysLogins bool
	LoginsErr      error

	// Chart is the chart of every period.
	Chart    core.Chart
	ChartErr error

	Options commands.Options
	Joins   platform.JoinLog
	Moves   platform.Moves
	Saved   FakeMembers

	// Failing makes every service fail for this reason. If it is empty, each service has only its own error, above.
	Failing core.Reason
	// Stale makes the answers of the services in MayBeOld stale. They are then older by StaleFor.
	Stale    bool
	StaleFor time.Duration
	// FailingFor is how long a service that fails has failed. If it is 0, the service has failed since 18 minutes
	// before Noon.
	FailingFor time.Duration
	// NeverAsked says that no call to a service has ended yet, so that none counts as failing.
	NeverAsked bool

	// StakesAsked counts the questions about stakes, and AccountsAsked the questions about each account.
	StakesAsked   int
	AccountsAsked map[core.Identity]int
	// Charted are the quotes that were drawn, and ChartedIn the languages of their charts.
	Charted   []core.Quote
	ChartedIn []chat.Language

	asked []string // names of the services that were asked; pings of /status do not count
	mu    sync.Mutex
}

// Doubt makes the price doubtful: it contradicts the price before, which was believed at a time. If that time is zero,
// it contradicts the market cap.
func (w *Answers) Doubt(price string, believedAt time.Time) {
	doubt := &belief.DoubtError{Answer: w.Price}
	if !believedAt.IsZero() {
		doubt.Last = core.PricedAt{At: believedAt, Price: w.Price.Value.Price}
	}
	doubt.Answer.Value.Price = number(price)
	w.PriceErr = doubt
}

// Sources returns sources that answer as w says.
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
		Chart:   w.drawChart,
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

// MayBeOld names the services whose latest answer is shown while they fail. Their Query has SharedAs.
var MayBeOld = []string{market.Service.Name, supply.Service.Name}

// source returns a source of the service s. It answers as get does, unless w says that the service fails or is stale.
// It adds the service to w.asked.
func source[K, V any](w *Answers, s *core.Service, get func(K) (query.Snapshot[V], error)) query.Source[K, V] {
	return sourceFunc[K, V](func(key K) (query.Snapshot[V], error) {
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

// sourceFunc is a query.Source that calls a function.
type sourceFunc[K, V any] func(K) (query.Snapshot[V], error)

// Get implements query.Source.
func (f sourceFunc[K, V]) Get(_ context.Context, key K) (query.Snapshot[V], error) { return f(key) }

// asAnswered returns s as a Query would return it: a stale answer has no FreshUntil, and has a Why. If s has none, the
// reason is that the service is unreachable.
func asAnswered[V any](s query.Snapshot[V], of *core.Service) query.Snapshot[V] {
	if s.Stale {
		s.FreshUntil = time.Time{}
		s.Why = cmp.Or(s.Why, failed(of, core.Unreachable))
	}
	return s
}

// total returns the source of Total, or nil if there is none.
func (w *Answers) total() query.Source[struct{}, core.Stake] {
	hasAnswer := w.Total.Value.Checked > 0 || w.TotalErr != nil
	if !hasAnswer {
		return nil
	}
	total := func(struct{}) (query.Snapshot[core.Stake], error) { return w.Total, w.TotalErr }
	return &Late[core.Stake]{Source: source(w, staking.Service, total), After: w.TotalLate}
}

// Late is a query.Source of one value that answers late.
type Late[V any] struct {
	query.Source[struct{}, V]
	After time.Duration // how long an answer takes
	Asked int           // how many times Get was called
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

// fakeService is a commands.Service whose Health is set.
type fakeService struct {
	query.HealthCheck
	health query.Health
}

// Health returns the Health that is set.
func (s fakeService) Health() query.Health { return s.health }

// service returns a service whose ping returns answer and err, and which was last called at Noon. If err says that the
// service failed, its Health does, too.
func service[V any](w *Answers, s *core.Service, err error, answer query.Snapshot[V]) fakeService {
	if w.Failing != "" {
		err = failed(s, w.Failing)
	}
	h := query.Health{Service: s, LastCall: Noon}
	failed, isFailure := errors.AsType[*core.Error](err)
	wasAsked := isFailure && failed.Reason != core.Paused && failed.Reason != core.NoCredit
	if wasAsked && !w.NeverAsked {
		h.FailingSince = Noon.Add(-18 * time.Minute)
		h.Reason = failed.Reason
		if w.FailingFor > 0 {
			h.FailingSince = time.Now().Add(-w.FailingFor)
		}
	}
	ping := sourceFunc[struct{}, V](func(struct{}) (query.Snapshot[V], error) { return asAnswered(answer, s), err })
	check := query.NewHealthCheck(query.NewUpstream(nil, s, 0, nil), ping).WithEnded(market.EndedEndpoints)
	return fakeService{check, h}
}

// drawChart is a commands.Chart.
func (w *Answers) drawChart(
	_ context.Context, q core.Quote, _ time.Duration, l chat.Language, _, _ string,
) (core.Chart, error) {
	w.Charted = append(w.Charted, q)
	w.ChartedIn = append(w.ChartedIn, l)
	return w.Chart, w.ChartErr
}
