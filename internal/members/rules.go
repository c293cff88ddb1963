package members

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"herald/internal/core"
)

// minApart is the least time between the two "no" after which a badge goes, by the blocks
// read.
const minApart = time.Hour

// proofLasts is how long the proof that a wallet is its user's is not asked for anew.
const proofLasts = 30 * 24 * time.Hour

// verdict is what a look at a row found.
type verdict int

const (
	// unknown: something could not be checked.
	unknown verdict = iota
	// yes: the wallet is the user's and stakes.
	yes
	// no: the wallet stakes in none of the pools, which were all read, or is not the user's.
	no
)

// finding is a verdict, and the time of the block read.
type finding struct {
	verdict
	block time.Time
}

// found returns the finding of a stake alone.
func found(stake core.Answer[core.Stake]) finding {
	f := finding{block: stake.Value.BlockTime.Truncate(time.Second)}
	switch {
	case stake.Err != nil:
	case stake.Value.Outcome() == core.Staker:
		f.verdict = yes
	case stake.Value.Outcome() == core.NotStaker && !f.block.IsZero():
		f.verdict = no
	}
	return f
}

// rules are what looks at rows have in common.
type rules struct {
	pools uint64        // stands for the chain and the list of pools
	every time.Duration // of a cycle
}

// late is how long after a whole cycle a look may come: some slots are slow.
func (r rules) late() time.Duration { return 2 * r.every / slots }

// after returns the row after a look with a finding.
//
// A row whose user may wear no badge changes only with a yes. A "no" that meets another list
// of pools than the look before counts for nothing. A "no" is the first one again if a look
// between the two is missing: its finding was lost.
func (r rules) after(row Row, f finding, now time.Time) Row {
	gap := now.Sub(row.LookedAt).Abs() > r.every+r.late()
	switch {
	case f.verdict == unknown:
		row.FirstNo = time.Time{}
		return row
	case f.verdict == yes:
		row.FirstNo, row.LapsedAt = time.Time{}, time.Time{}
	case !row.LapsedAt.IsZero():
	case row.Pools != r.pools:
		row.FirstNo = time.Time{}
	case row.FirstNo.IsZero() || gap || f.block.Before(row.FirstNo):
		row.FirstNo = f.block
	}
	row.LookedAt, row.Pools = now.Truncate(time.Second), r.pools
	return row
}

// loses reports whether the badge goes with a finding, after which the row is r.
func (r Row) loses(f finding) bool {
	return f.verdict == no && !r.FirstNo.IsZero() && f.block.Sub(r.FirstNo) >= minApart
}

// tally counts the rows of a platform.
type tally struct {
	// holders may wear the badge. losing of them have a first "no": a cycle from now on takes
	// the badge from all of these who get a second one.
	holders, losing int
}

// No badge goes while more than maxLosing, and more than one in maxLosingPart, would lose it.
const (
	maxLosing     = 10
	maxLosingPart = 20
)

// held reports whether nobody loses a badge, because too many would.
func (t tally) held() bool { return t.losing > maxLosing && t.losing*maxLosingPart > t.holders }

// census counts rows.
type census struct {
	rows, looked int
	tallies      [len(platforms)]tally
}

// countRows counts rows. Those looked at after since count as looked at.
func countRows(list []Row, since time.Time) (c census) {
	for _, r := range list {
		c.rows++
		if r.LookedAt.After(since) {
			c.looked++
		}
		t := &c.tallies[indexOfPlatform(r.User.Platform)]
		if r.LapsedAt.IsZero() && !r.Forgotten {
			t.holders++
			if !r.FirstNo.IsZero() {
				t.losing++
			}
		}
	}
	return c
}

// add adds the counts of other to c.
func (c *census) add(other census) {
	c.rows += other.rows
	c.looked += other.looked
	for i, t := range other.tallies {
		c.tallies[i].holders += t.holders
		c.tallies[i].losing += t.losing
	}
}

// poolsID returns a number that stands for a chain and a list of pools in any order.
func poolsID(chain string, pools []core.Pool) uint64 {
	var addresses []string
	for _, p := range pools {
		addresses = append(addresses, p.Address.Hex())
	}
	slices.Sort(addresses)
	h := sha256.New()
	h.Write([]byte(chain))
	for _, a := range addresses {
		h.Write([]byte(a))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
