package services

import (
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// World is what the stand-ins know, and so what a right answer says. Nothing
// in it is real.
type World struct {
	// Registered has logins, Newcomer is registered and has none, Unregistered
	// is unknown to the partner's service.
	Registered   Person
	Newcomer     Person
	Unregistered Person
	// Logins are those of Registered, newest first.
	Logins []core.Login

	// Staker stakes in several pools and withdraws from some; Idle does
	// neither. Staker is an account of Registered and Idle one of Newcomer.
	Staker common.Address
	Idle   common.Address
	Pools  []core.Pool
	// Staked and Unbonding are Staker's, summed up for each pool.
	Staked    []core.PoolAmount
	Unbonding []core.PoolAmount

	Quote  core.Quote
	Supply core.Supply
}

// Person is somebody with accounts on platforms. DID is empty for one who is
// not registered.
type Person struct {
	DID      string
	Accounts []core.Identity
}

// UID is the person's ID on a platform, "" if they have none there.
func (p Person) UID(platform string) string {
	for _, account := range p.Accounts {
		if account.Platform == platform {
			return account.UID
		}
	}
	return ""
}

const poolCount = 21

// Staker's pools, by index into World.Pools.
const (
	firstPool = 2
	largePool = 8
	dustPool  = 15
	leftPool  = 19
)

// newWorld is the same for every start but for its times, which precede now:
// logins must lie within the past 30 days.
func newWorld(now time.Time) World {
	now = now.UTC().Truncate(time.Second)
	w := World{Staker: address("staker"), Idle: address("idle")}
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
		amount(firstPool, "12345.678901234567890123"),
		amount(largePool, "1000000"),
		amount(dustPool, "0.000000000000000001"),
	}
	w.Unbonding = []core.PoolAmount{
		amount(largePool, "2500.75"),
		amount(leftPool, "86.420000000000000003"),
	}
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
	w.Logins = []core.Login{
		{Dapp: "Harbor Swap", Platform: "EVM", At: now.Add(-7 * time.Minute)},
		{Dapp: "Lantern & Sons <beta>", Platform: "Telegram", At: now.Add(-3 * time.Hour)},
		{Dapp: "Harbor Swap", Platform: "EVM", At: now.Add(-50 * time.Hour)},
		{Dapp: "Night Market", Platform: "Discord", At: now.Add(-11 * 24 * time.Hour)},
		{Dapp: "Orchard", Platform: "Email", At: now.Add(-25 * 24 * time.Hour)},
	}
	w.Supply = core.Supply{
		Total:       decimal.RequireFromString("987654321.123456789012345678"),
		Circulating: decimal.RequireFromString("612345678.901234567890123456"),
	}
	price := decimal.RequireFromString("0.04172639184")
	w.Quote = core.Quote{
		Price:       price,
		Change1h:    valid("-0.31415926"),
		Change24h:   valid("2.71828182"),
		Change7d:    valid("-12.5"),
		MarketCap:   decimal.NewNullDecimal(price.Mul(w.Supply.Circulating).Round(2)),
		Volume24h:   valid("1234567.89"),
		LastUpdated: now.Add(-40 * time.Second),
	}
	return w
}

func valid(number string) decimal.NullDecimal {
	return decimal.NewNullDecimal(decimal.RequireFromString(number))
}

// address is one that nobody has the key of.
func address(name string) common.Address {
	hash := evmabi.Keccak256("herald sandbox " + name)
	return common.BytesToAddress(hash[12:])
}

// baseUnits is an amount of tokens as the chain counts them.
func baseUnits(tokens decimal.Decimal) *big.Int { return tokens.Shift(Decimals).BigInt() }
