// Package truth judges whether an answer of the bot is honest while a service fails.
//
// A Checker compares the answer with the truth: the answer of a bot whose services never fail to the
// same Question. The comparison yields an Outcome for each service: its part of the answer is right, is marked
// as old, is left out, or is a reason why the service could not be asked. An Expectation predicts the outcomes
// for a given fault.
package truth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

const (
	// maxAge is how old a figure may be in an answer that is not marked as old. Times are shown to the
	// minute, and the block of a stake may be some minutes old.
	maxAge = 5 * time.Minute
	// OldAfter is the age at which a figure that its service does not renew is marked as old.
	OldAfter = 10 * time.Minute
)

// Question is a well-formed command of a user who may use it.
type Question struct {
	Command string
	// Account is the user's account. /mylogins, /exists and /verify are about it.
	Account core.Identity
	// Wallet is the argument of /staked and /verify.
	Wallet common.Address
	// Argument is the argument of another command: the period or the amount of a /price, or the page of
	// /mylogins. It may be empty. An amount has only digits and a point, as in "1500", or is a sum of at
	// least a thousand tokens' worth, as in "$100".
	Argument string
}

// Checker checks answers.
type Checker struct {
	world services.World
	// healthy returns the bot whose services never fail. The first call makes it.
	healthy func() *app.Bot

	mu     sync.Mutex
	truths map[Question][]string // what healthy answered
}

// NewChecker returns a checker of answers about these fakes.
func NewChecker(t testing.TB, fakes *fault.Fakes) *Checker {
	healthy := sync.OnceValue(func() *app.Bot {
		settings := e2etest.Settings(fakes, "MAX_PRICE_AGE=off")
		for _, target := range fault.Targets {
			settings = append(settings, fakes.At(target).Setting+"="+fakes.At(target).Right(t))
		}
		return e2etest.New(t, settings, slog.New(slog.DiscardHandler))
	})
	return &Checker{world: fakes.World, healthy: healthy, truths: map[Question][]string{}}
}

// Check returns what an answer, split by e2etest.Lines, says about each service that it needs. It
// returns an error if the answer is not honest: it must be the whole truth, be marked as old, or say
// that a service could not be asked.
//
// On a busy machine, a part of the truth may come too late. So Check asks for the truth up to three times.
func (c *Checker) Check(q Question, lines []string) (outcomes Outcomes, err error) {
	for range 3 {
		outcomes, err = c.compare(q, lines)
		if err == nil {
			break
		}
		c.forget(q)
	}
	return outcomes, err
}

// uncheckedCommands lists commands whose answers do not depend on faults, or are tested in package
// commands.
var uncheckedCommands = []string{"status", "save", "details", "forget"}

// compare does what Check does, but asks for the truth only once.
func (c *Checker) compare(q Question, lines []string) (Outcomes, error) {
	if slices.Contains(uncheckedCommands, q.Command) {
		return nil, nil
	}
	uses := Uses(q.Command)
	if isExcuse(q, lines) {
		return readExcuse(lines, uses)
	}
	if q.Command == "help" {
		return nil, checkHelp(lines)
	}
	got := read(lines, uses[0])
	outcomes := got.outcomes(uses)
	if err := c.checkAges(q.Command, got); err != nil {
		return nil, err
	}
	if isChart(q) {
		return outcomes, c.checkChart(lines)
	}
	want := read(c.truth(q), uses[0])
	if len(got.ages) > 0 {
		_, titleIsOld := got.ages[uses[0]]
		want = want.asOld(titleIsOld)
	}
	if err := checkTime(q.Command, got, want); err != nil {
		return nil, err
	}
	if got.hasClaimTime() != want.hasClaimTime() {
		// On a busy machine, the pace of the chain may come too late for either bot.
		got, want = got.withoutClaimTime(), want.withoutClaimTime()
	}
	switch q.Command {
	case "supply":
		return outcomes, got.checkSupply(outcomes, want)
	case "staked":
		return outcomes, c.checkStake(outcomes, q.Wallet, got, want)
	case "verify":
		return outcomes, c.checkVerify(outcomes, q.Wallet, got, want)
	}
	return outcomes, got.equals(want)
}

// truth returns the answer of the bot whose services never fail.
func (c *Checker) truth(q Question) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.truths[q] != nil {
		return c.truths[q]
	}
	args := strings.Fields(q.Argument)
	if q.Wallet != (common.Address{}) {
		args = []string{q.Wallet.Hex()}
	}
	reply := c.healthy().Router.Handle(context.Background(), &chat.Request{
		ID:      "truth",
		Command: q.Command,
		Args:    chat.Typed(args...),
		Chat:    "1",
		Direct:  true,
		From:    chat.User{Platform: chat.Platform(strings.ToLower(q.Account.Platform)), ID: q.Account.UID},
	})
	c.truths[q] = e2etest.Lines(reply)
	return c.truths[q]
}

// forget deletes the answer to q, so that truth asks for it again.
func (c *Checker) forget(q Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.truths, q)
}

func wrong(format string, args ...any) error { return fmt.Errorf("wrong: "+format, args...) }

// Unavailable returns the title of an excuse, as in "Price unavailable".
func Unavailable(command string) string {
	return e2etest.Lines(&chat.Reply{Title: chat.NoAnswer(command)})[0]
}

// isExcuse reports whether lines only say why there is no answer.
func isExcuse(q Question, lines []string) bool {
	return len(lines) > 1 && lines[0] == Unavailable(q.Command) &&
		!undecided.MatchString(lines[1]) && lines[1] != unknownOwner
}

// reference matches the last line of an excuse.
var reference = regexp.MustCompile(`^Reference \S+$`)

// readExcuse returns what an excuse says about the first of the services.
func readExcuse(lines []string, uses []fault.Target) (Outcomes, error) {
	if len(lines) != 3 || !reference.MatchString(lines[2]) || len(uses) == 0 {
		return nil, wrong("an answer and an excuse at once")
	}
	o, err := reason(lines[1], uses[0])
	return Outcomes{uses[0]: o}, err
}

// checkAges returns an error unless each figure that is old is marked with its age and has a
// reason, and no other figure is marked.
func (c *Checker) checkAges(command string, got answer) error {
	quoteAge := time.Since(c.world.Quote.LastUpdated)
	for service, a := range got.ages {
		_, hasReason := got.overdue[service]
		isYoung := a.least+a.unit <= OldAfter
		isWrong := service == fault.Price && !a.mayBe(quoteAge)
		if !hasReason || isYoung || isWrong {
			return wrong("a %s of %v, said to be %v old without a reason or wrongly", service, quoteAge, a.least)
		}
	}
	_, isMarked := got.ages[fault.Price]
	_, isOverdue := got.overdue[fault.Price]
	showsPrice := command == "price" || got.has("at $")
	if isOverdue && showsPrice && !isMarked && quoteAge > OldAfter+maxAge {
		return wrong("a price of %v is not marked as old: %q", quoteAge, got.parts)
	}
	return nil
}

// checkTime returns an error unless an answer is as new as the truth. A price has the time of the quote,
// which must be the same. Other answers have the time of their check, which may be a little earlier. The
// first time in /mylogins is that of a login.
func checkTime(command string, got, want answer) error {
	isSame := got.checkedAt == want.checkedAt
	isNew := command != "price" && isRecent(got.checkedAt)
	if command == "mylogins" || isSame || isNew {
		return nil
	}
	return wrong("an answer from %q", got.checkedAt)
}

// isRecent reports whether a time, in e2etest.MinuteForm, is at most maxAge ago, and not in the future.
func isRecent(minute string) bool {
	at, err := time.Parse(e2etest.MinuteForm, minute)
	age := time.Since(at)
	return err == nil && age >= -time.Minute && age <= maxAge
}

func checkHelp(lines []string) error {
	inGroup := len(lines) == 1 && strings.Contains(lines[0], "/price · /supply · /staked")
	staked := "/staked · " + e2etest.Say("command.staked", chat.Values{"symbol": chat.Plain("HRLD")})
	inPrivate := lines[0] == "Commands" && slices.Contains(lines, staked)
	if !inGroup && !inPrivate {
		return wrong("no help: %q", lines)
	}
	return nil
}

// isChart reports whether the answer is a chart, as to /price 7d.
func isChart(q Question) bool {
	return q.Command == "price" && (strings.HasSuffix(q.Argument, "h") || strings.HasSuffix(q.Argument, "d"))
}

var amountOfDollars = regexp.MustCompile(`\$[\d.,]*\d[KMB]?`)

// checkChart checks the text beside a chart: the price comes first, and every amount also appears in the
// answer to /price. It does not check the picture.
func (c *Checker) checkChart(lines []string) error {
	known := amountOfDollars.FindAllString(strings.Join(c.truth(Question{Command: "price"}), " "), -1)
	amounts := amountOfDollars.FindAllString(strings.Join(lines, " "), -1)
	isUnknown := func(amount string) bool { return !slices.Contains(known, amount) }
	priceIsFirst := len(amounts) > 0 && amounts[0] == e2etest.Price && strings.Contains(lines[0], e2etest.Price)
	if !priceIsFirst || slices.ContainsFunc(amounts, isUnknown) {
		return wrong("%v in %q", amounts, lines)
	}
	return nil
}

// checkSupply checks a supply, and sets the outcomes. The answer may lack what all wallets have staked, and
// what the supply is worth.
func (a answer) checkSupply(outcomes Outcomes, want answer) (err error) {
	if !a.has("Staked ") {
		outcomes[fault.Chain] = Omitted
		want = want.without("Staked ")
	}
	if unpriced := e2etest.Say("supply.unpriced", nil); a.has(unpriced) {
		a = a.without(unpriced)
		want = want.without("Market cap ", "FDV ", "at $")
		outcomes[fault.Price], err = a.takeReason(fault.Price)
	}
	return errors.Join(err, a.equals(want))
}
