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
// A new format gets a number and a line here, a conversion in decode, and a fixture in testdata/formats. Values of an
// older format are read, and are rewritten when they next change. Values of a newer one are left alone.
//
// A new field of a Row needs no new format if it is left out of JSON while it is zero (omitzero), and zero means what
// rows without the field meant. But an older version drops the field when it rewrites such a row.
const format = 2

// ErrUnreadable is returned for a value that cannot be read as a row of its user. The value stays as it is. It affects
// no other user.
var ErrUnreadable = errors.New("a saved address cannot be read")

// errNewer is the ErrUnreadable for a value that a newer version wrote.
var errNewer = fmt.Errorf("%w: a newer version wrote it; run that one", ErrUnreadable)

// value is a row as it is saved.
type value struct {
	Format int    `json:"v"`
	ID     string `json:"u"`
	Row
}

// encode returns the value of a row, or nil if the row says nothing.
func encode(r Row) []byte {
	if r.isEmpty() {
		return nil
	}
	b, _ := json.Marshal(value{format, r.User.ID, r}) // Every row can be JSON.
	return b
}

// decode returns the row of a value that encode returned. It fails with ErrUnreadable.
func decode(p chat.Platform, b []byte) (Row, error) {
	var head struct {
		Format int `json:"v"`
	}
	err := json.Unmarshal(b, &head)
	if err == nil && head.Format > format {
		return Row{}, errNewer // Its fields may have another form.
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

// formerShard is a value of format 1.
type formerShard struct {
	Version int         `json:"version"`
	Rows    []formerRow `json:"rows"`
}

// formerRow is a row of format 1. It had a level in place of a history of each badge, so that its first low checks
// are not converted: they count anew, and nobody loses a badge by that.
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

type formerState int

const (
	formerHad formerState = iota
	formerDoubt
	formerAbsent
)

// convert returns the row in the present format.
func (f formerRow) convert() Row {
	r := Row{
		User: f.User, Wallet: f.Wallet,
		SavedAt: f.SavedAt, ProvenAt: f.ProvenAt, CheckedAt: f.CheckedAt,
		Block: f.Block, Reached: f.Reached, Pools: f.Pools,
	}
	for _, g := range f.Given {
		if g.State == formerAbsent {
			r.setIdle(g.Community)
			continue
		}
		r.set(Held{
			Community: g.Community, Badge: g.Badge,
			Since: g.Since, Unsure: g.State == formerDoubt,
			Released: f.Released, Refused: g.RefusedAt,
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
	b, _ := json.Marshal(formerShard{Version: 1, Rows: rows}) // Every row can be JSON.
	return b
}
