package staking

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/demo/fake/services"
)

// A pool whose total cannot be read does not count as a pool without a stake.
func TestTheTotalCountsOnlyThePoolsThatWereRead(t *testing.T) {
	withTotal := func(total []byte) services.Contract {
		return poolWith(map[string][]byte{testMethod: wordOf(0), testTotal: total})
	}
	reverting := withTotal(nil)
	var withoutCode services.Contract
	for name, test := range map[string]struct {
		pools       []services.Contract
		want        string
		wantChecked int
	}{
		"all pools are read": {
			pools:       []services.Contract{withTotal(tokensOf(5)), withTotal(wordOf(0)), withTotal(tokensOf(7))},
			want:        "12",
			wantChecked: 3,
		},
		"a total is impossible": {
			pools:       []services.Contract{withTotal(tokensOf(5)), withTotal(common.MaxHash[:])},
			want:        "5",
			wantChecked: 1,
		},
		"a pool reverts": {
			pools:       []services.Contract{withTotal(tokensOf(5)), reverting},
			want:        "5",
			wantChecked: 1,
		},
		"no pool is read": {
			pools:       []services.Contract{reverting, withoutCode},
			want:        "0",
			wantChecked: 0,
		},
	} {
		for _, way := range ways[:2] { // multicall and batch
			chain, pools := deploy(test.pools...)
			c := newClient(t, newNode(t, chain), pools, way.changeSettings, totalMethod)
			unread := countUnread(c) // Get fills it.
			total, err := c.Total(time.Minute).Get(t.Context(), struct{}{})
			if err != nil || total.Value.Total().String() != test.want || total.Value.Checked != test.wantChecked {
				t.Errorf("%s: %+v, %v; want %s of %d pools", name, total, err, test.want, test.wantChecked)
			}
			if complete := test.wantChecked == len(pools); total.Value.Complete() != complete {
				t.Errorf("%s: complete is %t, want %t", name, !complete, complete)
			}
			if len(unread) != len(pools)-test.wantChecked {
				t.Errorf("%s: reported as unread: %v", name, unread)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: the service fails: %+v", name, c.Health())
			}
		}
	}
}

// totalMethod is a change of newClient's settings: totals are read, and withdrawals are not.
func totalMethod(s *Settings) {
	s.TotalMethod = testTotal
	s.PendingMethod = ""
}

func TestTheTotalIsCached(t *testing.T) {
	sound := poolWith(map[string][]byte{testMethod: wordOf(0), testTotal: tokensOf(5)})
	for name, contracts := range map[string][]services.Contract{
		"complete":   {sound, sound},
		"incomplete": {sound, nil},
		"none":       {nil, nil},
	} {
		chain, pools := deploy(contracts...)
		n := newNode(t, chain)
		source := newClient(t, n, pools, totalMethod).Total(time.Minute)
		get := func() { _, _ = source.Get(t.Context(), struct{}{}) }
		get()
		if trips := n.tripsOf(get); trips != 0 {
			t.Errorf("%s: the second total took %d round trips, want 0", name, trips)
		}
	}
}

func TestThereIsNoTotalWithoutItsMethod(t *testing.T) {
	chain, pools := stakers()
	if newClient(t, newNode(t, chain), pools).Total(time.Minute) != nil {
		t.Error("there is a source without TotalMethod")
	}
}
