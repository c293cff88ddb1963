//go:build evm

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

// These tests compare this package with go-ethereum's encoder and decoder. They need the tag evm, because go-ethereum's
// package is built with a C compiler, which takes longer than all other tests of this package.

// multicall3 describes Multicall3's method aggregate3.
const multicall3 = `[{
	"type": "function",
	"name": "aggregate3",
	"inputs": [{
		"name": "calls",
		"type": "tuple[]",
		"components": [
			{"name": "target", "type": "address"},
			{"name": "allowFailure", "type": "bool"},
			{"name": "callData", "type": "bytes"}
		]
	}],
	"outputs": [{
		"name": "results",
		"type": "tuple[]",
		"components": [
			{"name": "success", "type": "bool"},
			{"name": "returnData", "type": "bytes"}
		]
	}]
}]`

// oracle is go-ethereum's encoder and decoder of multicall3.
var oracle = func() abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(multicall3))
	if err != nil {
		panic(err)
	}
	return parsed
}()

// call and result are Multicall3's Call3 and Result, in the form that go-ethereum needs.
type (
	call struct {
		Target       common.Address
		AllowFailure bool
		CallData     []byte
	}
	result struct {
		Success    bool
		ReturnData []byte
	}
)

// drawn is one random call, and its result, in both forms.
type drawn struct {
	call        call
	callTuple   Tuple
	result      result
	resultTuple Tuple
}

func draw(t *rapid.T) drawn {
	target := common.BytesToAddress(rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "target"))
	flag := rapid.Bool().Draw(t, "flag")
	content := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "content")
	return drawn{
		call:        call{target, flag, content},
		callTuple:   Tuple{Words: append(Address(target), boolean(flag)...), Content: content},
		result:      result{flag, content},
		resultTuple: Tuple{Words: boolean(flag), Content: content},
	}
}

// requireSameAsGoEthereum fails the test unless tuples of this many words are encoded as go-ethereum
// encodes values, and decoded again.
func requireSameAsGoEthereum(t *rapid.T, arguments abi.Arguments, values any, tuples []Tuple, words int) {
	want, err := arguments.Pack(values)
	if got := EncodeList(tuples); err != nil || !bytes.Equal(got, want) {
		t.Errorf("encoded as\n%x, want\n%x, %v", got, want, err)
	}
	got, err := DecodeList(want, words)
	if err != nil || !reflect.DeepEqual(got, tuples) {
		t.Errorf("decoded as %v, %v, want %v", got, err, tuples)
	}
}

func TestCallsAndResultsAreEncodedAsByGoEthereum(t *testing.T) {
	method := oracle.Methods["aggregate3"]
	rapid.Check(t, func(t *rapid.T) {
		calls, callTuples := []call{}, []Tuple{}
		results, resultTuples := []result{}, []Tuple{}
		for range rapid.IntRange(0, 5).Draw(t, "length") {
			d := draw(t)
			calls = append(calls, d.call)
			callTuples = append(callTuples, d.callTuple)
			results = append(results, d.result)
			resultTuples = append(resultTuples, d.resultTuple)
		}
		requireSameAsGoEthereum(t, method.Inputs, calls, callTuples, 2)
		requireSameAsGoEthereum(t, method.Outputs, results, resultTuples, 1)
	})
}

// DecodeList must refuse what go-ethereum refuses, and otherwise decode the same.
func FuzzDecodeList(f *testing.F) {
	whole := EncodeList([]Tuple{
		{Words: number(1), Content: []byte("one")},
		{Words: number(0), Content: nil},
		{Words: number(1), Content: make([]byte, 40)},
	})
	for _, cut := range []int{0, 31, 64, 100, 200, len(whole) - Word, len(whole) - 1, len(whole)} {
		f.Add(whole[:cut])
	}
	for _, at := range []int{24, 31, 63, 95, 191, 223} {
		spoiled := bytes.Clone(whole)
		spoiled[at] ^= 0xff
		f.Add(spoiled)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []result
		refused := oracle.UnpackIntoInterface(&want, "aggregate3", data)
		tuples, err := DecodeList(data, 1)
		got := make([]result, len(tuples))
		for i, tuple := range tuples {
			got[i] = result{bytes.Equal(tuple.Words, number(1)), tuple.Content}
			if !got[i].Success && !bytes.Equal(tuple.Words, number(0)) {
				return // It is not a boolean, and the caller must refuse it.
			}
		}
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
