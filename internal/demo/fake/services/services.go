// Package services has stand-ins for the four services that Herald asks: the
// partner API, the price provider, the supply host and a chain with 21 staking
// pools. They are real HTTP servers on loopback, so that `bot demo` and the tests
// run every line that production runs.
//
// Their answers are fixed and known as World, so that the bot's can be compared
// with the truth; the price alone walks where that is asked for. The package asks nothing and uses none of Herald's clients: what
// it checks, such as signatures, it works out itself. The chain runs no EVM, which
// would triple the binary; its contracts are Go functions behind the ABI. The many
// ways of failing are for tests alone, in internal/e2e/fault.
package services

import (
	"crypto/rand"
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
)

// What to configure the bot with, besides the URLs and keys of Fakes.
const (
	TokenID = "31415"
	ChainID = 424242

	// StakingMethod and PendingMethod are the views of every pool.
	StakingMethod = "currentStake(address)"
	PendingMethod = "pendingWithdrawals(address)"
)

// Symbol is the token's. Before New, a test may choose another.
var Symbol = "HRLD"

// MulticallAddress is where Multicall3 stands on every chain that has it:
// https://www.multicall3.com/deployments
var MulticallAddress = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")

// Fakes is the four stand-ins and what they know.
type Fakes struct {
	World World

	// AppID and SecretKey sign calls of the partner API. SecretKey and PriceKey
	// are new at every start.
	AppID     string
	SecretKey string
	// PriceKey is the one key that the price provider takes. It also answers
	// without any.
	PriceKey string

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
	// Pool is the one pool of the Chain that Staker has most in. It has no URL.
	Pool *Service
}

// New makes the stand-ins. Their handlers may be replaced before Serve.
func New() *Fakes {
	now := time.Now()
	s := &Fakes{World: newWorld(now), AppID: "herald-demo", SecretKey: rand.Text(), PriceKey: rand.Text()}
	s.Partner = &Service{Name: "partner", Handler: newPartner(s.World, s.AppID, s.SecretKey)}
	s.Price = &Service{Name: "price", Handler: market{at: standing(s.World.Quote), key: s.PriceKey}}
	s.Supply = &Service{Name: "supply", Handler: supplyHost{Supply: s.World.Supply}}
	node, most := newNode(s.World, now), s.World.Staked[1].Pool.Address
	s.Chain, s.Pool = &Service{Name: "chain", Handler: node}, &Service{Name: "pool"}
	read := node.Contracts[most]
	node.Contracts[most] = func(n Node, block uint64, input []byte) ([]byte, error) {
		if s.Pool.Down.Load() {
			return nil, Reverted("")
		}
		return read(n, block, input)
	}
	return s
}

// Walk has the price go on from the World's Quote as a market's does, a step a minute,
// and returns quotes of the 30 days before it, oldest first. Call it before Serve.
func (s *Fakes) Walk() []core.Quote {
	w := newWalk(s.World.Quote)
	s.Price.Handler = market{at: w.at, key: s.PriceKey}
	return w.past()
}

// Start makes the stand-ins and serves them. The caller closes them.
func Start() (*Fakes, error) {
	s := New()
	return s, s.Serve()
}

// Serve serves each stand-in on a free port of 127.0.0.1 until Close, or none if it
// fails. It does not block.
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

// Services returns the four stand-ins.
func (s *Fakes) Services() []*Service {
	return []*Service{s.Partner, s.Price, s.Supply, s.Chain}
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

// Service is one stand-in: an HTTP server that answers correctly. Safe for
// concurrent use once it is served.
type Service struct {
	// Name says in a word what the bot asks it for.
	Name string
	// Handler answers. It may be replaced before Serve.
	Handler http.Handler
	// Down has it refuse every call, as a visitor of the demo may wish.
	Down atomic.Bool

	url     string
	server  *http.Server
	serving sync.WaitGroup
}

// URL returns the service's origin, without a slash at its end, once it is served.
func (s *Service) URL() string { return s.url }

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Down.Load() {
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
