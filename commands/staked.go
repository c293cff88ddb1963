package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// poolNameLength bounds the name of a pool in characters.
const poolNameLength = 40

func staked(stakes core.Source[common.Address, core.Stake], token Token) chat.Command {
	wallet := chat.Param{
		Name:    "wallet",
		Summary: "The wallet's address: 0x and 40 hexadecimal digits",
		Example: "0x52908400098527886E0F7030069857D2E4169EE7",
	}
	return chat.Command{
		Name:       "staked",
		Summary:    "Whether a wallet stakes " + token.Symbol + ", and where",
		Visibility: chat.Public,
		Forms: []chat.Form{{Params: []chat.Param{wallet}, Run: func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			address, err := core.ParseWallet(req.Args.Value("wallet"))
			if err != nil {
				return chat.Reply{}, asInput(err)
			}
			stake, err := stakes.Get(ctx, address)
			if err != nil {
				return chat.Reply{}, err
			}
			reply := stakeReply(stake.Value, address, token)
			if !stake.Value.Complete() {
				return reply, &chat.PartialError{Err: unread(stake.Value.Unread())}
			}
			return reply, nil
		}}},
	}
}

// unread names pools, and why they could not be read, for the log.
func unread(pools []core.UnreadPool) error {
	var reasons []string
	for _, p := range pools {
		name := "pool " + p.Pool.Address.Hex()
		if p.Pool.Name != "" {
			name += " (" + p.Pool.Name + ")"
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", name, p.Err))
	}
	return errors.New(strings.Join(reasons, "; "))
}

func stakeReply(s core.Stake, wallet common.Address, token Token) chat.Reply {
	reply := chat.Reply{Text: "Wallet " + wallet.Hex()}
	pools := s.Checked + len(s.Failed)
	switch s.Outcome() {
	case core.Staker:
		reply.Tone, reply.Title = chat.Positive, "Staked"
		total := chat.Field{Name: "Total", Value: amount(s.Total(), token)}
		if len(s.Failed) > 0 {
			total.Name = "At least"
		}
		reply.Sections = append(reply.Sections,
			chat.Section{Fields: []chat.Field{total}},
			chat.Section{Heading: "Pools", Fields: poolFields(s.Staked, token)})
	case core.NotStaker:
		reply.Tone, reply.Title = chat.Negative, "Not staked"
		reply.Notes = append(reply.Notes, fmt.Sprintf("All %d pools were read.", pools))
	case core.Undetermined:
		reply.Tone, reply.Title = chat.Warning, "Could not be checked"
		reply.Notes = append(reply.Notes, "No stake was found in the pools that could be read, which does not mean that there is none.")
	}
	if len(s.Unbonding) > 0 {
		reply.Sections = append(reply.Sections,
			chat.Section{Heading: "Being withdrawn, not staked", Fields: poolFields(s.Unbonding, token)})
	}
	if n := len(s.Failed); n > 0 {
		reply.Notes = append(reply.Notes, fmt.Sprintf("%d of %d pools could not be read.", n, pools))
	}
	if n := len(s.UnbondingFailed); n > 0 {
		reply.Notes = append(reply.Notes, fmt.Sprintf("Withdrawals from %d of %d pools could not be read.", n, pools))
	}
	reply.Notes = append(reply.Notes, blockNote(s))
	return reply
}

// slowClock is how far ahead of this machine's clock a block may be and count
// as just made.
const slowClock = time.Minute

// blockNote is the block's number and, where it can be known, its age.
func blockNote(s core.Stake) string {
	note := "Block " + grouped(strconv.FormatUint(s.Block, 10))
	if age := time.Since(s.BlockTime); !s.BlockTime.IsZero() && age >= -slowClock {
		note += ", " + ago(age)
	}
	return note + "."
}

func poolFields(pools []core.PoolAmount, token Token) []chat.Field {
	fields := make([]chat.Field, len(pools))
	for i, p := range pools {
		name := chat.Foreign(p.Pool.Name, poolNameLength)
		if name == "" {
			name = p.Pool.Address.Hex()
		}
		fields[i] = chat.Field{Name: name, ForeignName: true, Value: amount(p.Amount, token)}
	}
	return fields
}
