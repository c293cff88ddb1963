package members

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// tier is a badge of the settings.
type tier struct {
	chat.Badge
	under SettingsHash // the chain, the pools and the badge's amount
}

// tiers are the badges of a platform that the settings name, and what the rule needs to know of the settings.
type tiers struct {
	// all are sorted by community and then by ascending amount.
	all []tier
	// underOf has for each community the chain, the pools and all its badges.
	underOf map[string]SettingsHash
	// amounts are the amounts of the badges, and 0, which any stake reaches, so that Row.Reached tells a low stake from
	// none. They are ascending, and each is there once.
	amounts  []decimal.Decimal
	pools    SettingsHash // the chain and the pools
	settings Settings
}

// newTiers returns the tiers for badges that come with a stake in pools of a chain. The badges must be sorted by
// community and then by ascending amount.
func newTiers(chain string, pools []core.Pool, badges []chat.Badge, settings Settings) tiers {
	t := tiers{underOf: map[string]SettingsHash{}, amounts: []decimal.Decimal{decimal.Zero}, settings: settings}
	var addresses []string
	for _, p := range pools {
		addresses = append(addresses, p.Address.Hex())
	}
	slices.Sort(addresses)
	t.pools = hash(append(addresses, chain)...)
	partsOf := map[string][]string{} // by community
	for _, b := range badges {
		t.all = append(t.all, tier{b, hash(fmt.Sprint(t.pools), b.Amount.String())})
		t.amounts = append(t.amounts, b.Amount)
		partsOf[b.Community] = append(partsOf[b.Community], b.ID, b.Amount.String())
	}
	for community, parts := range partsOf {
		t.underOf[community] = hash(append(parts, fmt.Sprint(t.pools))...)
	}
	slices.SortFunc(t.amounts, decimal.Decimal.Cmp)
	t.amounts = slices.CompactFunc(t.amounts, decimal.Decimal.Equal)
	return t
}

// hash returns a SettingsHash that stands for parts.
func hash(parts ...string) SettingsHash {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%q ", part)
	}
	return SettingsHash(binary.BigEndian.Uint64(h.Sum(nil)))
}

// in returns the badges of a community.
func (t tiers) in(community string) []tier {
	first := slices.IndexFunc(t.all, func(b tier) bool { return b.Community == community })
	if first < 0 {
		return nil
	}
	end := first
	for end < len(t.all) && t.all[end].Community == community {
		end++
	}
	return t.all[first:end]
}

// find returns a badge of the settings, or false if they do not name it.
func (t tiers) find(community, id string) (found tier, configured bool) {
	for _, b := range t.all {
		if b.ID == id && b.Community == community {
			return b, true
		}
	}
	return tier{}, false
}

// namesAny reports whether the settings name a badge of a community.
func (t tiers) namesAny(community string) bool {
	_, isNamed := t.underOf[community]
	return isNamed
}

// communities returns the IDs of the communities that the settings name, in order.
func (t tiers) communities() (ids []string) {
	for _, b := range t.all {
		ids = append(ids, b.Community)
	}
	return slices.Compact(ids)
}

// withoutVoid returns a row without what was found or decided under other settings than the present ones. It changes
// r.Badges. Every row that is read from the Store goes through withoutVoid.
func (t tiers) withoutVoid(r Row) Row {
	if r.Pools != t.pools {
		r.Pools = t.pools
		r.Reached = decimal.NullDecimal{} // in other pools
		r.Block = Time{}                  // perhaps of another chain
	}
	for i, h := range r.Badges {
		under := t.underNow(h)
		isVoid := func(saved SettingsHash) bool { return saved != 0 && saved != under }
		if isVoid(h.Low.Under) || isVoid(h.RemoveUnder) {
			h.Low, h.RemoveUnder, h.Released, h.Refused = MissedCheck{}, 0, false, Time{}
		}
		r.Badges[i] = h
	}
	return r
}

// underNow returns the settings under which a badge is judged now; 0: they name nothing in its community.
func (t tiers) underNow(h Held) SettingsHash {
	if b, configured := t.find(h.Community, h.Badge); configured {
		return b.under
	}
	return t.underOf[h.Community]
}
