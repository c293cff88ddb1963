// Package services has a stand-in for each service that Herald asks, such as the partner API,
// the price provider, the supply host and a chain with 21 staking pools. They are HTTP servers
// on loopback, so that `bot demo` and the tests run every line that production runs.
//
// Their answers are fixed, and the World holds them, so that tests can compare the bot's
// answers with it; after Walk, the price moves. The package uses none of Herald's clients
// and checks signatures by itself. The chain runs no EVM, which would triple the binary:
// its contracts are Go functions behind the ABI. The Faults are for visitors of the demo;
// tests have more in internal/e2e/fault.
package services

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// Settings of a bot that asks the stand-ins, besides the URLs and keys of Fakes.
const (
	TokenID = "31415"
	ChainID = 424242

	// StakingMethod, PendingMethod and TotalMethod are the views of every pool.
	StakingMethod = "currentStake(address)"
	PendingMethod = "pendingWithdrawals(address)"
	TotalMethod   = "totalStake()"

	// ClaimBlocks is how many blocks after its own a withdrawal can be claimed: a week.
	ClaimBlocks = 302_400
)

// Symbol is the token's symbol. A test may change it before New.
var Symbol = "HRLD"

// MulticallAddress is the address of Multicall3 on every chain that has it:
// https://www.multicall3.com/deployments
var MulticallAddress = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")

// Fakes holds the stand-ins and the World.
type Fakes struct {
	World World

	// AppID and SecretKey sign calls of the partner API. SecretKey and PriceKey
	// are new at every start.
	AppID     string
	SecretKey string
	// PriceKey is the only key that the price provider takes. It also answers without one.
	PriceKey string

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
	all     []*Service
	// Pool makes the pool with most of Staker's stake fail. OldQuote makes Price return an
	// old quote, RateLimit makes it refuse. OldBlock holds Chain at an old block. FreshBot
	// does nothing here: the demo then uses a bot without recorded quotes.
	Pool, OldQuote, RateLimit, OldBlock, FreshBot Fault
	// Unstaked takes Staker's stake out of all pools.
	Unstaked Fault
}

// New makes the stand-ins. Their handlers may be replaced before Serve.
func New() *Fakes {
	now := time.Now()
	s := &Fakes{World: newWorld(now), AppID: "herald-demo", SecretKey: rand.Text(), PriceKey: rand.Text()}
	s.Partner = s.add("partner", "PARTNER_BASE_URL", newPartner(s.World, s.AppID, s.SecretKey))
	s.Price = s.add("price", "PRICE_API_URL", s.market(standing(s.World.Quote)))
	s.Supply = s.add("supply", "SUPPLY_URL", supplyHost{Supply: s.World.Supply})
	node, most := newNode(s.World, now), s.World.Staked[1].Pool.Address
	node.Now = func() time.Time { return s.OldBlock.since(time.Now(), time.Hour) }
	s.Chain = s.add("chain", "EVM_RPC_URL", node)
	for f, fault := range map[*Fault][2]string{
		&s.Pool:      {"pool", "one of 21 staking pools cannot be read"},
		&s.OldQuote:  {"old quote", "the price provider's quote is three hours old"},
		&s.RateLimit: {"rate limit", "the price provider answers 429; Herald then asks again after a minute"},
		&s.OldBlock:  {"old block", "the blockchain node's newest block is an hour old"},
		&s.FreshBot:  {"fresh bot", "no price is recorded yet, so charts have no line"},
		&s.Unstaked:  {"unstaked", "the member's wallet stakes nothing any more"},
	} {
		f.Name = fault[0]
		f.Note = fault[1]
	}
	read := node.Contracts[most]
	node.Contracts[most] = func(n Node, block uint64, input []byte) ([]byte, error) {
		if s.Pool.On.Load() {
			return nil, Reverted("")
		}
		return read(n, block, input)
	}
	for _, pool := range s.World.Pools {
		holds := node.Contracts[pool.Address]
		node.Contracts[pool.Address] = func(n Node, block uint64, input []byte) ([]byte, error) {
			if s.Unstaked.On.Load() && bytes.HasPrefix(input, evmabi.Selector(StakingMethod)) {
				return word(0), nil
			}
			return holds(n, block, input)
		}
	}
	return s
}

// Walk makes the price move from the World's Quote on, a step a minute. It returns quotes of
// the 30 days before, oldest first. Call it before Serve.
func (s *Fakes) Walk() []core.Quote {
	w := newWalk(s.World.Quote)
	s.Price.Handler = s.market(w.at)
	return w.past()
}

// market returns the price provider, with the quotes that at returns for a time.
func (s *Fakes) market(at func(time.Time) (core.Quote, map[string]decimal.Decimal)) market {
	return market{at: at, key: s.PriceKey, old: &s.OldQuote, limited: &s.RateLimit, used: new(atomic.Int64)}
}

// Serve starts each stand-in on a free port of 127.0.0.1, until Close. It does not block.
// If it fails, no stand-in is left running.
func (s *Fakes) Serve() error {
	for _, service := range s.Services() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return errors.Join(fmt.Errorf("start the stand-ins: %w", err), s.Close())
		}
		service.url = "http://" + l.Addr().String()
		service.server = &http.Server{Handler: http.MaxBytesHandler(service, maxRequest), ReadHeaderTimeout: 10 * time.Second}
		service.serving.Go(func() { _ = service.server.Serve(l) })
	}
	return nil
}

// Services returns the stand-ins. The caller must not change the list.
func (s *Fakes) Services() []*Service { return s.all }

// Faults returns every Fault of the demo.
func (s *Fakes) Faults() (all []*Fault) {
	for _, service := range s.all {
		all = append(all, &service.Fault)
	}
	return append(all, &s.Pool, &s.OldQuote, &s.OldBlock, &s.RateLimit, &s.FreshBot, &s.Unstaked)
}

// Close breaks every connection and frees the ports. Calls under way end.
func (s *Fakes) Close() error {
	var errs []error
	for _, service := range s.Services() {
		if service.server != nil {
			errs = append(errs, service.server.Close())
			service.serving.Wait()
		}
	}
	return errors.Join(errs...)
}

// maxRequest bounds what a stand-in reads of a request, in bytes.
const maxRequest = 1 << 20

// Fault is a failure that a visitor of the demo turns on and off. Safe for concurrent use.
type Fault struct {
	Name string
	// Note says what happens meanwhile.
	Note string
	On   atomic.Bool `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (f *Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"name": f.Name, "note": f.Note, "on": f.On.Load()})
}

// since returns now, or that long before while the fault is on.
func (f *Fault) since(now time.Time, before time.Duration) time.Time {
	if f.On.Load() {
		return now.Add(-before)
	}
	return now
}

// Service is one stand-in: an HTTP server that answers correctly. Safe for
// concurrent use once it is served.
type Service struct {
	// Fault makes the service refuse every call. Its Name is a word for the service.
	Fault
	// Setting is the name of the setting that holds the service's URL.
	Setting string
	// Handler answers. It may be replaced before Serve.
	Handler http.Handler

	url     string
	server  *http.Server
	serving sync.WaitGroup
}

// add makes the stand-in of the core.Service with this name.
func (s *Fakes) add(name, setting string, h http.Handler) *Service {
	added := &Service{Fault: Fault{Name: name, Note: "every call is refused"}, Setting: setting, Handler: h}
	s.all = append(s.all, added)
	return added
}

// URL returns the service's origin, without a slash at its end, once it is served.
func (s *Service) URL() string { return s.url }

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.On.Load() {
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		return
	}
	s.Handler.ServeHTTP(w, r)
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
