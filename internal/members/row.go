package members

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// Row is what is saved of one person on one platform. It holds no name and no DID, and of a
// stake no more than which amounts of the settings it reaches.
type Row struct {
	User chat.User `json:"u"`
	// Wallet is the saved address. It is zero in a row that only waits for badges to be
	// removed; all fields but User and Given are then zero, too.
	Wallet common.Address `json:"w,omitzero"`
	// SavedAt is when the address was saved, and ProvenAt when it was last found to be the
	// user's.
	SavedAt  Time `json:"s,omitzero"`
	ProvenAt Time `json:"p,omitzero"`
	// CheckedAt is when a check last found anything, and Block the time of the newest block
	// that a check read.
	CheckedAt Time `json:"c,omitzero"`
	Block     Time `json:"b,omitzero"`
	// Pools stands for the chain and the pools of the last check that found anything, and List
	// for these and the badges.
	Pools uint64 `json:"o,omitempty"`
	List  uint64 `json:"l,omitempty"`
	// Level is how many of the amounts in List the user may keep badges of.
	Level int `json:"n,omitempty"`
	// Below has, for each level up to Level from 1 on, the block of the first of the checks
	// since which all were below it; zero: the last one was not. It is nil if no check was.
	Below []Time `json:"f,omitempty"`
	// Reached is the highest amount that the last check found; not Valid: none.
	Reached decimal.NullDecimal `json:"m,omitzero"`
	// Lost is how Level last fell. It is nil once Level has risen again.
	Lost *Loss `json:"x,omitempty"`
	// Released lets the badges above Level or Below go although the fuse has blown.
	Released bool `json:"r,omitempty"`
	// Given holds the badges that the user has or may have.
	Given []Given `json:"g,omitempty"`
}

// Loss is how a level fell: by two checks of these blocks.
type Loss struct {
	First  Time `json:"f"`
	Second Time `json:"s"`
	// From is the level that fell.
	From int `json:"n"`
	// Disowned says that the wallet was not the user's any more.
	Disowned bool `json:"d,omitempty"`
}

// Given is a badge of a community and what is known of it.
type Given struct {
	Community string `json:"c"`
	// Badge is empty with the state Absent.
	Badge string `json:"b,omitempty"`
	State State  `json:"t,omitempty"`
	// Since is when the badge was given.
	Since Time `json:"s,omitzero"`
	// RefusedAt is when the platform first refused to remove the badge; zero: it has not.
	RefusedAt Time `json:"r,omitzero"`
}

// State is what is known of a badge.
type State int

// The states.
const (
	// Had: the user was given the badge.
	Had State = iota
	// Doubt: a call to give or remove the badge was begun, and its outcome is not known.
	Doubt
	// Absent: the user is not in the community, or can have no badge there. No call is made
	// for them until they return or press a button.
	Absent
)

// Forgotten reports whether the row only waits for badges to be removed.
func (r *Row) Forgotten() bool { return r.Wallet == common.Address{} }

// forget empties the row of all but its user and the badges to be removed.
func (r *Row) forget() {
	*r = Row{User: r.User, Given: r.Given}
	r.dropAbsent()
}

// dropAbsent forgets where the user was absent, so that calls are made there again.
func (r *Row) dropAbsent() { r.drop(func(g Given) bool { return g.State == Absent }) }

// drop deletes entries of Given.
func (r *Row) drop(match func(Given) bool) { r.Given = slices.DeleteFunc(slices.Clone(r.Given), match) }

// set replaces the entry of a badge, or adds one.
func (r *Row) set(g Given) {
	r.Given = slices.Clone(r.Given)
	if i := r.index(g.Community, g.Badge); i >= 0 {
		r.Given[i] = g
	} else {
		r.Given = append(r.Given, g)
	}
}

// index returns the index of a badge in Given, or -1.
func (r *Row) index(community, badge string) int {
	return slices.IndexFunc(r.Given, func(g Given) bool { return g.Community == community && g.Badge == badge })
}

// Time is a time in whole seconds. JSON has it as Unix time.
type Time struct{ time.Time }

func timeOf(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Second)}
}

// MarshalJSON implements json.Marshaler. The zero time is 0.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, max(0, t.Unix()), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	seconds, err := strconv.ParseInt(string(b), 10, 64)
	if t.Time = time.Unix(seconds, 0).UTC(); seconds == 0 {
		t.Time = time.Time{}
	}
	return err
}

// platforms are those that a row can be about.
var platforms = []chat.Platform{"telegram", "discord"}

// errUser is the error of a user whom no row can be about.
var errUser = errors.New("rows are about users of Telegram and Discord")

// checkUser fails unless a row can be about the user.
func checkUser(u chat.User) error {
	if _, err := strconv.ParseUint(u.ID, 10, 64); err != nil || !slices.Contains(platforms, u.Platform) {
		return errUser
	}
	return nil
}

// version is that of a shard. Raise it when a row comes to mean something else.
const version = 1

// shard is a value of the Store.
type shard struct {
	Version int   `json:"version"`
	Rows    []Row `json:"rows"`
}

var (
	// errDamaged is the error of a shard that no version wrote.
	errDamaged = errors.New("a value is damaged")
	// errNewer is the error of a shard that a newer version wrote.
	errNewer = errors.New("a newer version wrote the saved addresses; run that one")
)

// encodeShard returns nil for no rows.
func encodeShard(rows []Row) []byte {
	if len(rows) == 0 {
		return nil
	}
	b, _ := json.Marshal(shard{Version: version, Rows: rows}) // Every row can be JSON.
	return b
}

// decodeShard reads a shard. nil is a shard without rows.
func decodeShard(b []byte) ([]Row, error) {
	if b == nil {
		return nil, nil
	}
	var s shard
	err := json.Unmarshal(b, &s)
	nobody := slices.ContainsFunc(s.Rows, func(r Row) bool { return checkUser(r.User) != nil })
	switch {
	case s.Version > version:
		return nil, errNewer
	case err != nil || s.Version != version || nobody:
		return nil, errDamaged
	}
	return s.Rows, nil
}
