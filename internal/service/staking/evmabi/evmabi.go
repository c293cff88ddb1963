// Package evmabi encodes and decodes the few forms of the contract ABI in which
// pools and Multicall3 are asked
// (https://docs.soliditylang.org/en/latest/abi-spec.html).
//
// go-ethereum's accounts/abi knows every form, and checks this package in its
// tests. It may not be imported by the product: it makes the linker keep every
// method of every type, and the program half as large again.
package evmabi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"
)

// Word is the size of a value in bytes. Everything else is made of words.
const Word = 32

// errForm means that bytes do not have the form of what they should be.
var errForm = errors.New("not of the ABI's form")

// Keccak256 is the hash that selectors are made from.
func Keccak256(text string) common.Hash {
	hash := keccak.NewLegacyKeccak256()
	hash.Write([]byte(text))
	return common.BytesToHash(hash.Sum(nil))
}

// Selector returns the first bytes of a call to a method. The signature is
// written as in "balanceOf(address)".
func Selector(signature string) []byte {
	hash := Keccak256(signature)
	return hash[:4]
}

// Address returns an address as a word.
func Address(a common.Address) []byte { return common.LeftPadBytes(a[:], Word) }

// Uint256 returns a number as a word. It panics if n is negative or does not fit.
func Uint256(n *big.Int) []byte { return n.FillBytes(make([]byte, Word)) }

func number(n int) []byte { return Uint256(big.NewInt(int64(n))) }

func boolean(b bool) []byte {
	if b {
		return number(1)
	}
	return number(0)
}

// Bytes encodes data as the only argument or result of a method.
func Bytes(data []byte) []byte { return tuple{content: data}.encode() }

// Call is Multicall3's Call3.
type Call struct {
	Target       common.Address
	AllowFailure bool
	Data         []byte
}

// EncodeCalls encodes the argument of aggregate3.
func EncodeCalls(calls []Call) []byte {
	tuples := make([]tuple, len(calls))
	for i, c := range calls {
		tuples[i] = tuple{fixed: append(Address(c.Target), boolean(c.AllowFailure)...), content: c.Data}
	}
	return encodeList(tuples)
}

// DecodeCalls reads the argument of aggregate3. What it returns shares data's
// memory.
func DecodeCalls(data []byte) ([]Call, error) {
	tuples, err := decodeList(data, 2*Word)
	if err != nil {
		return nil, err
	}
	calls := make([]Call, len(tuples))
	for i, t := range tuples {
		allow, err := readBoolean(t.fixed[Word:])
		if err != nil {
			return nil, err
		}
		calls[i] = Call{Target: common.BytesToAddress(t.fixed[:Word]), AllowFailure: allow, Data: t.content}
	}
	return calls, nil
}

// Result is Multicall3's Result.
type Result struct {
	Success bool
	Data    []byte
}

// EncodeResults encodes the result of aggregate3.
func EncodeResults(results []Result) []byte {
	tuples := make([]tuple, len(results))
	for i, r := range results {
		tuples[i] = tuple{fixed: boolean(r.Success), content: r.Data}
	}
	return encodeList(tuples)
}

// DecodeResults reads the result of aggregate3. What it returns shares data's
// memory.
func DecodeResults(data []byte) ([]Result, error) {
	tuples, err := decodeList(data, Word)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(tuples))
	for i, t := range tuples {
		success, err := readBoolean(t.fixed)
		if err != nil {
			return nil, err
		}
		results[i] = Result{Success: success, Data: t.content}
	}
	return results, nil
}

// tuple is some words and then bytes.
type tuple struct{ fixed, content []byte }

func (t tuple) encode() []byte {
	var b bytes.Buffer
	b.Write(t.fixed)
	b.Write(number(len(t.fixed) + Word))
	b.Write(number(len(t.content)))
	b.Write(t.content)
	b.Write(make([]byte, -len(t.content)&(Word-1)))
	return b.Bytes()
}

// encodeList encodes a list of tuples as the only argument or result of a method.
func encodeList(tuples []tuple) []byte {
	var places, contents bytes.Buffer
	for _, t := range tuples {
		places.Write(number(len(tuples)*Word + contents.Len()))
		contents.Write(t.encode())
	}
	return bytes.Join([][]byte{number(Word), number(len(tuples)), places.Bytes(), contents.Bytes()}, nil)
}

// decodeList reads what encodeList wrote. fixed is how many bytes stand before a
// tuple's content.
func decodeList(data []byte, fixed int) ([]tuple, error) {
	list, err := follow(data, 0)
	if err != nil || len(data)%Word != 0 {
		return nil, errForm
	}
	n, err := readNumber(list)
	if err != nil || n > len(list)/Word-1 {
		return nil, errForm
	}
	list = list[Word:]
	tuples := make([]tuple, n)
	for i := range tuples {
		t, err := follow(list, i*Word)
		if err != nil || len(t) < fixed {
			return nil, errForm
		}
		content, err := follow(t, fixed)
		if err != nil {
			return nil, err
		}
		size, err := readNumber(content)
		if err != nil || size > len(content)-Word {
			return nil, errForm
		}
		tuples[i] = tuple{fixed: t[:fixed], content: content[Word : Word+size]}
	}
	return tuples, nil
}

// follow returns data from where the word at that place points to.
func follow(data []byte, at int) ([]byte, error) {
	to, err := readNumber(data[at:])
	if err != nil || to > len(data) {
		return nil, errForm
	}
	return data[to:], nil
}

// readNumber reads the word at the beginning of data. It has at most 31 bits: no
// place or size in a message is larger.
func readNumber(data []byte) (int, error) {
	const limit = 1<<31 - 1
	if len(data) < Word || !bytes.Equal(data[:Word-8], make([]byte, Word-8)) {
		return 0, errForm
	}
	n := binary.BigEndian.Uint64(data[Word-8 : Word])
	if n > limit {
		return 0, errForm
	}
	return int(n), nil
}

func readBoolean(data []byte) (bool, error) {
	n, err := readNumber(data)
	if err != nil || n > 1 {
		return false, errForm
	}
	return n == 1, nil
}
