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
	// maxPoolName is the maximum length of a pool's name as it is shown, in characters.
	maxPoolName = 40
	// maxPools is the number of pools that are shown one by one. A single further pool is shown too.
	maxPools = 5
)

// stakeText words a stake for the commands that show one.
type stakeText struct {
	core.Stake
	Options
}

// stakeKeys are the messages of a verdict: the wallet stakes exactly or at least a sum, or nothing.
type stakeKeys struct{ yes, atLeast, no string }

var (
	titleKeys = stakeKeys{yes: "stake.yes", atLeast: "stake.at_least", no: "stake.no"}
	// subtitleKeys have the same meaning, but follow a title about the wallet's owner.
	subtitleKeys = stakeKeys{yes: "verify.stakes", atLeast: "verify.stakes_least", no: "verify.stakes_nothing"}
)

// verdict says what the wallet stakes, as far as that is known:
//   - a stake was found, and every pool was read: how much is staked;
//   - a stake was found, and some pools could not be read: that at least so much is staked;
//   - nothing was found, and every pool was read: that nothing is staked;
//   - nothing was found, and some pools could not be read: how many, with the tone Warning.
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

// worth says what the stake is worth. It returns nil if that is less than a cent, or if q is nil.
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

// poolSections returns a line with the stake in each pool, the largest first. If there are more than maxPools+1 pools,
// it returns a line with the largest maxPools, and a line with the sum of the other pools. others then has a field for
// each other pool. For example, of 6 pools it shows all, and of 7 pools it shows 5 and the sum of 2.
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

// withoutSymbol returns options with which amounts lack the token's symbol. The title or the line shows it already.
func (o Options) withoutSymbol() Options {
	o.Symbol = ""
	return o
}

// poolFields returns a field for each pool: its name, or else its address, and the amount.
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

// withdrawalLines returns a line about the sum that can be claimed, and a line about the sum that is still being
// unstaked. The second line also says when the next part can be claimed. A line is left out if its sum is 0. The sums
// are "at least" if a pool was not read completely.
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

// maxStandstill is the maximum age of the latest block. If the block is older, the chain may have stopped, and it is
// unknown when a claim will be ready.
const maxStandstill = 10 * time.Minute

// addNextWithdrawal completes a line about the sum that is being unstaked. It adds when the next part of that sum can
// be claimed, and how large the part is, unless it is the whole sum. It returns the line unchanged if the time is
// unknown, or if a pool is unread, because that pool may have an earlier claim.
func (s stakeText) addNextWithdrawal(unstaking chat.Text) chat.Text {
	next := s.NextWithdrawal
	isTimeUnknown := next.At.IsZero() || time.Since(s.BlockTime) > maxStandstill
	if isTimeUnknown || !s.Complete() {
		return unstaking
	}
	when := chat.Values{"unstaking": unstaking, "when": inAbout(time.Until(next.At))}
	isAll := next.Amount.Equal(core.Sum(s.Unbonding))
	if isAll {
		return chat.SayWith("stake.claimable_all", when)
	}
	when["amount"] = s.withoutSymbol().amount(next.Amount, chat.Short)
	return chat.SayWith("stake.claimable_next", when)
}

// inAbout says how far away something is: less than an hour, or in hours, or from two days on in days. It rounds hours
// and days: 90 minutes are 2 hours, and 59 hours are 2 days.
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

// fullAddress returns the unshortened address of a wallet.
func (o Options) fullAddress(wallet common.Address) []chat.Field {
	address := o.address(wallet)
	address.Full = true
	return []chat.Field{{Value: address}}
}

// full returns the unshortened address of the wallet and, if every pool was read, its stake to the last digit.
func (s stakeText) full(wallet common.Address) []chat.Field {
	fields := s.fullAddress(wallet)
	if s.StakerStatus() == core.Staker && len(s.Failed) == 0 {
		fields = append(fields, chat.Field{Name: chat.Say("stake.exact"), Value: s.amount(s.Total(), chat.Exact)})
	}
	return fields
}

// notes says how many pools gave the stake, but not the withdrawals. If there are none, it returns nil.
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

// footer returns the number of the block, and how many pools were read unless the verdict says that.
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

// poolCount returns the number of pools, read or not.
func (s stakeText) poolCount() chat.Count { return chat.Count(s.Checked + len(s.Failed)) }
