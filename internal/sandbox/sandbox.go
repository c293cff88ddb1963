// Package sandbox is stand-ins for the four services that Herald asks: the
// partner API, the price provider, the supply host and a chain with 21 staking
// pools. They are real HTTP servers on the loopback interface, so that `bot
// demo` and the tests run every line that production runs.
//
// What they answer is fixed and told in World, so that an answer of the bot can
// be compared with the truth, and each of them can be made to fail in the ways
// that Faults lists. The package asks nothing itself and knows none of Herald's
// clients: what it checks, such as signatures, it works out on its own. The
// chain runs no EVM, which would triple the binary: its contracts are Go
// functions behind the ABI.
package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// What to configure the bot with, besides the URLs and keys of a Sandbox.
const (
	TokenID   = "31415"
	TokenSlug = "herald-demo"
	Symbol    = "HRLD"
	Decimals  = 18
	ChainID   = 424242

	// StakingMethod and PendingMethod are the views of every pool.
	StakingMethod = "currentStake(address)"
	PendingMethod = "pendingWithdrawals(address)"
)

// MulticallAddress is where Multicall3 stands on every chain that has it
// (https://www.multicall3.com/deployments).
var MulticallAddress = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")

// Sandbox is the four stand-ins and what they know.
type Sandbox struct {
	World World

	// AppID and SecretKey sign calls of the partner API. SecretKey and
	// PriceKey are made anew by every Start.
	AppID     string
	SecretKey string
	// PriceKey is the one key that the price provider takes; it also answers
	// without any.
	PriceKey string

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
	// Elsewhere is where a service redirects to whose fault that is. Any
	// request that it counts carried credentials to a stranger.
	Elsewhere *Service
}

// Start opens every stand-in on a free port of 127.0.0.1. The caller closes
// what it returns.
func Start() (*Sandbox, error) {
	now := time.Now()
	s := &Sandbox{
		World:     newWorld(now),
		AppID:     "herald-demo",
		SecretKey: rand.Text(),
		PriceKey:  rand.Text(),
	}
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, "{}") })
	s.Elsewhere = &Service{handler: elsewhere}
	s.Partner = &Service{handler: newPartner(s.World, s.AppID, s.SecretKey)}
	s.Price = &Service{handler: newMarket(s.World, s.PriceKey)}
	s.Supply = &Service{handler: newSupplyHost(s.World)}
	s.Chain = &Service{handler: newNode(s.World, now)}

	for _, service := range s.services() {
		service.elsewhere = s.Elsewhere.URL()
		if err := service.start(); err != nil {
			return nil, errors.Join(fmt.Errorf("start the sandbox: %w", err), s.Close())
		}
	}
	return s, nil
}

// services has Elsewhere first: the others must know its URL.
func (s *Sandbox) services() []*Service {
	return []*Service{s.Elsewhere, s.Partner, s.Price, s.Supply, s.Chain}
}

// Name names a stand-in.
type Name string

// The stand-ins that can be made to fail.
const (
	Partner     Name = "partner"
	Price       Name = "price"
	TokenSupply Name = "supply"
	Chain       Name = "chain"
)

// Service is the stand-in for a service; nil if the name is none.
func (s *Sandbox) Service(name Name) *Service {
	switch name {
	case Partner:
		return s.Partner
	case Price:
		return s.Price
	case TokenSupply:
		return s.Supply
	case Chain:
		return s.Chain
	}
	return nil
}

// Close breaks every connection and frees the ports. Calls under way end.
func (s *Sandbox) Close() error {
	var errs []error
	for _, service := range s.services() {
		errs = append(errs, service.stop())
	}
	return errors.Join(errs...)
}
