//go:build evm

package staking

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"herald/internal/service/staking/evmabi"
)

// FuzzWithdrawals compares decodeWithdrawals with go-ethereum's decoder, which accepts more forms.
func FuzzWithdrawals(f *testing.F) {
	f.Add(withdrawalsOf(1, 2, 3))
	f.Add([]byte{})
	f.Add(append(wordOf(2*evmabi.Word), wordOf(0)...)) // another offset
	f.Add(append(wordOf(evmabi.Word), common.MaxHash[:]...))
	list, err := abi.NewType("tuple[]", "", []abi.ArgumentMarshaling{
		{Name: "amount", Type: "uint256"}, {Name: "block", Type: "uint256"},
	})
	if err != nil {
		f.Fatal(err)
	}
	type withdrawal struct{ Amount, Block *big.Int }
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeWithdrawals(data, 0)
		if err != nil {
			return
		}
		values, err := abi.Arguments{{Type: list}}.Unpack(data)
		if err != nil {
			t.Fatalf("%x: accepted here, refused by go-ethereum: %v", data, err)
		}
		want := *abi.ConvertType(values[0], new([]withdrawal)).(*[]withdrawal)
		if !slices.EqualFunc(got, want, func(g Withdrawal, w withdrawal) bool {
			return g.Amount.BigInt().Cmp(w.Amount) == 0 && g.Block.Cmp(w.Block) == 0
		}) {
			t.Fatalf("%x: %v, go-ethereum's %v", data, got, want)
		}
	})
}
