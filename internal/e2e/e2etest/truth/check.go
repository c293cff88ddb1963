package truth

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// maxAge is how old a part of an answer may be in a test. Times are shown to the minute.
const maxAge = 2*time.Minute + 10*time.Second

var (
	// oldHeadline matches a price, or what an amount or a sum is worth, with its age.
	// atOldPrice matches a price that is marked as old under a supply.
	oldHeadline = regexp.MustCompile(`^(\S+(?: HRLD ≈)? \$[0-9.]+|\$\d+ ≈ [0-9,]+ HRLD) \((\d+) (s|min|h) old\)$`)
	atOldPrice  = regexp.MustCompile(`^(at \$[0-9.]+), \d+ (?:s|min|h) old$`)
	// checkedAt matches the time of an answer's oldest part, if none is marked as old.
	checkedAt = regexp.MustCompile(`^(?:Checked )?(\d{4}-\d\d-\d\d \d\d:\d\d UTC)$`)
	reference = regexp.MustCompile(`^Reference \S+$`)
	// consent is what a press would save, under an answer about one's own wallet.
	consent   = e2etest.Say("save.offer", chat.Values{"verify": chat.CommandLink("/verify"), "forget": chat.CommandLink("/forget")})
	ownWallet = e2etest.Say("verify.you.yes", nil)
)

// ErrNoCase is the error of Check for a command that it cannot judge.
var ErrNoCase = errors.New("there is no case in Check for the command")

// Check returns what an answer, split by e2etest.Lines, says of each service that it needs.
// It returns an error if the answer is not honest: neither the whole truth, nor marked as
// old, nor a "could not be checked" of a service that the question needs.
func (c *Checker) Check(q Question, lines []string) (Outcomes, error) {
	if q.Command == "status" || q.Command == "save" || q.Command == "details" || q.Command == "forget" { // They are tested in package commands.
		return nil, nil
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], ownWallet) {
		lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return line == consent })
	}
	uses := Uses(q.Command)
	if len(lines) > 1 && lines[0] == Unavailable(q.Command) && !undecided.MatchString(lines[1]) && lines[1] != unknownOwner {
		if len(lines) != 3 || !reference.MatchString(lines[2]) || len(uses) == 0 {
			return nil, wrong("an answer and an excuse at once")
		}
		why, err := reason(lines[1], uses[0])
		return Outcomes{uses[0]: why}, err
	}
	switch q.Command {
	case "help":
		return nil, checkHelp(lines)
	case "mylogins":
		return Outcomes{fault.Partner: Right}, equal(lines, c.logins(q.Account, q.Argument))
	case "price":
		if strings.HasSuffix(q.Argument, "h") || strings.HasSuffix(q.Argument, "d") {
			return Outcomes{fault.Price: Right}, c.checkChart(lines)
		}
	}
	said, at, old, err := c.withoutMarks(lines)
	if err != nil || len(said) == 0 {
		return nil, errors.Join(err, wrong("%q", lines))
	}
	switch q.Command {
	case "price":
		return c.checkPrice(said, at, q.Argument, old[fault.Price])
	case "supply":
		return c.checkSupply(said, at, old)
	case "staked":
		got := Outcomes{}
		return got, errors.Join(recent(at, maxBlockAge), c.checkStake(got, q.Wallet, said, true))
	case "verify":
		return c.checkVerify(q, said, at)
	case "exists":
		return Outcomes{fault.Partner: Right}, errors.Join(recent(at, maxAge), equal(said, c.exists(q)))
	}
	return nil, ErrNoCase
}

// reason returns the outcome that a text gives for a service.
func reason(text string, service fault.Target) (Outcome, error) {
	if o, known := reasons[service][text]; known {
		return o, nil
	}
	if o, known := silence(text, service); known && strings.Contains(text, ". Next request ") {
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

// sameParts returns an error unless an answer has the wanted title, and then each of the
// other parts once, in any order.
func sameParts(got, want []string) error {
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got[1:])
	slices.Sort(want[1:])
	return equal(got, want)
}

// recent returns an error unless text is a time of the past that is at most so old.
func recent(text string, most time.Duration) error {
	at, err := time.Parse(e2etest.MinuteForm, text)
	if age := time.Since(at); err != nil || age < -time.Minute || age > most {
		return wrong("an answer from %q", text)
	}
	return nil
}

// withoutMarks splits lines at their dots, and removes the time of the answer, which it
// returns as at, and what says why a part is not newer. A part without that is Right.
func (c *Checker) withoutMarks(lines []string) (said []string, at string, old Outcomes, err error) {
	old = Outcomes{fault.Price: Right, fault.Supply: Right}
	for _, line := range lines {
	parts:
		for _, part := range strings.Split(line, " · ") {
			for service := range old {
				if _, silent := silence(part, service); silent {
					old[service] = Stale
					continue parts
				}
			}
			mark := checkedAt.FindStringSubmatch(part)
			if mark == nil {
				said = append(said, strings.TrimPrefix(part, "🟢 "))
				continue
			}
			if at != "" {
				err = errors.Join(err, wrong("two times"))
			}
			at = mark[1]
		}
	}
	return said, at, old, err
}

// checkPrice checks a price, or what an amount is worth, which has the provider's time. One
// that is marked as old has its age in the headline, and no changes.
func (c *Checker) checkPrice(said []string, at, amount string, outcome Outcome) (Outcomes, error) {
	q := c.World.Quote
	fresh, stale := slices.Concat([]string{c.headline + c.beside}, c.changes, c.sums), append([]string{c.headline}, c.sums...)
	if amount != "" {
		number, inDollars := strings.CutPrefix(amount, "$")
		n, err := decimal.NewFromString(number)
		if err != nil {
			return nil, err
		}
		worth := tokens(n) + " ≈ " + dollars(n.Mul(q.Price))
		if inDollars {
			worth = "$" + thousands(number) + " ≈ " + tokens(n.DivRound(q.Price, 0))
		}
		rate := "1 " + strings.Replace(c.headline, " ", " = ", 1)
		fresh, stale = []string{worth, rate, strings.TrimSpace(c.beside)}, []string{worth, rate}
	}
	said = slices.DeleteFunc(said, func(part string) bool { return part == "CoinMarketCap" })
	if old := oldHeadline.FindStringSubmatch(said[0]); old != nil {
		age, err := time.ParseDuration(old[2] + strings.TrimSuffix(old[3], "in"))
		most := 70 * time.Second // the rest of a minute, and the time until it is read
		if old[3] == "h" {
			most += time.Hour
		}
		if late := time.Since(q.LastUpdated) - age; err != nil || at != "" || late < 0 || late > most || outcome != Stale {
			return nil, wrong("%q, updated %q, %v late, %s", said[0], at, late, outcome)
		}
		said[0] = old[1]
		return Outcomes{fault.Price: Stale}, sameParts(said, stale)
	}
	if updated := e2etest.Minute(q.LastUpdated); at != updated {
		return nil, wrong("updated %q, want %q", at, updated)
	}
	return Outcomes{fault.Price: outcome}, sameParts(said, fresh)
}

func (c *Checker) checkSupply(said []string, at string, old Outcomes) (Outcomes, error) {
	var err error
	want := slices.Clone(c.supply)
	old[fault.Chain] = Omitted
	if slices.Contains(said, c.totalStaked) {
		old[fault.Chain] = Right
		want = append(want, c.totalStaked)
	}
	if i := slices.Index(said, e2etest.Say("supply.unpriced", nil)); i >= 0 && i+1 < len(said) {
		old[fault.Price], err = reason(said[i+1], fault.Price)
		return old, errors.Join(err, recent(at, maxAge), sameParts(slices.Delete(said, i, i+2), want))
	}
	marked := false
	for i, part := range said {
		if mark := atOldPrice.FindStringSubmatch(part); mark != nil {
			said[i], marked = mark[1], true
		}
	}
	if !marked && at != e2etest.Minute(c.World.Quote.LastUpdated) { // the oldest part
		err = recent(at, maxAge)
	}
	worth := slices.Clone(c.worth)
	if marked {
		worth[0] = "⚠️ " + worth[0]
	}
	said = slices.DeleteFunc(said, func(part string) bool { return part == "CoinMarketCap" })
	return old, errors.Join(err, sameParts(said, slices.Concat(want, worth, []string{"at " + e2etest.Price})))
}

func checkHelp(lines []string) error {
	inGroup := len(lines) == 1 && strings.Contains(lines[0], "/price · /supply · /staked")
	staked := "/staked · " + e2etest.Say("command.staked", chat.Values{"symbol": chat.Plain("HRLD")})
	if !inGroup && (lines[0] != "Commands" || !slices.Contains(lines, staked)) {
		return wrong("no help: %q", lines)
	}
	return nil
}

// about returns the arguments of messages about an account.
func about(id core.Identity) chat.Values {
	return chat.Values{"platform": chat.Plain(id.Platform), "service": chat.Say("exists.service")}
}

func (c *Checker) exists(q Question) []string {
	if c.registered[q.Account] {
		return []string{"Registered", e2etest.Say("exists.you.yes", about(q.Account))}
	}
	return []string{"Not registered", e2etest.Say("exists.you.no", about(q.Account))}
}

// maxLogins is how many logins a page shows.
const maxLogins = 10

// logins returns the lines of a page of logins; page "" is the first.
func (c *Checker) logins(id core.Identity, page string) []string {
	switch id.UID {
	case c.World.Registered.UID(id.Platform):
		want := []string{e2etest.Say("logins.count", chat.Values{"n": chat.Count(len(c.World.Logins))})}
		pages := slices.Collect(slices.Chunk(c.World.Logins, maxLogins))
		n, _ := strconv.Atoi(page)
		n = max(n, 1)
		for _, l := range pages[n-1] {
			want = append(want, l.Dapp+" · via "+l.Platform+" · "+e2etest.Minute(l.At))
		}
		if len(pages) > 1 {
			want = append(want, e2etest.Say("logins.page", chat.Values{"page": chat.Count(n), "pages": chat.Count(len(pages))}))
		}
		return want
	case c.World.Newcomer.UID(id.Platform):
		return []string{"No logins", e2etest.Say("logins.none_text", nil)}
	}
	return []string{"Not registered", e2etest.Say("logins.unregistered", about(id))}
}

// Unavailable returns the title of an answer that could not be given.
func Unavailable(command string) string {
	return e2etest.Lines(chat.Reply{Title: chat.NoAnswer(command)})[0]
}

// unknownOwner is what /verify says if the registration could not be checked.
const unknownOwner = "I can't tell whose wallet this is."

// checkVerify checks whose the wallet is and what it stakes, each by itself. The answer's
// time is that of the older part.
func (c *Checker) checkVerify(q Question, said []string, at string) (Outcomes, error) {
	got := Outcomes{fault.Partner: Right}
	if len(said) < 4 {
		return nil, wrong("no verdict: %q", said)
	}
	said = slices.Clone(said)
	// The stake stands beside the title, unless it is not known.
	stake := slices.IndexFunc(said, func(part string) bool { return part == "not staked" || strings.HasPrefix(part, "staking ") })
	if stake == 1 {
		verdict := strings.ToUpper(said[1][:1]) + said[1][1:]
		said = slices.Insert(slices.Delete(said, 1, 2), 2, verdict)
	}
	owner := c.owner(core.Identity{Platform: "EVM", UID: q.Wallet.Hex()})
	owned, registered := owner != nil && slices.Contains(owner.Accounts, q.Account), c.registered[q.Account]
	err := recent(at, maxBlockAge)
	switch title := said[0]; {
	case title == Unavailable("verify") && said[1] == unknownOwner:
		why := slices.IndexFunc(said, func(part string) bool { _, err := reason(part, fault.Partner); return err == nil })
		if why < 0 {
			return nil, wrong("no reason: %q", said)
		}
		got[fault.Partner], _ = reason(said[why], fault.Partner)
		said = slices.Delete(said, why, why+1)
	case title == "Your wallet" && owned, title == "Not your wallet" && !owned && registered:
	case title == "You're not registered yet" && !registered:
	default:
		err = wrong("%q", title)
	}
	if last := len(said) - 1; said[2] == Unavailable("staked") {
		var errWhy error
		got[fault.Chain], errWhy = reason(said[last], fault.Chain)
		return got, errors.Join(err, errWhy, equal(said[3:last], []string{q.Wallet.Hex()}))
	}
	return got, errors.Join(err, c.checkStake(got, q.Wallet, said[2:], false))
}

var amountOfDollars = regexp.MustCompile(`\$[\d.,]*\d[KMB]?`)

// checkChart checks the text beside a chart: the price comes first, and every amount is one
// of the provider's. It does not check the picture.
func (c *Checker) checkChart(lines []string) error {
	q := c.World.Quote
	known := []string{e2etest.Price, dollars(q.MarketCap.Decimal), dollars(q.Volume24h.Decimal)}
	amounts := amountOfDollars.FindAllString(strings.Join(lines, " "), -1)
	unknown := slices.ContainsFunc(amounts, func(amount string) bool { return !slices.Contains(known, amount) })
	if unknown || len(amounts) == 0 || amounts[0] != e2etest.Price || !strings.Contains(lines[0], e2etest.Price) {
		return wrong("%v in %q", amounts, lines)
	}
	return nil
}
