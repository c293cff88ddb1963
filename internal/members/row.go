package members

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strconv"
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
	// FirstNo is the time of the block of the first "no" in a row; zero: there is none, or
	// the user may wear no badge.
	FirstNo time.Time
	// LapsedAt is since when the user may not wear a badge; zero: they may.
	LapsedAt time.Time
	// Forgotten marks a row that is deleted once the user wears no badge any more.
	Forgotten bool
	// Pools stands for the chain and the list of pools at the last look.
	Pools uint64
}

// Stakes reports whether the last look found a stake of the user's own wallet.
func (r Row) Stakes() bool { return r.FirstNo.IsZero() && r.LapsedAt.IsZero() && !r.Forgotten }

// sameAs reports whether r and other are equal, field by field.
func (r Row) sameAs(other Row) bool { return slices.Equal(r.append(nil), other.append(nil)) }

// rowSize is the size of a row in a shard: a byte for the platform and Forgotten, the user's
// ID, the wallet, five times of Unix seconds, and Pools.
const rowSize = 1 + 8 + common.AddressLength + 5*4 + 8

// forgottenBit is set in the first byte of a row that is Forgotten.
const forgottenBit = 0x80

// platforms are known by their index in a row. A new one goes to the end.
var platforms = [...]chat.Platform{"", "telegram", "discord"}

// indexOfPlatform returns the index of a platform, or -1.
func indexOfPlatform(p chat.Platform) int { return slices.Index(platforms[:], p) }

// errUser is the error of a user whom no row can be about.
var errUser = errors.New("rows are about users of Telegram and Discord")

// check fails unless a row can be about the user.
func check(u chat.User) error {
	_, err := strconv.ParseUint(u.ID, 10, 64)
	if err != nil || indexOfPlatform(u.Platform) < 1 {
		return errUser
	}
	return nil
}

// append appends the row in rowSize bytes. Its user must pass check.
func (r Row) append(b []byte) []byte {
	first := byte(indexOfPlatform(r.User.Platform))
	if r.Forgotten {
		first |= forgottenBit
	}
	id, _ := strconv.ParseUint(r.User.ID, 10, 64)
	b = binary.BigEndian.AppendUint64(append(b, first), id)
	b = append(b, r.Wallet[:]...)
	for _, t := range r.times() {
		seconds := uint32(0)
		if !t.IsZero() {
			seconds = uint32(t.Unix())
		}
		b = binary.BigEndian.AppendUint32(b, seconds)
	}
	return binary.BigEndian.AppendUint64(b, r.Pools)
}

// times returns the times of the row, in the order of a shard.
func (r *Row) times() []*time.Time {
	return []*time.Time{&r.KeptAt, &r.ProvenAt, &r.LookedAt, &r.FirstNo, &r.LapsedAt}
}

// readRow reads the row in the first rowSize bytes of b. It fails for an unknown platform.
func readRow(b []byte) (r Row, err error) {
	platform := int(b[0] &^ forgottenBit)
	if platform == 0 || platform >= len(platforms) {
		return r, errDamaged
	}
	r.User = chat.User{Platform: platforms[platform], ID: strconv.FormatUint(binary.BigEndian.Uint64(b[1:]), 10)}
	r.Forgotten = b[0]&forgottenBit != 0
	r.Wallet = common.Address(b[9:29])
	for i, t := range r.times() {
		if seconds := binary.BigEndian.Uint32(b[29+4*i:]); seconds > 0 {
			*t = time.Unix(int64(seconds), 0).UTC()
		}
	}
	r.Pools = binary.BigEndian.Uint64(b[49:])
	return r, nil
}

// A shard is version, the checksum of its rows, and the rows.
const (
	version    = 1
	headerSize = 1 + crc32.Size
)

// errDamaged is the error of a shard that this version did not write, or not as it is.
var errDamaged = errors.New("a shard of kept wallets is damaged")

func encodeShard(rows []Row) []byte {
	b := make([]byte, headerSize, headerSize+len(rows)*rowSize)
	for _, r := range rows {
		b = r.append(b)
	}
	b[0] = version
	binary.BigEndian.PutUint32(b[1:], crc32.ChecksumIEEE(b[headerSize:]))
	return b
}

// decodeShard reads a shard. nil is a shard without rows.
func decodeShard(b []byte) (rows []Row, err error) {
	if b == nil {
		return nil, nil
	}
	if len(b) < headerSize || b[0] != version || (len(b)-headerSize)%rowSize != 0 ||
		binary.BigEndian.Uint32(b[1:]) != crc32.ChecksumIEEE(b[headerSize:]) {
		return nil, errDamaged
	}
	for rest := b[headerSize:]; len(rest) > 0; rest = rest[rowSize:] {
		r, err := readRow(rest)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}
