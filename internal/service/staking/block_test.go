package staking

import (
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
)

func TestTheAgeOfABlockIsJudgedToTheSecond(t *testing.T) {
	const limit = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		ago := func(d time.Duration) *big.Int { return big.NewInt(time.Now().Add(-d).Unix()) }
		for name, test := range map[string]struct {
			timestamp *big.Int
			want      core.Reason // "": no error
		}{
			"now":               {ago(0), ""},
			"just young enough": {ago(limit), ""},
			"just too old":      {ago(limit + time.Second), core.Behind},
			"a little ahead":    {ago(-maxAhead), ""},
			"too far ahead":     {ago(-maxAhead - time.Second), core.Malformed},
			"in nanoseconds":    {big.NewInt(time.Now().UnixNano()), core.Malformed},
			"beyond 64 bits":    {new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64), ago(0)), core.Malformed},
			"zero":              {new(big.Int), core.Malformed},
			"none":              {nil, core.Malformed},
		} {
			b := block{chainID: new(big.Int), Number: new(hexutil.Big), Timestamp: (*hexutil.Big)(test.timestamp)}
			err := (&Client{settings: Settings{MaxBlockAge: limit}}).verify(b)
			if test.want == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if test.want != "" {
				wantReason(t, err, test.want)
			}
			if err := (&Client{}).verify(b); err != nil { // of any age
				t.Errorf("%s: of any age, and %v", name, err)
			}
		}
	})
}

func TestAFrozenNodeIsNeverAnAnswer(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		at := time.Now().Add(-9 * time.Minute).Truncate(time.Second)
		n.time = func() *hexutil.Big { return (*hexutil.Big)(big.NewInt(at.Unix())) }
		if stake, err := c.Stakes.Fetch(t.Context(), ann); err != nil || stake.Block != 1000 || !stake.BlockTime.Equal(at) {
			t.Errorf("block %d of %v, %v", stake.Block, stake.BlockTime, err)
		}
		for _, step := range []struct {
			time   func() *hexutil.Big
			want   core.Reason
			reason string
		}{
			{secondsAgo(10*60 + 1), core.Behind, "newest block 1000000, 10m"}, // it claims to be far ahead, too
			{secondsAgo(-3600), core.Malformed, "no possible time"},
			{untimed, core.Malformed, "no possible time"},
		} {
			n.time, n.block = step.time, 1_000_000
			_, err := c.Stakes.Fetch(t.Context(), ann)
			if failed := wantReason(t, err, step.want); !strings.Contains(failed.Error(), step.reason) {
				t.Errorf("operators read %q", err)
			}
		}
		// A node put right is taken, and its block is not behind the refused ones.
		n.time, n.block = secondsAgo(1), 1000
		wantStaker(t, c)
	})
}
