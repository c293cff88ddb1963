package commands

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// maxPoolName bounds the name of a pool, in characters.
const maxPoolName = 40

// walletParam is a wallet on the chain with the pools.
var walletParam = chat.Param{
	Name:     "wallet",
	Summary:  chat.Say("param.wallet"),
	Example:  "0x52908400098527886E0F7030069857D2E4169EE7",
	Question: chat.Say("ask.wallet"),
	Check:    chat.Say("check.wallet"),
}

func staked(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "staked",
		Summary:    chat.SayWith("command.staked", options.symbol()),
		Visibility: chat.Public,
		Forms: []chat.Form{{Params: []chat.Param{walletParam}, Inline: true, Run: func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			wallet, err := core.ParseWallet(req.Args.Value(walletParam.Name))
			if err != nil {
				return chat.Reply{}, invalid(walletParam, err)
			}
			both := from.stakeAndPrice(ctx, wallet)
			if both.ErrA != nil {
				return chat.Reply{}, both.ErrA
			}
			return stakedReply(both, wallet, options), partly(both.A.Value)
		}}},
	}
}

// priceWait is how long a stake waits for the price after the chain has answered.
const priceWait = time.Second

// stakeAndPrice returns the wallet's stake, and if there is one the price that its
// worth is told at. Without a price of today there is no price, and no error.
func (from Sources) stakeAndPrice(ctx context.Context, wallet common.Address) (both core.Joined[core.Stake, core.Quote]) {
	both.A, both.ErrA = from.Stakes.Get(ctx, wallet)
	if both.ErrA != nil || both.A.Value.Outcome() != core.Staker {
		both.B.FreshUntil = both.A.FreshUntil
		return both
	}
	// Not asked beside the chain: a price costs a credit, and most wallets need none.
	ctx, cancel := context.WithTimeout(ctx, priceWait)
	defer cancel()
	quote, err := from.Price.Get(ctx, struct{}{})
	if err == nil && !quote.Stale && !quote.Value.Old() {
		both.B = quote
	}
	return both
}

// partly returns a PartialError if not every pool could be read.
func partly(s core.Stake) error {
	if err := s.Err(); err != nil {
		return &chat.PartialError{Err: err}
	}
	return nil
}

func stakedReply(both core.Joined[core.Stake, core.Quote], wallet common.Address, options Options) chat.Reply {
	s := both.A.Value
	tone, verdict := stakeVerdict(s, options)
	reply := chat.Reply{
		Tone:   tone,
		Title:  verdict,
		Beside: worthText(s, both.B.Value),
		Sections: []chat.Section{
			{Fields: poolFields(s.Staked, options)},
			{Fields: unstakingFields(s, options)},
		},
		Exact:      exactFields(wallet, s.Total(), options),
		Notes:      stakeNotes(s),
		Footer:     chat.Parts{poolsRead(s), blockText(s)},
		Checked:    cmp.Or(s.BlockTime, both.A.At),
		AsOf:       both.AsOf(),
		FreshUntil: both.FreshUntil(),
		Actions:    []chat.Action{refresh("staked", wallet.Hex()), {Label: chat.Say("button.copy_wallet"), Copy: wallet.Hex()}},
	}
	if tone == chat.Warning {
		reply.Title, reply.Text = chat.Say("unchecked.title"), verdict
	}
	reply.Actions = append(reply.Actions, link("button.explorer", options.address(wallet).URL)...)
	if tone == chat.Negative {
		reply.Actions = append(reply.Actions, link("button.stake", options.StakeURL)...)
	}
	return reply
}

// stakeVerdict says what is staked, that nothing is, or as a Warning why nobody can
// say.
func stakeVerdict(s core.Stake, options Options) (chat.Tone, chat.Text) {
	total := chat.Values{"total": options.amount(s.Total(), chat.Short)}
	switch outcome := s.Outcome(); {
	case outcome == core.Staker && len(s.Failed) > 0:
		return chat.Positive, chat.SayWith("stake.at_least", total)
	case outcome == core.Staker:
		return chat.Positive, chat.SayWith("stake.yes", total)
	case outcome == core.NotStaker:
		return chat.Negative, chat.Say("stake.no")
	}
	return chat.Warning, chat.SayWith("stake.undetermined", chat.Values{"failed": chat.Count(len(s.Failed)), "n": pools(s)})
}

// worthText says what a stake is worth, if that is known and a cent at least.
func worthText(s core.Stake, q core.Quote) chat.Value {
	worth := s.Total().Mul(q.Price)
	if worth.LessThan(decimal.New(1, -2)) {
		return nil
	}
	return chat.SayWith("stake.worth", chat.Values{"worth": chat.Money{Decimal: worth}})
}

// unstakingFields say what is being withdrawn, which does not count as staked.
func unstakingFields(s core.Stake, options Options) []chat.Field {
	total := decimal.Zero
	for _, p := range s.Unbonding {
		total = total.Add(p.Amount)
	}
	if total.IsZero() {
		return nil
	}
	return []chat.Field{{Name: chat.Say("stake.unstaking"), Value: options.amount(total, chat.Short)}}
}

// exactFields are the whole wallet and its stake to the last digit.
func exactFields(wallet common.Address, total decimal.Decimal, options Options) []chat.Field {
	address := options.address(wallet)
	address.Whole = true
	fields := []chat.Field{{Value: address}}
	if total.IsPositive() {
		fields = append(fields, chat.Field{Value: options.amount(total, chat.Exact)})
	}
	return fields
}

// stakeNotes say what could not be read.
func stakeNotes(s core.Stake) []chat.Text {
	var notes []chat.Text
	if failed := len(s.UnbondingFailed); failed > 0 {
		notes = append(notes, chat.SayWith("stake.unstaking_unread", chat.Values{"failed": chat.Count(failed), "n": pools(s)}))
	}
	return notes
}

// poolsRead says how many pools were read.
func poolsRead(s core.Stake) chat.Text {
	key := "stake.all"
	if len(s.Failed) > 0 {
		key = "stake.some"
	}
	return chat.SayWith(key, chat.Values{"checked": chat.Count(s.Checked), "n": pools(s)})
}

// blockText is the block at which pools were read.
func blockText(s core.Stake) chat.Text {
	return chat.SayWith("block", chat.Values{"number": chat.Count(s.Block)})
}

// pools counts the pools that were asked.
func pools(s core.Stake) chat.Count { return chat.Count(s.Checked + len(s.Failed)) }

func poolFields(pools []core.PoolAmount, options Options) []chat.Field {
	largest := func(a, b core.PoolAmount) int { return b.Amount.Cmp(a.Amount) }
	var fields []chat.Field
	for _, p := range slices.SortedStableFunc(slices.Values(pools), largest) {
		var name chat.Value = chat.NewUntrusted(p.Pool.Name, maxPoolName)
		if name == chat.Untrusted("") {
			name = options.address(p.Pool.Address)
		}
		fields = append(fields, chat.Field{Name: name, Value: options.amount(p.Amount, chat.Short)})
	}
	return fields
}
