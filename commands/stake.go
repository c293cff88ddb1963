package commands

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// maxPoolName bounds the name of a pool, in characters.
	maxPoolName = 40
	// maxPools bounds the pools that are shown, unless only one more exists.
	maxPools = 5
)

// stakeText words a stake, for every command that speaks of one.
type stakeText struct {
	core.Stake
	Options
}

// stakeKeys are the messages of a verdict.
type stakeKeys struct{ yes, atLeast, no string }

var (
	titleKeys = stakeKeys{yes: "stake.yes", atLeast: "stake.at_least", no: "stake.no"}
	// subtitleKeys say the same after a title about the wallet's owner.
	subtitleKeys = stakeKeys{yes: "verify.stakes", atLeast: "verify.stakes_least", no: "verify.stakes_nothing"}
)

// verdict says what is staked, or that nothing is. With the tone Warning it says why that is
// not known.
func (s stakeText) verdict(keys stakeKeys) (chat.Tone, chat.Text) {
	total := chat.Values{"total": s.amount(s.Total(), chat.Short)}
	switch outcome := s.StakerStatus(); {
	case outcome == core.Staker && len(s.Failed) > 0:
		return chat.Positive, chat.SayWith(keys.atLeast, total)
	case outcome == core.Staker:
		return chat.Positive, chat.SayWith(keys.yes, total)
	case outcome == core.NotStaker:
		return chat.Negative, chat.Say(keys.no)
	}
	return chat.Warning, chat.SayWith("stake.undetermined", chat.Values{
		"failed": chat.Count(len(s.Failed)),
		"n":      s.poolCount(),
	})
}

// worth says what the stake is worth. It returns nil below a cent, or without a price.
func (s stakeText) worth(q *core.Quote) chat.Value {
	if q == nil {
		return nil
	}
	worth := s.Total().Mul(q.Price)
	if worth.LessThan(decimal.New(1, -2)) {
		return nil
	}
	return chat.SayWith("stake.worth", chat.Values{"worth": chat.Money{Decimal: worth}})
}

// poolSections returns a line with the largest pools and, if there are more than maxPools+1,
// one with the sum of the others, which folded lists.
func (s stakeText) poolSections() (sections []chat.Section, folded []chat.Field) {
	byAmount := func(a, b core.PoolAmount) int { return b.Amount.Cmp(a.Amount) }
	largest := slices.SortedStableFunc(slices.Values(s.Staked), byAmount)
	row := s.Options
	row.Symbol = "" // It stands above.
	if len(largest) <= maxPools+1 {
		return []chat.Section{{Row: true, Fields: poolFields(largest, row)}}, nil
	}
	others := largest[maxPools:]
	sum := chat.Field{
		Name:  chat.SayWith("stake.others", chat.Values{"n": chat.Count(len(others))}),
		Value: s.amount(core.Stake{Staked: others}.Total(), chat.Short),
	}
	sections = []chat.Section{
		{Row: true, Fields: poolFields(largest[:maxPools], row)},
		{Fields: []chat.Field{sum}},
	}
	return sections, poolFields(others, s.Options)
}

// poolFields returns a field for each pool.
func poolFields(pools []core.PoolAmount, options Options) []chat.Field {
	var fields []chat.Field
	for _, p := range pools {
		var name chat.Value = chat.NewUntrusted(p.Pool.Name, maxPoolName)
		if name == chat.Untrusted("") {
			name = options.address(p.Pool.Address)
		}
		fields = append(fields, chat.Field{Name: name, Value: options.amount(p.Amount, chat.Short)})
	}
	return fields
}

// withdrawals returns a line with what can be claimed, and one with what is still being unstaked
// and when the next part of that can be claimed, as far as there is any. The sums are "at least"
// if a pool was not read completely.
func (s stakeText) withdrawals() (lines chat.Section) {
	claimable, unstaking := "stake.claimable", "stake.unstaking"
	if !s.Complete() {
		claimable, unstaking = "stake.claimable_least", "stake.unstaking_least"
	}
	add := func(key string, pools []core.PoolAmount, more func(chat.Text) chat.Text) {
		if sum := (core.Stake{Staked: pools}).Total(); !sum.IsZero() {
			line := chat.SayWith(key, chat.Values{"amount": chat.Strong{Value: s.amount(sum, chat.Short)}})
			lines.Fields = append(lines.Fields, chat.Field{Value: more(line)})
		}
	}
	add(claimable, s.Withdrawable, func(line chat.Text) chat.Text { return line })
	add(unstaking, s.Unbonding, s.withNextClaim)
	return lines
}

// maxStandstill is the age of a block from which on the chain may stand still: nobody knows
// then when a claim is ready.
const maxStandstill = 10 * time.Minute

// withNextClaim returns a line about what is being unstaked, and how much of it can be claimed
// next, and when; without the amount if that is all. It returns the line unchanged if the time is
// not known. An unread pool may have an earlier claim.
func (s stakeText) withNextClaim(unstaking chat.Text) chat.Text {
	next := s.NextWithdrawal
	if !s.Complete() || next.At.IsZero() || time.Since(s.BlockTime) > maxStandstill {
		return unstaking
	}
	when := chat.Values{"unstaking": unstaking, "when": inAbout(time.Until(next.At))}
	if next.Amount.Equal(core.Stake{Staked: s.Unbonding}.Total()) {
		return chat.SayWith("stake.claimable_all", when)
	}
	s.Symbol = "" // It stands before.
	when["amount"] = s.amount(next.Amount, chat.Short)
	return chat.SayWith("stake.claimable_next", when)
}

// inAbout says in how many hours something is, or from two days on in how many days.
func inAbout(d time.Duration) chat.Text {
	if d < time.Hour {
		return chat.Say("stake.in_minutes")
	}
	const day = 24 * time.Hour
	if d.Round(time.Hour) >= 2*day {
		return chat.SayWith("stake.in_days", chat.Values{"n": chat.Count(d.Round(day) / day)})
	}
	return chat.SayWith("stake.in_hours", chat.Values{"n": chat.Count(d.Round(time.Hour) / time.Hour)})
}

// full returns the whole wallet and, if every pool was read, its stake to the last digit.
func (s stakeText) full(wallet common.Address) []chat.Field {
	address := s.address(wallet)
	address.Full = true
	fields := []chat.Field{{Value: address}}
	if s.StakerStatus() == core.Staker && len(s.Failed) == 0 {
		fields = append(fields, chat.Field{Name: chat.Say("stake.exact"), Value: s.amount(s.Total(), chat.Exact)})
	}
	return fields
}

// notes say in how many pools the stake could be read, but not what is being unstaked.
func (s stakeText) notes() []chat.Text {
	failed := len(s.Unread()) - len(s.Failed)
	if failed == 0 {
		return nil
	}
	return []chat.Text{chat.SayWith("stake.unstaking_unread", chat.Values{
		"failed": chat.Count(failed),
		"n":      s.poolCount(),
	})}
}

// footer names the block, and how many pools were read unless the verdict says so.
func (s stakeText) footer() (parts chat.Parts) {
	if s.StakerStatus() != core.Undetermined {
		parts = append(parts, s.poolsRead())
	}
	if s.Block > 0 {
		parts = append(parts, chat.SayWith("block", chat.Values{"number": chat.Count(s.Block)}))
	}
	return parts
}

// poolsRead says how many pools were read.
func (s stakeText) poolsRead() chat.Text {
	key := "stake.all"
	if len(s.Failed) > 0 {
		key = "stake.some"
	}
	return chat.SayWith(key, chat.Values{"checked": chat.Count(s.Checked), "n": s.poolCount()})
}

// poolCount returns the number of pools that were asked.
func (s stakeText) poolCount() chat.Count { return chat.Count(s.Checked + len(s.Failed)) }
