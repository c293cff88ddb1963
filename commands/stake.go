package commands

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// stakeText words a stake, which is what a wallet has in the pools. Tokens leave a pool in two steps: their owner
// unstakes them and, some days later, claims them. Until they can be claimed, they are Unbonding; then, Withdrawable.
type stakeText struct {
	core.Stake
	Options
}

// stakeKeys are the messages of a verdict. The wallet stakes a sum (yes), at least a sum (atLeast), or nothing (no).
type stakeKeys struct{ yes, atLeast, no string }

var (
	// titleKeys are for the title of a reply.
	titleKeys = stakeKeys{yes: "stake.yes", atLeast: "stake.at_least", no: "stake.no"}
	// subtitleKeys are for a line after a title about the wallet's owner.
	subtitleKeys = stakeKeys{yes: "verify.stakes", atLeast: "verify.stakes_least", no: "verify.stakes_nothing"}
)

// verdict says what the wallet stakes, as far as that is known:
//
//	found     all pools read   verdict
//
//	a stake   yes              how much is staked
//	a stake   no               that at least this much is staked
//	nothing   yes              that nothing is staked
//	nothing   no               how many pools were not read, with the tone Warning
func (s stakeText) verdict(keys stakeKeys) (chat.Tone, chat.Text) {
	total := chat.Values{"total": s.amount(s.Total(), chat.Short)}
	isAllRead := len(s.Failed) == 0
	status := s.StakerStatus()
	switch {
	case status == core.Staker && isAllRead:
		return chat.Positive, chat.SayWith(keys.yes, total)
	case status == core.Staker:
		return chat.Positive, chat.SayWith(keys.atLeast, total)
	case status == core.NotStaker:
		return chat.Negative, chat.Say(keys.no)
	}
	return chat.Warning, chat.SayWith("stake.undetermined", chat.Values{
		"failed": chat.Count(len(s.Failed)),
		"n":      s.poolCount(),
	})
}

// worth says what the stake is worth at the price q. It returns nil if that is less than a cent, or if q is nil.
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

const (
	// maxPoolName is the maximum length of a pool's name as it is shown, in characters.
	maxPoolName = 40
	// maxPools is the number of pools that are shown one by one if the others are summed up.
	maxPools = 5
)

// poolSections returns a line with the stake in each pool, the largest first. If there are many pools, the line has
// only the largest maxPools, a second line has the sum of the others, and others has a field for each of them. A single
// pool is never summed up: of 6 pools all are shown, and of 7 pools 5 and the sum of 2.
func (s stakeText) poolSections() (sections []chat.Section, others []chat.Field) {
	byAmount := func(a, b core.PoolAmount) int { return b.Amount.Cmp(a.Amount) }
	largest := slices.SortedStableFunc(slices.Values(s.Staked), byAmount)
	if len(largest) <= maxPools+1 {
		return []chat.Section{{Row: true, Fields: poolFields(largest, s.withoutSymbol())}}, nil
	}
	shown, summedUp := largest[:maxPools], largest[maxPools:]
	sum := chat.Field{
		Name:  chat.SayWith("stake.others", chat.Values{"n": chat.Count(len(summedUp))}),
		Value: s.amount(core.Sum(summedUp), chat.Short),
	}
	sections = []chat.Section{
		{Row: true, Fields: poolFields(shown, s.withoutSymbol())},
		{Fields: []chat.Field{sum}},
	}
	return sections, poolFields(summedUp, s.Options)
}

// withoutSymbol returns a copy of o whose amounts lack the token's symbol, for use beside an amount that has it.
func (o Options) withoutSymbol() Options {
	o.Symbol = ""
	return o
}

// poolFields returns a field for each pool: its name or, if it has none, its address, and the amount.
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

// withdrawalLines returns a line about the sum that can be claimed, and a line about the sum that cannot be claimed
// yet. The second line also says when the next part of it can be. A line is left out if its sum is 0. If a pool was not
// read completely, the lines say "at least".
func (s stakeText) withdrawalLines() (lines chat.Section) {
	claimable, unstaking := "stake.claimable", "stake.unstaking"
	if !s.Complete() {
		claimable, unstaking = "stake.claimable_least", "stake.unstaking_least"
	}
	if sum := core.Sum(s.Withdrawable); !sum.IsZero() {
		lines.Fields = append(lines.Fields, chat.Field{Value: s.sumLine(claimable, sum)})
	}
	if sum := core.Sum(s.Unbonding); !sum.IsZero() {
		lines.Fields = append(lines.Fields, chat.Field{Value: s.addNextWithdrawal(s.sumLine(unstaking, sum))})
	}
	return lines
}

// sumLine returns the message of key about a sum of tokens.
func (s stakeText) sumLine(key string, sum decimal.Decimal) chat.Text {
	return chat.SayWith(key, chat.Values{"amount": chat.Strong{Value: s.amount(sum, chat.Short)}})
}

// addNextWithdrawal completes the line about the sum that cannot be claimed yet. It adds when the next part of the sum
// can be claimed and, unless that is all of it, how much. If the time is unknown, it returns the line unchanged.
func (s stakeText) addNextWithdrawal(unstaking chat.Text) chat.Text {
	if !s.knowsNextWithdrawal() {
		return unstaking
	}
	next := s.NextWithdrawal
	when := chat.Values{"unstaking": unstaking, "when": inAbout(time.Until(next.At))}
	isAll := next.Amount.Equal(core.Sum(s.Unbonding))
	if isAll {
		return chat.SayWith("stake.claimable_all", when)
	}
	when["amount"] = s.withoutSymbol().amount(next.Amount, chat.Short)
	return chat.SayWith("stake.claimable_next", when)
}

// maxStandstill is the maximum age of the latest block. If the block is older, the chain may have stopped, and it is
// unknown when tokens can be claimed.
const maxStandstill = 10 * time.Minute

// knowsNextWithdrawal reports whether it is known when the next part can be claimed. It returns false if a pool was not
// read completely, because an earlier part may be in that pool.
func (s stakeText) knowsNextWithdrawal() bool {
	hasTime := !s.NextWithdrawal.At.IsZero()
	isChainRunning := time.Since(s.BlockTime) <= maxStandstill
	return hasTime && isChainRunning && s.Complete()
}

// inAbout says how far away something is: less than an hour, a number of hours or, from two days on, a number of days.
// It rounds: 90 minutes are 2 hours, and 59 hours are 2 days.
func inAbout(d time.Duration) chat.Text {
	const day = 24 * time.Hour
	rounded := d.Round(time.Hour)
	switch {
	case d < time.Hour:
		return chat.Say("stake.in_minutes")
	case rounded < 2*day:
		return chat.SayWith("stake.in_hours", chat.Values{"n": chat.Count(rounded / time.Hour)})
	}
	return chat.SayWith("stake.in_days", chat.Values{"n": chat.Count(d.Round(day) / day)})
}

// fullValues returns the unshortened address of the wallet and, if every pool was read, its stake to the last digit.
func (s stakeText) fullValues(wallet common.Address) []chat.Field {
	fields := s.fullAddress(wallet)
	if s.StakerStatus() == core.Staker && len(s.Failed) == 0 {
		fields = append(fields, chat.Field{Name: chat.Say("stake.exact"), Value: s.amount(s.Total(), chat.Exact)})
	}
	return fields
}

// fullAddress returns the unshortened address of a wallet.
func (o Options) fullAddress(wallet common.Address) []chat.Field {
	address := o.address(wallet)
	address.Full = true
	return []chat.Field{{Value: address}}
}

// notes returns a note if some pools gave the stake, but not what is being unstaked there.
func (s stakeText) notes() []chat.Text {
	withoutWithdrawals := s.WithoutWithdrawals()
	if withoutWithdrawals == 0 {
		return nil
	}
	return []chat.Text{chat.SayWith("stake.unstaking_unread", chat.Values{
		"failed": chat.Count(withoutWithdrawals),
		"n":      s.poolCount(),
	})}
}

// footer returns how many pools were read, and the number of the block. If the stake is Undetermined, the verdict has
// already said how many pools were read.
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

// poolCount returns the number of all pools, whether they were read or not.
func (s stakeText) poolCount() chat.Count { return chat.Count(s.Checked + len(s.Failed)) }
