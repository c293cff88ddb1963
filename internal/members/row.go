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

// Row is what is saved of one person on one platform. It holds no name, no DID, and no stake but
// the highest amount of the settings that the stake reaches.
type Row struct {
	User chat.User `json:"u"`
	// Wallet is the saved address. It is zero in a row that only waits for badges to be
	// removed; all fields but User and Given are then zero, too.
	Wallet common.Address `json:"w,omitzero"`
	// SavedAt is when the address was saved.
	SavedAt Time `json:"s,omitzero"`
	// ProvenAt is when the address was last found to be the user's.
	ProvenAt Time `json:"p,omitzero"`
	// CheckedAt is when a check last found out whether the stake reaches Level.
	CheckedAt Time `json:"c,omitzero"`
	// Block is the time of the newest block that such a check read.
	Block Time `json:"b,omitzero"`
	// Pools is a hash of the chain and the pools that such a check read last.
	Pools uint64 `json:"o,omitempty"`
	// List is a hash of Pools and of the settings' badges at that check.
	List uint64 `json:"l,omitempty"`
	// Level is the highest level whose badges the user may keep. Level 1 is any stake, and each
	// higher one the next higher amount of the settings; 0: the user may keep none.
	Level int `json:"n,omitempty"`
	// Below has an entry for each level from 1 to Level: the time of the block of the first check
	// that did not reach it, or zero if the last check did. It is nil if the last check reached
	// Level. With Level 2, [0, 12:00] says that since 12:00 only level 1 is reached.
	Below []Time `json:"f,omitempty"`
	// Reached is the highest amount of the settings that the last check reached; not Valid: none.
	Reached decimal.NullDecimal `json:"m,omitzero"`
	// Lost is how Level last fell. It is nil once Level has risen again.
	Lost *Loss `json:"x,omitempty"`
	// Released says that badges are removed from the user although the fuse has blown. A conclusive
	// check that leaves no badge to be removed ends it, and so does an inconclusive check of the
	// cycle.
	Released bool `json:"r,omitempty"`
	// Given has an entry for each badge that the user has or may have, and for each community
	// where the user is Absent.
	Given []Given `json:"g,omitempty"`
}

// Loss is how a level fell.
type Loss struct {
	// First and Second are the times of the blocks of the two checks that did not reach the level.
	First  Time `json:"f"`
	Second Time `json:"s"`
	// From is the level before, under the row's List; 0: the level fell under another list.
	From int `json:"n"`
	// Disowned says that the wallet was not the user's any more.
	Disowned bool `json:"d,omitempty"`
}

// Given is what is known of a user's badge in a community.
type Given struct {
	Community string `json:"c"`
	// Badge is empty with the state Absent.
	Badge string `json:"b,omitempty"`
	State State  `json:"t,omitempty"`
	// Since is when the badge was given; zero: it was not, but may have been.
	Since Time `json:"s,omitzero"`
	// RefusedAt is when the platform first refused to remove the badge; zero: it has not since a
	// check last found that the user may keep the badge.
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

// drop deletes entries of Given. It changes a copy, because copies of the row share the entries.
func (r *Row) drop(match func(Given) bool) { r.Given = slices.DeleteFunc(slices.Clone(r.Given), match) }

// set replaces the entry of a badge, or adds one. It changes a copy, as drop does.
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

// Time is a time in whole seconds. In JSON it is Unix time, and 0 the zero time.
type Time struct{ time.Time }

func timeOf(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, max(0, t.Unix()), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	seconds, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return err
	}
	*t = Time{}
	if seconds != 0 {
		t.Time = time.Unix(seconds, 0).UTC()
	}
	return nil
}

// platforms are the platforms whose users a row can be about.
var platforms = []chat.Platform{"telegram", "discord"}

// checkUser fails unless a row can be about the user.
func checkUser(u chat.User) error {
	if _, err := strconv.ParseUint(u.ID, 10, 64); err != nil || !slices.Contains(platforms, u.Platform) {
		return errors.New("rows are about users of Telegram and Discord")
	}
	return nil
}

// version is the version of the shards that encodeShard writes. Raise it when a field of a row
// comes to mean something else, and have decodeShard convert older shards: as it stands, they count
// as damaged.
const version = 1

// shard is a value of the Store.
type shard struct {
	Version int   `json:"version"`
	Rows    []Row `json:"rows"`
}

var (
	// errDamaged is the error of a shard that is no JSON, is of an older version, or has a row of a
	// user who fails checkUser.
	errDamaged = errors.New("a value is damaged")
	// errNewer is the error of a shard that a newer version wrote.
	errNewer = errors.New("a newer version wrote the saved addresses; run that one")
)

// encodeShard returns the value of a shard; nil: the shard has no rows.
func encodeShard(rows []Row) []byte {
	if len(rows) == 0 {
		return nil
	}
	b, _ := json.Marshal(shard{Version: version, Rows: rows}) // Every row can be JSON.
	return b
}

// decodeShard returns the rows of a value from encodeShard. It fails with errDamaged or errNewer.
func decodeShard(b []byte) ([]Row, error) {
	if b == nil {
		return nil, nil
	}
	var s shard
	err := json.Unmarshal(b, &s)
	if s.Version > version { // Its rows may have another form, so err says nothing.
		return nil, errNewer
	}
	wrongUser := slices.ContainsFunc(s.Rows, func(r Row) bool { return checkUser(r.User) != nil })
	if err != nil || s.Version != version || wrongUser {
		return nil, errDamaged
	}
	return s.Rows, nil
}
