package members

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// Row is what is saved about one user on one platform. It holds no name and no DID, and of the stake only the
// highest configured amount that it reaches.
//
// Copies of a Row share its slices. Call clone before set, drop, setLost, dropLost, setIdle or endIdle.
type Row struct {
	User chat.User `json:"-"`
	// Wallet is the saved address. It is zero in a forgotten row: only its badges remain, to be removed.
	Wallet common.Address `json:"w,omitzero"`
	// SavedAt is when the address was saved.
	SavedAt Time `json:"s,omitzero"`
	// ProvenAt is when the address was last found to be the user's.
	ProvenAt Time `json:"p,omitzero"`
	// CheckedAt is when a check was last conclusive: it knew for every configured amount, and for any stake, whether it
	// is reached.
	CheckedAt Time `json:"c,omitzero"`
	// Due is when the cycle checks the address next.
	Due Time `json:"d,omitzero"`
	// Block is the time of the newest block that a check of this address read.
	Block Time `json:"b,omitzero"`
	// Reached is the highest configured amount that the stake reached at the latest check; 0 is any stake. It
	// is not Valid if nothing was staked.
	Reached decimal.NullDecimal `json:"m,omitzero"`
	// Pools is the hash of the chain and the pools that Block and Reached are about.
	Pools SettingsHash `json:"o,omitempty"`
	// Badges are those that the user was given, or may have been given.
	Badges []Held `json:"h,omitempty"`
	// Idle are the communities where no call is made for the user: they are not a member, or wear a tag that an
	// administrator has set. A community leaves the list when the user presses a button or, without such a tag, sends a
	// command there.
	Idle []string `json:"i,omitempty"`
	// Lost says why badges were removed. An entry stays until the amount is reached again.
	Lost []Loss `json:"x,omitempty"`
}

// Held is a badge that a user was given, or may have been given:
//
//	Since   Unsure   the badge
//	set     no       is worn, as far as is known
//	set     yes      was worn. Since then, a call was begun, or a press or a command asks for a new look.
//	zero    yes      may be worn: the call that gives it was begun
type Held struct {
	Community string `json:"c"`
	Badge     string `json:"b"`
	// Since is when the badge was given, or first seen.
	Since Time `json:"s,omitzero"`
	// Unsure says that the platform is asked what the user wears before the next call in the community.
	Unsure bool `json:"u,omitempty"`
	// Low is the first check that missed this badge's amount. It is zero if there is none.
	Low MissedCheck `json:"l,omitzero"`
	// RemoveUnder is not 0 if it was decided that the badge goes: two checks missed its amount, or the settings no longer
	// name it. It is the hash of the settings that decided: the badge's or, if they do not name the badge, the
	// community's.
	RemoveUnder SettingsHash `json:"g,omitempty"`
	// Released says that an operator has released the badge: the fuse does not hold it while it is being lost.
	Released bool `json:"r,omitempty"`
	// Refused is since when the platform refuses this removal. The bot may not have tried it for this user, because the
	// platform refused the same for another one.
	Refused Time `json:"f,omitzero"`
}

// isLow reports whether a check has missed the badge's amount, and no later one has cleared that.
func (h Held) isLow() bool { return h.Low != MissedCheck{} }

// goes reports whether it was decided that the badge is removed.
func (h Held) goes() bool { return h.RemoveUnder != 0 }

// toGo returns the badge after it was decided, under these settings, that it goes. What the platform refused after an
// earlier decision does not count.
func (h Held) toGo(under SettingsHash) Held {
	h.RemoveUnder, h.Refused = under, Time{}
	return h
}

// MissedCheck is a check that missed an amount.
type MissedCheck struct {
	// BlockTime is the time of the newest block that the check read.
	BlockTime Time `json:"b"`
	// Under is the hash of the settings at that check: the badge's or, if they did not name the badge, the community's.
	Under SettingsHash `json:"u"`
}

// SettingsHash is a hash of settings. 0 stands for no settings. There are three kinds:
//   - a check's: of the chain and the pools (tiers.pools)
//   - a badge's: of these and its amount (tier.under)
//   - a community's: of these and all its badges (tiers.underOf)
type SettingsHash uint64

// Loss is why a badge goes, or is gone.
type Loss struct {
	Community string `json:"c"`
	Badge     string `json:"b"`
	// First and Second are the times of the blocks of the two checks that missed the amount. A disowned wallet misses
	// every amount.
	First  Time `json:"f"`
	Second Time `json:"s"`
	// Disowned says that the wallet was not the user's any more.
	Disowned bool `json:"d,omitempty"`
}

// Forgotten reports whether the row only waits for badges to be removed.
func (r Row) Forgotten() bool { return r.Wallet == common.Address{} }

// isEmpty reports whether nothing of the row needs to be saved.
func (r Row) isEmpty() bool { return r.Forgotten() && len(r.Badges) == 0 }

// FirstLow returns the block time of the earliest Low of all badges, or the zero time if there is none.
func (r Row) FirstLow() (first time.Time) {
	for _, h := range r.Badges {
		low := h.Low.BlockTime.Time
		if low.IsZero() {
			continue
		}
		if first.IsZero() || low.Before(first) {
			first = low
		}
	}
	return first
}

// LastLost returns when a second check last missed the amount of a badge, or the zero time if none has.
func (r Row) LastLost() (last time.Time) {
	for _, l := range r.Lost {
		last = core.Later(last, l.Second.Time)
	}
	return last
}

// clone returns a copy that shares nothing with r.
func (r Row) clone() Row {
	r.Badges, r.Idle, r.Lost = slices.Clone(r.Badges), slices.Clone(r.Idle), slices.Clone(r.Lost)
	return r
}

// afterForget returns what is left of the row after /forget: the badges to be removed.
func (r Row) afterForget() Row {
	left := Row{User: r.User}
	for _, h := range r.Badges {
		left.Badges = append(left.Badges, Held{Community: h.Community, Badge: h.Badge, Since: h.Since, Unsure: h.Unsure})
	}
	return left
}

// index returns the index of a badge in Badges, or -1.
func (r Row) index(community, badge string) int {
	return slices.IndexFunc(r.Badges, func(h Held) bool { return h.Community == community && h.Badge == badge })
}

// in returns the badges of a community.
func (r Row) in(community string) (held []Held) {
	for _, h := range r.Badges {
		if h.Community == community {
			held = append(held, h)
		}
	}
	return held
}

// set replaces the entry of a badge, or adds one. Call clone first.
func (r *Row) set(h Held) {
	if i := r.index(h.Community, h.Badge); i >= 0 {
		r.Badges[i] = h
	} else {
		r.Badges = append(r.Badges, h)
	}
}

// drop deletes the badges that match. Call clone first.
func (r *Row) drop(match func(Held) bool) { r.Badges = slices.DeleteFunc(r.Badges, match) }

// setLost replaces the Loss of a badge, or adds one. Call clone first.
func (r *Row) setLost(l Loss) {
	r.dropLost(l.Community, l.Badge)
	r.Lost = append(r.Lost, l)
}

// lost returns a copy of the Loss of a badge, or nil if there is none.
func (r Row) lost(community, badge string) *Loss {
	for _, l := range r.Lost {
		if l.Community == community && l.Badge == badge {
			return &l
		}
	}
	return nil
}

// dropLost deletes the Loss of a badge, if there is one. Call clone first.
func (r *Row) dropLost(community, badge string) {
	r.Lost = slices.DeleteFunc(r.Lost, func(l Loss) bool { return l.Community == community && l.Badge == badge })
}

// setIdle adds a community to Idle, unless it is there. Call clone first.
func (r *Row) setIdle(community string) {
	if !slices.Contains(r.Idle, community) {
		r.Idle = append(r.Idle, community)
	}
}

// endIdle deletes a community from Idle, if it is there. Call clone first.
func (r *Row) endIdle(community string) {
	r.Idle = slices.DeleteFunc(r.Idle, func(id string) bool { return id == community })
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

// checkUser returns an error if a row cannot be about the user. For example, an anonymous user has no number as ID.
func checkUser(u chat.User) error {
	_, err := strconv.ParseUint(u.ID, 10, 64)
	if err != nil || u.Platform == "" {
		return errors.New("a row is about a user of a platform, with a number as ID")
	}
	return nil
}
