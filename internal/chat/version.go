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
// future, a clock has jumped back, and an earlier answer counts as Newer.
//
// Two answers from one block may still differ: one may lack a pool that could not be read, or have an older price. They
// are Unordered.
func (v Version) Compare(shown Version) Order {
	none := Block{}
	switch {
	case v.Block != none && shown.Block != none:
		return v.Block.compare(shown.Block)
	case v.Block != none, shown.Block != none, v.Time.IsZero(), shown.Time.IsZero():
		return Unordered
	case v.Time.Unix() == shown.Time.Unix():
		return Same
	case v.Time.After(shown.Time):
		return Newer
	case shown.Time.After(time.Now()): // A clock has jumped back.
		return Newer
	}
	return Older
}

// compare returns how an answer of block b compares with one of block shown.
func (b Block) compare(shown Block) Order {
	isOtherChain := b.tag() != shown.tag() // A block that was read from a button has only the tag.
	isFarBehind := shown.Number > b.Number+maxLag
	switch {
	case isOtherChain, isFarBehind, b.Number == shown.Number:
		return Unordered
	case b.Number < shown.Number:
		return Older
	}
	return Newer
}

// tag returns the number that stands for the chain in a button's state. Two chains may have one tag.
func (b Block) tag() uint64 { return b.Chain % chainTags }

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

// word returns v as one word of a button's state: "1#gjdgxr" for a block, or else the Unix time in base 36. The time is
// at least 1, so word never returns "0", which Action.State writes for a button that does not refresh.
func (v Version) word() string {
	if b := v.Block; b != (Block{}) && b.Number <= maxBlock {
		return strconv.FormatUint(b.tag(), 36) + blockMark + strconv.FormatUint(b.Number, 36)
	}
	return strconv.FormatInt(max(v.Time.Unix(), 1), 36)
}

// parseVersion reads the word of a state: a word that Version.word returned, or the "0" of a button that does not
// refresh (see Action.State), which is the zero Version. A Block that it returns has the chain's tag as its Chain.
// ok is false for any other text.
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
