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

var (
	poolsRead = regexp.MustCompile(`^(?:All 21|(\d+) of 21) pools$`)
	block     = regexp.MustCompile(`^block 1,0[\d,]+$`) // The fake's chain begins at a million.
	pool      = regexp.MustCompile(`^0x[[:xdigit:]]{4}…[[:xdigit:]]{4} `)
	exits     = regexp.MustCompile(`^Couldn't check unstaking in (\d+) of 21 pools\.$`)
	undecided = regexp.MustCompile(`^Not sure yet: (\d+) of 21 pools didn't answer\. Try again in a minute\.$`)
	atLeast   = regexp.MustCompile(`^(Staking|staking|Unstaking|Ready to claim) at least (.*) HRLD(?: ≈ \$(\S+))?$`)
)

// unknownOwner is the answer of /verify if the registration could not be checked.
const unknownOwner = "I can't tell whose wallet this is."

// verdicts lists what /verify may answer about the registration.
var verdicts = func() (all []string) {
	service := chat.Values{"service": chat.Say("exists.service")}
	for _, key := range []string{"verify.you.same", "verify.you.another", "verify.you.unregistered"} {
		all = append(all, e2etest.Say(key, service))
	}
	return all
}()

// shown reports whether an amount is sum plus the amounts of some of all, rounded as in a hedged amount.
func shown(amount string, all []core.PoolAmount, sum decimal.Decimal) bool {
	if len(all) > 0 {
		return shown(amount, all[1:], sum) || shown(amount, all[1:], sum.Add(all[0].Amount))
	}
	return sum.IsPositive() && number(amount).Equal(sum.Round(2)) ||
		amount == "< 0.0001" && sum.IsPositive() && sum.LessThan(decimal.New(1, -4))
}

// number parses a number that is grouped in thousands. It returns 0 if text is not a number.
func number(text string) decimal.Decimal {
	n, _ := decimal.NewFromString(strings.ReplaceAll(text, ",", ""))
	return n
}

// stake is what an answer says about a wallet's stake.
type stake struct {
	failed    int               // pools that are unread; -1: the answer does not say
	unknown   int               // pools whose withdrawals are unread
	undecided bool              // the answer says that it does not know of a stake
	atLeast   map[string]string // hedged amounts, by "staking", "unstaking" or "ready to claim"
	worth     string            // of the hedged stake
	blocks    int               // parts that name the block
	rest      []string          // the other parts, which must be parts of the truth
}

// readStake reads the parts of an answer.
func readStake(parts []string) (s stake) {
	s = stake{atLeast: map[string]string{}, failed: -1}
	count := func(form *regexp.Regexp, part string) int {
		n, _ := strconv.Atoi(form.FindStringSubmatch(part)[1])
		return n
	}
	for _, part := range parts {
		switch hedged := atLeast.FindStringSubmatch(part); {
		case undecided.MatchString(part):
			s.undecided = true
		case part == "All 21 pools":
			s.failed = 0
		case poolsRead.MatchString(part):
			s.failed = 21 - count(poolsRead, part)
		case exits.MatchString(part):
			s.unknown = count(exits, part)
		case block.MatchString(part):
			s.blocks++
		case hedged != nil:
			s.atLeast[strings.ToLower(hedged[1])] = hedged[2]
			s.worth += hedged[3]
		default:
			s.rest = append(s.rest, part)
		}
	}
	return s
}

// worth is how a part that values a stake begins. It is alone, or behind the stake.
const worth = "≈ $"

// tellsWorth reports whether an answer values the stake.
func (a answer) tellsWorth() bool {
	return slices.ContainsFunc(a.parts, func(part string) bool { return strings.Contains(part, worth) })
}

// withoutWorth returns an answer without the values of the stake.
func (a answer) withoutWorth() answer {
	a = a.without(worth)
	for i, part := range a.parts {
		a.parts[i], _, _ = strings.Cut(part, " "+worth)
	}
	return a
}

// checkStake checks what an answer says about a wallet's stake, and sets the outcomes. The answer may
// lack the value of the stake, and what is in unread pools.
func (c *Checker) checkStake(got Outcomes, wallet common.Address, said, want answer) error {
	if got[fault.Price] == Right && !said.tellsWorth() {
		delete(got, fault.Price)
		if want.tellsWorth() {
			got[fault.Price] = Omitted
			want = want.withoutWorth()
		}
	}
	a, whole := readStake(said.parts), readStake(want.parts)
	if a.failed < 0 && !a.undecided || a.blocks != 1 || !slices.Contains(a.rest, wallet.Hex()) {
		return wrong("which wallet, how many pools, and when: %q", said.parts)
	}
	switch {
	case a.failed != 0 || a.unknown > 0:
	case len(a.atLeast) > 0:
		return wrong("all pools are read, and yet %q", said.parts)
	default:
		return answer{parts: a.rest}.equals(answer{parts: whole.rest})
	}
	got[fault.Chain] = Partial
	if a.undecided {
		got[fault.Chain] = Undecided
		delete(got, fault.Price)
	}
	return c.checkPartly(a, whole, wallet)
}

// checkPartly checks what an answer says about a stake if some pools are unread: amounts must be
// hedged, at most as many pools may be missing as are unread, and the rest must be part of the truth.
func (c *Checker) checkPartly(a, whole stake, wallet common.Address) error {
	if err := c.checkHedged(a, wallet); err != nil {
		return err
	}
	if err := a.checkPools(whole); err != nil {
		return err
	}
	return a.checkRest(whole)
}

// checkHedged checks the hedged amounts, as in "at least 5 HRLD", and the value of the hedged stake.
func (c *Checker) checkHedged(a stake, wallet common.Address) error {
	var staked, claimable, leaving []core.PoolAmount
	if wallet == c.world.Staker {
		staked = c.world.Staked
		claimable = c.world.Claimable
		leaving = c.world.Unbonding
	}
	for what, there := range map[string][]core.PoolAmount{
		"staking":        staked,
		"ready to claim": claimable,
		"unstaking":      leaving,
	} {
		amount, hedged := a.atLeast[what]
		if hedged && (what == "staking" && a.failed == 0 || !shown(amount, there, decimal.Zero)) {
			return wrong("%s at least %q", what, amount)
		}
	}
	off := number(a.worth).Sub(number(a.atLeast["staking"]).Mul(c.world.Quote.Price))
	if a.worth != "" && off.Abs().GreaterThan(decimal.NewFromInt(1)) {
		return wrong("%s HRLD are worth %s", a.atLeast["staking"], a.worth)
	}
	return nil
}

// checkPools checks that no more pools are missing than are unread.
func (a stake) checkPools(whole stake) error {
	missing := 0
	for _, part := range whole.rest {
		if pool.MatchString(part) && !slices.Contains(a.rest, part) {
			missing++
		}
	}
	listed := slices.ContainsFunc(a.rest, pool.MatchString)
	if a.failed > 0 && listed && missing > a.failed || a.undecided && (listed || len(a.atLeast) > 0) {
		return wrong("%d pools are missing, %d are unread", missing, a.failed)
	}
	return nil
}

// checkRest checks that the rest is part of the truth, and says nothing final about what is unread.
func (a stake) checkRest(whole stake) error {
	begins := func(part string, beginnings ...string) bool {
		return slices.ContainsFunc(beginnings, func(beginning string) bool {
			return strings.HasPrefix(strings.ToLower(part), beginning)
		})
	}
	for _, part := range a.rest {
		final := begins(part, "unstaking ", "ready to claim ") ||
			a.failed > 0 && begins(part, "staking ", "exact ", "not staked")
		if final || !slices.Contains(whole.rest, part) && part != Unavailable("staked") {
			return wrong("%q is said while %d pools are unread, %d of withdrawals", part, a.failed, a.unknown)
		}
	}
	return nil
}

// checkVerify checks what /verify answers about the registration, and about the stake. Either may be
// unknown.
func (c *Checker) checkVerify(got Outcomes, wallet common.Address, said, want answer) (err error) {
	owner := want.parts[0]
	switch {
	case slices.Contains(said.parts, unknownOwner):
		said, want = said.without(unknownOwner), want.without(verdicts...)
		got[fault.Partner], err = said.takeReason(fault.Partner)
		if said.parts[0] != Unavailable("verify") {
			err = errors.Join(err, wrong("%q", said.parts))
		}
		said.parts[0] = owner
	case said.parts[0] != owner:
		return wrong("%q, and the truth is %q", said.parts[0], owner)
	}
	if said.has(Unavailable("staked")) && !slices.ContainsFunc(said.parts, undecided.MatchString) {
		var errWhy error
		got[fault.Chain], errWhy = said.takeReason(fault.Chain)
		left := said.without(Unavailable("staked")).parts
		if !slices.Contains(left, wallet.Hex()) ||
			slices.ContainsFunc(left, func(part string) bool { return !slices.Contains(want.parts, part) }) {
			err = errors.Join(err, wrong("%q", left))
		}
		return errors.Join(err, errWhy)
	}
	return errors.Join(err, c.checkStake(got, wallet, said, want))
}
