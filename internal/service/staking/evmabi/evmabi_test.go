package evmabi

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"
)

// oracle is Multicall3 as go-ethereum reads it.
var oracle = func() abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"aggregate3","inputs":[{"name":"calls","type":"tuple[]",
		"components":[{"name":"target","type":"address"},{"name":"allowFailure","type":"bool"},{"name":"data","type":"bytes"}]}],
		"outputs":[{"name":"results","type":"tuple[]","components":[{"name":"success","type":"bool"},{"name":"data","type":"bytes"}]}]}]`))
	if err != nil {
		panic(err)
	}
	return parsed
}()

// The selectors come from EIP-20 (https://eips.ethereum.org/EIPS/eip-20), and from
// the verified source of Multicall3 at its address
// (https://etherscan.io/address/0xca11bde05977b3631167028862be2a173976ca11#code).
func TestSelectorsAreThoseOfTheDeployedContracts(t *testing.T) {
	for signature, want := range map[string]string{
		"aggregate3((address,bool,bytes)[])": "82ad56cb", "getBlockNumber()": "42cbb15c", "getChainId()": "3408e470",
		"getCurrentBlockTimestamp()": "0f28c97d", "balanceOf(address)": "70a08231",
	} {
		if got := common.Bytes2Hex(Selector(signature)); got != want {
			t.Errorf("%s is %s, want %s", signature, got, want)
		}
	}
}

func TestCallsAndResultsAreThoseOfGoEthereum(t *testing.T) {
	method := oracle.Methods["aggregate3"]
	content := rapid.SliceOfN(rapid.Byte(), 0, 70)
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Call {
			target := rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "target")
			return Call{common.BytesToAddress(target), rapid.Bool().Draw(t, "allow"), content.Draw(t, "data")}
		}), 0, 5).Draw(t, "calls")
		results := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Result {
			return Result{rapid.Bool().Draw(t, "success"), content.Draw(t, "data")}
		}), 0, 5).Draw(t, "results")
		wantCalls, callsErr := method.Inputs.Pack(calls)
		wantResults, resultsErr := method.Outputs.Pack(results)
		if got := EncodeCalls(calls); callsErr != nil || !bytes.Equal(got, wantCalls) {
			t.Errorf("calls are\n%x, want\n%x, %v", got, wantCalls, callsErr)
		}
		if got := EncodeResults(results); resultsErr != nil || !bytes.Equal(got, wantResults) {
			t.Errorf("results are\n%x, want\n%x, %v", got, wantResults, resultsErr)
		}
		readCalls, callsErr := DecodeCalls(wantCalls)
		readResults, resultsErr := DecodeResults(wantResults)
		if callsErr != nil || resultsErr != nil || !reflect.DeepEqual(readCalls, calls) || !reflect.DeepEqual(readResults, results) {
			t.Errorf("read %v, %v and %v, %v", readCalls, callsErr, readResults, resultsErr)
		}
	})
}

// What go-ethereum refuses is refused, and what both read is the same.
func FuzzDecodeResults(f *testing.F) {
	whole := EncodeResults([]Result{{true, []byte("one")}, {false, nil}, {true, make([]byte, 40)}})
	for _, cut := range []int{0, 31, 64, 100, 200, len(whole) - 1, len(whole)} {
		f.Add(whole[:cut])
	}
	for _, at := range []int{24, 31, 63, 95, 191, 223} {
		spoiled := bytes.Clone(whole)
		spoiled[at] ^= 0xff
		f.Add(spoiled)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeResults(data)
		var want []Result
		refused := oracle.UnpackIntoInterface(&want, "aggregate3", data)
		switch {
		case err == nil && refused != nil:
			t.Errorf("read %v, where go-ethereum says %v", got, refused)
		case err != nil && refused == nil:
			t.Errorf("refused what go-ethereum reads as %v", want)
		case err == nil && len(got)+len(want) > 0 && !reflect.DeepEqual(got, want):
			t.Errorf("read %v, want %v", got, want)
		}
	})
}
