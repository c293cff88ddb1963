package evmabi

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"
)

// The selectors come from EIP-20 (https://eips.ethereum.org/EIPS/eip-20), and from
// the verified source of Multicall3 at its address
// (https://etherscan.io/address/0xca11bde05977b3631167028862be2a173976ca11#code).
func TestSelectorsAreThoseOfTheDeployedContracts(t *testing.T) {
	for signature, want := range map[string]string{
		"aggregate3((address,bool,bytes)[])": "82ad56cb",
		"getBlockNumber()":                   "42cbb15c",
		"getChainId()":                       "3408e470",
		"getCurrentBlockTimestamp()":         "0f28c97d",
		"balanceOf(address)":                 "70a08231",
	} {
		if got := common.Bytes2Hex(Selector(signature)); got != want {
			t.Errorf("%s is %s, want %s", signature, got, want)
		}
	}
}

func boolean(b bool) []byte {
	if b {
		return number(1)
	}
	return number(0)
}

// word returns a word in hexadecimal that ends in these digits.
func word(digits string) string { return strings.Repeat("0", 2*Word-len(digits)) + digits }

// padded returns bytes in hexadecimal that are filled up with zeros to a word.
func padded(digits string) string { return digits + strings.Repeat("0", 2*Word-len(digits)) }

// calls are two calls of Multicall3, and encodedCalls is their list as the specification encodes it:
// https://docs.soliditylang.org/en/latest/abi-spec.html
var (
	calls = []Tuple{
		{Words: append(Address(common.HexToAddress("0xaa")), boolean(true)...), Content: []byte{1, 2, 3, 4}},
		{Words: append(Address(common.HexToAddress("0xbb")), boolean(false)...), Content: []byte{}},
	}
	encodedCalls = strings.Join([]string{
		word("20"), // where the list begins
		word("2"),  // how many tuples it has
		word("40"), // where the first tuple begins, counted from here
		word("e0"), // where the second one begins

		word("aa"),         // the first tuple's words
		word("1"),          // "
		word("60"),         // where its content begins, counted from the tuple
		word("4"),          // the size of the content
		padded("01020304"), // the content

		word("bb"),
		word("0"),
		word("60"),
		word("0"),
	}, "")
)

func TestAListIsEncodedAsTheSpecificationSays(t *testing.T) {
	if got := hex.EncodeToString(EncodeList(calls)); got != encodedCalls {
		t.Errorf("got  %s\nwant %s", got, encodedCalls)
	}
	const words = 2
	got, err := DecodeList(common.FromHex(encodedCalls), words)
	if err != nil || !reflect.DeepEqual(got, calls) {
		t.Errorf("decoded as %v, %v, want %v", got, err, calls)
	}
}

func TestADecodedListIsTheOneThatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tuples := []Tuple{}
		for range rapid.IntRange(0, 5).Draw(t, "length") {
			content := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "content")
			tuples = append(tuples, Tuple{Words: boolean(rapid.Bool().Draw(t, "flag")), Content: content})
		}
		const words = 1
		got, err := DecodeList(EncodeList(tuples), words)
		if err != nil || !reflect.DeepEqual(got, tuples) {
			t.Errorf("decoded as %v, %v, want %v", got, err, tuples)
		}
	})
}

// Each case spoils encodedCalls at the word with this index.
func TestAListThatLeavesTheDataIsRefused(t *testing.T) {
	huge := strings.Repeat("f", 2*Word)
	for name, spoil := range map[string]struct {
		index int
		word  string
	}{
		"the list begins behind the data":   {0, word("1000")},
		"an offset that is not a number":    {0, huge},
		"more tuples than words":            {1, word("ff")},
		"a tuple begins behind the data":    {2, word("1000")},
		"a content begins behind the data":  {6, word("1000")},
		"a content is longer than the data": {7, word("ff")},
		"a size that is not a number":       {7, huge},
	} {
		at := 2 * Word * spoil.index
		spoiled := encodedCalls[:at] + spoil.word + encodedCalls[at+2*Word:]
		if got, err := DecodeList(common.FromHex(spoiled), 2); err == nil {
			t.Errorf("%s: decoded as %v", name, got)
		}
	}
	whole := common.FromHex(encodedCalls)
	for size := range len(whole) {
		if got, err := DecodeList(bytes.Clone(whole[:size]), 2); err == nil {
			t.Errorf("the first %d bytes are decoded as %v", size, got)
		}
	}
}
