//go:build soak

package soak

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/core"
	"herald/internal/sandbox"
)

// verdict is what an answer turned out to be.
type verdict string

const (
	asItIs    verdict = "right"
	markedOld verdict = "old"
	unchecked verdict = "could not be checked"
	refused   verdict = "refused"
	untrue    verdict = "wrong"
)

var (
	cause = regexp.MustCompile(`^((The (registration service|price provider|supply host|chain's node) [a-z].*|The bot isn't set up correctly)\. ?` +
		`.*|That took too long\. Try again in a minute\.)$`)
	reference = regexp.MustCompile(`^Reference [A-Z2-7]{10}$`)
	tryAgain  = regexp.MustCompile(`^Try again in \d+ seconds?\.$`)
	oldNote   = regexp.MustCompile(`^This (?:price|supply) is old, from (.*)\. The (price provider|supply host) can't be asked right now\.$`)
	checkedAt = regexp.MustCompile(`^Checked (\d{4}-.*)$`)
	checkedOf = regexp.MustCompile(`^Checked (\d+) of 21 pools · Block [\d,]+, (.*)$`)
	exits     = regexp.MustCompile(`^Couldn't check unstaking in (\d+) of 21 pools\.$`)
	unsaid    = regexp.MustCompile(`^Can't say yet: (\d+) of 21 pools (?:didn't respond|couldn't be read)\.$`)
)

// rightsUnknown is said of a platform that could not be asked for rights.
const rightsUnknown = "I couldn't find out whether you moderate this chat. Try again in a minute."

var errAnswer = errors.New("that is not the answer")

// judge returns what an answer, line by line, is to q.
func (q *question) judge(lines []string) (verdict, error) {
	title, rest := lines[0], lines[1:]
	switch {
	case title == "Too many commands" && len(rest) == 1 && tryAgain.MatchString(rest[0]):
		return refused, nil
	case slices.Contains(titles, title):
		if !slices.Contains(q.refusals, title) {
			return untrue, errors.New("refused without cause")
		}
		return refused, nil
	case title == "Could not be checked" && len(rest) == 2 && reference.MatchString(rest[1]):
		if q.services && cause.MatchString(rest[0]) || q.rights && rest[0] == rightsUnknown {
			return unchecked, nil
		}
		return untrue, errors.New("there was nothing that could fail")
	case q.refusals != nil:
		return untrue, errors.New("answered what should be refused")
	}
	return q.check(lines)
}

// truth is the sandbox's world as answers should show it.
type truth struct {
	World      sandbox.World
	registered map[core.Identity]bool
	owners     map[common.Address]core.Identity // of wallets, by an account of theirs
	price      []string
	// What is shown short stands exactly below all of it.
	supply, supplyExactly []string
	worth, worthExactly   []string
}

func newTruth(w sandbox.World) truth {
	t := truth{World: w, registered: map[core.Identity]bool{}, owners: map[common.Address]core.Identity{}}
	for _, p := range []sandbox.Person{w.Registered, w.Newcomer} {
		for _, id := range p.Accounts {
			t.registered[id] = true
		}
		t.owners[common.HexToAddress(p.UID("EVM"))] = p.Accounts[0]
	}
	q, s := w.Quote, w.Supply
	each := "$" + q.Price.StringFixed(5) // four digits of 0.04…
	t.price = []string{
		sandbox.Symbol + " price", "Price: " + each,
		"1 h: ▼ " + q.Change1h.Decimal.StringFixed(2) + "%",
		"24 h: ▲ +" + q.Change24h.Decimal.StringFixed(2) + "%",
		"7 d: ▼ " + q.Change7d.Decimal.StringFixed(2) + "%",
		"Market cap: $" + millions(q.MarketCap.Decimal), "24 h volume: $" + millions(q.Volume24h.Decimal),
		"Market cap: " + dollars(q.MarketCap.Decimal), "24 h volume: " + dollars(q.Volume24h.Decimal),
		"Updated " + toTheMinute(q.LastUpdated),
	}
	share := s.Circulating.Mul(decimal.NewFromInt(100)).DivRound(s.Total, 2)
	t.supply = []string{
		sandbox.Symbol + " supply", "Total: " + millions(s.Total) + " " + sandbox.Symbol, "Circulating: " + millions(s.Circulating) + " " + sandbox.Symbol,
		"Share circulating: ▰▰▰▰▰▰▱▱▱▱ " + share.StringFixed(2) + "%",
	}
	t.supplyExactly = []string{"Total: " + tokens(s.Total), "Circulating: " + tokens(s.Circulating)}
	total, circulating, at := s.Total.Mul(q.Price), s.Circulating.Mul(q.Price), "At "+each+" each"
	t.worth = []string{at, "Total: $" + millions(total), "Circulating: $" + millions(circulating)}
	t.worthExactly = []string{at + " · Total: " + dollars(total), at + " · Circulating: " + dollars(circulating)}
	return t
}

// millions and dollars are never more than d.
func millions(d decimal.Decimal) string { return d.Shift(-6).Truncate(2).String() + "M" }

func dollars(d decimal.Decimal) string { return "$" + thousands(d.Truncate(2).StringFixed(2)) }

func tokens(d decimal.Decimal) string { return thousands(d.String()) + " " + sandbox.Symbol }

func thousands(number string) string {
	whole, fraction, found := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		whole += "." + fraction
	}
	return whole
}

const minuteForm = "2006-01-02 15:04 MST"

func toTheMinute(t time.Time) string { return t.UTC().Format(minuteForm) }

// withoutMarks takes off when the answer was learned and the marks of old
// answers, whose times must be possible.
func withoutMarks(lines []string) (rest []string, v verdict, err error) {
	v = asItIs
	for _, line := range lines {
		mark, most := oldNote.FindStringSubmatch(line), soakTTL+soakStaleFor+2*time.Minute
		if mark != nil {
			v = markedOld
		} else if mark = checkedAt.FindStringSubmatch(line); mark == nil {
			rest = append(rest, line)
			continue
		}
		at, err := time.Parse(minuteForm, mark[1])
		if age := time.Since(at); err != nil || age < 0 || age > most {
			return nil, untrue, fmt.Errorf("an answer cannot be from %s", mark[1])
		}
	}
	return rest, v, nil
}

func exactly(got, want []string, v verdict) (verdict, error) {
	if !slices.Equal(got, want) {
		return untrue, errAnswer
	}
	return v, nil
}

func (t truth) checkPrice(lines []string) (verdict, error) {
	rest, v, err := withoutMarks(lines)
	if err != nil {
		return untrue, err
	}
	return exactly(rest, t.price, v)
}

func (t truth) checkSupply(lines []string) (verdict, error) {
	rest, v, err := withoutMarks(lines)
	if err != nil {
		return untrue, err
	}
	last := len(rest) - 1
	if why, unpriced := strings.CutPrefix(rest[last], "Couldn't check what it's worth. "); unpriced {
		if !cause.MatchString(why) {
			return untrue, errAnswer
		}
		return exactly(rest[:last], slices.Concat(t.supply, t.supplyExactly), v)
	}
	return exactly(rest, slices.Concat(t.supply, t.worth, t.supplyExactly, t.worthExactly), v)
}

func checkHelp(lines []string) (verdict, error) {
	whole := slices.Contains(lines, "/staked <wallet>: Whether a wallet stakes HRLD, and where")
	short := slices.Contains(lines, "/staked: Whether a wallet stakes HRLD, and where")
	if lines[0] != "What I can do" || whole == short || !slices.Contains(lines, "I never ask you to connect a wallet.") {
		return untrue, errAnswer
	}
	return asItIs, nil
}

// fakeName is what everybody is called on the fake of Telegram.
const fakeName = "Somebody"

// aboutPerson takes off the lines that say about whom a moderator was answered,
// of which the one with the ID must be there, and where they asked.
func aboutPerson(id core.Identity, lines []string) (rest []string, err error) {
	named := false
	uid := e2etest.Plain(id.UID)
	// Discord has no way to show a backtick in code.
	inCode := e2etest.Plain(strings.ReplaceAll(id.UID, "`", "ˋ"))
	for _, line := range lines {
		switch {
		case line == id.Platform+" ID: "+uid || line == id.Platform+" ID: "+inCode:
			named = true
		case id.Platform == "Telegram" && (line == "Person: "+id.UID || line == "Person: "+fakeName):
		case id.Platform == "Discord" && line == "Person: <@"+id.UID+">", strings.HasPrefix(line, "Asked in: "):
		default:
			rest = append(rest, line)
		}
	}
	if !named {
		return nil, errors.New("the answer does not say about whom it is")
	}
	return rest, nil
}

func (t truth) checkExists(whose string, id core.Identity, lines []string) (verdict, error) {
	rest, v, err := withoutMarks(lines)
	if err == nil && whose == "This" {
		rest, err = aboutPerson(id, rest)
	}
	if err != nil {
		return untrue, err
	}
	if t.registered[id] {
		return exactly(rest, []string{"Registered", whose + " " + id.Platform + " account is registered with the service."}, v)
	}
	return exactly(rest, []string{"Not registered", whose + " " + id.Platform + " account isn't registered with the service."}, v)
}

// checkVerify judges whose the wallet is, "yours" or "theirs" or nobody's, and
// then what it stakes.
func (t truth) checkVerify(whose string, id core.Identity, wallet common.Address, lines []string) (verdict, error) {
	rest, _, err := withoutMarks(lines)
	if err == nil && whose == "theirs" {
		rest, err = aboutPerson(id, rest)
	}
	if err != nil || len(rest) < 4 {
		return untrue, errors.Join(err, errAnswer)
	}
	owner, owned := t.owners[wallet]
	var people []core.Identity
	for _, p := range []sandbox.Person{t.World.Registered, t.World.Newcomer} {
		if slices.Contains(p.Accounts, owner) {
			people = p.Accounts
		}
	}
	v := asItIs
	switch title := rest[0]; {
	case title == "Couldn't check whose wallet this is" && cause.MatchString(rest[1]):
		v = unchecked
	case title == "This wallet is "+whose && owned && slices.Contains(people, id):
	case title == "This wallet isn't "+whose && !(owned && slices.Contains(people, id)):
	default:
		return untrue, errAnswer
	}
	i := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(line, "Stake: ") })
	if i < 0 {
		return untrue, errAnswer
	}
	title, _ := strings.CutPrefix(rest[i], "Stake: ")
	if why, failed := strings.CutPrefix(title, "Could not be checked. "); failed {
		if !cause.MatchString(why) {
			return untrue, errAnswer
		}
		return unchecked, nil
	}
	staked, err := t.checkStake(wallet, slices.Concat([]string{title}, rest[2:i], rest[i+1:]))
	if staked == untrue || staked == unchecked {
		return staked, err
	}
	return v, nil
}

func (t truth) checkLogins(platform, uid string, lines []string) (verdict, error) {
	switch uid {
	case t.World.Registered.UID(platform):
		want := []string{"Your logins", fmt.Sprintf("%d in the past 30 days, newest first.", len(t.World.Logins))}
		for _, l := range t.World.Logins {
			want = append(want, l.Dapp+": "+l.Platform+", "+toTheMinute(l.At))
		}
		return exactly(lines, want, asItIs)
	case t.World.Newcomer.UID(platform):
		return exactly(lines, []string{"No logins", "You're registered and haven't logged in to any dapp in the past 30 days."}, asItIs)
	}
	return exactly(lines, []string{"Not registered",
		"Your " + platform + " account isn't registered with the service, so there are no logins to show."}, asItIs)
}

// stakeAnswer is an answer to /staked, read back. Pools are known by the short
// form of their addresses, and their amounts by the exact value.
type stakeAnswer struct {
	title, total    string
	whole           bool
	staked, leaving map[string]string
	failed, unknown int // pools, and pools whose withdrawals
}

// short is an address as answers show it.
func short(a common.Address) string { return a.Hex()[:6] + "…" + a.Hex()[38:] }

const unstaking = "Unstaking (not counted)"

func readStake(wallet common.Address, lines []string) (a stakeAnswer, err error) {
	if len(lines) == 0 || !slices.Contains(lines, "Wallet: "+short(wallet)) || !slices.Contains(lines, "Wallet: "+wallet.Hex()) {
		return a, errors.New("the answer is about another wallet")
	}
	a = stakeAnswer{title: lines[0], staked: map[string]string{}, leaving: map[string]string{}, failed: -1}
	var list map[string]string
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		checked := checkedOf.FindStringSubmatch(line)
		switch {
		case unsaid.MatchString(line): // beside a title, or as one
			a.title = "Can't say yet"
		case line == a.title, name == "Wallet", common.IsHexAddress(line):
		case name == "Total" || name == "At least": // shown short, and then exactly
			a.total, a.whole = value, name == "Total"
		case line == "Pools":
			list = a.staked
		case line == unstaking:
			list = a.leaving
		case checked != nil:
			n, _ := strconv.Atoi(checked[1])
			at, err := time.Parse(minuteForm, checked[2])
			if age := time.Since(at); err != nil || age.Abs() > 5*time.Minute {
				return a, errors.New("an impossible block")
			}
			a.failed = 21 - n
		case exits.MatchString(line):
			a.unknown, _ = strconv.Atoi(exits.FindStringSubmatch(line)[1])
		case strings.HasPrefix(name, "Pools · "):
			a.staked[strings.TrimPrefix(name, "Pools · ")] = value
		case strings.HasPrefix(name, unstaking+" · "):
			a.leaving[strings.TrimPrefix(name, unstaking+" · ")] = value
		case list != nil && strings.HasPrefix(name, "0x") && len([]rune(name)) == 11:
			list[name] = value
		default:
			return a, fmt.Errorf("that is not the answer: %q", line)
		}
	}
	if a.failed < 0 {
		err = errors.New("the answer does not say how many pools were checked")
	}
	return a, err
}

// sameAmounts compares what is shown with what is there. It returns how many
// pools are not shown, and the sum of the others.
func sameAmounts(shown map[string]string, there []core.PoolAmount) (missing int, sum decimal.Decimal, err error) {
	found := 0
	for _, p := range there {
		switch shown[short(p.Pool.Address)] {
		case "":
			missing++
		case tokens(p.Amount):
			found++
			sum = sum.Add(p.Amount)
		}
	}
	if found != len(shown) {
		err = errors.New("an amount is wrong")
	}
	return missing, sum, err
}

func (t truth) checkStake(wallet common.Address, lines []string) (verdict, error) {
	a, err := readStake(wallet, lines)
	if err != nil {
		return untrue, err
	}
	var staked, leaving []core.PoolAmount
	if wallet == t.World.Staker {
		staked, leaving = t.World.Staked, t.World.Unbonding
	}
	missing, sum, err := sameAmounts(a.staked, staked)
	if err != nil {
		return untrue, err
	}
	hidden, _, err := sameAmounts(a.leaving, leaving)
	switch {
	case err != nil:
		return untrue, err
	case missing > a.failed || hidden > a.failed+a.unknown:
		return untrue, errors.New("pools are missing without a word")
	case a.title == "Can't say yet" && a.failed > 0 && len(a.staked) == 0 && a.total == "":
		return unchecked, nil
	case len(staked) == 0 && a.title == "Not staked" && a.failed == 0 && a.total == "":
		return asItIs, nil
	case len(staked) > 0 && a.title == "Staked" && len(a.staked) > 0 && a.total == tokens(sum) && a.whole == (a.failed == 0):
		return asItIs, nil
	}
	return untrue, errAnswer
}
