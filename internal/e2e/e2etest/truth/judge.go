package truth

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// maxAge is how long before it is shown a part of an answer may have been
// learned: less than a minute in a test, shown to the minute.
const maxAge = 2*time.Minute + 10*time.Second

var (
	oldNote   = regexp.MustCompile(`^This (price|supply) is old, from (.*)\. The (?:price provider|supply host) can't be asked right now\.$`)
	checkedAt = regexp.MustCompile(`^Checked (\d{4}-.*)$`)
	reference = regexp.MustCompile(`^Reference \S+$`)
)

// Judge returns what an answer says of each service that it needs, line by
// line as e2etest.Lines has them. It fails if the answer is not honest: neither
// the whole truth, nor told to be old, nor a "could not be checked" of a service
// that the question needs.
func (j *Judge) Judge(q Question, lines []string) (Outcomes, error) {
	uses := Uses(q.Command)
	if len(lines) > 1 && lines[0] == "Could not be checked" && !undecided.MatchString(lines[1]) {
		if len(lines) != 3 || !reference.MatchString(lines[2]) || len(uses) == 0 {
			return nil, wrong("an answer and an excuse at once")
		}
		why, err := reason(lines[1], uses[0])
		return Outcomes{uses[0]: why}, err
	}
	switch q.Command {
	case "help":
		return nil, judgeHelp(lines)
	case "status": // is tested in package commands
		return nil, nil
	}
	rest, old, err := withoutMarks(lines)
	if err != nil || len(rest) == 0 {
		return nil, errors.Join(err, wrong("%q", lines))
	}
	switch q.Command {
	case "price":
		return Outcomes{fault.Price: old[fault.Price]}, equal(rest, j.price)
	case "supply":
		return j.judgeSupply(rest, old)
	case "staked":
		o, err := j.judgeStake(q.Wallet, rest)
		return Outcomes{fault.Chain: o}, err
	case "verify":
		return j.judgeVerify(q, rest)
	case "mylogins":
		return Outcomes{fault.Partner: Right}, equal(rest, j.logins(q.Account))
	case "exists":
		return Outcomes{fault.Partner: Right}, equal(rest, j.exists(q))
	}
	return nil, wrong("no such command")
}

// reason is the outcome that a text gives for a service.
func reason(text string, service fault.Target) (Outcome, error) {
	if o, known := reasons[service][text]; known {
		return o, nil
	}
	return "", wrong("%q is no reason of the %s service", text, service)
}

func equal(got, want []string) error {
	if slices.Equal(got, want) {
		return nil
	}
	return wrong("%q, and the truth is %q", got, want)
}

// recent reports whether a time as answers show it is one at which what they
// say may have been learned.
func recent(text string, most time.Duration) bool {
	at, err := time.Parse(e2etest.MinuteForm, text)
	age := time.Since(at)
	return err == nil && age >= -time.Minute && age <= most
}

// withoutMarks takes off when the answer was learned and the marks of old
// parts, whose times must be possible. Parts without a mark are Right.
func withoutMarks(lines []string) (rest []string, old Outcomes, err error) {
	old = Outcomes{fault.Price: Right, fault.Supply: Right}
	for _, line := range lines {
		at := ""
		if mark := oldNote.FindStringSubmatch(line); mark != nil {
			old[fault.Target(mark[1])], at = Stale, mark[2]
		} else if mark := checkedAt.FindStringSubmatch(line); mark != nil {
			at = mark[1]
		} else {
			rest = append(rest, line)
			continue
		}
		if !recent(at, maxAge) {
			return nil, nil, wrong("an answer from %s", at)
		}
	}
	return rest, old, nil
}

func (j *Judge) judgeSupply(rest []string, old Outcomes) (Outcomes, error) {
	last := len(rest) - 1
	if why, unpriced := strings.CutPrefix(rest[last], "Couldn't check what it's worth. "); unpriced {
		var err error
		old[fault.Price], err = reason(why, fault.Price)
		return old, errors.Join(err, equal(rest[:last], slices.Concat(j.supply, j.supplyExactly)))
	}
	return old, equal(rest, slices.Concat(j.supply, j.worth, j.supplyExactly, j.worthExactly))
}

func judgeHelp(lines []string) error {
	short, whole := "/staked: Whether a wallet stakes HRLD, and where", "/staked <wallet>: Whether a wallet stakes HRLD, and where"
	if lines[0] != "What I can do" || slices.Contains(lines, whole) == slices.Contains(lines, short) {
		return wrong("no help: %q", lines)
	}
	return nil
}

func (j *Judge) exists(q Question) []string {
	if j.registered[q.Account] {
		return []string{"Registered", "Your " + q.Account.Platform + " account is registered with the service."}
	}
	return []string{"Not registered", "Your " + q.Account.Platform + " account isn't registered with the service."}
}

func (j *Judge) logins(id core.Identity) []string {
	switch id.UID {
	case j.World.Registered.UID(id.Platform):
		want := []string{"Your logins", fmt.Sprintf("%d in the past 30 days, newest first.", len(j.World.Logins))}
		for _, l := range j.World.Logins {
			want = append(want, l.Dapp+": "+l.Platform+", "+e2etest.Minute(l.At))
		}
		return want
	case j.World.Newcomer.UID(id.Platform):
		return []string{"No logins", "You're registered and haven't logged in to any dapp in the past 30 days."}
	}
	return []string{"Not registered", "Your " + id.Platform + " account isn't registered with the service, so there are no logins to show."}
}

// judgeVerify judges whose the wallet is and what it stakes, each by itself.
func (j *Judge) judgeVerify(q Question, rest []string) (Outcomes, error) {
	got := Outcomes{fault.Partner: Right}
	if len(rest) < 4 {
		return nil, wrong("no verdict: %q", rest)
	}
	owner := j.owner(core.Identity{Platform: "EVM", UID: q.Wallet.Hex()})
	owned := owner != nil && slices.Contains(owner.Accounts, q.Account)
	var err error
	switch title := rest[0]; {
	case title == "Couldn't check whose wallet this is":
		got[fault.Partner], err = reason(rest[1], fault.Partner)
	case title == "This wallet is yours" && owned, title == "This wallet isn't yours" && !owned:
	default:
		err = wrong("%q", title)
	}
	i := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(line, "Stake: ") })
	if i < 0 {
		return nil, errors.Join(err, wrong("no stake: %q", rest))
	}
	verdict, _ := strings.CutPrefix(rest[i], "Stake: ")
	if why, failed := strings.CutPrefix(verdict, "Could not be checked. "); failed {
		var errWhy error
		got[fault.Chain], errWhy = reason(why, fault.Chain)
		if len(rest) > 5 { // the verdict, its text, the wallet short and exactly, and this
			errWhy = errors.Join(errWhy, wrong("an answer and an excuse at once"))
		}
		return got, errors.Join(err, errWhy)
	}
	var errStake error
	got[fault.Chain], errStake = j.judgeStake(q.Wallet, slices.Concat([]string{verdict}, rest[2:i], rest[i+1:]))
	return got, errors.Join(err, errStake)
}

// short is an address as answers show it.
func short(a common.Address) string { return a.Hex()[:6] + "…" + a.Hex()[38:] }
