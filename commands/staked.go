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

// likeWallet matches addresses and what users type instead of one, such as an .eth name or an address of another chain.
// core.FindWallet rejects each of these with its own error.
var likeWallet = regexp.MustCompile(`(?i)\b0x|\.eth$|^[0-9a-z+/_:-]{26,}$|[0-9a-f]{40}`)

// atAddress matches an address after an @. Any other word that begins with @ is a username.
var atAddress = regexp.MustCompile(`(?i)^@(0x|xdc)?[0-9a-f]{40}\b`)

// walletParam is the address of a wallet on the chain with the pools.
var walletParam = chat.Param{
	Name:       "wallet",
	Summary:    chat.Say("param.wallet"),
	Example:    "0x52908400098527886E0F7030069857D2E4169EE7",
	Proof:      true,
	Like:       likeWallet,
	Tidy:       joinWallets,
	Question:   chat.Say("ask.wallet"),
	WrongTitle: chat.Say("check.wallet"),
}

// joinWallets makes the wallet one word, and moves it behind the other typed words:
//
//	typed has                   the last word is
//
//	one address                 the address, without the text around it, so that a button has room for it
//	several addresses, or one   all words that look like wallets, joined, so that the error is about them
//	with a wrong checksum
//
// Otherwise, typed has no address, and joinWallets returns it unchanged.
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
	flawed, _ := errors.AsType[*core.InvalidError](err) // FindWallet returns no other error.
	hasAddress := flawed.Flaw == core.SeveralWallets || flawed.Flaw == core.WrongChecksum
	isInUsername := len(wallets) == 0
	if !hasAddress || isInUsername {
		return typed
	}
	return append(others, strings.Join(wallets, " "))
}

// isWalletWord reports whether a word looks like a wallet, and not like a username.
func isWalletWord(word string) bool {
	isUsername := strings.HasPrefix(word, "@") && !atAddress.MatchString(word)
	return likeWallet.MatchString(word) && !isUsername
}

// parseWallet returns the wallet in the arguments. If there is none, or more than one, the error is an InputError.
func parseWallet(req *chat.Request) (common.Address, error) {
	wallet, err := core.FindWallet(req.Args.Value(walletParam.Name))
	return wallet, asInputError(walletParam, err)
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

// run returns the stake of the wallet in the arguments, and what it is worth. If a pool was not read, it also returns a
// PartialError.
func (c stakedCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	wallet, err := parseWallet(req)
	if err != nil {
		return nil, err
	}
	stake, price := c.stakeAndPrice(ctx, wallet)
	if stake.Err != nil {
		return &chat.Reply{About: wallet.Hex()}, stake.Err
	}
	return c.reply(wallet, stake, price), asPartialError(stake.Value.Err())
}

// extraWait is the maximum wait for a part that an answer can do without: the price in /staked, once the stake is
// known, and the staked sum in /supply.
const extraWait = time.Second

// stakeAndPrice returns the wallet's stake and the price. The price is the zero Snapshot if the wallet stakes nothing,
// or if the price is old, unknown or off. stakeAndPrice blocks for at most extraWait after the stake is known.
func (from Sources) stakeAndPrice(
	ctx context.Context, wallet common.Address,
) (stake query.Answer[core.Stake], price query.Snapshot[*core.Quote]) {
	stake = query.Ask(ctx, from.Stakes, wallet)
	isStaker := stake.Err == nil && stake.Value.StakerStatus() == core.Staker
	if !isStaker || from.Price == nil {
		return stake, query.Snapshot[*core.Quote]{}
	}
	// The price is asked for last, because it costs a credit, and most wallets do not stake.
	ctx, cancel := context.WithTimeout(ctx, extraWait)
	defer cancel()
	quote := query.Ask(ctx, from.Price, struct{}{})
	if quote.Err != nil || dated(quote.Snapshot).Value.Old() {
		return stake, query.Snapshot[*core.Quote]{}
	}
	return stake, quote.Snapshot
}

// blockOf returns the block of a stake, or the zero Block if its number is unknown.
func (c stakedCommand) blockOf(s core.Stake) chat.Block {
	if s.Block == 0 {
		return chat.Block{}
	}
	return chat.Block{Chain: c.ChainID, Number: s.Block}
}

// reply says what the wallet has in the pools and, unless price is the zero Snapshot, what that is worth.
func (c stakedCommand) reply(
	wallet common.Address, stake query.Answer[core.Stake], price query.Snapshot[*core.Quote],
) *chat.Reply {
	s := stakeText{stake.Value, c.Options}
	staking := s.StakerStatus()
	tone, verdict := s.verdict(titleKeys)
	pools, otherPools := s.poolSections()
	reply := &chat.Reply{
		Tone:       tone,
		Title:      verdict,
		Subtitle:   s.worth(price.Value),
		Sections:   append(pools, s.withdrawalLines()),
		FullValues: s.fullValues(wallet),
		Folded:     otherPools,
		Notes:      s.notes(),
		Footer:     s.footer(),
		Checked:    cmp.Or(s.BlockTime, stake.At),
		About:      wallet.Hex(),
		Source: chat.Source{
			AsOf:       chat.Version{Time: stake.At, Block: c.blockOf(s.Stake)},
			FreshUntil: stake.FreshUntil,
		},
		Actions: c.buttons(wallet, staking),
	}
	switch staking {
	case core.Staker: // The price is a part of the answer, so the answer is as fresh as both figures.
		reply.Source.AsOf.Time = core.Later(stake.At, price.At)
		reply.Source.FreshUntil = core.Earlier(stake.FreshUntil, price.FreshUntil)
	case core.Undetermined: // A sentence is too long for a title.
		reply.Title = chat.NoAnswer("staked")
		reply.Text = verdict
	}
	return reply
}

// buttons returns the buttons under a stake: to refresh or, if the stake is undetermined, to try again; to copy the
// address; to open the explorer; and, if nothing is staked, to stake.
func (c stakedCommand) buttons(wallet common.Address, staking core.StakerStatus) []chat.Action {
	again := refresh("staked", wallet.Hex())
	if staking == core.Undetermined {
		again = chat.TryAgain("staked", wallet.Hex())
	}
	buttons := []chat.Action{again, {Label: chat.Say("button.copy_wallet"), Copy: wallet.Hex()}}
	buttons = append(buttons, link(chat.Say("button.explorer"), c.address(wallet).URL)...)
	if staking == core.NotStaker {
		buttons = append(buttons, nextStep("button.stake", c.StakeURL)...)
	}
	return buttons
}
