package commands

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// likeWallet matches addresses, and what people type in their place: .eth names and addresses of
// other chains. core.FindWallet says what is wrong with those.
var likeWallet = regexp.MustCompile(`(?i)\b0x|\.eth$|^[0-9a-z+/_:-]{26,}$|[0-9a-f]{40}`)

// atAddress matches an address behind an @. Any other word with an @ in front is a username.
var atAddress = regexp.MustCompile(`(?i)^@(0x|xdc)?[0-9a-f]{40}\b`)

// walletParam is an address of a wallet on the chain with the pools.
var walletParam = chat.Param{
	Name:     "wallet",
	Summary:  chat.Say("param.wallet"),
	Example:  "0x52908400098527886E0F7030069857D2E4169EE7",
	Proof:    true,
	Like:     likeWallet,
	Tidy:     joinWallets,
	Question: chat.Say("ask.wallet"),
	Check:    chat.Say("check.wallet"),
}

// joinWallets moves the words that look like wallets to the end, as one argument, if there is an
// address in typed. That argument is the address if it is the only one, so that a button has
// room for it.
func joinWallets(typed []string) []string {
	var wallets, others []string
	for _, word := range typed {
		if isWalletWord(word) {
			wallets = append(wallets, word)
		} else {
			others = append(others, word)
		}
	}
	wallet, err := core.FindWallet(strings.Join(typed, " "))
	if err == nil {
		return append(others, wallet.Hex())
	}
	flawed, _ := errors.AsType[*core.InvalidError](err)
	hasAddress := flawed.Flaw == core.SeveralWallets || flawed.Flaw == core.WrongChecksum
	if !hasAddress || len(wallets) == 0 { // Or the address is in a username.
		return typed
	}
	return append(others, strings.Join(wallets, " "))
}

// isWalletWord reports whether a word looks like a wallet and is no username.
func isWalletWord(word string) bool {
	return likeWallet.MatchString(word) && (word[0] != '@' || atAddress.MatchString(word))
}

// stakedCommand answers /staked.
type stakedCommand inputs

func staked(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "staked",
		Summary:    chat.SayWith("command.staked", options.symbol()),
		Topic:      chat.Say("topic.stakes"),
		Visibility: chat.Public,
		Asks:       []string{"chain", "price"},
		Forms:      []chat.Form{{Params: []chat.Param{walletParam}, Inline: true, Run: stakedCommand{from, options}.run}},
	}
}

// parseWallet returns the one wallet in the arguments.
func parseWallet(req *chat.Request) (common.Address, error) {
	wallet, err := core.FindWallet(req.Args.Value(walletParam.Name))
	return wallet, invalid(walletParam, err)
}

// run returns the stake of the wallet in the arguments.
func (c stakedCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	wallet, err := parseWallet(req)
	if err != nil {
		return nil, err
	}
	stake, price := c.stakeAndPrice(ctx, wallet)
	if stake.Err != nil {
		return &chat.Reply{About: wallet.Hex()}, stake.Err
	}
	return c.reply(wallet, stake, price), partly(stake.Value.Err())
}

// extraWait bounds the wait for a part that an answer can do without: /staked waits for the price
// after the chain has answered, /supply for what is staked.
const extraWait = time.Second

// stakeAndPrice returns the wallet's stake and the price. The price is the zero Snapshot if it is old, unknown or off,
// or if the wallet does not stake.
func (from Sources) stakeAndPrice(
	ctx context.Context, wallet common.Address,
) (stake query.Answer[core.Stake], price query.Snapshot[*core.Quote]) {
	stake = query.Ask(ctx, from.Stakes, wallet)
	if from.Price == nil || stake.Err != nil || stake.Value.StakerStatus() != core.Staker {
		return stake, query.Snapshot[*core.Quote]{}
	}
	// The price is asked only now, because it costs a credit, and most wallets need none.
	ctx, cancel := context.WithTimeout(ctx, extraWait)
	defer cancel()
	quote := query.Ask(ctx, from.Price, struct{}{})
	if quote.Err != nil || dated(quote.Snapshot).Old() {
		return stake, query.Snapshot[*core.Quote]{}
	}
	return stake, quote.Snapshot
}

// blockOf returns the block of a stake, or none if its number is unknown.
func (c stakedCommand) blockOf(s core.Stake) chat.Block {
	if s.Block == 0 {
		return chat.Block{}
	}
	return chat.Block{Chain: c.ChainID, Number: s.Block}
}

// partly returns err as a PartialError, or nil.
func partly(err error) error {
	if err == nil {
		return nil
	}
	return &chat.PartialError{Err: err}
}

// reply returns what the wallet has in the pools, and what that is worth at the price.
func (c stakedCommand) reply(
	wallet common.Address, stake query.Answer[core.Stake], price query.Snapshot[*core.Quote],
) *chat.Reply {
	s := stakeText{stake.Value, c.Options}
	outcome := s.StakerStatus()
	tone, verdict := s.verdict(titleKeys)
	pools, folded := s.poolSections()
	reply := &chat.Reply{
		Tone:       tone,
		Title:      verdict,
		Subtitle:   s.worth(price.Value),
		Sections:   append(pools, s.withdrawals()),
		FullValues: s.full(wallet),
		Folded:     folded,
		Notes:      s.notes(),
		Footer:     s.footer(),
		Checked:    cmp.Or(s.BlockTime, stake.At),
		About:      wallet.Hex(),
		Source: chat.Source{
			AsOf:       chat.Version{Time: stake.At, Block: c.blockOf(s.Stake)},
			FreshUntil: stake.FreshUntil,
		},
		Actions: c.buttons(wallet, outcome),
	}
	switch outcome {
	case core.Staker: // The price is a part of the answer: either figure may change it.
		reply.Source.AsOf.Time = core.Later(stake.At, price.At)
		reply.Source.FreshUntil = core.Earlier(stake.FreshUntil, price.FreshUntil)
	case core.Undetermined:
		reply.Title = chat.NoAnswer("staked")
		reply.Text = verdict
	}
	return reply
}

// buttons returns the buttons under a stake with this outcome.
func (c stakedCommand) buttons(wallet common.Address, outcome core.StakerStatus) []chat.Action {
	again := refresh("staked", wallet.Hex())
	if outcome == core.Undetermined {
		again = chat.TryAgain("staked", wallet.Hex())
	}
	buttons := []chat.Action{again, {Label: chat.Say("button.copy_wallet"), Copy: wallet.Hex()}}
	buttons = append(buttons, link(chat.Say("button.explorer"), c.address(wallet).URL)...)
	if outcome == core.NotStaker {
		buttons = append(buttons, nextStep("button.stake", c.StakeURL)...)
	}
	return buttons
}
