// Package sandbox is stand-ins for the four services that Herald asks: the
// partner API, the price provider, the supply host and a chain with 21 staking
// pools. They are real HTTP servers on the loopback interface, so that `bot
// demo` and the tests run every line that production runs.
//
// What they answer is fixed and told in World, so that an answer of the bot can
// be compared with the truth. They fail only when they are told to, in the few
// ways of faults.go; package fault, which is for tests alone, puts a Handler of
// its own in the place of theirs. The package asks
// nothing itself and knows none of Herald's clients: what it checks, such as
// signatures, it works out on its own. The chain runs no EVM, which would
// triple the binary: its contracts are Go functions behind the ABI.
package services

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
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
	// PriceKey are made anew by every New.
	AppID     string
	SecretKey string
	// PriceKey is the one key that the price provider takes; it also answers
	// without any.
	PriceKey string

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
}

// New makes the stand-ins, which nothing serves yet.
func New() *Sandbox {
	now := time.Now()
	s := &Sandbox{
		World:     newWorld(now),
		AppID:     "herald-demo",
		SecretKey: rand.Text(),
		PriceKey:  rand.Text(),
	}
	price, node := market{s.World.Quote, s.PriceKey}, newNode(s.World, now)
	s.Partner = &Service{Name: "partner", Handler: newPartner(s.World, s.AppID, s.SecretKey), faults: commonFaults()}
	s.Price = &Service{Name: "price", Handler: price, faults: price.faults()}
	s.Supply = &Service{Name: "supply", Handler: supplyHost{s.World.Supply}, faults: commonFaults()}
	s.Chain = &Service{Name: "chain", Handler: node, faults: node.faults(s.World)}
	return s
}

// Start makes the stand-ins and serves each on a free port of 127.0.0.1. The
// caller closes what it returns.
func Start() (*Sandbox, error) {
	s := New()
	for _, service := range s.Services() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start the sandbox: %w", err), s.Close())
		}
		service.Serve(l)
	}
	return s, nil
}

// Services are the four stand-ins.
func (s *Sandbox) Services() []*Service {
	return []*Service{s.Partner, s.Price, s.Supply, s.Chain}
}

// Close breaks every connection and frees the ports. Calls under way end.
func (s *Sandbox) Close() error {
	var errs []error
	for _, service := range s.Services() {
		errs = append(errs, service.Close())
	}
	return errors.Join(errs...)
}
