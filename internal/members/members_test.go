package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

var errFault = errors.New("a fault of the test")

// twoBadges are those of server 9001, for any stake and for 1,000 tokens, and one of server 9002.
var twoBadges = []chat.Badge{
	{Community: "9001", ID: "7001"}, {Community: "9001", ID: "7002", Amount: decimal.NewFromInt(1000)}, {Community: "9002", ID: "7003"},
}

func poolList(n int) (pools []core.Pool) {
	for i := range n {
		pools = append(pools, core.Pool{Address: common.Address{19: byte(i + 1)}})
	}
	return pools
}

// membersTest is a Members on Discord, whose services answer from the fields. In the
// beginning, user 1 is in both servers, stakes 5 tokens and is registered with their wallet.
type membersTest struct {
	*testing.T
	*Members
	Store
	platform *platform
	log      logtest.Buffer

	mu        sync.Mutex
	oneEach   bool
	has       map[string][]string         // by "community user"; whoever has no entry is no member
	refusals  map[string]*chat.BadgeError // by community, or by "community badge"
	stakes    map[common.Address]int64    // -1 cannot be read
	dids      map[string]string           // by UID; "away" is not known
	calls     []string                    // such as "give 7001 to 1: Herald: the reason"
	notices   []chat.Reply
	events    map[string]int
	asked     int // of Has
	storeAway atomic.Bool
	// during is called once, within a call for a badge or a reading of stakes, or after an answer
	// of Has.
	during func()
	// beforeReplace is called once, before something is written.
	beforeReplace func()
}

func user(id int) chat.User { return chat.User{Platform: "discord", ID: fmt.Sprint(id)} }

func wallet(id int) common.Address { return common.Address{0: 0xee, 19: byte(id)} }

func newMembersTest(t *testing.T) *membersTest {
	m := &membersTest{
		T: t, Store: store.NewMemory(), has: map[string][]string{"9001 1": {}, "9002 1": {}}, refusals: map[string]*chat.BadgeError{},
		stakes: map[common.Address]int64{wallet(1): 5}, dids: map[string]string{"1": "did:1", wallet(1).Hex(): "did:1"}, events: map[string]int{},
	}
	memory := store.NewMemory()
	m.Members = New(Config{
		Settings: Settings{Every: 6 * time.Hour}, Store: m, Badges: map[chat.Platform][]chat.Badge{"discord": twoBadges, "telegram": {{Community: "-1001", ID: "Staker"}}}, Claims: memory, Limiter: memory,
		Bot: "bot", Symbol: "TKN", Chain: "1", Pools: poolList(21), Stakes: m.readStakes, Accounts: m, Language: chat.English,
		Count: func(event string) { m.mu.Lock(); defer m.mu.Unlock(); m.events[event]++ }, Log: slog.New(slog.NewTextHandler(&m.log, nil)),
	})
	m.Use("discord", m)
	m.platform = m.platforms["discord"]
	m.rows.complete.Store(true)
	m.rows.readAt = time.Now()
	return m
}

// inBubble runs test in simulated time.
func inBubble(t *testing.T, test func(m *membersTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newMembersTest(t)) })
}

// change changes fields while the bot runs.
func (m *membersTest) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// equal fails the test unless got is want.
func (m *membersTest) equal(what string, got, want any) {
	m.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (m *membersTest) Load(ctx context.Context, key string) ([]byte, error) {
	if m.storeAway.Load() {
		return nil, errFault
	}
	return m.Store.Load(ctx, key)
}

func (m *membersTest) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if m.storeAway.Load() {
		return false, errFault
	}
	m.once(&m.beforeReplace)
	return m.Store.Replace(ctx, key, old, value)
}

// once calls a function if it is set, and unsets it.
func (m *membersTest) once(f *func()) {
	m.mu.Lock()
	call := *f
	*f = nil
	m.mu.Unlock()
	if call != nil {
		call()
	}
}

func (m *membersTest) readStakes(_ context.Context, wallets []common.Address) (all []core.Answer[core.Stake]) {
	m.once(&m.during)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range wallets {
		a := core.Answer[core.Stake]{Snapshot: core.Snapshot[core.Stake]{Value: stakeOf(m.stakes[w], time.Now())}}
		if m.stakes[w] < 0 {
			a.Err = errFault
		}
		all = append(all, a)
	}
	return all
}

// stakeOf returns a stake that was read from every pool.
func stakeOf(amount int64, block time.Time) core.Stake {
	s := core.Stake{Checked: 21, BlockTime: block}
	if amount > 0 {
		s.Staked = []core.PoolAmount{{Amount: decimal.NewFromInt(amount)}}
	}
	return s
}

// Get implements core.Source for accounts.
func (m *membersTest) Get(_ context.Context, id core.Identity) (s core.Snapshot[core.Account], err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Value.DID = m.dids[id.UID]; s.Value.DID == "away" {
		return s, errFault
	}
	return s, nil
}

// OneEach and those that follow implement chat.Badges.
func (m *membersTest) OneEach() bool { return m.oneEach }

func (m *membersTest) BadgeName(_, id string) chat.Untrusted { return "@" + chat.Untrusted(id) }

func (m *membersTest) CommunityName(id string) chat.Untrusted { return "Server " + chat.Untrusted(id) }

func (m *membersTest) Notify(_ context.Context, _ string, reply chat.Reply) {
	m.change(func() { m.notices = append(m.notices, reply) })
}

func (m *membersTest) Has(ctx context.Context, community, user string) ([]string, error) {
	defer m.once(&m.during)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if has, member := m.has[community+" "+user]; member {
		return slices.Clone(has), nil
	}
	return nil, &chat.BadgeError{Problem: chat.NotAMember, Err: errFault}
}

func (m *membersTest) Give(_ context.Context, community, id, user, reason string) error {
	return m.call("give", community, id, user, reason)
}

func (m *membersTest) Remove(_ context.Context, community, id, user, reason string) error {
	return m.call("remove", community, id, user, reason)
}

// call carries out a call that is not refused. One that fails without a certain outcome is
// carried out, too.
func (m *membersTest) call(do, community, id, user, reason string) error {
	m.once(&m.during)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, do+" "+id+" to "+user+": "+reason)
	at := community + " " + user
	has, member := m.has[at]
	refused := cmp.Or(m.refusals[community+" "+id], m.refusals[community])
	switch {
	case refused != nil && !refused.OutcomeUnknown:
		return refused
	case !member:
		return &chat.BadgeError{Problem: chat.NotAMember, Err: errFault}
	}
	has = slices.DeleteFunc(has, func(had string) bool { return had == id || m.oneEach && do == "give" })
	if do == "give" {
		has = append(has, id)
	}
	m.has[at] = has
	if refused != nil {
		return refused
	}
	return nil
}

// called returns the calls since it was last called, without their reasons.
func (m *membersTest) called() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, call := range m.calls {
		what, _, _ := strings.Cut(call, ":")
		all = append(all, what)
	}
	m.calls = nil
	return strings.Join(all, ", ")
}

// worn returns what each user has in a server.
func (m *membersTest) worn(community string) (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(m.has)) {
		if id, is := strings.CutPrefix(at, community+" "); is && len(m.has[at]) > 0 {
			all = append(all, id+":"+strings.Join(m.has[at], "+"))
		}
	}
	return all
}

// current returns a row of a user that was checked just now, with a level and badges of server
// 9001.
func (m *membersTest) current(id, level int, badges ...string) Row {
	r := Row{User: user(id), Wallet: wallet(id), Level: level, List: m.platform.listHash, Pools: m.platform.poolsHash, SavedAt: timeOf(time.Now())}
	r.ProvenAt, r.CheckedAt, r.Block = r.SavedAt, r.SavedAt, r.SavedAt
	if level > 0 {
		r.Reached = decimal.NewNullDecimal(m.platform.amounts[level-1])
	}
	for _, badge := range badges {
		r.Given = append(r.Given, Given{Community: "9001", Badge: badge, Since: r.SavedAt})
	}
	return r
}

// put saves rows.
func (m *membersTest) put(rows ...Row) {
	m.Helper()
	for _, r := range rows {
		if _, err := m.rows.update(m.Context(), r.User, func(*Row) *Row { return &r }); err != nil {
			m.Fatal(err)
		}
	}
}

// putStakers saves rows of n users who have badge 7001, which needs level 1.
func (m *membersTest) putStakers(n, level int) {
	for id := range n {
		m.put(m.current(id, level, "7001"))
	}
}

// saved returns the saved row of a user, or an empty one.
func (m *membersTest) saved(id int) Row {
	m.Helper()
	r, err := m.rows.find(m.Context(), user(id))
	if err != nil {
		m.Fatal(err)
	}
	if r == nil {
		return Row{}
	}
	return *r
}

// saves has user 1 save a wallet with a stake; -1 is one that a pool did not answer for.
func (m *membersTest) saves(wallet common.Address, stake int64) string {
	m.Helper()
	s := stakeOf(stake, time.Now())
	if stake < 0 {
		s.Failed = make([]core.UnreadPool, 1)
	}
	changes, err := m.Save(m.Context(), user(1), wallet, s)
	if err != nil {
		m.Error(err)
	}
	return changed(changes)
}

// changed returns changes as "+7001", "-7001", "+7001 why" or "+7001 later".
func changed(changes []Change) string {
	var all []string
	for _, c := range changes {
		s := map[bool]string{true: "-"}[c.Removed]
		if s == "" {
			s = "+"
		}
		s += c.Badge.ID
		if c.Problem != "" {
			s += " " + string(c.Problem)
		}
		if c.Later {
			s += " later"
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// An ID would tell a member nothing.
func TestACommunityWithoutANameIsNotShownByItsID(t *testing.T) {
	const id = "200000000000000001"
	for name, want := range map[chat.Untrusted]chat.Value{"Holders": chat.Untrusted("Holders"), "": chat.Say("group.unnamed")} {
		b := Badge{Badge: chat.Badge{Community: id}, CommunityName: name}
		if got := b.Group(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
