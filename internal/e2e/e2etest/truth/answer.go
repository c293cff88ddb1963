package truth

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// answer is an answer in parts: lines are split at their dots, so that "1h ▼ 0.31% · 7d ▼ 12.50%" has two
// parts. The other fields hold the parts that say how old the answer is, and why.
type answer struct {
	parts []string
	// checkedAt is the time of the answer's oldest figure, to the minute, or "" if a figure is marked as old.
	checkedAt string
	// overdue says why a service gave nothing newer, as in "The price provider isn't answering".
	overdue map[fault.Target]string
	// ages are the ages in marks such as "(12 min old)".
	ages map[fault.Target]age
}

var (
	// oldTitle matches a title that is marked as old.
	oldTitle = regexp.MustCompile(`^(.*) \((\d+) (s|min|h|days?) old\)$`)
	// atOldPrice matches a price below a supply that is marked as old.
	atOldPrice = regexp.MustCompile(`^(at \$[0-9.]+), (\d+) (s|min|h|days?) old$`)
	// timeOfCheck matches a time, which may follow "Checked".
	timeOfCheck = regexp.MustCompile(`^(?:Checked )?(\d{4}-\d\d-\d\d \d\d:\d\d UTC)$`)
	// consent says what a press would save, below an answer about one's own wallet.
	consent = e2etest.Say("save.offer", chat.Values{
		"verify": chat.CommandLink("/verify"),
		"forget": chat.CommandLink("/forget"),
	})
)

// read splits lines into parts. The first line, the title, is about the service titleOf.
func read(lines []string, titleOf fault.Target) answer {
	a := answer{overdue: map[fault.Target]string{}, ages: map[fault.Target]age{}}
	for i, line := range lines {
		if title, old, marked := readAge(oldTitle, line); i == 0 && marked {
			line = title
			a.ages[titleOf] = old
		}
		for _, part := range strings.Split(line, " · ") {
			a.readPart(part)
		}
	}
	return a
}

// readPart adds the text between two dots.
func (a *answer) readPart(part string) {
	for service := range overdueReasons {
		if _, isReason := overdueReason(part, service); isReason {
			a.overdue[service] = part
			return
		}
	}
	part = strings.TrimPrefix(strings.TrimPrefix(part, "🟢 "), "⚠️ ")
	if price, old, marked := readAge(atOldPrice, part); marked {
		part = price
		a.ages[fault.Price] = old
	}
	switch mark := timeOfCheck.FindStringSubmatch(part); {
	case mark != nil && a.checkedAt == "":
		a.checkedAt = mark[1]
	case part == "CoinMarketCap", part == consent: // It says nothing about a service.
	default:
		a.parts = append(a.parts, part)
	}
}

// age is a rounded age: "12 min" is at least 12 minutes, and less than one minute more.
type age struct{ least, unit time.Duration }

// mayBe reports whether a says how old something was that is this old now, at most maxAge ago.
func (a age) mayBe(now time.Duration) bool { return a.least <= now && now < a.least+a.unit+maxAge }

var ageUnits = map[string]time.Duration{
	"s":    time.Second,
	"min":  time.Minute,
	"h":    time.Hour,
	"day":  24 * time.Hour,
	"days": 24 * time.Hour,
}

// readAge splits a part that is marked as old, as form matches it, into its text and its age. It returns
// false if the part is not marked.
func readAge(form *regexp.Regexp, part string) (text string, a age, marked bool) {
	mark := form.FindStringSubmatch(part)
	if mark == nil {
		return part, age{}, false
	}
	n, _ := strconv.Atoi(mark[2])
	unit := ageUnits[mark[3]]
	return mark[1], age{least: time.Duration(n) * unit, unit: unit}, true
}

// outcomes returns what the answer says about each of the services, if it is right.
func (a answer) outcomes(services []fault.Target) Outcomes {
	outcomes := Outcomes{}
	for _, service := range services {
		outcomes[service] = Right
	}
	for service := range a.overdue {
		outcomes[service] = Stale
	}
	return outcomes
}

// has reports whether a part begins with a text.
func (a answer) has(beginning string) bool { return len(a.without(beginning).parts) < len(a.parts) }

// without returns the answer without the parts that begin with one of these texts.
func (a answer) without(beginnings ...string) answer {
	a.parts = slices.DeleteFunc(slices.Clone(a.parts), func(part string) bool {
		return slices.ContainsFunc(beginnings, func(beginning string) bool { return strings.HasPrefix(part, beginning) })
	})
	return a
}

// takeReason removes the part that says why a service could not be asked, and returns its outcome.
func (a *answer) takeReason(service fault.Target) (Outcome, error) {
	for i, part := range a.parts {
		if o, err := reason(part, service); err == nil {
			a.parts = slices.Delete(slices.Clone(a.parts), i, i+1)
			return o, nil
		}
	}
	if o, err := reason(a.overdue[service], service); err == nil {
		return o, nil
	}
	return "", wrong("no reason: %q", a.parts)
}

// equals returns an error unless the answer has the wanted title, and then each of the other parts once, in
// any order.
func (a answer) equals(want answer) error {
	if len(a.parts) == 0 || a.parts[0] != want.parts[0] ||
		!slices.Equal(slices.Sorted(slices.Values(a.parts)), slices.Sorted(slices.Values(want.parts))) {
		return wrong("%q, and the truth is %q", a.parts, want.parts)
	}
	return nil
}

// recentEnd matches the end of a title that an old title lacks: a change, as in " ▲ 2.72% (24h)", or a share
// of the total supply, as in " (62%)".
var recentEnd = regexp.MustCompile(` \(?[▲▼]? ?[\d.]+%\)?(?: \(24h\))?$`)

// asOld returns the truth in the form that it has if a figure is old: without a time and, if the title is
// old, without changes and without the share of the total supply.
func (a answer) asOld(titleIsOld bool) answer {
	a.checkedAt = ""
	if titleIsOld {
		a = a.without("1h ", "7d ", "▲ ", "▼ ")
		a.parts[0] = recentEnd.ReplaceAllString(a.parts[0], "")
	}
	return a
}

// claimTime matches when the next part of an unstaking amount can be claimed.
var claimTime = regexp.MustCompile(` \(\S+ of it in about 3 days\)$`)

func (a answer) hasClaimTime() bool { return slices.ContainsFunc(a.parts, claimTime.MatchString) }

func (a answer) withoutClaimTime() answer {
	a.parts = slices.Clone(a.parts)
	for i, part := range a.parts {
		a.parts[i] = claimTime.ReplaceAllString(part, "")
	}
	return a
}
