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
	block     = regexp.MustCompile(`^block 1,0[\d,]+$`) // the stand-in's chain starts at a million
	pool      = regexp.MustCompile(`^0x[[:xdigit:]]{4}…[[:xdigit:]]{4} `)
	exits     = regexp.MustCompile(`^Couldn't check unstaking in (\d+) of 21 pools\.$`)
	undecided = regexp.MustCompile(`^Not sure yet: (\d+) of 21 pools didn't answer\. Try again in a minute\.$`)
	atLeast   = regexp.MustCompile(`^(Staking|staking|Unstaking|Ready to claim) at least (.*) HRLD(?: ≈ (\$\S+))?$`)
)

// unknownOwner is what /verify says if the registration could not be checked.
const unknownOwner = "I can't tell whose wallet this is."

// verdicts are what /verify says of the registration.
var verdicts = func() (all []string) {
	service := chat.Values{"service": chat.Say("exists.service")}
	for _, key := range []string{"verify.you.same", "verify.you.another", "verify.you.unregistered"} {
		all = append(all, e2etest.Say(key, service))
	}
	return all
}()

// shown reports whether an amount is the sum of all of these, or of some of them, as it is
// shown if the exact one is elsewhere or left out.
func shown(amount string, all []core.PoolAmount, sum decimal.Decimal) bool {
	if len(all) > 0 {
		return shown(amount, all[1:], sum) || shown(amount, all[1:], sum.Add(all[0].Amount))
	}
	n, err := decimal.NewFromString(strings.ReplaceAll(amount, ",", ""))
	return err == nil && sum.IsPositive() && n.Equal(sum.Round(2)) || amount == "< 0.0001" && sum.IsPositive() && sum.LessThan(decimal.New(1, -4))
}

// stake is what an answer says of a stake beside what the whole truth has too.
type stake struct {
	failed, unknown int  // pools that are unread, and pools whose withdrawals are
	undecided       bool // nothing is known of a stake
	atLeast         map[string]string
	blocks          int
	rest            []string // of the truth
}

func readStake(parts []string) (s stake) {
	s = stake{atLeast: map[string]string{}, failed: -1}
	number := func(form *regexp.Regexp, part string) int {
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
			s.failed = 21 - number(poolsRead, part)
		case exits.MatchString(part):
			s.unknown = number(exits, part)
		case block.MatchString(part):
			s.blocks++
		case hedged != nil:
			s.atLeast[strings.ToLower(hedged[1])] = hedged[2]
		default:
			s.rest = append(s.rest, part)
		}
	}
	return s
}

// checkStake checks what an answer says of a wallet's stake, and sets its outcomes. It may
// lack what the stake is worth, and what is in pools that are unread.
func (c *Checker) checkStake(got Outcomes, wallet common.Address, said, want answer) error {
	a, whole := readStake(said.parts), readStake(want.parts)
	worth := func(part string) bool { return strings.HasPrefix(part, "≈ $") }
	title := func(part string) string { before, _, _ := strings.Cut(part, " ≈ $"); return before }
	if got[fault.Price] == Right && !strings.Contains(strings.Join(said.parts, "\n"), "≈ $") {
		if delete(got, fault.Price); strings.Contains(strings.Join(want.parts, "\n"), "≈ $") {
			got[fault.Price] = Omitted
		}
		whole.rest = slices.DeleteFunc(whole.rest, worth)
		for i, part := range whole.rest {
			whole.rest[i] = title(part)
		}
	}
	if a.failed < 0 && !a.undecided || a.blocks != 1 || !slices.Contains(a.rest, wallet.Hex()) {
		return wrong("which wallet, how many pools, and when: %q", said.parts)
	}
	same := answer{parts: a.rest}.equals(answer{parts: whole.rest})
	if a.failed == 0 && a.unknown == 0 {
		if len(a.atLeast) > 0 {
			return wrong("all pools are read, and yet %q", said.parts)
		}
		return same
	}
	if got[fault.Chain] = Partial; a.undecided {
		got[fault.Chain] = Undecided
		delete(got, fault.Price)
	}
	return c.checkPartly(a, whole, wallet)
}

// checkPartly checks what is said of a stake if some pools are unread: amounts are hedged,
// pools that are missing are among the unread, and the rest is of the truth.
func (c *Checker) checkPartly(a, whole stake, wallet common.Address) error {
	var staked, claimable, leaving []core.PoolAmount
	if wallet == c.world.Staker {
		staked, claimable, leaving = c.world.Staked, c.world.Claimable, c.world.Unbonding
	}
	for what, there := range map[string][]core.PoolAmount{"staking": staked, "ready to claim": claimable, "unstaking": leaving} {
		if amount, hedged := a.atLeast[what]; hedged && (what == "staking" && a.failed == 0 || !shown(amount, there, decimal.Zero)) {
			return wrong("%s at least %q", what, amount)
		}
	}
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
	for _, part := range a.rest {
		final := strings.HasPrefix(part, "Staking ") || strings.HasPrefix(part, "staking ") || strings.HasPrefix(part, "Exact ") || strings.EqualFold(part, "not staked")
		ofTruth := slices.Contains(whole.rest, part) || strings.HasPrefix(part, "≈ $") || part == Unavailable("staked")
		if !ofTruth || final && a.failed > 0 {
			return wrong("%q is said while %d pools are unread, %d of withdrawals", part, a.failed, a.unknown)
		}
	}
	return nil
}

// checkVerify checks whose the wallet is and what it stakes, each by itself.
func (c *Checker) checkVerify(got Outcomes, wallet common.Address, said, want answer) (err error) {
	owner := want.parts[0]
	switch {
	case slices.Contains(said.parts, unknownOwner):
		said, want = said.without(unknownOwner), want.without(verdicts...)
		if got[fault.Partner], err = said.takeReason(fault.Partner); said.parts[0] != Unavailable("verify") {
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
		if !slices.Contains(left, wallet.Hex()) || slices.ContainsFunc(left, func(part string) bool { return !slices.Contains(want.parts, part) }) {
			err = errors.Join(err, wrong("%q", left))
		}
		return errors.Join(err, errWhy)
	}
	return errors.Join(err, c.checkStake(got, wallet, said, want))
}
