package staking

import (
	"math/big"
	"testing"

	"herald/internal/service/staking/evmabi"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

func FuzzUint256(f *testing.F) {
	f.Add(wordOf(1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeUint256(data); (err == nil) != (len(data) == evmabi.Word) {
			t.Fatalf("%d bytes: %v", len(data), err)
		}
		if amount, err := (call{data: data}).tokens(decodeUint256, 18); err == nil {
			if amount.Shift(18).BigInt().Cmp(new(big.Int).SetBytes(data)) != 0 || amount.Cmp(maxTokens) >= 0 {
				t.Fatalf("%x became %s", data, amount)
			}
		}
	})
}

// FuzzWithdrawals compares with go-ethereum's decoder, which takes more forms.
func FuzzWithdrawals(f *testing.F) {
	f.Add(withdrawalsOf(1, 2, 3))
	f.Add(append(wordOf(evmabi.Word), common.MaxHash[:]...))
	list, err := abi.NewType("tuple[]", "", []abi.ArgumentMarshaling{
		{Name: "amount", Type: "uint256"}, {Name: "block", Type: "uint256"},
	})
	if err != nil {
		f.Fatal(err)
	}
	type withdrawal struct{ Amount, Block *big.Int }
	f.Fuzz(func(t *testing.T, data []byte) {
		sum, err := decodeWithdrawals(data)
		if err != nil {
			return
		}
		values, err := abi.Arguments{{Type: list}}.Unpack(data)
		if err != nil {
			t.Fatalf("%x: taken here, refused by go-ethereum: %v", data, err)
		}
		want := new(big.Int)
		for _, w := range *abi.ConvertType(values[0], new([]withdrawal)).(*[]withdrawal) {
			want.Add(want, w.Amount)
		}
		if sum.Cmp(want) != 0 {
			t.Fatalf("%x: sum %s, go-ethereum's %s", data, sum, want)
		}
	})
}

func FuzzCheckAnswer(f *testing.F) {
	for _, seed := range []string{
		`[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"error":{"code":3}}]`,
		`[{"id":1,"result":"0x1"},{"id":1,"result":"0x2"}]`,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
		`{"id":null,"error":{"code":-32005,"message":"limit"}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, batch bool) {
		question := `{"id":1}`
		if batch {
			question = `[{"id":1},{"id":2}]`
		}
		passed, err := checkAnswer([]byte(question), body)
		if err != nil {
			return
		}
		answers, several, err := parseMessages(passed)
		if err != nil || several != batch || len(answers) > 2 {
			t.Fatalf("%q became %q: %v", body, passed, err)
		}
		seen := map[string]bool{}
		for _, m := range answers {
			if seen[string(m.ID)] || string(m.ID) != "1" && (string(m.ID) != "2" || !batch) {
				t.Fatalf("%q became %q", body, passed)
			}
			seen[string(m.ID)] = true
		}
	})
}
