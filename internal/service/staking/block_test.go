package staking

import (
	"math/big"
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
