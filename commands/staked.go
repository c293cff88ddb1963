package commands

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
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

// likeWallet matches addresses, and also .eth names and addresses of other chains, which
// core.FindWallet refuses by name.
var likeWallet = regexp.MustCompile(`(?i)\b0x|\.eth$|^[0-9a-z+/_:-]{26,}$|[0-9a-f]{40}`)

// walletParam is a wallet on the chain with the pools.
var walletParam = chat.Param{
	Name:     "wallet",
	Summary:  chat.Say("param.wallet"),
	Example:  "0x52908400098527886E0F7030069857D2E4169EE7",
	Like:     likeWallet,
	Tidy:     joinWallets,
	Question: chat.Say("ask.wallet"),
	Check:    chat.Say("check.wallet"),
}

// joinWallets makes one argument of the words that are like a wallet if there is an address
// in them: the address alone if it is the only one, so that a button has room for it.
func joinWallets(typed []string) []string {
	found := strings.Join(typed, " ")
	wallet, err := core.FindWallet(found)
	if flawed, wrong := errors.AsType[*core.InvalidError](err); !wrong {
		found = wallet.Hex()
	} else if flawed.Flaw != core.SeveralWallets {
		return typed
	}
	others := slices.DeleteFunc(slices.Clone(typed), func(word string) bool { return likeWallet.MatchString(word) && word[0] != '@' })
	return append(others, found)
}

// stakedCommand answers /staked.
type stakedCommand struct {
	Sources
	Options
}

func staked(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "staked",
		Summary:    chat.SayWith("command.staked", options.symbol()),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Params: []chat.Param{walletParam}, Inline: true, Run: stakedCommand{from, options}.answer}},
	}
}

// parseWallet returns the one wallet in the arguments.
func parseWallet(req chat.Request) (common.Address, error) {
	wallet, err := core.FindWallet(req.Args.Value(walletParam.Name))
	return wallet, invalid(walletParam, err)
}

func (c stakedCommand) answer(ctx context.Context, req chat.Request) (chat.Reply, error) {
	wallet, err := parseWallet(req)
	if err != nil {
		return chat.Reply{}, err
	}
	stake, price := c.stakeAndPrice(ctx, wallet)
	if stake.Err != nil {
		return chat.Reply{About: wallet.Hex()}, stake.Err
	}
	return c.reply(wallet, stake, price), partly(stake.Value.Err())
}

// extraWait is how long an answer waits for a part that it can do without: a stake for the
// price after the chain has answered, a supply for what is staked.
const extraWait = time.Second

// stakeAndPrice returns the wallet's stake and, for a staker, today's price. The price
// is the zero Snapshot if it is old or unknown.
func (from Sources) stakeAndPrice(ctx context.Context, wallet common.Address) (stake core.Answer[core.Stake], price core.Snapshot[core.Quote]) {
	stake = core.Ask(ctx, from.Stakes, wallet)
	if stake.Err != nil || stake.Value.Outcome() != core.Staker {
		return stake, price
	}
	// Not asked beside the chain: a price costs a credit, and most wallets need none.
	ctx, cancel := context.WithTimeout(ctx, extraWait)
	defer cancel()
	if quote := core.Ask(ctx, from.Price, struct{}{}); quote.Err == nil && !dated(quote.Snapshot).Old() {
		price = quote.Snapshot
	}
	return stake, price
}

// partly returns err as a PartialError, or nil.
func partly(err error) error {
	if err == nil {
		return nil
	}
	return &chat.PartialError{Err: err}
}

func (c stakedCommand) reply(wallet common.Address, stake core.Answer[core.Stake], price core.Snapshot[core.Quote]) chat.Reply {
	s := stake.Value
	tone, verdict := stakeVerdict(s, c.Options)
	pools, folded := c.poolSections(s)
	reply := chat.Reply{
		Tone:       tone,
		Title:      verdict,
		Subtitle:   worthText(s, price.Value),
		Sections:   append(pools, withdrawals(s, c.Options)),
		FullValues: fullFields(wallet, s, c.Options),
		Folded:     folded,
		Notes:      stakeNotes(s),
		Footer:     stakeFooter(s),
		Checked:    cmp.Or(s.BlockTime, stake.At),
		About:      wallet.Hex(),
		AsOf:       core.Later(stake.At, price.At),
		FreshUntil: stake.FreshUntil,
		Actions:    c.buttons(wallet, tone),
	}
	if s.Outcome() == core.Staker { // The price is a part of the answer.
		reply.FreshUntil = core.Earlier(stake.FreshUntil, price.FreshUntil)
	}
	if tone == chat.Warning {
		reply.Title, reply.Text = chat.NoAnswer("staked"), verdict
	}
	return reply
}

// poolSections returns a line with the largest pools and, if there are more than maxPools+1,
// one with the sum of the others, which folded lists.
func (c stakedCommand) poolSections(s core.Stake) (sections []chat.Section, folded []chat.Field) {
	largest := slices.SortedStableFunc(slices.Values(s.Staked), func(a, b core.PoolAmount) int { return b.Amount.Cmp(a.Amount) })
	row := c.Options
	row.Symbol = "" // It stands above.
	if len(largest) <= maxPools+1 {
		return []chat.Section{{Row: true, Fields: poolFields(largest, row)}}, nil
	}
	others := largest[maxPools:]
	sum := sumFields(chat.SayWith("stake.others", chat.Values{"n": chat.Count(len(others))}), others, c.Options)
	return []chat.Section{{Row: true, Fields: poolFields(largest[:maxPools], row)}, {Fields: sum}}, poolFields(others, c.Options)
}

// buttons returns the buttons under a stake with this tone.
func (c stakedCommand) buttons(wallet common.Address, tone chat.Tone) []chat.Action {
	again := refresh("staked", wallet.Hex())
	if tone == chat.Warning {
		again = chat.TryAgain("staked", wallet.Hex())
	}
	buttons := []chat.Action{again, {Label: chat.Say("button.copy_wallet"), Copy: wallet.Hex()}}
	buttons = append(buttons, link("button.explorer", c.address(wallet).URL)...)
	if tone == chat.Negative {
		buttons = append(buttons, nextStep("button.stake", c.StakeURL)...)
	}
	return buttons
}

// stakeVerdict says what is staked, or that nothing is. With the tone Warning it says why
// that is not known.
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

// worthText says what a stake is worth. It returns nil below a cent, or without a price.
func worthText(s core.Stake, q core.Quote) chat.Value {
	worth := s.Total().Mul(q.Price)
	if worth.LessThan(decimal.New(1, -2)) {
		return nil
	}
	return chat.SayWith("stake.worth", chat.Values{"worth": chat.Money{Decimal: worth}})
}

// sumFields returns a field with the sum of the pools, or none if the sum is zero.
func sumFields(name chat.Text, pools []core.PoolAmount, options Options) []chat.Field {
	total := core.Stake{Staked: pools}.Total()
	if total.IsZero() {
		return nil
	}
	return []chat.Field{{Name: name, Value: options.amount(total, chat.Short)}}
}

// withdrawals returns a line with what can be claimed, what is still being unstaked, and when
// the next part of that can be claimed, as far as there is any. The sums are "at least" if a
// pool was not read completely.
func withdrawals(s core.Stake, options Options) chat.Section {
	least := ""
	if !s.Complete() {
		least = "_least"
	}
	strong := func(key string, pools []core.PoolAmount) []chat.Field {
		fields := sumFields(chat.Say(key+least), pools, options)
		for i := range fields {
			fields[i].Value = chat.Strong{Value: fields[i].Value}
		}
		return fields
	}
	line := append(strong("stake.claimable", s.Claimable), strong("stake.unstaking", s.Unbonding)...)
	// An unread pool may have an earlier claim.
	if when := nextClaim(s, options); when.Key != "" && s.Complete() {
		line = append(line, chat.Field{Name: when})
	}
	return chat.Section{Row: true, Fields: line}
}

// maxStandstill is the age of a block from which on the chain may stand still: nobody knows
// then when a claim is ready.
const maxStandstill = 10 * time.Minute

// nextClaim says how much of what is being unstaked can be claimed next, and when; without
// the amount if that is all. It returns the zero Text if the time is unknown.
func nextClaim(s core.Stake, options Options) chat.Text {
	next := s.NextClaim
	if next.At.IsZero() || len(s.Unbonding) == 0 || time.Since(s.BlockTime) > maxStandstill {
		return chat.Text{}
	}
	when := chat.Values{"when": inAbout(time.Until(next.At))}
	if next.Amount.Equal(core.Stake{Staked: s.Unbonding}.Total()) {
		return chat.SayWith("stake.claimable_all", when)
	}
	options.Symbol = "" // It stands before.
	when["amount"] = options.amount(next.Amount, chat.Short)
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

// fullFields returns the whole wallet and, if every pool was read, its stake to the last
// digit.
func fullFields(wallet common.Address, s core.Stake, options Options) []chat.Field {
	address := options.address(wallet)
	address.Full = true
	fields := []chat.Field{{Value: address}}
	if s.Outcome() == core.Staker && len(s.Failed) == 0 {
		fields = append(fields, chat.Field{Name: chat.Say("stake.exact"), Value: options.amount(s.Total(), chat.Exact)})
	}
	return fields
}

// stakeNotes says in how many pools the stake could be read, but not what is being
// unstaked.
func stakeNotes(s core.Stake) []chat.Text {
	failed := len(s.Unread()) - len(s.Failed)
	if failed == 0 {
		return nil
	}
	return []chat.Text{chat.SayWith("stake.unstaking_unread", chat.Values{"failed": chat.Count(failed), "n": pools(s)})}
}

// stakeFooter names the block, and how many pools were read unless the verdict says so.
func stakeFooter(s core.Stake) chat.Parts {
	block := chat.SayWith("block", chat.Values{"number": chat.Count(s.Block)})
	if s.Outcome() == core.Undetermined {
		return chat.Parts{block}
	}
	return chat.Parts{poolsRead(s), block}
}

// poolsRead says how many pools were read.
func poolsRead(s core.Stake) chat.Text {
	key := "stake.all"
	if len(s.Failed) > 0 {
		key = "stake.some"
	}
	return chat.SayWith(key, chat.Values{"checked": chat.Count(s.Checked), "n": pools(s)})
}

// pools returns the number of pools that were asked.
func pools(s core.Stake) chat.Count { return chat.Count(s.Checked + len(s.Failed)) }

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
