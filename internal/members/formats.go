package members

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// The formats of saved rows, the oldest first:
//
//	1  version b7a8be84 and before: 512 values with the rows of many users each. See formerRow.
//	2  a value for each user, which is a Row.
//
// To add a format, give it a number and a line here, a conversion in decode, and a fixture in testdata/formats. The bot
// reads values of an older format, and rewrites them when they next change. It leaves values of a newer format alone.
//
// A new field of a Row needs no new format if it is left out of JSON while it is zero (omitzero), and zero means the
// same as a row without the field. But if an older version rewrites such a row, it drops the field.
const format = 2

// ErrUnreadable is returned for a value that cannot be read as a row of its user. The value stays as it is. Other users
// are not affected.
var ErrUnreadable = errors.New("a saved address cannot be read")

// errNewer is returned for a value that a newer version of the bot wrote. It wraps ErrUnreadable.
var errNewer = fmt.Errorf("%w: a newer version wrote it; run that one", ErrUnreadable)

// value is a row as it is saved.
type value struct {
	Format int    `json:"v"`
	ID     string `json:"u"`
	Row
}

// encode returns the value of a row, or nil if nothing of the row needs to be saved.
func encode(r Row) []byte {
	if r.isEmpty() {
		return nil
	}
	b, _ := json.Marshal(value{format, r.User.ID, r}) // A row can always be encoded.
	return b
}

// decode returns the row of a value of the present format. It fails with ErrUnreadable.
func decode(p chat.Platform, b []byte) (Row, error) {
	// Read the format first, because in a newer one the other fields may have other types.
	var head struct {
		Format int `json:"v"`
	}
	err := json.Unmarshal(b, &head)
	if err == nil && head.Format > format {
		return Row{}, errNewer
	}
	var v value
	if err != nil || head.Format != format || json.Unmarshal(b, &v) != nil {
		return Row{}, ErrUnreadable
	}
	v.Row.User = chat.User{Platform: p, ID: v.ID}
	if checkUser(v.Row.User) != nil {
		return Row{}, ErrUnreadable
	}
	return v.Row, nil
}

// formerShard is a value of format 1: the rows of many users.
type formerShard struct {
	Version int         `json:"version"`
	Rows    []formerRow `json:"rows"`
}

// formerRow is a row of format 1. It has one level (Level) and one list of low checks (Below) for all badges, where a
// Row has a Low for each badge. convert drops these. So the next low check counts as the first one, and users keep
// their badges for longer.
type formerRow struct {
	User      chat.User           `json:"u"`
	Wallet    common.Address      `json:"w,omitzero"`
	SavedAt   Time                `json:"s,omitzero"`
	ProvenAt  Time                `json:"p,omitzero"`
	CheckedAt Time                `json:"c,omitzero"`
	Block     Time                `json:"b,omitzero"`
	Pools     SettingsHash        `json:"o,omitempty"`
	List      SettingsHash        `json:"l,omitempty"`
	Level     int                 `json:"n,omitempty"`
	Below     []Time              `json:"f,omitempty"`
	Reached   decimal.NullDecimal `json:"m,omitzero"`
	Lost      json.RawMessage     `json:"x,omitempty"`
	Released  bool                `json:"r,omitempty"`
	Given     []formerBadge       `json:"g,omitempty"`
}

// formerBadge is a badge of a formerRow.
type formerBadge struct {
	Community string      `json:"c"`
	Badge     string      `json:"b,omitempty"`
	State     formerState `json:"t,omitempty"`
	Since     Time        `json:"s,omitzero"`
	RefusedAt Time        `json:"r,omitzero"`
}

// formerState is what a formerRow says of a badge.
type formerState int

const (
	formerHad    formerState = iota // the user wears it
	formerDoubt                     // the user may wear it
	formerAbsent                    // the user cannot have a badge in this community; Badge is empty
)

// convert returns the row in the present format.
func (f formerRow) convert() Row {
	r := Row{
		User:      f.User,
		Wallet:    f.Wallet,
		SavedAt:   f.SavedAt,
		ProvenAt:  f.ProvenAt,
		CheckedAt: f.CheckedAt,
		Block:     f.Block,
		Reached:   f.Reached,
		Pools:     f.Pools,
	}
	for _, g := range f.Given {
		if g.State == formerAbsent {
			r.setIdle(g.Community)
			continue
		}
		r.set(Held{
			Community: g.Community,
			Badge:     g.Badge,
			Since:     g.Since,
			Unsure:    g.State == formerDoubt,
			Released:  f.Released,
			Refused:   g.RefusedAt,
		})
	}
	return r
}

// decodeFormer returns the rows of a value of format 1. It fails with ErrUnreadable.
func decodeFormer(b []byte) ([]formerRow, error) {
	if b == nil {
		return nil, nil
	}
	var s formerShard
	if json.Unmarshal(b, &s) != nil || s.Version != 1 {
		return nil, ErrUnreadable
	}
	for _, r := range s.Rows {
		if checkUser(r.User) != nil {
			return nil, ErrUnreadable
		}
	}
	return s.Rows, nil
}

// encodeFormer returns the value of rows of format 1, or nil if there are none.
func encodeFormer(rows []formerRow) []byte {
	if len(rows) == 0 {
		return nil
	}
	b, _ := json.Marshal(formerShard{Version: 1, Rows: rows}) // Rows can always be encoded.
	return b
}
