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
	cause     = regexp.MustCompile(`^The (registration service|price provider|supply host|chain's node) [a-z].*\.$|^That took too long\. Try again in a minute\.$`)
	reference = regexp.MustCompile(`^Reference [A-Z2-7]{10}$`)
	tryAgain  = regexp.MustCompile(`^Try again in \d+ s\.$`)
	oldNote   = regexp.MustCompile(`^Old: the (price provider|supply host) cannot be asked now; this is from (.*)\.$`)
	pools     = regexp.MustCompile(`^(\d+) of 21 pools could not be read\.$`)
	exits     = regexp.MustCompile(`^Withdrawals from (\d+) of 21 pools could not be read\.$`)
	blockLine = regexp.MustCompile(`^Block [\d,]+, \d+ (s|min) ago\.$`)
)

// rightsUnknown is said of a platform that could not be asked for rights.
const rightsUnknown = "I could not find out whether you moderate this chat. Try again in a minute."

var errAnswer = errors.New("that is not the answer")

// judge returns what an answer, line by line, is to q.
func (q *question) judge(lines []string) (verdict, error) {
	title, rest := lines[0], lines[1:]
	switch {
	case title == "Too many commands" && len(rest) == 1 && tryAgain.MatchString(rest[0]):
		return refused, nil
	case slices.Contains([]string{titleInput, titleForbidden, titleUnknown}, title):
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
	price      []string
	supply     []string
	worth      []string
}

func newTruth(w sandbox.World) truth {
	t := truth{World: w, registered: map[core.Identity]bool{}}
	for _, id := range slices.Concat(w.Registered.Accounts, w.Newcomer.Accounts) {
		t.registered[id] = true
	}
	q, s := w.Quote, w.Supply
	each := "$" + q.Price.StringFixed(7) // six digits of 0.04…
	t.price = []string{
		sandbox.Symbol + " price", "Price: " + each,
		"1 h: " + q.Change1h.Decimal.StringFixed(2) + " %",
		"24 h: +" + q.Change24h.Decimal.StringFixed(2) + " %",
		"7 d: " + q.Change7d.Decimal.StringFixed(2) + " %",
		"Market cap: " + dollars(q.MarketCap.Decimal), "24 h volume: " + dollars(q.Volume24h.Decimal),
		"Last updated by the provider: " + toTheMinute(q.LastUpdated),
	}
	share := s.Circulating.Mul(decimal.NewFromInt(100)).DivRound(s.Total, 2)
	t.supply = []string{
		sandbox.Symbol + " supply", "Total: " + tokens(s.Total), "Circulating: " + tokens(s.Circulating),
		"Share circulating: " + share.StringFixed(2) + " %",
	}
	t.worth = []string{
		"At " + each + " each", "Total: " + dollars(s.Total.Mul(q.Price)), "Circulating: " + dollars(s.Circulating.Mul(q.Price)),
	}
	return t
}

func dollars(d decimal.Decimal) string { return "$" + thousands(d.StringFixed(2)) }

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

// withoutMarks takes the marks of old answers off, whose times must be
// possible.
func withoutMarks(lines []string) (rest []string, v verdict, err error) {
	v = asItIs
	for _, line := range lines {
		mark := oldNote.FindStringSubmatch(line)
		if mark == nil {
			rest = append(rest, line)
			continue
		}
		v = markedOld
		at, err := time.Parse(minuteForm, mark[2])
		if age := time.Since(at); err != nil || age < 0 || age > soakTTL+soakStaleFor+2*time.Minute {
			return nil, untrue, fmt.Errorf("an answer from %s cannot stand in", mark[2])
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
	if why, unpriced := strings.CutPrefix(rest[last], "What it is worth could not be checked: "); unpriced {
		if !cause.MatchString(why) {
			return untrue, errAnswer
		}
		return exactly(rest[:last], t.supply, v)
	}
	return exactly(rest, slices.Concat(t.supply, t.worth), v)
}

func checkHelp(lines []string) (verdict, error) {
	if lines[0] != "What I can do" || !slices.Contains(lines, "/staked <wallet>: Whether a wallet stakes HRLD, and where") {
		return untrue, errAnswer
	}
	return asItIs, nil
}

func (t truth) checkExists(whose string, id core.Identity, lines []string) (verdict, error) {
	if t.registered[id] {
		return exactly(lines, []string{"Registered", whose + " is registered with the service."}, asItIs)
	}
	return exactly(lines, []string{"Not registered", whose + " is not registered with the service."}, asItIs)
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
		return exactly(lines, []string{"No logins", "You are registered and have not logged in to any dapp in the past 30 days."}, asItIs)
	}
	return exactly(lines, []string{"Not registered",
		"Your " + platform + " account is not registered with the service, so there are no logins to show."}, asItIs)
}

// stakeAnswer is an answer to /staked, read back.
type stakeAnswer struct {
	title, total    string
	whole, allRead  bool
	staked, leaving map[string]string
	failed, unknown int // pools, and pools whose withdrawals
}

func readStake(wallet common.Address, lines []string) (a stakeAnswer, err error) {
	if len(lines) < 2 || lines[1] != "Wallet "+wallet.Hex() {
		return a, errors.New("the answer is about another wallet")
	}
	a = stakeAnswer{title: lines[0], staked: map[string]string{}, leaving: map[string]string{}}
	var list map[string]string
	for _, line := range lines[2:] {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "Total" || name == "At least":
			a.total, a.whole = value, name == "Total"
		case line == "Pools":
			list = a.staked
		case line == "Being withdrawn, not staked":
			list = a.leaving
		case line == "All 21 pools were read.":
			a.allRead = true
		case pools.MatchString(line):
			a.failed, _ = strconv.Atoi(pools.FindStringSubmatch(line)[1])
		case exits.MatchString(line):
			a.unknown, _ = strconv.Atoi(exits.FindStringSubmatch(line)[1])
		case blockLine.MatchString(line), strings.HasPrefix(line, "No stake was found in the pools that could be read"):
		case list != nil && common.IsHexAddress(name):
			list[name] = value
		default:
			return a, errAnswer
		}
	}
	return a, nil
}

// sameAmounts compares what is shown with what is there. It returns how many
// pools are not shown, and the sum of the others.
func sameAmounts(shown map[string]string, there []core.PoolAmount) (missing int, sum decimal.Decimal, err error) {
	found := 0
	for _, p := range there {
		switch shown[p.Pool.Address.Hex()] {
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
	case a.title == "Could not be checked" && a.failed > 0 && len(a.staked) == 0 && a.total == "":
		return unchecked, nil
	case len(staked) == 0 && a.title == "Not staked" && a.failed == 0 && a.allRead && a.total == "":
		return asItIs, nil
	case len(staked) > 0 && a.title == "Staked" && len(a.staked) > 0 && a.total == tokens(sum) && a.whole == (a.failed == 0):
		return asItIs, nil
	}
	return untrue, errAnswer
}
