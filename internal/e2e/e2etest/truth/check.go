package truth

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

const (
	// maxAge is how old a part of an answer may be in a test. Times are shown to the minute, and the
	// block of a stake may be some minutes old.
	maxAge = 5 * time.Minute
	// OldAfter is the age at which a figure that its service does not renew is marked as old.
	OldAfter = 10 * time.Minute
)

var (
	// oldTitle matches a title that is marked as old.
	oldTitle = regexp.MustCompile(`^(.*) \((\d+) (s|min|h|days?) old\)$`)
	// atOldPrice matches a price below a supply that is marked as old.
	atOldPrice = regexp.MustCompile(`^(at \$[0-9.]+), (\d+) (s|min|h|days?) old$`)
	ageUnits   = map[string]time.Duration{
		"s":    time.Second,
		"min":  time.Minute,
		"h":    time.Hour,
		"day":  24 * time.Hour,
		"days": 24 * time.Hour,
	}
	// recent matches the end of a title that an old one lacks: a change, or a share of the total supply.
	recent = regexp.MustCompile(` \(?[▲▼]? ?[\d.]+%\)?(?: \(24h\))?$`)
	// checkedAt matches the time of an answer's oldest part, if none is marked as old.
	checkedAt = regexp.MustCompile(`^(?:Checked )?(\d{4}-\d\d-\d\d \d\d:\d\d UTC)$`)
	reference = regexp.MustCompile(`^Reference \S+$`)
	// consent says what a press would save, below an answer about one's own wallet.
	consent = e2etest.Say("save.offer", chat.Values{
		"verify": chat.CommandLink("/verify"),
		"forget": chat.CommandLink("/forget"),
	})
)

// uncheckedCommands lists commands whose answers do not depend on faults, or are tested in package
// commands.
var uncheckedCommands = []string{"status", "save", "details", "forget"}

// Check returns what an answer, split by e2etest.Lines, says about each service that it needs. It
// returns an error if the answer is not honest: it must be the whole truth, be marked as old, or say
// that a service that it needs could not be asked. On a busy machine the truth itself may lack a part
// that comes late, so Check tries up to three times.
func (c *Checker) Check(q Question, lines []string) (got Outcomes, err error) {
	for range 3 {
		got, err = c.compare(q, lines)
		if err == nil {
			break
		}
		c.forget(q)
	}
	return got, err
}

// compare does what Check does, once.
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
	said, got := read(lines, uses[0]), Outcomes{}
	for _, service := range uses {
		got[service] = Right
	}
	for service := range said.old {
		got[service] = Stale
	}
	if err := c.checkAges(q.Command, said); err != nil {
		return nil, err
	}
	if q.Command == "price" && (strings.HasSuffix(q.Argument, "h") || strings.HasSuffix(q.Argument, "d")) {
		return got, c.checkChart(lines)
	}
	want := read(c.truth(q), uses[0])
	if len(said.ages) > 0 {
		_, title := said.ages[uses[0]]
		want = want.asOld(title)
	}
	if q.Command != "mylogins" && said.at != want.at && (q.Command == "price" || !isNow(said.at)) {
		return nil, wrong("an answer from %q", said.at)
	}
	if said.tellsClaimTime() != want.tellsClaimTime() {
		// On a busy machine the chain's pace may come too late for either bot.
		said, want = said.withoutClaimTime(), want.withoutClaimTime()
	}
	switch q.Command {
	case "supply":
		return got, said.checkSupply(got, want)
	case "staked":
		return got, c.checkStake(got, q.Wallet, said, want)
	case "verify":
		return got, c.checkVerify(got, q.Wallet, said, want)
	}
	return got, said.equals(want)
}

// isExcuse reports whether an answer only says why there is none.
func isExcuse(q Question, lines []string) bool {
	return len(lines) > 1 && lines[0] == Unavailable(q.Command) &&
		!undecided.MatchString(lines[1]) && lines[1] != unknownOwner
}

// readExcuse returns what an excuse says of the first of the services.
func readExcuse(lines []string, uses []fault.Target) (Outcomes, error) {
	if len(lines) != 3 || !reference.MatchString(lines[2]) || len(uses) == 0 {
		return nil, wrong("an answer and an excuse at once")
	}
	why, err := reason(lines[1], uses[0])
	return Outcomes{uses[0]: why}, err
}

// isNow reports whether an answer's time is at most maxAge ago, and not in the future.
func isNow(minute string) bool {
	at, err := time.Parse(e2etest.MinuteForm, minute)
	age := time.Since(at)
	return err == nil && age >= -time.Minute && age <= maxAge
}

// answer is an answer in parts, without what says how old it is.
type answer struct {
	parts []string
	at    string                  // when it was checked
	old   map[fault.Target]string // why a service gave nothing newer
	ages  map[fault.Target]age    // of what is marked as old
}

// age is how old something is said to be: at least least, and less than one unit more.
type age struct{ least, unit time.Duration }

// is reports whether a says how old something was maxAge ago, or later.
func (a age) is(old time.Duration) bool { return a.least <= old && old < a.least+a.unit+maxAge }

// readAge returns what a part that is marked as old says without its age. It returns false if
// the part is not.
func readAge(form *regexp.Regexp, part string) (text string, a age, marked bool) {
	mark := form.FindStringSubmatch(part)
	if mark == nil {
		return part, age{}, false
	}
	n, _ := strconv.Atoi(mark[2])
	unit := ageUnits[mark[3]]
	return mark[1], age{least: time.Duration(n) * unit, unit: unit}, true
}

// read splits lines at their dots. The first line is about the service title.
func read(lines []string, title fault.Target) answer {
	a := answer{old: map[fault.Target]string{}, ages: map[fault.Target]age{}}
	for i, line := range lines {
		if text, old, marked := readAge(oldTitle, line); i == 0 && marked {
			line, a.ages[title] = text, old
		}
		for _, part := range strings.Split(line, " · ") {
			a.readPart(part)
		}
	}
	return a
}

// readPart adds a part, which stands between dots.
func (a *answer) readPart(part string) {
	for service := range silences {
		if _, silent := silence(part, service); silent {
			a.old[service] = part
			return
		}
	}
	part = strings.TrimPrefix(strings.TrimPrefix(part, "🟢 "), "⚠️ ")
	if text, old, marked := readAge(atOldPrice, part); marked {
		part, a.ages[fault.Price] = text, old
	}
	switch mark := checkedAt.FindStringSubmatch(part); {
	case mark != nil && a.at == "":
		a.at = mark[1]
	case part == "CoinMarketCap", part == consent:
	default:
		a.parts = append(a.parts, part)
	}
}

// asOld returns the truth as it is told if a figure is old: without a time and, if the title is
// old, without changes and without the share of the total supply.
func (a answer) asOld(title bool) answer {
	a.at = ""
	if title {
		a = a.without("1h ", "7d ", "▲ ", "▼ ")
		a.parts[0] = recent.ReplaceAllString(a.parts[0], "")
	}
	return a
}

// checkAges returns an error unless each figure that is old is marked with its age and has a
// reason, and no other figure is marked.
func (c *Checker) checkAges(command string, said answer) error {
	quoted := time.Since(c.world.Quote.LastUpdated)
	for service, a := range said.ages {
		_, hasReason := said.old[service]
		if !hasReason || a.least+a.unit <= OldAfter || service == fault.Price && !a.is(quoted) {
			return wrong("a %s of %v, said to be %v old without a reason or wrongly", service, quoted, a.least)
		}
	}
	_, marked := said.ages[fault.Price]
	_, overdue := said.old[fault.Price]
	if overdue && !marked && quoted > OldAfter+maxAge && (command == "price" || said.has("at $")) {
		return wrong("a price of %v is not marked as old: %q", quoted, said.parts)
	}
	return nil
}

// equals returns an error unless an answer has the wanted title, and then each of the other
// parts once, in any order.
func (a answer) equals(want answer) error {
	if len(a.parts) == 0 || a.parts[0] != want.parts[0] ||
		!slices.Equal(slices.Sorted(slices.Values(a.parts)), slices.Sorted(slices.Values(want.parts))) {
		return wrong("%q, and the truth is %q", a.parts, want.parts)
	}
	return nil
}

// without returns the answer without the parts that begin with one of these texts.
func (a answer) without(beginnings ...string) answer {
	a.parts = slices.DeleteFunc(slices.Clone(a.parts), func(part string) bool {
		return slices.ContainsFunc(beginnings, func(beginning string) bool { return strings.HasPrefix(part, beginning) })
	})
	return a
}

// nextClaim is when the next part of what is being unstaked can be claimed.
var nextClaim = regexp.MustCompile(` \(\S+ of it in about 3 days\)$`)

func (a answer) tellsClaimTime() bool { return slices.ContainsFunc(a.parts, nextClaim.MatchString) }

// withoutClaimTime returns the answer without nextClaim.
func (a answer) withoutClaimTime() answer {
	a.parts = slices.Clone(a.parts)
	for i, part := range a.parts {
		a.parts[i] = nextClaim.ReplaceAllString(part, "")
	}
	return a
}

// has reports whether a part begins with a text.
func (a answer) has(beginning string) bool { return len(a.without(beginning).parts) < len(a.parts) }

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

// takeReason takes out of the answer why a service could not be asked.
func (a *answer) takeReason(service fault.Target) (why Outcome, err error) {
	for i, part := range a.parts {
		if why, err = reason(part, service); err == nil {
			a.parts = slices.Delete(slices.Clone(a.parts), i, i+1)
			return why, nil
		}
	}
	if why, err = reason(a.old[service], service); err == nil {
		return why, nil
	}
	return "", wrong("no reason: %q", a.parts)
}

// checkSupply checks a supply, which may lack what all wallets have staked, and what the
// supply is worth.
func (a answer) checkSupply(got Outcomes, want answer) (err error) {
	if !a.has("Staked ") {
		got[fault.Chain], want = Omitted, want.without("Staked ")
	}
	if unpriced := e2etest.Say("supply.unpriced", nil); a.has(unpriced) {
		a, want = a.without(unpriced), want.without("Market cap ", "FDV ", "at $")
		got[fault.Price], err = a.takeReason(fault.Price)
	}
	return errors.Join(err, a.equals(want))
}

func checkHelp(lines []string) error {
	inGroup := len(lines) == 1 && strings.Contains(lines[0], "/price · /supply · /staked")
	staked := "/staked · " + e2etest.Say("command.staked", chat.Values{"symbol": chat.Plain("HRLD")})
	if !inGroup && (lines[0] != "Commands" || !slices.Contains(lines, staked)) {
		return wrong("no help: %q", lines)
	}
	return nil
}

// Unavailable returns the title of an answer that could not be given.
func Unavailable(command string) string {
	return e2etest.Lines(&chat.Reply{Title: chat.NoAnswer(command)})[0]
}

var amountOfDollars = regexp.MustCompile(`\$[\d.,]*\d[KMB]?`)

// checkChart checks the text beside a chart: the price comes first, and every amount is one
// of a /price. It does not check the picture.
func (c *Checker) checkChart(lines []string) error {
	known := amountOfDollars.FindAllString(strings.Join(c.truth(Question{Command: "price"}), " "), -1)
	amounts := amountOfDollars.FindAllString(strings.Join(lines, " "), -1)
	unknown := slices.ContainsFunc(amounts, func(amount string) bool { return !slices.Contains(known, amount) })
	if unknown || len(amounts) == 0 || amounts[0] != e2etest.Price || !strings.Contains(lines[0], e2etest.Price) {
		return wrong("%v in %q", amounts, lines)
	}
	return nil
}
