// Package evmabi encodes and decodes the parts of the contract ABI that pools and Multicall3 use
// (https://docs.soliditylang.org/en/latest/abi-spec.html).
//
// go-ethereum's accounts/abi implements all of the ABI, and tests compare this package with it. The product may not
// import it, because the linker would then keep every method of every type, and the program would be a third larger.
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

// errForm is returned for bytes that do not encode what is expected.
var errForm = errors.New("not of the ABI's form")

// Keccak256 returns the hash from which selectors are made.
func Keccak256(text string) common.Hash {
	hash := keccak.NewLegacyKeccak256()
	hash.Write([]byte(text))
	return common.BytesToHash(hash.Sum(nil))
}

// Selector returns the first 4 bytes of the input of a call to a method. An example of a signature is
// "balanceOf(address)".
func Selector(signature string) []byte {
	hash := Keccak256(signature)
	return hash[:4]
}

// Address returns an address as a word.
func Address(a common.Address) []byte { return common.LeftPadBytes(a[:], Word) }

// Uint256 returns a number as a word. It panics if n is negative or does not fit.
func Uint256(n *big.Int) []byte { return n.FillBytes(make([]byte, Word)) }

func number(n int) []byte { return Uint256(big.NewInt(int64(n))) }

// Tuple is a fixed number of words, followed by bytes of any length. Multicall3's Call3 has two words: the target, and
// whether the call may fail. Its Result has one word: whether the call succeeded.
type Tuple struct {
	Words   []byte
	Content []byte
}

// encode returns the words, the offset of the content, the content's size, and the content, padded to whole words.
func (t Tuple) encode() []byte {
	padding := make([]byte, (Word-len(t.Content)%Word)%Word)
	contentAt := len(t.Words) + Word // after the words, and the word that holds this offset
	return slices.Concat(t.Words, number(contentAt), number(len(t.Content)), t.Content, padding)
}

// EncodeList encodes a list of tuples as the only argument or result of a method.
func EncodeList(tuples []Tuple) []byte {
	var offsets, encoded []byte
	for _, t := range tuples {
		offsets = append(offsets, number(len(tuples)*Word+len(encoded))...)
		encoded = append(encoded, t.encode()...)
	}
	return slices.Concat(number(Word), number(len(tuples)), offsets, encoded)
}

// DecodeList decodes a list of tuples, which is the only argument or result of a method. Each tuple has this number of
// words. The tuples share data's memory.
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

// follow reads the offset at data[at:], and returns the part of data that begins there. at must not be above len(data).
func follow(data []byte, at int) ([]byte, error) {
	offset, err := readNumber(data[at:])
	if err != nil || offset > len(data) {
		return nil, errForm
	}
	return data[offset:], nil
}

// readNumber reads the first word of data as an offset or a size. It fails if the number has more than 31 bits.
func readNumber(data []byte) (int, error) {
	if len(data) < Word || !bytes.Equal(data[:Word-4], make([]byte, Word-4)) || data[Word-4] > 127 {
		return 0, errForm
	}
	return int(binary.BigEndian.Uint32(data[Word-4:])), nil
}
