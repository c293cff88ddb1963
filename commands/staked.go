package commands

import (
	"context"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// poolNameLength bounds the name of a pool in characters.
const poolNameLength = 40

// walletParam is a wallet on the chain with the pools.
var walletParam = chat.Param{
	Name:     "wallet",
	Summary:  chat.Say("param.wallet"),
	Example:  "0x52908400098527886E0F7030069857D2E4169EE7",
	Question: chat.Say("ask.wallet"),
	Check:    chat.Say("check.wallet"),
}

func staked(stakes core.Source[common.Address, core.Stake], look Options) chat.Command {
	return chat.Command{
		Name:       "staked",
		Summary:    chat.SayWith("command.staked", look.symbol()),
		Visibility: chat.Public,
		Forms: []chat.Form{{Params: []chat.Param{walletParam}, Run: func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			wallet, err := core.ParseWallet(req.Args.Value(walletParam.Name))
			if err != nil {
				return chat.Reply{}, invalid(walletParam, err)
			}
			stake, err := stakes.Get(ctx, wallet)
			if err != nil {
				return chat.Reply{}, err
			}
			return stakedReply(stake, wallet, look), partly(stake.Value)
		}}},
	}
}

// partly is the PartialError of a stake for which not every pool could be read.
func partly(s core.Stake) error {
	if err := s.Err(); err != nil {
		return &chat.PartialError{Err: err}
	}
	return nil
}

func stakedReply(snapshot core.Snapshot[core.Stake], wallet common.Address, look Options) chat.Reply {
	s := snapshot.Value
	reply := chat.Reply{
		Sections:   []chat.Section{{Fields: []chat.Field{{Name: chat.Say("stake.wallet"), Value: look.address(wallet)}}}},
		Notes:      stakeNotes(s),
		AsOf:       snapshot.At,
		FreshUntil: snapshot.FreshUntil,
		Actions:    []chat.Action{refresh("staked", wallet.Hex()), {Label: chat.Say("button.copy_wallet"), Copy: wallet.Hex()}},
	}
	if url := look.explorer(wallet); url != "" {
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button.explorer"), URL: url})
	}
	switch s.Outcome() {
	case core.Staker:
		reply.Tone, reply.Title = chat.Positive, chat.Say("stake.yes")
	case core.NotStaker:
		reply.Tone, reply.Title = chat.Negative, chat.Say("stake.no")
	case core.Undetermined:
		reply.Tone, reply.Title, reply.Text = chat.Warning, chat.Say("unchecked.title"), undetermined(s)
	}
	reply.Sections = append(reply.Sections, stakeSections(s, look)...)
	return reply
}

// undetermined says why nobody can say whether there is a stake.
func undetermined(s core.Stake) chat.Text {
	key := "stake.undetermined"
	// A pool that answers nonsense or reverts did respond.
	if slices.ContainsFunc(s.Failed, func(p core.UnreadPool) bool {
		return p.Err.Reason == core.Malformed || p.Err.Reason == core.Rejected
	}) {
		key = "stake.undetermined_unread"
	}
	return chat.SayWith(key, chat.Values{"failed": chat.Count(len(s.Failed)), "n": pools(s)})
}

// stakeSections are what is staked and what is being withdrawn.
func stakeSections(s core.Stake, look Options) []chat.Section {
	var sections []chat.Section
	if len(s.Staked) > 0 {
		label := "stake.total"
		if len(s.Failed) > 0 {
			label = "stake.at_least"
		}
		total := chat.Field{Name: chat.Say(label), Value: look.amount(s.Total())}
		sections = append(sections,
			chat.Section{Fields: []chat.Field{total}},
			chat.Section{Heading: chat.Say("stake.pools"), Fields: poolFields(s.Staked, look)})
	}
	if len(s.Unbonding) > 0 {
		sections = append(sections, chat.Section{Heading: chat.Say("stake.unstaking"), Fields: poolFields(s.Unbonding, look)})
	}
	return sections
}

// stakeNotes say how much was read, and at which block.
func stakeNotes(s core.Stake) []chat.Text {
	notes := []chat.Text{chat.SayWith("stake.checked", chat.Values{
		"checked": chat.Count(s.Checked), "n": pools(s), "block": newest(s),
	})}
	if failed := len(s.UnbondingFailed); failed > 0 {
		notes = append(notes, chat.SayWith("stake.unstaking_unread", chat.Values{"failed": chat.Count(failed), "n": pools(s)}))
	}
	return notes
}

// newest is the block that was read.
func newest(s core.Stake) chat.Block { return chat.Block{Number: s.Block, At: s.BlockTime} }

// pools counts those that were asked.
func pools(s core.Stake) chat.Count { return chat.Count(s.Checked + len(s.Failed)) }

func poolFields(pools []core.PoolAmount, look Options) []chat.Field {
	fields := make([]chat.Field, len(pools))
	for i, p := range pools {
		var name chat.Value = chat.NewUntrusted(p.Pool.Name, poolNameLength)
		if name == chat.Untrusted("") {
			name = look.address(p.Pool.Address)
		}
		fields[i] = chat.Field{Name: name, Value: look.amount(p.Amount)}
	}
	return fields
}
