package truth

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/fault"
)

// maxBlockAge is how old the block of an answer may be. Times are shown to the minute.
const maxBlockAge = 5 * time.Minute

var (
	poolsRead = regexp.MustCompile(`^(?:All 21|(\d+) of 21) pools$`)
	block     = regexp.MustCompile(`^block ([\d,]+)$`)
	pool      = regexp.MustCompile(`^(0x[[:xdigit:]]{4}…[[:xdigit:]]{4}) (.*)$`)
	exact     = regexp.MustCompile(`^Exact ([\d,.]+ HRLD)$`)
	exits     = regexp.MustCompile(`^Couldn't check unstaking in (\d+) of 21 pools\.$`)
	undecided = regexp.MustCompile(`^Not sure yet: (\d+) of 21 pools didn't answer\. Try again in a minute\.$`)
)

// notStaked is the verdict on a wallet that stakes nothing, once all pools were read.
const notStaked = "Not staked"

// aBlock reports whether a number may be the newest block's. The stand-in's chain starts at
// a million blocks.
func aBlock(number string) bool {
	n, err := strconv.Atoi(strings.ReplaceAll(number, ",", ""))
	return err == nil && n >= 990_000 && n < 1_010_000
}

// stake is an answer to /staked, read back. Its pools are named by their short addresses.
type stake struct {
	verdict, worth, exact string
	claimable, leaving    string
	leastClaimable, least bool   // claimable and leaving say "at least"
	next                  string // when a part of leaving becomes claimable, and how much
	staked                map[string]string
	failed, unknown       int // pools that are unread, and pools whose withdrawals are
}

func readStake(wallet common.Address, said []string) (a stake, err error) {
	a = stake{staked: map[string]string{}, failed: -1}
	blocks := 0
	for i, part := range said {
		title, worth, priced := strings.Cut(part, " ≈ ")
		leaving, ofLeaving := strings.CutPrefix(part, "Unstaking ")
		claimable, ofClaimable := strings.CutPrefix(part, "Ready to claim ")
		worthAlone, alone := strings.CutPrefix(part, "≈ ")
		found := func(form *regexp.Regexp) []string { return form.FindStringSubmatch(part) }
		switch {
		case slices.Contains(said[:i], part):
			return a, wrong("%q is said twice", part)
		case part == wallet.Hex(), i == 0 && part == Unavailable("staked"):
		case a.verdict == "" && found(undecided) != nil:
			a.verdict = "Not sure yet"
			a.failed, _ = strconv.Atoi(found(undecided)[1])
		case a.verdict == "":
			if a.verdict = title; priced {
				a.worth = worth
			}
		case alone && a.worth == "":
			a.worth = worthAlone
		case found(poolsRead) != nil && a.failed < 0:
			n, err := strconv.Atoi(found(poolsRead)[1])
			if a.failed = 21 - n; err != nil {
				a.failed = 0
			}
		case found(block) != nil && aBlock(found(block)[1]):
			blocks++
		case found(exits) != nil:
			a.unknown, _ = strconv.Atoi(found(exits)[1])
		case ofLeaving && a.leaving == "":
			a.leaving, a.least = strings.CutPrefix(leaving, "at least ")
		case ofClaimable && a.claimable == "":
			a.claimable, a.leastClaimable = strings.CutPrefix(claimable, "at least ")
		case strings.HasPrefix(part, "next ") && a.leaving != "":
			a.next = part
		case found(pool) != nil:
			a.staked[found(pool)[1]] = found(pool)[2]
		case found(exact) != nil && a.exact == "":
			a.exact = found(exact)[1]
		default:
			return a, wrong("%q", part)
		}
	}
	switch {
	case !slices.Contains(said, wallet.Hex()):
		err = wrong("the answer is about another wallet: %q", said)
	case a.failed < 0 || blocks != 1:
		err = wrong("how many pools were checked, and when: %q", said)
	}
	return a, err
}

// sameAmounts compares the pools that are shown with those that exist. It returns how many
// are not shown, and the sum of those that are.
func sameAmounts(shown map[string]string, there []core.PoolAmount) (missing int, sum decimal.Decimal, err error) {
	found := 0
	for _, p := range there {
		switch hex := p.Pool.Address.Hex(); shown[hex[:6]+"…"+hex[38:]] {
		case "":
			missing++
		case strings.TrimSuffix(short(p.Amount), " "+services.Symbol): // It stands above.
			found++
			sum = sum.Add(p.Amount)
		}
	}
	if found != len(shown) {
		err = wrong("an amount of %v", shown)
	}
	return missing, sum, err
}

// sumOf looks for amounts whose sum, added to sum and written by write, is what is shown. It
// may leave out at most hidden amounts. A sum of zero shows nothing.
func sumOf(shown string, write func(decimal.Decimal) string, there []core.PoolAmount, sum decimal.Decimal, hidden int) (decimal.Decimal, bool) {
	if len(there) == 0 {
		return sum, sum.IsZero() && shown == "" || !sum.IsZero() && shown == write(sum)
	}
	if whole, is := sumOf(shown, write, there[1:], sum.Add(there[0].Amount), hidden); is || hidden == 0 {
		return whole, is
	}
	return sumOf(shown, write, there[1:], sum, hidden-1)
}

// checkStake checks what an answer says of a wallet's stake, and adds the outcomes to got.
// Only /staked lists pools.
func (c *Checker) checkStake(got Outcomes, wallet common.Address, said []string, lists bool) error {
	a, err := readStake(wallet, said)
	if err != nil {
		return err
	}
	var staked, claimable, leaving []core.PoolAmount
	if wallet == c.World.Staker {
		staked, claimable, leaving = c.World.Staked, c.World.Claimable, c.World.Unbonding
	}
	missing, sum, err := sameAmounts(a.staked, staked)
	if err != nil {
		return err
	}
	verdict := func(sum decimal.Decimal) string {
		return "Staking " + map[bool]string{false: "at least "}[a.failed == 0] + short(sum)
	}
	if !lists && len(a.staked) == 0 && strings.HasPrefix(a.verdict, "Staking ") {
		var is bool
		if sum, is = sumOf(a.verdict, verdict, staked, decimal.Zero, a.failed); !is {
			return wrong("the total of %q", a.verdict)
		}
		missing = 0
	}
	unread := a.failed + a.unknown
	_, leaves := sumOf(a.leaving, short, leaving, decimal.Zero, unread)
	_, claims := sumOf(a.claimable, short, claimable, decimal.Zero, unread)
	whole := map[bool]string{true: tokens(sum)}[a.failed == 0] // told of all pools only
	if a.leaving != "" && a.least == (unread == 0) || a.claimable != "" && a.leastClaimable == (unread == 0) {
		return wrong("whether more is being unstaked: %q", said)
	}
	// The time may be unknown; else it is three days from the start.
	if a.next != "" && (unread > 0 || a.next != "next "+c.World.NextClaim.Amount.String()+" in about 3 days") {
		return wrong("when something can be claimed: %q", said)
	}
	bare := a.exact == "" && a.worth == ""
	switch {
	case missing > a.failed || !leaves || !claims:
		return wrong("pools are missing without a word: %q", said)
	case a.verdict == "Not sure yet" && a.failed > 0 && bare:
		got[fault.Chain] = Undecided
		return nil
	case a.verdict == notStaked && len(staked) == 0 && a.failed == 0 && bare:
	case a.verdict != verdict(sum) || lists == (len(a.staked) == 0) || a.exact != whole:
		return wrong("%q", said)
	case a.worth == "" && lists:
		got[fault.Price] = Omitted
	case a.worth == "":
	case a.worth == dollars(sum.Mul(c.World.Quote.Price)):
		got[fault.Price] = Right
	default:
		return wrong("worth %q", a.worth)
	}
	if got[fault.Chain] = Partial; a.failed == 0 && a.unknown == 0 {
		got[fault.Chain] = Right
	}
	return nil
}
