package members

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
)

// Row is a kept wallet. Its times are whole seconds.
type Row struct {
	User   chat.User
	Wallet common.Address
	// KeptAt is when the user asked to keep the wallet, and ProvenAt when the wallet was last
	// seen to be theirs.
	KeptAt, ProvenAt time.Time
	// LookedAt is when the stake was last known.
	LookedAt time.Time
	// FirstNo is the time of the block of the first "no" in a row; zero: the last look was
	// none.
	FirstNo time.Time
	// LapsedAt is since when the user may not wear a badge; zero: they may.
	LapsedAt time.Time
	// Forgotten marks a row that is deleted once the user wears no badge any more.
	Forgotten bool
	// Pools stands for the chain and the list of pools at the last look.
	Pools uint64
}

// Stakes reports whether the last look found a stake of the user's own wallet.
func (r Row) Stakes() bool { return r.FirstNo.IsZero() && r.LapsedAt.IsZero() }
