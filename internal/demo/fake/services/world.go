package services

import (
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// World has the data of all correct answers. It is invented.
type World struct {
	// Registered is registered with the partner and has logins. Newcomer is registered and has no logins.
	// Unregistered is unknown to the partner.
	Registered   Person
	Newcomer     Person
	Unregistered Person
	// Logins are Registered's logins, the latest first.
	Logins []core.Login

	// Staker is a wallet of Registered. It has stakes in several pools, and withdrawals from some. Idle is a wallet of
	// Newcomer, and has neither.
	Staker common.Address
	Idle   common.Address
	Pools  []core.Pool
	// Staked, Claimable and Unbonding are Staker's amounts, one for each pool. NextClaim is the part of Unbonding
	// that becomes claimable first.
	Staked    []core.PoolAmount
	Claimable []core.PoolAmount
	Unbonding []core.PoolAmount
	NextClaim core.NextWithdrawal
	// TotalStaked is the stake of all wallets in all pools.
	TotalStaked decimal.Decimal

	withdrawals []withdrawal                       // Staker's
	totals      map[common.Address]decimal.Decimal // the stake of all wallets by pool

	Quote  core.Quote
	Supply core.Supply
}

// withdrawal is a part of Claimable or Unbonding.
type withdrawal struct {
	core.PoolAmount
	after time.Duration // how long after the start it becomes claimable; negative if it already is
}

// Person is a person with accounts on platforms. DID is "" if the person is not registered.
type Person struct {
	DID      string
	Accounts []core.Identity
}

// UID returns the person's ID on a platform, or "" if they have no account there.
func (p Person) UID(platform string) string {
	for _, account := range p.Accounts {
		if account.Platform == platform {
			return account.UID
		}
	}
	return ""
}

// MoreLogins is the number of Registered's older logins that are added to Logins. A test may change it before New.
var MoreLogins = 0

const (
	poolCount = 21
	decimals  = 18 // of the token on the chain
)

// newWorld returns the World. Except for its times, which are relative to now, it is the same at every start.
func newWorld(now time.Time) World {
	now = now.UTC().Truncate(time.Second)
	w := World{
		Staker: address("staker"),
		Idle:   address("idle"),
		Logins: newLogins(now),
		Supply: core.Supply{
			Total:       decimal.RequireFromString("987654321.123456789012345678"),
			Circulating: decimal.RequireFromString("612345678.901234567890123456"),
		},
	}
	w.addPeople()
	w.addStakes(now)
	price := decimal.RequireFromString("0.04172639184")
	w.Quote = core.Quote{
		Price:       price,
		Change1h:    valid(changes[0].percent),
		Change24h:   valid(changes[1].percent),
		Change7d:    valid(changes[2].percent),
		MarketCap:   decimal.NewNullDecimal(price.Mul(w.Supply.Circulating).Round(2)),
		Volume24h:   valid("1234567.89"),
		LastUpdated: now.Add(-QuoteAge),
	}
	return w
}

const day = 24 * time.Hour

func newLogins(now time.Time) []core.Login {
	logins := []core.Login{
		{Dapp: "Harbor Swap", Platform: "EVM", At: now.Add(-7 * time.Minute)},
		{Dapp: "Lantern & Sons <beta>", Platform: "Telegram", At: now.Add(-3 * time.Hour)},
		{Dapp: "Harbor Swap", Platform: "EVM", At: now.Add(-50 * time.Hour)},
		{Dapp: "Night Market", Platform: "Discord", At: now.Add(-11 * day)},
		{Dapp: "Orchard", Platform: "Email", At: now.Add(-25 * day)},
	}
	for i := range MoreLogins {
		at := now.Add(-26*day - time.Duration(i)*time.Minute)
		logins = append(logins, core.Login{Dapp: fmt.Sprintf("Night Market %d", i), Platform: "EVM", At: at})
	}
	return logins
}

// addPeople adds the people, who own Staker and Idle.
func (w *World) addPeople() {
	w.Registered = Person{DID: "did:herald:5f1c0a72be9d", Accounts: []core.Identity{
		{Platform: "Telegram", UID: "7000000001"},
		{Platform: "Discord", UID: "700000000000000001"},
		{Platform: "GitHub", UID: "70001"},
		{Platform: "EVM", UID: w.Staker.Hex()},
		{Platform: "Email", UID: "ann@example.org"},
	}}
	w.Newcomer = Person{DID: "did:herald:08e6d4417ac3", Accounts: []core.Identity{
		{Platform: "Telegram", UID: "7000000002"},
		{Platform: "Discord", UID: "700000000000000002"},
		{Platform: "EVM", UID: w.Idle.Hex()},
	}}
	w.Unregistered = Person{Accounts: []core.Identity{
		{Platform: "Telegram", UID: "7000000003"},
		{Platform: "Discord", UID: "700000000000000003"},
	}}
}

// addStakes adds the pools, Staker's amounts, and the totals of all wallets.
func (w *World) addStakes(now time.Time) {
	for i := range poolCount {
		w.Pools = append(w.Pools, core.Pool{
			Address: address(fmt.Sprintf("pool %d", i)),
			Name:    fmt.Sprintf("Pool %02d", i+1),
		})
	}
	amount := func(pool int, tokens string) core.PoolAmount {
		return core.PoolAmount{Pool: w.Pools[pool], Amount: decimal.RequireFromString(tokens)}
	}
	w.Staked = []core.PoolAmount{
		amount(2, "12345.678901234567890123"),
		amount(8, "1000000"),
		amount(15, "0.000000000000000001"),
	}
	w.withdrawals = []withdrawal{
		{amount(8, "1000"), -day},
		{amount(8, "500"), 3 * day},
		{amount(8, "1000.75"), 5 * day},
		{amount(19, "86.420000000000000003"), 6 * day},
	}
	w.Claimable = []core.PoolAmount{amount(8, "1000")}
	w.Unbonding = []core.PoolAmount{amount(8, "1500.75"), amount(19, "86.420000000000000003")}
	w.NextClaim = core.NextWithdrawal{Amount: decimal.New(500, 0), At: now.Add(3 * day)}
	w.totals = map[common.Address]decimal.Decimal{}
	for i, pool := range w.Pools {
		w.totals[pool.Address] = decimal.New(int64(i+1), 6)
	}
	for _, staked := range w.Staked {
		w.totals[staked.Pool.Address] = w.totals[staked.Pool.Address].Add(staked.Amount)
	}
	for _, total := range w.totals {
		w.TotalStaked = w.TotalStaked.Add(total)
	}
}

func valid(number string) decimal.NullDecimal {
	return decimal.NewNullDecimal(decimal.RequireFromString(number))
}

// address returns an address that depends only on name. Nobody knows its private key.
func address(name string) common.Address {
	hash := evmabi.Keccak256("herald sandbox " + name)
	return common.BytesToAddress(hash[12:])
}
