package staking

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/query"
)

// fetchNext returns ann's next withdrawal. It ends the test unless her stake is complete, with one stake and one
// withdrawal.
func fetchNext(t *testing.T, c *Client) core.NextWithdrawal {
	t.Helper()
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || !stake.Complete() {
		t.Fatalf("%+v, %v", stake, err)
	}
	if len(stake.Staked) != 1 || len(stake.Unbonding) != 1 || stake.NextWithdrawal.Amount.IsZero() {
		t.Fatalf("%+v", stake)
	}
	return stake.NextWithdrawal
}

// wantHeaders fails the test unless two headers were requested: of the latest block, and of the block this many blocks
// before it.
func (m *inMemory) wantHeaders(t *testing.T, blocksBack uint64) {
	t.Helper()
	want := []string{
		hexutil.EncodeUint64(m.Block()),
		hexutil.EncodeUint64(m.Block() - blocksBack),
	}
	if !slices.Equal(m.headers, want) {
		t.Errorf("requested the headers %v, want %v", m.headers, want)
	}
}

func TestTheBlockIntervalIsMeasuredOverClaimBlocks(t *testing.T) {
	for delay, blocksBack := range map[uint64]uint64{
		5000: 5000,
		0:    intervalBlocks,
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, delay, entry{tokens: 500, offset: 100 - int64(delay)})
			fetchNext(t, c)
			m.wantHeaders(t, blocksBack)
		})
	}
}

func TestTheBlockIntervalIsNotMeasuredBeforeBlockOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := withdrawing(t, maxClaimBlocks)
		m.Contracts[poolAt(20).Address] = pool(tokensOf(3), entriesAt(0, entry{tokens: 500, offset: 1}))
		fetchNext(t, c)
		m.wantHeaders(t, m.Block()-1)
	})
}

// intervalSpoilers spoil the answer to the batch that measures the block interval. The batch asks for the headers of
// the latest block and of an older one. A nil function means that the node does not answer.
var intervalSpoilers = map[string]func(latest, older map[string]any){
	"the older header is missing": func(_, older map[string]any) {
		older["result"] = nil
	},
	"the older header is an error": func(_, older map[string]any) {
		delete(older, "result")
		older["error"] = nodeError(-32000)
	},
	"the older header is of another block": func(_, older map[string]any) {
		older["result"] = map[string]any{"number": "0x1", "timestamp": headerOf(older)["timestamp"]}
	},
	"the older header has no time": func(_, older map[string]any) {
		delete(headerOf(older), "timestamp")
	},
	"the older header has a time of zero": func(_, older map[string]any) {
		headerOf(older)["timestamp"] = "0x0"
	},
	"the headers have equal times": func(latest, older map[string]any) {
		headerOf(older)["timestamp"] = headerOf(latest)["timestamp"]
	},
	"the older header has the later time": func(latest, older map[string]any) {
		headerOf(older)["timestamp"] = secondsAfter(latest, 30)
	},
	"the latest header has another time than Multicall3 says": func(latest, _ map[string]any) {
		headerOf(latest)["timestamp"] = secondsAfter(latest, -100)
	},
	"the latest header is of the older block": func(latest, older map[string]any) {
		headerOf(latest)["number"] = headerOf(older)["number"]
	},
	"no answer": nil,
}

func headerOf(answer map[string]any) map[string]any { return answer["result"].(map[string]any) }

// secondsAfter returns the timestamp of the header in answer, plus this number of seconds.
func secondsAfter(answer map[string]any, seconds int64) string {
	timestamp := hexutil.MustDecodeUint64(headerOf(answer)["timestamp"].(string))
	return hexutil.EncodeUint64(timestamp + uint64(seconds))
}

// spoilInterval makes the node spoil its answers to batches, or not answer them if spoil is nil.
func (m *inMemory) spoilInterval(spoil func(latest, older map[string]any)) {
	if spoil == nil {
		m.hangs = true
		return
	}
	m.respond = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
		spoil(answers[0], answers[1])
		writeJSON(w, answers)
	})
}

func TestAnUnknownBlockIntervalOmitsOnlyTheNextWithdrawalsTime(t *testing.T) {
	for name, spoil := range intervalSpoilers {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, entry{tokens: 500, offset: 0})
			m.spoilInterval(spoil)
			began := time.Now()
			if at := fetchNext(t, c).At; !at.IsZero() {
				t.Errorf("%s: the next withdrawal has the time %v", name, at)
			}
			if took := time.Since(began); took > maxIntervalWait {
				t.Errorf("%s: it took %v, want at most %v", name, took, maxIntervalWait)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: stakes fail: %+v", name, c.Health())
			}
		})
	}
}

func TestTheBlockIntervalIsMeasuredOnceTheNodeHasRecovered(t *testing.T) {
	for name, spoil := range intervalSpoilers {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, entry{tokens: 500, offset: 0})
			m.spoilInterval(spoil)
			fetchNext(t, c)
			if m.hangs {
				time.Sleep(time.Minute) // Meanwhile, the call ends at its time limit.
			}
			synctest.Wait()
			m.hangs = false
			m.respond = nil
			if fetchNext(t, c).At.IsZero() {
				t.Errorf("%s: the next withdrawal still has no time", name)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: stakes fail: %+v", name, c.Health())
			}
		})
	}
}

// More wallets wait for the block interval at once than calls may be in flight.
func TestWaitingForTheBlockIntervalCannotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := withdrawing(t, 50_000, entry{tokens: 500, offset: 0})
		var fetches sync.WaitGroup
		for i := range 2 * query.MaxCalls {
			fetches.Go(func() {
				stake, err := c.Stakes.Get(t.Context(), walletNo(i))
				if err != nil || stake.Value.NextWithdrawal.At.IsZero() {
					t.Errorf("wallet %d: %+v, %v", i, stake.Value, err)
				}
			})
		}
		fetches.Wait()
	})
}

func TestAWithdrawalInAHundredYearsHasNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := withdrawing(t, 0, entry{tokens: 500, offset: maxBlocksAhead})
		if at := fetchNext(t, c).At; !at.IsZero() {
			t.Errorf("the next withdrawal is at %v", at)
		}
	})
}

func TestAWithdrawalHasNoTimeIfTheBlockHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := withdrawing(t, 0, entry{tokens: 500, offset: 900})
		c.settings.MaxBlockAge = 0
		fetchNext(t, c)
		m.Now = func() time.Time { return time.Now().Add(2 * maxAhead) }
		if at := fetchNext(t, c).At; !at.IsZero() {
			t.Errorf("the next withdrawal is at %v", at)
		}
	})
}
