package truth

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// maxBlockAge is how old the newest block may be, which an answer tells to the
// minute and may keep for a moment.
const maxBlockAge = 5 * time.Minute

var (
	checkedOf = regexp.MustCompile(`^Checked (\d+) of 21 pools · (Block .*)$`)
	block     = regexp.MustCompile(`^Block ([\d,]+), (.*)$`)
	exits     = regexp.MustCompile(`^Couldn't check unstaking in (\d+) of 21 pools\.$`)
	undecided = regexp.MustCompile(`^Can't say yet: (\d+) of 21 pools (?:didn't respond|couldn't be read)\.$`)
)

// aBlock reports whether text may tell of the newest block of the sandbox's
// chain, which is a million blocks high when it starts.
func aBlock(text string) bool {
	found := block.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	return err == nil && n >= 990_000 && n < 1_010_000 && recent(found[2], maxBlockAge)
}

// stake is an answer to /staked, read back. Pools are known by the short form
// of their addresses, and their amounts by the exact value.
type stake struct {
	title, total    string
	whole           bool
	staked, leaving map[string]string
	failed, unknown int // pools, and pools whose withdrawals are unread
}

const unstaking = "Unstaking (not counted)"

func readStake(wallet common.Address, lines []string) (a stake, err error) {
	if !slices.Contains(lines, "Wallet: "+short(wallet)) || !slices.Contains(lines, "Wallet: "+wallet.Hex()) {
		return a, wrong("the answer is about another wallet: %q", lines)
	}
	a = stake{title: lines[0], staked: map[string]string{}, leaving: map[string]string{}, failed: -1}
	told := -1 // pools that the verdict says are unread
	var list map[string]string
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		pools, of := strings.CutPrefix(name, "Pools · ")
		leaving, ofLeaving := strings.CutPrefix(name, unstaking+" · ")
		switch found := checkedOf.FindStringSubmatch(line); {
		case undecided.MatchString(line): // beside a title, or as one
			a.title = "Can't say yet"
			told, _ = strconv.Atoi(undecided.FindStringSubmatch(line)[1])
		case line == a.title, name == "Wallet", common.IsHexAddress(strings.TrimPrefix(line, ": ")):
		case name == "Total" || name == "At least": // shown short, and then exactly
			a.total, a.whole = value, name == "Total"
		case line == "Pools":
			list = a.staked
		case line == unstaking:
			list = a.leaving
		case found != nil && aBlock(found[2]):
			n, _ := strconv.Atoi(found[1])
			a.failed = 21 - n
		case exits.MatchString(line):
			a.unknown, _ = strconv.Atoi(exits.FindStringSubmatch(line)[1])
		case of:
			a.staked[pools] = value
		case ofLeaving:
			a.leaving[leaving] = value
		case list != nil && strings.HasPrefix(name, "0x") && len([]rune(name)) == 11:
			list[name] = value
		default:
			return a, wrong("%q", line)
		}
	}
	if a.failed < 0 || told >= 0 && told != a.failed {
		err = wrong("how many pools were checked: %q", lines)
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
		err = wrong("an amount of %v", shown)
	}
	return missing, sum, err
}

// judgeStake judges what an answer says of a wallet's stake.
func (j *Judge) judgeStake(wallet common.Address, lines []string) (Outcome, error) {
	a, err := readStake(wallet, lines)
	if err != nil {
		return "", err
	}
	var staked, leaving []core.PoolAmount
	if wallet == j.World.Staker {
		staked, leaving = j.World.Staked, j.World.Unbonding
	}
	missing, sum, err := sameAmounts(a.staked, staked)
	hidden, _, errLeaving := sameAmounts(a.leaving, leaving)
	if err = errors.Join(err, errLeaving); err != nil {
		return "", err
	}
	whole := a.failed == 0
	switch {
	case missing > a.failed || hidden > max(a.failed, a.unknown):
		return "", wrong("pools are missing without a word: %q", lines)
	case a.title == "Can't say yet" && !whole && len(a.staked) == 0 && a.total == "":
		return Undecided, nil
	case a.title == "Not staked" && len(staked) == 0 && whole && a.total == "":
	case a.title == "Staked" && len(a.staked) > 0 && a.total == tokens(sum) && a.whole == whole:
	default:
		return "", wrong("%q", lines)
	}
	if whole && a.unknown == 0 {
		return Right, nil
	}
	return Partial, nil
}
