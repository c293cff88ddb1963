package chat

import (
	"strconv"
	"strings"
	"time"
)

// Version is what an answer is as of: a time, or a block of a chain. A refreshed answer does not replace the shown one
// if it is Older or the Same.
type Version struct {
	Time time.Time
	// If both answers have a Block, it orders them. Their Times then only say when they were fetched.
	Block Block
}

// Block is a block of a chain. The zero Block is none.
type Block struct {
	Chain  uint64 // the chain's ID
	Number uint64
}

// IsZero reports whether nothing is known of v.
func (v Version) IsZero() bool { return v.Time.IsZero() && v.Block == Block{} }

// Order is how an answer compares with the one that is shown.
type Order int

// The orders.
const (
	// Unordered means that neither is known to be newer. The answer is shown if it looks different.
	Unordered Order = iota
	// Older and Same answers are not shown.
	Older
	Same
	Newer
)

// Compare returns how an answer of Version v compares with one of Version shown. If the time of shown is in the
// future, a clock has jumped back, and no answer is Older.
//
// Two answers from one block are Unordered: the later one may have pools that could not be read before,
// or a newer price.
func (v Version) Compare(shown Version) Order {
	none := Block{}
	switch {
	case v.Block != none && shown.Block != none:
		return v.Block.compare(shown.Block)
	case v.Block != none, shown.Block != none, v.Time.IsZero(), shown.Time.IsZero():
		return Unordered
	case v.Time.Unix() == shown.Time.Unix():
		return Same
	}
	clockJumped := shown.Time.After(time.Now())
	if v.Time.Before(shown.Time) && !clockJumped {
		return Older
	}
	return Newer
}

// compare returns how an answer of block b compares with one of block shown.
func (b Block) compare(shown Block) Order {
	isOtherChain := b.Chain%chainTags != shown.Chain%chainTags
	isFarBehind := shown.Number > b.Number+maxLag
	switch {
	case isOtherChain, isFarBehind, b.Number == shown.Number:
		return Unordered
	case b.Number < shown.Number:
		return Older
	}
	return Newer
}

const (
	// maxLag is the maximum number of blocks that one node may be behind another. If a block is further behind, its chain
	// has restarted, or the shown block never existed.
	maxLag = 100_000
	// chainTags is how many chains a button's state tells apart: two digits in base 36.
	chainTags = 36 * 36
	// maxBlock is the highest block that fits into a state: seven digits in base 36.
	maxBlock = 36*36*36*36*36*36*36 - 1
	// blockMark stands between a chain's tag and the number of a block.
	blockMark = "#"
)

// word returns v as one word of a button's state: "1#gjdgxr" for a block, or else the Unix time, at least
// 1, in base 36.
func (v Version) word() string {
	if b := v.Block; b != (Block{}) && b.Number <= maxBlock {
		return strconv.FormatUint(b.Chain%chainTags, 36) + blockMark + strconv.FormatUint(b.Number, 36)
	}
	return strconv.FormatInt(max(v.Time.Unix(), 1), 36)
}

// parseVersion reads what word returned. "0" is the zero Version. ok is false for any other text.
func parseVersion(word string) (v Version, ok bool) {
	if tag, number, isBlock := strings.Cut(word, blockMark); isBlock {
		chain, err := strconv.ParseUint(tag, 36, 64)
		if err != nil || chain >= chainTags {
			return Version{}, false
		}
		v.Block.Chain = chain
		v.Block.Number, err = strconv.ParseUint(number, 36, 64)
		if err != nil || v.Block.Number > maxBlock || v.Block == (Block{}) {
			return Version{}, false
		}
		return v, true
	}
	seconds, err := strconv.ParseUint(word, 36, 63)
	if err == nil && seconds > 0 {
		v.Time = time.Unix(int64(seconds), 0)
	}
	return v, err == nil
}
