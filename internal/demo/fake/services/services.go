// Package services has a fake of each service that Herald asks: the partner API, the price provider, the supply
// host and a chain with 21 staking pools. The fakes are HTTP servers on loopback, so that `bot demo` and the tests
// execute the same code as production.
//
// The answers are constant, except that the price moves after a call of Walk. They are in the World, so that tests can
// compare the bot's answers with it. Visitors of the demo can turn on Faults; tests have more faults in
// internal/e2e/fault.
//
// The package does not use Herald's clients, and checks signatures itself. The chain has no EVM, which would triple the
// size of the binary: its contracts are Go functions that read and write the EVM's encoding (ABI).
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

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// Settings of a bot that asks the fakes, besides the URLs and keys in Fakes.
const (
	TokenID = "31415"
	ChainID = 424242

	// StakingMethod, PendingMethod and TotalMethod are the view methods of every pool.
	StakingMethod = "currentStake(address)"
	PendingMethod = "pendingWithdrawals(address)"
	TotalMethod   = "totalStake()"

	// ClaimBlocks is the number of blocks after which a withdrawal can be claimed. They take a week.
	ClaimBlocks = 302_400
)

// Symbol is the token's symbol. A test may change it before New.
var Symbol = "HRLD"

// MulticallAddress is the address of Multicall3 on every chain that has it.
// https://www.multicall3.com/deployments
var MulticallAddress = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")

// Fakes has the fakes of all services, and the World.
type Fakes struct {
	World World

	// AppID and SecretKey are the credentials for the partner API. SecretKey is new at every start.
	AppID     string
	SecretKey string
	// PriceKey is the only key that the price provider accepts. It also answers calls without a key. PriceKey is new
	// at every start.
	PriceKey string

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
	all     []*Service

	// Pool makes calls of the pool with most of Staker's stake fail.
	Pool Fault
	// OldQuote makes Price return an old quote.
	OldQuote Fault
	// RateLimit makes Price refuse calls.
	RateLimit Fault
	// OldBlock makes the latest block of Chain an old one.
	OldBlock Fault
	// FreshBot has no effect on the fakes. While it is on, the demo uses a bot that has not recorded quotes.
	FreshBot Fault
	// Unstaked removes Staker's stake from all pools.
	Unstaked Fault
}

// New returns Fakes. The caller may replace the services' handlers before Serve.
func New() *Fakes {
	now := time.Now()
	s := &Fakes{
		World:     newWorld(now),
		AppID:     "herald-demo",
		SecretKey: rand.Text(),
		PriceKey:  rand.Text(),
		Pool:      Fault{Name: "pool", Note: "one of 21 staking pools cannot be read"},
		OldQuote:  Fault{Name: "old quote", Note: "the price provider's quote is three hours old"},
		RateLimit: Fault{
			Name: "rate limit",
			Note: "the price provider answers 429; Herald then asks again after a minute",
		},
		OldBlock: Fault{Name: "old block", Note: "the blockchain node's newest block is an hour old"},
		FreshBot: Fault{Name: "fresh bot", Note: "no price is recorded yet, so charts have no line"},
		Unstaked: Fault{Name: "unstaked", Note: "the member's wallet stakes nothing any more"},
	}
	s.Partner = s.add("partner", "PARTNER_BASE_URL", newPartner(s.World, s.AppID, s.SecretKey))
	s.Price = s.add("price", "PRICE_API_URL", s.market(constantPrices(s.World.Quote)))
	s.Supply = s.add("supply", "SUPPLY_URL", supplyHost{Supply: s.World.Supply})
	node := newNode(s.World, now)
	node.Now = func() time.Time { return s.OldBlock.timeBefore(time.Now(), time.Hour) }
	s.addPoolFaults(node)
	s.Chain = s.add("chain", "EVM_RPC_URL", node)
	return s
}

// addPoolFaults makes the pools of a node obey the faults Pool and Unstaked.
func (s *Fakes) addPoolFaults(node Node) {
	largest := s.World.Staked[1].Pool.Address // the pool with most of Staker's stake
	for _, pool := range s.World.Pools {
		original := node.Contracts[pool.Address]
		node.Contracts[pool.Address] = func(n Node, block uint64, input []byte) ([]byte, error) {
			switch {
			case s.Unstaked.On.Load() && bytes.HasPrefix(input, evmabi.Selector(StakingMethod)):
				return word(0), nil
			case s.Pool.On.Load() && pool.Address == largest:
				return nil, Reverted("")
			}
			return original(n, block, input)
		}
	}
}

// Walk makes the price move, beginning at the World's Quote, by one step per minute. It returns quotes of the 30 days
// before, the oldest first. Call it before Serve.
func (s *Fakes) Walk() []core.Quote {
	w := newWalk(s.World.Quote)
	s.Price.Handler = s.market(w.at)
	return w.past()
}

// market returns the price provider with these prices.
func (s *Fakes) market(p prices) market {
	return market{
		prices:      p,
		key:         s.PriceKey,
		oldQuote:    &s.OldQuote,
		rateLimit:   &s.RateLimit,
		usedCredits: new(atomic.Int64),
	}
}

// Serve starts each service on a free port of 127.0.0.1. It does not block; Close stops the services. If Serve
// returns an error, no service is running.
func (s *Fakes) Serve() error {
	for _, service := range s.Services() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return errors.Join(fmt.Errorf("start the fakes: %w", err), s.Close())
		}
		service.url = "http://" + l.Addr().String()
		service.server = &http.Server{
			Handler:           http.MaxBytesHandler(service, maxRequest),
			ReadHeaderTimeout: 10 * time.Second,
		}
		service.serving.Go(func() { _ = service.server.Serve(l) })
	}
	return nil
}

// Services returns all services. The caller must not change the list.
func (s *Fakes) Services() []*Service { return s.all }

// Faults returns the faults that a visitor of the demo can turn on: one for each service, and the others.
func (s *Fakes) Faults() (all []*Fault) {
	for _, service := range s.all {
		all = append(all, &service.Fault)
	}
	return append(all, &s.Pool, &s.OldQuote, &s.OldBlock, &s.RateLimit, &s.FreshBot, &s.Unstaked)
}

// Close closes all connections and frees the ports. Calls in flight fail.
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

// maxRequest is the maximum size of a request's body in bytes.
const maxRequest = 1 << 20

// Fault is a failure that a visitor of the demo turns on and off. It is safe for concurrent use.
type Fault struct {
	Name string
	// Note describes the failure.
	Note string
	On   atomic.Bool `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (f *Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"name": f.Name, "note": f.Note, "on": f.On.Load()})
}

// timeBefore returns the time that is age before now while the fault is on, and otherwise now.
func (f *Fault) timeBefore(now time.Time, age time.Duration) time.Time {
	if f.On.Load() {
		return now.Add(-age)
	}
	return now
}

// Service is the fake of one service: an HTTP server. It is safe for concurrent use once Serve was called.
type Service struct {
	// Fault makes the service refuse every call. Its Name is the name of the service.
	Fault
	// Setting is the name of the setting with the service's URL.
	Setting string
	// Handler answers the calls. It may be replaced before Serve.
	Handler http.Handler

	url     string
	server  *http.Server
	serving sync.WaitGroup
}

// add adds a service. name is the Name of its core.Service, and setting the name of the setting with its URL.
func (s *Fakes) add(name, setting string, h http.Handler) *Service {
	added := &Service{Fault: Fault{Name: name, Note: "every call is refused"}, Setting: setting, Handler: h}
	s.all = append(s.all, added)
	return added
}

// URL returns the service's origin without a slash at its end. Call it after Serve.
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
