// Package evmabi encodes and decodes the forms of the contract ABI that pools and
// Multicall3 use (https://docs.soliditylang.org/en/latest/abi-spec.html).
//
// go-ethereum's accounts/abi knows every form, and tests compare this package with it. The
// product may not import it: it makes the linker keep every method of every type, and the
// program a third larger.
package evmabi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"
)

// Word is the size in bytes of one value.
const Word = 32

// errForm means that bytes are not of the expected form.
var errForm = errors.New("not of the ABI's form")

// Keccak256 returns the hash from which selectors are made.
func Keccak256(text string) common.Hash {
	hash := keccak.NewLegacyKeccak256()
	hash.Write([]byte(text))
	return common.BytesToHash(hash.Sum(nil))
}

// Selector returns the first 4 bytes of a call to a method, whose signature is written as
// in "balanceOf(address)".
func Selector(signature string) []byte {
	hash := Keccak256(signature)
	return hash[:4]
}

// Address returns an address as a word.
func Address(a common.Address) []byte { return common.LeftPadBytes(a[:], Word) }

// Uint256 returns a number as a word. It panics if n is negative or does not fit.
func Uint256(n *big.Int) []byte { return n.FillBytes(make([]byte, Word)) }

func number(n int) []byte { return Uint256(big.NewInt(int64(n))) }

// Tuple is some words and then bytes. Multicall3's Call3 is one: its words are the target
// and whether the call may fail. So is its Result: its word is whether the call succeeded.
type Tuple struct{ Words, Content []byte }

func (t Tuple) encode() []byte {
	padding := make([]byte, -len(t.Content)&(Word-1))
	return slices.Concat(t.Words, number(len(t.Words)+Word), number(len(t.Content)), t.Content, padding)
}

// EncodeList encodes a list of tuples as the only argument or result of a method.
func EncodeList(tuples []Tuple) []byte {
	var places, contents []byte
	for _, t := range tuples {
		places = append(places, number(len(tuples)*Word+len(contents))...)
		contents = append(contents, t.encode()...)
	}
	return slices.Concat(number(Word), number(len(tuples)), places, contents)
}

// DecodeList decodes the only argument or result of a method, a list of tuples with that
// many words each. The tuples share data's memory.
func DecodeList(data []byte, words int) ([]Tuple, error) {
	list, err := follow(data, 0)
	if err != nil || len(data)%Word != 0 {
		return nil, errForm
	}
	n, err := readNumber(list)
	if err != nil || n > len(list)/Word-1 {
		return nil, errForm
	}
	list = list[Word:]
	tuples := make([]Tuple, n)
	for i := range tuples {
		t, err := follow(list, i*Word)
		if err != nil || len(t) < words*Word {
			return nil, errForm
		}
		content, err := follow(t, words*Word)
		if err != nil {
			return nil, err
		}
		size, err := readNumber(content)
		if err != nil || size > len(content)-Word {
			return nil, errForm
		}
		tuples[i] = Tuple{Words: t[:words*Word], Content: content[Word : Word+size]}
	}
	return tuples, nil
}

// follow returns the part of data to which the word at that offset points.
func follow(data []byte, at int) ([]byte, error) {
	to, err := readNumber(data[at:])
	if err != nil || to > len(data) {
		return nil, errForm
	}
	return data[to:], nil
}

// readNumber reads the first word of data as an offset or a size, of at most 31 bits.
func readNumber(data []byte) (int, error) {
	if len(data) < Word || !bytes.Equal(data[:Word-4], make([]byte, Word-4)) || data[Word-4] > 127 {
		return 0, errForm
	}
	return int(binary.BigEndian.Uint32(data[Word-4:])), nil
}
