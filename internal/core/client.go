package core

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Observer is told what the Client does. Its methods must not block.
type Observer interface {
	// Call is one call to a service; outcome is "ok" or a Reason.
	Call(service Service, outcome string, took time.Duration)
	// Lookup is one question; result is "fresh", "asked", "stale" or "failed".
	Lookup(question, result string)
}

// ClientConfig is what a Client works with. All but Store is required.
type ClientConfig struct {
	Price    PriceSource
	Supply   SupplySource
	Accounts AccountSource
	Staking  StakingSource

	PriceTTL, SupplyTTL, StakeTTL, ExistsTTL, LoginsTTL time.Duration
	// StaleFor is how long past its TTL a price or supply may stand in while
	// its source fails.
	StaleFor time.Duration
	// MaxItems bounds the cached answers.
	MaxItems int
	// CallTimeout bounds one call to a service, Timeout all calls for one
	// answer.
	CallTimeout, Timeout time.Duration
	// Store is shared with other replicas; nil is none.
	Store    Store
	Observer Observer
}

// Client answers questions from its cache, else from the sources. Its answers
// are copies that the caller owns. Every method returns when ctx is done and
// fails with an *Error.
type Client struct {
	ClientConfig
	cache *cache

	price   question[Quote]
	supply  question[Supply]
	stake   question[Stake]
	account question[Account]
	logins  question[[]Login]
}

// NewClient makes a Client. It starts nothing and asks nobody.
func NewClient(c ClientConfig) *Client {
	// Price and supply are asked for without arguments, so that each of their
	// failures is the service's own. Elsewhere an odd answer may be about one
	// wallet or person, who must not be able to pause the service for others.
	anyFailure := func(Reason) bool { return true }
	downOnly := func(r Reason) bool { return r == Unreachable || r == SlowAnswer || r == Limited }

	price := newGuard(Price, c.CallTimeout, c.PriceTTL, anyFailure, c.Observer)
	supply := newGuard(TokenSupply, c.CallTimeout, c.SupplyTTL, anyFailure, c.Observer)
	chain := newGuard(Chain, c.CallTimeout, c.StakeTTL, downOnly, c.Observer)
	partner := newGuard(Partner, c.CallTimeout, min(c.ExistsTTL, c.LoginsTTL), downOnly, c.Observer)
	return &Client{
		ClientConfig: c,
		cache:        newCache(c.MaxItems),
		price:        question[Quote]{name: "price", guard: price, ttl: c.PriceTTL, staleFor: c.StaleFor, shared: true},
		supply:       question[Supply]{name: "supply", guard: supply, ttl: c.SupplyTTL, staleFor: c.StaleFor, shared: true},
		stake:        question[Stake]{name: "stake", guard: chain, ttl: c.StakeTTL, keep: Stake.complete},
		account:      question[Account]{name: "account", guard: partner, ttl: c.ExistsTTL},
		logins:       question[[]Login]{name: "logins", guard: partner, ttl: c.LoginsTTL},
	}
}

// Quote is the token's price, possibly stale.
func (c *Client) Quote(ctx context.Context) (Snapshot[Quote], error) {
	return ask(ctx, c, c.price, "", c.Price.Quote)
}

// TokenSupply is the token's supply, possibly stale.
func (c *Client) TokenSupply(ctx context.Context) (Snapshot[Supply], error) {
	return ask(ctx, c, c.supply, "", c.Supply.Supply)
}

// Stake is what wallet has in the pools.
func (c *Client) Stake(ctx context.Context, wallet common.Address) (Snapshot[Stake], error) {
	s, err := ask(ctx, c, c.stake, wallet.Hex(), func(ctx context.Context) (Stake, error) {
		return c.Staking.Stake(ctx, wallet)
	})
	s.Value = s.Value.clone()
	return s, err
}

// Account tells whether a person is registered.
func (c *Client) Account(ctx context.Context, id Identity) (Snapshot[Account], error) {
	return ask(ctx, c, c.account, id.Platform+" "+id.UID, func(ctx context.Context) (Account, error) {
		return c.Accounts.Account(ctx, id)
	})
}

// Logins are a person's logins of the past 30 days, newest first.
func (c *Client) Logins(ctx context.Context, did string) (Snapshot[[]Login], error) {
	s, err := ask(ctx, c, c.logins, did, func(ctx context.Context) ([]Login, error) {
		logins, err := c.Accounts.Logins(ctx, did)
		logins = slices.Clone(logins)
		slices.SortStableFunc(logins, func(a, b Login) int {
			if newest := b.At.Compare(a.At); newest != 0 {
				return newest
			}
			return strings.Compare(a.Dapp, b.Dapp)
		})
		return logins, err
	})
	s.Value = slices.Clone(s.Value)
	return s, err
}

func (s Stake) complete() bool { return len(s.Failed) == 0 && len(s.UnbondingFailed) == 0 }

func (s Stake) clone() Stake {
	s.Staked = slices.Clone(s.Staked)
	s.Unbonding = slices.Clone(s.Unbonding)
	s.Failed = slices.Clone(s.Failed)
	s.UnbondingFailed = slices.Clone(s.UnbondingFailed)
	return s
}
