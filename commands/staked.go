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

	"herald/internal/chat"
	"herald/internal/core"
)

// likeWallet matches addresses, and also .eth names and addresses of other chains, which
// core.FindWallet refuses by name.
var likeWallet = regexp.MustCompile(`(?i)\b0x|\.eth$|^[0-9a-z+/_:-]{26,}$|[0-9a-f]{40}`)

// atAddress matches an address behind an @. Any other word with an @ in front is a username.
var atAddress = regexp.MustCompile(`(?i)^@(0x)?[0-9a-f]{40}\b`)

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
	} else if flawed.Flaw != core.SeveralWallets && flawed.Flaw != core.WrongChecksum {
		return typed
	}
	others := slices.DeleteFunc(slices.Clone(typed), func(word string) bool {
		return likeWallet.MatchString(word) && (word[0] != '@' || atAddress.MatchString(word))
	})
	return append(others, found)
}

// stakedCommand answers /staked.
type stakedCommand inputs

func staked(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "staked",
		Summary:    chat.SayWith("command.staked", options.symbol()),
		Visibility: chat.Public,
		Asks:       []string{"chain", "price"},
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

// stakeAndPrice returns the wallet's stake and, for a staker, the price. The price is the zero
// Snapshot if it is old or unknown.
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
	s := stakeText{stake.Value, c.Options}
	tone, verdict := s.verdict(titleKeys)
	pools, folded := s.poolSections()
	reply := chat.Reply{
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
