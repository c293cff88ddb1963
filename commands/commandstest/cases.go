package commandstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/router"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
)

// Case is a command as it was typed, and its answer.
type Case struct {
	// Scene names the state of the services, such as "healthy".
	Scene string
	// Line is the command as typed, as in "/exists 12345".
	Line  string
	Reply *chat.Reply
	// Private answers reach the sender alone.
	Private bool
	// Direct marks a chat that only the sender and the bot can read.
	Direct bool
	// Asked has the names of the services that were asked for the answer. /status asks others.
	Asked []string
}

// sender is who asks, by their Telegram ID. An empty one is anonymous.
type sender struct {
	id        string
	role      chat.Role
	community string // "" is the private chat with the bot
	title     string // of the chat, or of the group to join
	ephemeral bool   // the platform can show answers to them alone
}

// scene is some commands in one state of the services.
type scene struct {
	name   string
	change func(*Answers)
	// from is who asks; nil is Ann as a moderator.
	from  *sender
	wait  limit
	lines []string
	// outcomes is how many outcomes of an Admission are shown after each line.
	outcomes chat.AdmissionOutcome
}

// Services are all services that can fail, in the order of Sources.
var Services = services()

func services() (all []*core.Service) {
	for _, s := range Healthy().Sources().Services {
		all = append(all, s.Health().Service)
	}
	return all
}

// Reasons are all reasons of a failure.
var Reasons = []core.Reason{
	core.Unreachable, core.SlowAnswer, core.Limited, core.UsedUp, core.NoCredit, core.Denied,
	core.Rejected, core.Malformed, core.NoData, core.Behind, core.Paused,
}

func failed(s *core.Service, r core.Reason) *core.Error { return s.Fail(r, errors.New("inner")) }

func unreadPools(n int) []core.UnreadPool {
	unread := make([]core.UnreadPool, n)
	for i := range unread {
		unread[i] = core.UnreadPool{
			Pool: core.Pool{Address: common.Address{byte(i)}},
			Err:  failed(staking.Service, core.SlowAnswer),
		}
	}
	return unread
}

var (
	price, week, amount    = "/price", "/price 7d", "/price 1500"
	supplies, staked       = "/supply", "/staked " + Wallet
	logins, exists, verify = "/mylogins", "/exists", "/verify " + AnnsWallet
	existsBob, verifyBob   = "/exists " + Bob, "/verify " + Bob + " " + BobsWallet
	status                 = "/status"
)

// examples returns the example of each form that menus list and that meets a condition.
func examples(meets func(chat.Command, chat.Form) bool) (lines []string) {
	for _, c := range commands.All(Healthy().Sources(), Healthy().Options) {
		for _, f := range c.Forms {
			if !f.Unlisted && meets(c, f) {
				lines = append(lines, c.Example(f))
			}
		}
	}
	return lines
}

// everything has each form of each command.
func everything(chat.Command, chat.Form) bool { return true }

// forAll has the forms for everybody of the commands that ask a service.
func forAll(c chat.Command, f chat.Form) bool { return c.Asks != nil && !f.Moderators }

// Asking returns the example of the first form for everybody that cannot do without the service. It
// panics if there is none.
func Asking(service string) string {
	first := func(c chat.Command, f chat.Form) bool { return forAll(c, f) && c.Asks[0] == service }
	if asking := examples(first); len(asking) > 0 {
		return asking[0]
	}
	panic("no command has the service " + service + " first in Asks")
}

// mayBeOld has the forms for everybody of the commands that ask a service whose old answer may
// stand in.
func mayBeOld(c chat.Command, f chat.Form) bool {
	return slices.ContainsFunc(c.Asks, func(service string) bool { return slices.Contains(MayBeOld, service) }) &&
		!f.Moderators
}

func scenes() []scene {
	stranger := &sender{id: Stranger, role: chat.Member, community: Community, title: talk}
	all := []scene{
		{name: "healthy", lines: append(examples(everything), "/price $100", verify, "/start", "/hello")},
		{
			name:  "healthy",
			from:  &sender{id: Ann, community: Community, title: talk, ephemeral: true},
			lines: []string{"/help"},
		},
		{name: "healthy", from: &sender{id: Ann}, lines: []string{price, staked, logins, exists, verify, "/help", "/start"}},
		{name: "healthy", from: &sender{id: Operator}, lines: []string{"/help"}},
		{name: "moderator", lines: []string{
			existsBob, "/help verify", "/help mylogins", "/exists 999", "/exists discord 5", "/exists EMAIL a@b.c",
			"/exists EMAIL ann@example.org", "/exists email 4711", "/exists linkedin 123456789012345678901",
			"/exists evm " + Wallet,
			verifyBob, "/verify " + Bob + " " + AnnsWallet, "/verify " + Bob + " " + Wallet, "/verify 999 " + BobsWallet,
		}},
		{
			name:  "forbidden",
			from:  &sender{id: Ann, role: chat.Member, community: Community, title: talk},
			lines: []string{existsBob, "/exists discord 5", verifyBob},
		},
		{
			name:  "unlisted",
			from:  &sender{id: Ann, role: chat.Moderator, community: "-1009876543210", title: talk},
			lines: []string{existsBob, exists},
		},
		{name: "strangers", from: stranger, lines: []string{logins, exists, verify}},
		{
			name:  "anonymous",
			from:  &sender{id: "", role: chat.Moderator, community: Community, title: talk},
			lines: []string{logins, exists, verify},
		},
		{name: "others", lines: []string{"/verify " + BobsWallet, "/verify " + Wallet}},
		{
			name: "named service",
			change: func(w *Answers) {
				w.Options = commands.Options{Symbol: w.Options.Symbol, ServiceName: "CARV *ID*"}
				unstaking(w, 5*time.Hour, "500")
			},
			lines: []string{
				staked, exists, verify, existsBob,
			},
		},
		{
			name: "named service",
			from: stranger,
			change: func(w *Answers) {
				w.Options = commands.Options{Symbol: w.Options.Symbol}
				w.Stake.Staked = nil
			},
			lines: []string{exists, staked},
		},
		{name: "quiet", change: func(w *Answers) { w.Logins = nil }, lines: []string{logins}},
		{
			name:   "hostile",
			from:   &sender{id: Ann, role: chat.Moderator, community: Community, title: strings.Join(Hostile, " ")},
			change: hostile,
			lines:  []string{staked, logins, existsBob},
		},
		{
			name:   "many",
			change: many,
			lines:  []string{logins, "/mylogins 2", "/mylogins 50", "/mylogins 51", "/mylogins 0", "/mylogins abc", staked},
		},
		{
			name: "sparse",
			change: func(w *Answers) {
				w.Price.Value = &core.Quote{Price: number("64123.456")}
				w.Stake = core.Stake{Block: 1_000_000, Checked: 21}
				unstaking(w, time.Minute, "12")
			},
			lines: []string{price, amount, staked, verify},
		},
		{
			name: "three pools",
			change: func(w *Answers) {
				w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{Pool: core.Pool{Name: "Flexible"}, Amount: number("12.25")})
				unstaking(w, 75*time.Hour, "500", "1087.17")
				w.Stake.Withdrawable = []core.PoolAmount{{Amount: number("1000")}}
				w.Supply.At = Noon.Add(80 * time.Second)
				w.Supply.FreshUntil = Noon.Add(85 * time.Second)
				w.Total = query.Snapshot[core.Stake]{
					At:         Noon,
					FreshUntil: Noon.Add(time.Hour),
					Value:      core.Stake{BlockTime: Noon, Checked: 21, Staked: []core.PoolAmount{{Amount: number("24123456.7")}}},
				}
			},
			lines: []string{staked, verify, verifyBob, supplies},
		},
		{
			name: "tiny",
			change: func(w *Answers) {
				w.Price.Value = &core.Quote{Price: number("0.00000001234567")}
				w.Supply.Value.Circulating = number("1")
				w.Stake.Staked = []core.PoolAmount{{Pool: core.Pool{Name: "Dust"}, Amount: number("0.000000000000000001")}}
			},
			lines: []string{price, amount, supplies, staked},
		},
		{
			name: "silent",
			change: func(w *Answers) {
				w.Stale = true
				w.Price.Value.MarketCap = known("2000000")
			},
			lines: examples(mayBeOld),
		},
		{
			name: "old",
			change: func(w *Answers) {
				w.Stale = true
				w.StaleFor = 8 * time.Minute
				w.Price.Value.LastUpdated = Noon.Add(-8 * time.Minute) // ten minutes ago
			},
			lines: examples(mayBeOld),
		},
		{name: "silent", change: func(w *Answers) { w.Price.Stale = true }, lines: []string{supplies}},
		{name: "silent", change: func(w *Answers) { w.Supply.Stale = true }, lines: []string{supplies}},
		{
			name: "old",
			change: func(w *Answers) {
				w.Price.Stale = true
				w.Price.Value.LastUpdated = Noon.Add(-20 * time.Minute)
			},
			lines: []string{supplies},
		},
		{
			name: "old",
			change: func(w *Answers) {
				w.Supply.Stale = true
				w.Supply.At = Noon.Add(-20 * time.Minute)
			},
			lines: []string{supplies},
		},
		{
			name: "old",
			change: func(w *Answers) {
				w.Supply.Stale = true
				w.Supply.At = Noon.Add(-time.Hour)
				w.PriceErr = failed(market.Service, core.Unreachable)
			},
			lines: []string{supplies},
		},
		{
			name: "without a credit",
			change: func(w *Answers) {
				w.Price.Why = &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: 40 * time.Minute}
				w.Price.Value.LastUpdated = Noon.Add(-30 * time.Minute)
			},
			lines: []string{price, supplies},
		},
		{
			name: "old quote",
			change: func(w *Answers) {
				w.Price.Value.LastUpdated = Noon.Add(-72 * time.Hour)
				w.Price.Value.CurrentUntil = Noon.Add(-71 * time.Hour)
			},
			lines: []string{price, supplies, status},
		},
		{name: "old quote", change: func(w *Answers) { w.Doubt("891.01", Noon.Add(-2*time.Minute)) }, lines: []string{
			price, week, amount, "/price $100", supplies, staked, status,
		}},
		{name: "old quote", change: func(w *Answers) { w.Doubt("0.0000123", time.Time{}) }, lines: []string{price}},
		{
			name: "old quote",
			change: func(w *Answers) {
				tokens := w.Supply.Value
				w.Supply.Value = core.Supply{Total: tokens.Total.Shift(18), Circulating: tokens.Circulating.Shift(18)}
			},
			lines: []string{supplies},
		},
		{name: "charts", lines: []string{"/price 24h", "/price 7D", "/price 30d"}},
		{name: "sparse charts", change: func(w *Answers) { w.Chart.Seen = 0.5 }, lines: []string{week}},
		{
			name: "no charts",
			change: func(w *Answers) {
				w.Chart.HasLine = false
				w.Chart.Seen = 0.2
				w.Chart.LineFrom = Noon.Truncate(24*time.Hour).AddDate(0, 0, 2)
			},
			lines: []string{week},
		},
		{name: "failing charts", change: func(w *Answers) { w.ChartErr = errors.New("inner") }, lines: []string{week}},
		{
			name: "partly",
			change: func(w *Answers) {
				w.PriceErr = failed(market.Service, core.Limited)
				w.Stake.Failed = unreadPools(2)
				w.Stake.Checked = 19
				unstaking(w, 75*time.Hour, "3", "2")
				w.Stake.Withdrawable = []core.PoolAmount{{Amount: number("1000")}}
				w.Stake.UnbondingFailed = unreadPools(3) // one more
			},
			lines: []string{supplies, staked, verify, status},
		},
		{
			name: "never answered",
			change: func(w *Answers) {
				w.NeverAsked = true
				w.PriceErr = failed(market.Service, core.Limited)
				w.Supply.Stale = true
			},
			lines: []string{status},
		},
		{
			name: "undetermined",
			change: func(w *Answers) {
				w.Stake.Staked = nil
				w.Stake.Checked = 20
				w.Stake.Failed = unreadPools(1)
			},
			lines: []string{staked, verify},
		},
		{
			name: "half failing",
			change: func(w *Answers) {
				w.LoginsErr = failed(partner.Service, core.Unreachable)
				w.StakeErr = failed(staking.Service, core.SlowAnswer)
			},
			lines: []string{logins, exists, verify},
		},
		{
			name: "wallets failing",
			change: func(w *Answers) {
				w.AccountErrs = map[string]error{"EVM": failed(partner.Service, core.Unreachable)}
			},
			lines: []string{verify, "/verify 999 " + BobsWallet},
		},
		{
			name: "accounts failing",
			change: func(w *Answers) {
				w.AccountErrs = map[string]error{"Telegram": failed(partner.Service, core.Unreachable)}
			},
			lines: []string{verifyBob, "/verify " + Wallet},
		},
		{
			name: "failing inside",
			change: func(w *Answers) {
				w.PriceErr = errors.New("inner")
				w.AccountsErr = errors.New("inner")
				w.SupplyErr = context.DeadlineExceeded
				w.StakeErr = context.DeadlineExceeded
			},
			lines: append(examples(forAll), status, existsBob, verifyBob),
		},
		{name: "limited", wait: limit(7 * time.Second), lines: []string{price, logins}},
		{name: "unknown", lines: []string{"/moon", "/prise", "/hlep"}},
		{name: "badly typed", lines: []string{
			"/staked", "/staked a b", "/staked vitalik.eth", "/staked 0x1234", "/staked 0x" + strings.Repeat("5", 64),
			"/staked 0x52908400098527886E0F7030069857D2E4169Ee7", "/staked 0x52908400098527886E0F7030069857D2E4169EG7",
			"/staked " + strings.Repeat("9", 4000), "/staked \u202e0x52908400098527886e0f7030069857d2e4169ee7",
			"/staked " + Wallet + "?a=" + AnnsWallet, "/staked So11111111111111111111111111111111111111112", "/verify my wallet",
			"/price 7d 30d", "/price 90d", "/price btc", "/price 1e999999999",
			"/price please", "/price 0", "/price " + strings.Repeat("9", 31), "/exists @somebody", "/exists ann",
			"/exists moon 1", "/exists Telegram ann", "/exists BTC 0x1", "/exists EVM 0x1",
			"/exists TRON 1", "/exists TON 1", "/exists SOL 1", "/exists Email \u00e4", "/exists a b c",
			"/verify", "/verify ann.eth", "/verify 12345 0x1", "/verify @somebody " + Wallet, "/verify a b c",
			"/staked " + Wallet + " " + BobsWallet, "/staked " + Wallet[:39] + "Ee7 " + Wallet,
			"/staked TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
			"/mylogins 1 2", "/help me",
		}},
	}
	all = append(all, joining()...)
	all = append(all, savingScenes()...)
	for _, reason := range Reasons {
		var lines []string
		for _, s := range Services {
			lines = append(lines, Asking(s.Name))
		}
		if reason == core.Unreachable {
			lines = examples(forAll)
		}
		lines = append(lines, status)
		all = append(all, scene{
			name:   "failing " + string(reason),
			lines:  lines,
			change: func(w *Answers) { w.Failing = reason },
		})
	}
	return all
}

// Hostile are names with markup, mentions, links and control characters.
var Hostile = []string{
	"**bold** _it_ `code` <b>", "@everyone <@1> <@&2> tg://user?id=1",
	"evil.example https://evil.example [x](http://evil.example) t.me/evil",
	"\u202egnp.exe", "zero\u200bwidth\u2060", "line\nbreak\r\n# head", "\xff\xfe broken", strings.Repeat("long ", 2000),
	"\u200b",
}

func hostile(w *Answers) {
	w.Logins = nil
	w.Stake.Staked = nil
	for _, name := range Hostile {
		w.Logins = append(w.Logins, core.Login{Dapp: name, Platform: name, At: Noon})
		w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
			Pool:   core.Pool{Address: common.Address{9}, Name: name},
			Amount: number("1"),
		})
	}
	w.Logins = append(w.Logins, core.Login{Dapp: "Tomorrow", Platform: "EVM", At: Noon.AddDate(0, 0, 1)})
}

// many is more than one answer has room for.
func many(w *Answers) {
	w.Logins = nil
	w.Stake.Staked = nil
	for i := range 500 {
		w.Logins = append(w.Logins, core.Login{
			Dapp:     fmt.Sprint("Dapp ", i),
			Platform: "EVM",
			At:       Noon.Add(-time.Duration(i) * time.Hour),
		})
	}
	for i := range 60 {
		w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
			Pool:   core.Pool{Name: fmt.Sprintf("Pool %d %s", i, strings.Repeat("with a long name ", 3))},
			Amount: number("123456789.000000000000000001"),
		})
	}
	w.Stake.Checked = 60
}

// Cases calls see with every outcome of every command in a language. Time stands still two
// minutes after Noon, so that ages in answers are the same in every run.
func Cases(t *testing.T, l chat.Language, see func(Case)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(Noon.Add(2 * time.Minute)))
		for _, s := range scenes() {
			s.play(t, l, see)
		}
	})
}

func (s scene) play(t *testing.T, l chat.Language, see func(Case)) {
	t.Helper()
	w := Healthy()
	if s.change != nil {
		s.change(w)
	}
	if s.from == nil {
		s.from = &sender{id: Ann, role: chat.Moderator, community: Community, title: talk}
	}
	r := w.router(t, s.wait, l)
	for _, line := range s.lines {
		switch line {
		case unstake:
			w.Stake = core.Stake{Block: 1, BlockTime: time.Now(), Checked: 21}
			continue
		case later:
			w.Saved.later(t)
			continue
		case refuse:
			w.Saved.Problem = chat.RoleAbove
			continue
		case gone:
			w.Saved.Problem = chat.BadgeGone
			continue
		}
		req := request(line, *s.from)
		req.Locale = string(l)
		w.asked = nil
		shown := Case{
			Scene:   s.name,
			Line:    line,
			Reply:   r.Handle(t.Context(), req),
			Private: r.Visibility(req.Command) == chat.Private,
			Direct:  req.Direct,
		}
		shown.Asked = w.asked
		see(shown)
		for outcome := range s.outcomes {
			see(Case{
				Scene:   s.name,
				Line:    fmt.Sprint(line, ", outcome ", outcome),
				Reply:   shown.Reply.Join.Admit.Say(outcome).In(shown.Reply.Language),
				Private: true,
				Direct:  req.Direct,
			})
		}
	}
	if s.name == "badly typed" && w.StakesAsked+len(w.AccountsAsked) > 0 {
		t.Error("a service was asked about bad input")
	}
}

// Ask returns the answer to line, typed by Ann as a moderator.
func Ask(t testing.TB, r *router.Router, line string) *chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), request(line, sender{id: Ann, role: chat.Moderator, community: Community, title: talk}))
}

func request(line string, from sender) *chat.Request {
	words := strings.Fields(line)
	req := &chat.Request{
		ID:                  "REF",
		Command:             strings.TrimPrefix(words[0], "/"),
		Args:                chat.Typed(words[1:]...),
		GroupName:           from.title,
		GroupURL:            "https://t.me/holders",
		From:                chat.User{Platform: "telegram", ID: from.id},
		Community:           from.community,
		Role:                from.role,
		Chat:                from.id,
		Direct:              from.community == "",
		CanReplyEphemerally: from.ephemeral,
	}
	if !req.Direct {
		req.Chat = from.community
	}
	return req
}
