package chat

import (
	"strconv"
	"strings"
	"time"
)

// Version is what an answer is as of: a time, or a block of a chain. It decides which of two answers is newer.
type Version struct {
	// Time is the time of the content. If there is a Block, it is only the time of the fetch, and does not count.
	Time time.Time
	// Block is the block that was read, or zero.
	Block Block
}

// Block is a block of a chain. The zero Block is none.
type Block struct {
	Chain  uint64 // the chain's ID
	Number uint64
}

// IsZero reports whether nothing is known of v.
func (v Version) IsZero() bool { return v.Time.IsZero() && v.Block == Block{} }

// Order is how an answer compares with the answer that is shown.
type Order int

// The orders.
const (
	// Unordered means that it is unknown which answer is newer. The answer replaces the shown one if it looks different.
	Unordered Order = iota
	// Older means that the answer does not replace the shown one.
	Older
	// Same means that the answer does not replace the shown one.
	Same
	// Newer means that the answer replaces the shown one.
	Newer
)

// Compare returns how an answer of Version v compares with an answer of Version shown. If the time of shown is in the
// future, a clock has jumped back, and v is Newer even if its time is earlier.
//
// Two answers from one block are Unordered, because they may differ: one may lack a pool that could not be read, or
// have an older price.
func (v Version) Compare(shown Version) Order {
	hasBlock := v.Block != Block{}
	shownHasBlock := shown.Block != Block{}
	switch {
	case hasBlock && shownHasBlock:
		return v.Block.compare(shown.Block)
	case hasBlock || shownHasBlock:
		return Unordered
	case v.Time.IsZero() || shown.Time.IsZero():
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

// compare returns how an answer as of block b compares with an answer as of block shown.
func (b Block) compare(shown Block) Order {
	isOtherChain := b.tag() != shown.tag() // It compares tags, because shown may come from a button, which has no chain.
	isFarBehind := shown.Number > b.Number+maxLag
	switch {
	case isOtherChain, isFarBehind, b.Number == shown.Number:
		return Unordered
	case b.Number < shown.Number:
		return Older
	}
	return Newer
}

// tag returns the number that stands for the chain in a button's state, where a chain's ID might not fit. Two chains
// may have the same tag.
func (b Block) tag() uint64 { return b.Chain % chainTags }

const (
	// maxLag is the maximum number of blocks that one node may be behind another. If a block is further behind, its chain
	// has restarted, or the shown block never existed.
	maxLag = 100_000
	// chainTags is the number of different tags: those of two digits in base 36.
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

// parseVersion returns the Version whose word is given. For "0", which Action.State writes for a button that does not
// refresh, it returns the zero Version. For any other text, ok is false.
func parseVersion(word string) (v Version, ok bool) {
	tag, number, isBlock := strings.Cut(word, blockMark)
	if isBlock {
		v.Block, ok = parseBlock(tag, number)
		return v, ok
	}
	seconds, err := strconv.ParseUint(word, 36, 63)
	if err == nil && seconds > 0 {
		v.Time = time.Unix(int64(seconds), 0)
	}
	return v, err == nil
}

// parseBlock returns the block whose tag and number are given in base 36. Its Chain is the tag.
func parseBlock(tag, number string) (b Block, ok bool) {
	chain, wrongTag := strconv.ParseUint(tag, 36, 64)
	n, wrongNumber := strconv.ParseUint(number, 36, 64)
	b = Block{Chain: chain, Number: n}
	if wrongTag != nil || wrongNumber != nil || chain >= chainTags || n > maxBlock || b == (Block{}) {
		return Block{}, false
	}
	return b, true
}
