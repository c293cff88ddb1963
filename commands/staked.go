package commands

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

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

func staked(stakes core.Source[common.Address, core.Stake], options Options) chat.Command {
	return chat.Command{
		Name:       "staked",
		Summary:    chat.SayWith("command.staked", options.symbol()),
		Visibility: chat.Public,
		Forms: []chat.Form{{Params: []chat.Param{walletParam}, Inline: true, Run: func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			wallet, err := core.ParseWallet(req.Args.Value(walletParam.Name))
			if err != nil {
				return chat.Reply{}, invalid(walletParam, err)
			}
			stake, err := stakes.Get(ctx, wallet)
			if err != nil {
				return chat.Reply{}, err
			}
			return stakedReply(stake, wallet, options), partly(stake.Value)
		}}},
	}
}

// partly returns a PartialError if not every pool could be read.
func partly(s core.Stake) error {
	if err := s.Err(); err != nil {
		return &chat.PartialError{Err: err}
	}
	return nil
}

func stakedReply(snapshot core.Snapshot[core.Stake], wallet common.Address, options Options) chat.Reply {
	s := snapshot.Value
	tone, verdict := stakeVerdict(s)
	reply := chat.Reply{
		Tone:       tone,
		Title:      verdict,
		Sections:   []chat.Section{{Fields: []chat.Field{{Name: chat.Say("stake.wallet"), Value: options.address(wallet)}}}},
		Notes:      stakeNotes(s),
		AsOf:       snapshot.At,
		FreshUntil: snapshot.FreshUntil,
		Actions:    []chat.Action{refresh("staked", wallet.Hex()), {Label: chat.Say("button.copy_wallet"), Copy: wallet.Hex()}},
	}
	if tone == chat.Warning {
		reply.Title, reply.Text = chat.Say("unchecked.title"), verdict
	}
	if url := options.address(wallet).URL; url != "" {
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button.explorer"), URL: url})
	}
	reply.Sections = append(reply.Sections, stakeSections(s, options)...)
	return reply
}

// stakeVerdict says whether there is a stake, or as a Warning why nobody can say.
func stakeVerdict(s core.Stake) (chat.Tone, chat.Text) {
	switch s.Outcome() {
	case core.Staker:
		return chat.Positive, chat.Say("stake.yes")
	case core.NotStaker:
		return chat.Negative, chat.Say("stake.no")
	}
	return chat.Warning, chat.SayWith("stake.undetermined", chat.Values{"failed": chat.Count(len(s.Failed)), "n": pools(s)})
}

// stakeSections list what is staked and what is being withdrawn.
func stakeSections(s core.Stake, options Options) []chat.Section {
	var sections []chat.Section
	if len(s.Staked) > 0 {
		label := "stake.total"
		if len(s.Failed) > 0 {
			label = "stake.at_least"
		}
		total := chat.Field{Name: chat.Say(label), Value: options.amount(s.Total())}
		sections = append(sections,
			chat.Section{Fields: []chat.Field{total}},
			chat.Section{Heading: chat.Say("stake.pools"), Fields: poolFields(s.Staked, options)})
	}
	if len(s.Unbonding) > 0 {
		sections = append(sections, chat.Section{Heading: chat.Say("stake.unstaking"), Fields: poolFields(s.Unbonding, options)})
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

// newest is the block at which pools were read.
func newest(s core.Stake) chat.Text {
	block := chat.Values{"number": chat.Count(s.Block), "age": chat.Moment{Time: s.BlockTime}}
	if s.BlockTime.IsZero() {
		return chat.SayWith("block", block)
	}
	return chat.SayWith("block.aged", block)
}

// pools counts the pools that were asked.
func pools(s core.Stake) chat.Count { return chat.Count(s.Checked + len(s.Failed)) }

func poolFields(pools []core.PoolAmount, options Options) []chat.Field {
	fields := make([]chat.Field, len(pools))
	for i, p := range pools {
		var name chat.Value = chat.NewUntrusted(p.Pool.Name, maxPoolName)
		if name == chat.Untrusted("") {
			name = options.address(p.Pool.Address)
		}
		fields[i] = chat.Field{Name: name, Value: options.amount(p.Amount)}
	}
	return fields
}
