package truth

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// A stake is spread over pools, of which some may be unread: the bot could not ask them. The answer then shows
// hedged amounts, as in "Staking at least 5 HRLD", or, if the pools that it could read hold nothing, that it is
// not sure yet. So it is compared with the truth part by part.

// stakeReport is what an answer says about a wallet's stake.
type stakeReport struct {
	tellsPools  bool              // it says how many pools were read
	unreadPools int               // how many were not
	unreadExits int               // pools in which unstaking could not be checked
	isUndecided bool              // it says that it does not know whether the wallet stakes
	hedged      map[string]string // amounts after "at least", by "staking", "unstaking" or "ready to claim"
	hedgedWorth string            // what the hedged stake is worth
	blocks      int               // how many parts name the block
	exact       []string          // the other parts, which must be parts of the truth
}

// allPoolsRead reports whether the answer says that every pool was read.
func (r stakeReport) allPoolsRead() bool { return r.tellsPools && r.unreadPools == 0 }

// The parts of an answer that say how much was read.
var (
	poolsRead = regexp.MustCompile(`^(\d+) of 21 pools$`)
	block     = regexp.MustCompile(`^block 1,0[\d,]+$`) // The fake's chain begins at a million.
	exits     = regexp.MustCompile(`^Couldn't check unstaking in (\d+) of 21 pools\.$`)
	undecided = regexp.MustCompile(`^Not sure yet: (\d+) of 21 pools didn't answer\. Try again in a minute\.$`)
	atLeast   = regexp.MustCompile(`^(Staking|staking|Unstaking|Ready to claim) at least (.*) HRLD(?: ≈ \$(\S+))?$`)
)

// readStake reads the parts of an answer.
func readStake(parts []string) stakeReport {
	r := stakeReport{hedged: map[string]string{}}
	count := func(form *regexp.Regexp, part string) int {
		n, _ := strconv.Atoi(form.FindStringSubmatch(part)[1])
		return n
	}
	for _, part := range parts {
		switch amount := atLeast.FindStringSubmatch(part); {
		case undecided.MatchString(part):
			r.isUndecided = true
		case part == "All 21 pools":
			r.tellsPools = true
			r.unreadPools = 0
		case poolsRead.MatchString(part):
			r.tellsPools = true
			r.unreadPools = 21 - count(poolsRead, part)
		case exits.MatchString(part):
			r.unreadExits = count(exits, part)
		case block.MatchString(part):
			r.blocks++
		case amount != nil:
			r.hedged[strings.ToLower(amount[1])] = amount[2]
			r.hedgedWorth += amount[3]
		default:
			r.exact = append(r.exact, part)
		}
	}
	return r
}

// checkStake checks what an answer says about a wallet's stake, and sets the outcomes. The answer may
// lack the value of the stake, and what is in unread pools.
func (c *Checker) checkStake(outcomes Outcomes, wallet common.Address, got, want answer) error {
	if outcomes[fault.Price] == Right && !got.hasWorth() {
		delete(outcomes, fault.Price)
		if want.hasWorth() {
			outcomes[fault.Price] = Omitted
			want = want.withoutWorth()
		}
	}
	report, whole := readStake(got.parts), readStake(want.parts)
	tellsHowSure := report.tellsPools || report.isUndecided
	if !tellsHowSure || report.blocks != 1 || !slices.Contains(report.exact, wallet.Hex()) {
		return wrong("which wallet, how many pools, and when: %q", got.parts)
	}
	if report.allPoolsRead() && report.unreadExits == 0 {
		if len(report.hedged) > 0 {
			return wrong("all pools are read, and yet %q", got.parts)
		}
		return answer{parts: report.exact}.equals(answer{parts: whole.exact})
	}
	outcomes[fault.Chain] = Partial
	if report.isUndecided {
		outcomes[fault.Chain] = Undecided
		delete(outcomes, fault.Price)
	}
	return c.checkPartly(report, whole, wallet)
}

// worth is how the value of a stake begins. The value is a part of its own, or follows the stake.
const worth = "≈ $"

// hasWorth reports whether the answer says what the stake is worth.
func (a answer) hasWorth() bool {
	return slices.ContainsFunc(a.parts, func(part string) bool { return strings.Contains(part, worth) })
}

// withoutWorth returns the answer without what the stake is worth.
func (a answer) withoutWorth() answer {
	a = a.without(worth)
	for i, part := range a.parts {
		a.parts[i], _, _ = strings.Cut(part, " "+worth)
	}
	return a
}

// checkPartly checks a report for which some pools are unread. whole is the report of the truth.
func (c *Checker) checkPartly(report, whole stakeReport, wallet common.Address) error {
	if err := c.checkHedged(report, wallet); err != nil {
		return err
	}
	if err := report.checkPools(whole); err != nil {
		return err
	}
	return report.checkExact(whole)
}

// checkHedged checks the hedged amounts, and what the hedged stake is worth.
func (c *Checker) checkHedged(report stakeReport, wallet common.Address) error {
	var staked, claimable, unstaking []core.PoolAmount
	if wallet == c.world.Staker {
		staked = c.world.Staked
		claimable = c.world.Claimable
		unstaking = c.world.Unbonding
	}
	for kind, amounts := range map[string][]core.PoolAmount{
		"staking":        staked,
		"ready to claim": claimable,
		"unstaking":      unstaking,
	} {
		amount, isHedged := report.hedged[kind]
		if !isHedged {
			continue
		}
		isNeedless := kind == "staking" && report.allPoolsRead()
		if isNeedless || !isPartialSum(amount, amounts, decimal.Zero) {
			return wrong("%s at least %q", kind, amount)
		}
	}
	worth := number(report.hedged["staking"]).Mul(c.world.Quote.Price)
	difference := number(report.hedgedWorth).Sub(worth).Abs()
	if report.hedgedWorth != "" && difference.GreaterThan(decimal.NewFromInt(1)) {
		return wrong("%s HRLD are worth %s", report.hedged["staking"], report.hedgedWorth)
	}
	return nil
}

// isPartialSum reports whether amount, as a hedged amount is rounded, is sum plus some of the amounts: of 10
// and 5, it may be 5, 10 or 15.
func isPartialSum(amount string, amounts []core.PoolAmount, sum decimal.Decimal) bool {
	if len(amounts) > 0 {
		first, rest := amounts[0].Amount, amounts[1:]
		return isPartialSum(amount, rest, sum) || isPartialSum(amount, rest, sum.Add(first))
	}
	if !sum.IsPositive() {
		return false
	}
	isTiny := sum.LessThan(decimal.New(1, -4))
	return number(amount).Equal(sum.Round(2)) || amount == "< 0.0001" && isTiny
}

// number parses a number that is grouped in thousands. It returns 0 if text is not a number.
func number(text string) decimal.Decimal {
	n, _ := decimal.NewFromString(strings.ReplaceAll(text, ",", ""))
	return n
}

// pool matches a part about the stake in one pool, as in "0xBf76…395d 1,000,000".
var pool = regexp.MustCompile(`^0x[[:xdigit:]]{4}…[[:xdigit:]]{4} `)

// checkPools checks that no more pools are missing than are unread. An undecided report must not list any.
func (r stakeReport) checkPools(whole stakeReport) error {
	missing := 0
	for _, part := range whole.exact {
		if pool.MatchString(part) && !slices.Contains(r.exact, part) {
			missing++
		}
	}
	listsPools := slices.ContainsFunc(r.exact, pool.MatchString)
	tooFew := r.unreadPools > 0 && listsPools && missing > r.unreadPools
	tooSure := r.isUndecided && (listsPools || len(r.hedged) > 0)
	if tooFew || tooSure {
		return wrong("%d pools are missing, %d are unread", missing, r.unreadPools)
	}
	return nil
}

// checkExact checks that the parts that are not hedged are parts of the truth, and that none of them is about
// an amount that unread pools may increase.
func (r stakeReport) checkExact(whole stakeReport) error {
	begins := func(part string, beginnings ...string) bool {
		return slices.ContainsFunc(beginnings, func(beginning string) bool {
			return strings.HasPrefix(strings.ToLower(part), beginning)
		})
	}
	for _, part := range r.exact {
		mayBeMore := begins(part, "unstaking ", "ready to claim ") ||
			r.unreadPools > 0 && begins(part, "staking ", "exact ", "not staked")
		isTrue := slices.Contains(whole.exact, part) || part == Unavailable("staked")
		if mayBeMore || !isTrue {
			return wrong("%q is said while %d pools are unread, %d of withdrawals", part, r.unreadPools, r.unreadExits)
		}
	}
	return nil
}

// checkVerify checks what /verify answers about the registration and about the stake, and sets the outcomes.
// Either may be unknown.
func (c *Checker) checkVerify(outcomes Outcomes, wallet common.Address, got, want answer) error {
	got, want, errOwner := checkOwner(outcomes, got, want)
	if got.parts[0] != want.parts[0] {
		return wrong("%q, and the truth is %q", got.parts[0], want.parts[0])
	}
	isUndecided := slices.ContainsFunc(got.parts, undecided.MatchString)
	if !got.has(Unavailable("staked")) || isUndecided {
		return errors.Join(errOwner, c.checkStake(outcomes, wallet, got, want))
	}
	var errReason, errRest error
	outcomes[fault.Chain], errReason = got.takeReason(fault.Chain)
	rest := got.without(Unavailable("staked")).parts
	isFalse := func(part string) bool { return !slices.Contains(want.parts, part) }
	if !slices.Contains(rest, wallet.Hex()) || slices.ContainsFunc(rest, isFalse) {
		errRest = wrong("%q", rest)
	}
	return errors.Join(errOwner, errRest, errReason)
}

// unknownOwner is in the answer of /verify if the registration could not be checked.
const unknownOwner = "I can't tell whose wallet this is."

// verdicts lists what /verify may answer about the registration.
var verdicts = func() (all []string) {
	service := chat.Values{"service": chat.Say("exists.service")}
	for _, key := range []string{"verify.you.same", "verify.you.another", "verify.you.unregistered"} {
		all = append(all, e2etest.Say(key, service))
	}
	return all
}()

// checkOwner checks an answer of /verify that cannot tell whose wallet it is, and sets the outcome. It returns
// both answers without what they say about the registration, and with the same title. It changes nothing if
// the answer can tell.
func checkOwner(outcomes Outcomes, got, want answer) (gotRest, wantRest answer, err error) {
	if !slices.Contains(got.parts, unknownOwner) {
		return got, want, nil
	}
	got, want = got.without(unknownOwner), want.without(verdicts...)
	outcomes[fault.Partner], err = got.takeReason(fault.Partner)
	if got.parts[0] != Unavailable("verify") {
		err = errors.Join(err, wrong("%q", got.parts))
	}
	got.parts[0] = want.parts[0]
	return got, want, err
}
