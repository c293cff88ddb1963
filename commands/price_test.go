package commands_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/words"
)

// topOfPrice is the first part of a reply to /price.
type topOfPrice struct {
	title string
	tone  chat.Tone
	below string // the first line below the title
}

// checkTop checks the first part of the reply to a line, with the services after change.
func checkTop(t *testing.T, line string, change func(*commandstest.Answers), want topOfPrice) {
	t.Helper()
	card := words.Print(commandstest.Ask(t, answersTo(change).Router(t), line))
	got := topOfPrice{
		title: strings.TrimSpace(card.Title.String() + " " + card.Subtitle.String()),
		tone:  card.Tone,
		below: spaced(card.Sections[0].Fields[0].Value.String()),
	}
	if got != want {
		t.Errorf("%s: %+v, want %+v", line, got, want)
	}
}

func TestTitleColorAndFirstChangeAreOfThePeriod(t *testing.T) {
	aDaysChange := func(w *commandstest.Answers) { w.Chart.Change = w.Price.Value.Change24h }
	almostNone := func(w *commandstest.Answers) { w.Chart.Change.Decimal = w.Chart.Change.Decimal.Shift(-4) }
	unknown := func(w *commandstest.Answers) { w.Chart.Change = core.Quote{}.Change7d }
	checkTop(t, "/price 24h", aDaysChange, topOfPrice{
		title: "TKN $0.01235 ▼ 3.50% (24h)",
		tone:  chat.Falling,
		below: "1h ▲ 0.13%  ·  7d 0.00%  ·  Cap $1.23M  ·  Vol $999.50",
	})
	checkTop(t, "/price 7d", almostNone, topOfPrice{
		title: "TKN $0.01235 0.00% (7d)",
		tone:  chat.Neutral,
		below: "1h ▲ 0.13%  ·  24h ▼ 3.50%  ·  Cap $1.23M  ·  Vol $999.50",
	})
	checkTop(t, "/price 30d", unknown, topOfPrice{
		title: "TKN $0.01235",
		tone:  chat.Neutral,
		below: "1h ▲ 0.13%  ·  24h ▼ 3.50%  ·  7d 0.00%  ·  Cap $1.23M  ·  Vol $999.50",
	})
}

// Without a picture, the change is the provider's. The provider does not know the change of 30 days. Market cap and
// volume have lines of their own.
func TestWithoutAPictureTheChangeIsTheProviders(t *testing.T) {
	noPicture := func(w *commandstest.Answers) {
		w.ChartErr = priceDown
		w.Chart = core.Chart{}
	}
	checkTop(t, "/price 7d", noPicture, topOfPrice{
		title: "TKN $0.01235 0.00% (7d)",
		tone:  chat.Neutral,
		below: "1h ▲ 0.13%  ·  24h ▼ 3.50%",
	})
	checkTop(t, "/price 30d", noPicture, topOfPrice{
		title: "TKN $0.01235 ▼ 3.50% (24h)",
		tone:  chat.Falling,
		below: "1h ▲ 0.13%  ·  7d 0.00%",
	})
}

// ageCase is a price of some age, and what replies show of it. A price is old from an age on that the operator sets. If
// the provider does not answer or may not be asked, it is old after ten minutes at the latest.
type ageCase struct {
	name   string
	age    time.Duration
	change func(w *commandstest.Answers)
	shown  string // the age in the title; empty: the price is not old
	source string // the last line
}

// ageCases returns prices of all ages, for tests that atNoon runs.
func ageCases() []ageCase {
	return slices.Concat(answeredPrices(), unansweredPrices(), refusedPrices(), pricesWithoutCredit())
}

// answeredPrices returns prices whose provider answers.
func answeredPrices() []ageCase {
	return []ageCase{
		{
			name:   "current",
			age:    47 * time.Second,
			change: unchanged,
			source: "CoinMarketCap · 47 s ago",
		},
		{
			name:   "the provider has had no newer one for days",
			age:    73 * time.Hour,
			change: oldAfter(time.Hour),
			shown:  "3 days old",
			source: "The price provider has no newer price",
		},
		{
			name:   "older than the operator allows",
			age:    3 * time.Minute,
			change: oldAfter(time.Minute),
			shown:  "3 min old",
			source: "The price provider has no newer price",
		},
	}
}

// unansweredPrices returns prices whose provider does not answer.
func unansweredPrices() []ageCase {
	return []ageCase{
		{
			name:   "unanswered for seconds",
			age:    47 * time.Second,
			change: stale,
			source: "The price provider isn't answering · 47 s ago",
		},
		{
			name:   "unanswered for just under ten minutes",
			age:    10*time.Minute - time.Second,
			change: stale,
			source: "The price provider isn't answering · 9 min ago",
		},
		{
			name:   "unanswered for ten minutes",
			age:    10 * time.Minute,
			change: stale,
			shown:  "10 min old",
			source: "The price provider isn't answering",
		},
		{
			name: "unanswered for ten minutes, which the operator allows",
			age:  10 * time.Minute,
			change: func(w *commandstest.Answers) {
				stale(w)
				oldAfter(time.Hour)(w)
			},
			shown:  "10 min old",
			source: "The price provider isn't answering",
		},
		{
			name:   "unanswered for days",
			age:    73 * time.Hour,
			change: stale,
			shown:  "3 days old",
			source: "The price provider isn't answering",
		},
		{
			name: "unanswered, without a time of its own",
			age:  time.Minute,
			change: func(w *commandstest.Answers) {
				stale(w)
				w.Price.Value.LastUpdated = time.Time{}
			},
			source: "The price provider isn't answering · 1 min ago",
		},
	}
}

// refusedPrices returns prices whose provider refuses to answer.
func refusedPrices() []ageCase {
	return []ageCase{
		{
			name:   "at a rate limit",
			age:    time.Minute,
			change: staleFor(core.Limited),
			source: "The price provider is limiting my requests · 1 min ago",
		},
		{
			name:   "with a wrong key",
			age:    time.Minute,
			change: staleFor(core.Denied),
			source: "The price provider refuses my requests · 1 min ago",
		},
	}
}

// pricesWithoutCredit returns prices whose provider is not asked, to save credits.
func pricesWithoutCredit() []ageCase {
	withoutCredit := func(w *commandstest.Answers) { w.Price.Why = noCredit() }
	return []ageCase{
		{
			name:   "without a credit for nine minutes",
			age:    9 * time.Minute,
			change: withoutCredit,
			source: "CoinMarketCap · 9 min ago",
		},
		{
			name:   "without a credit for ten minutes",
			age:    10 * time.Minute,
			change: withoutCredit,
			shown:  "10 min old",
			source: nextRequest,
		},
	}
}

// nextRequest says when the price is asked for again if noCredit is the reason to wait.
const nextRequest = "I've used my share of price requests. Next request 2026-06-30 12:46 UTC"

// stale makes the price stale because the provider does not answer.
func stale(w *commandstest.Answers) { w.Price.Stale = true }

// staleFor returns a change that makes the price stale for a reason.
func staleFor(reason core.Reason) func(*commandstest.Answers) {
	return func(w *commandstest.Answers) {
		w.Price.Stale = true
		w.Price.Why = market.Service.Fail(reason, errors.New("failed"))
	}
}

// oldAfter returns a change that makes the price old from this age on, like the operator's setting.
func oldAfter(age time.Duration) func(*commandstest.Answers) {
	return func(w *commandstest.Answers) { w.Price.Value.CurrentUntil = w.Price.Value.LastUpdated.Add(age) }
}

// askPrices calls see for each of ageCases and each of some lines, with the services of the case and the reply to the
// line. plainTitle is the title that the reply would have if the price were not old.
func askPrices(
	t *testing.T, see func(t *testing.T, c ageCase, w *commandstest.Answers, reply *chat.Reply, plainTitle string),
) {
	t.Helper()
	for _, c := range ageCases() {
		for line, plainTitle := range map[string]string{
			"/price":      "TKN $0.01235",
			"/price 7d":   "TKN $0.01235",
			"/price 1500": "1,500 TKN ≈ $18.52",
		} {
			t.Run(c.name+" "+line, func(t *testing.T) {
				atNoon(t, func(t *testing.T) {
					w := commandstest.Healthy()
					w.Price.Value.LastUpdated = time.Now().Add(-c.age)
					c.change(w)
					see(t, c, w, commandstest.Ask(t, w.Router(t), line), plainTitle)
				})
			})
		}
	}
}

func TestAnOldPriceTellsItsAgeFirstAndNoChanges(t *testing.T) {
	askPrices(t, func(t *testing.T, c ageCase, _ *commandstest.Answers, reply *chat.Reply, plainTitle string) {
		card := words.Print(reply)
		isOld := c.shown != ""
		title := plainTitle
		if isOld {
			title += " (" + c.shown + ")"
		}
		if got := spaced(card.Title.String()); got != title {
			t.Errorf("the title is %q, want %q", got, title)
		}
		if warns := card.Tone == chat.Warning; warns != isOld {
			t.Errorf("it warns: %t, want %t", warns, isOld)
		}
		if isOld && !card.Subtitle.Empty() {
			t.Errorf("beside the title is %q", card.Subtitle)
		}
		if hasChanges := strings.ContainsAny(shown(card), "▲▼"); hasChanges == isOld {
			t.Errorf("it has changes: %t, want %t:\n%s", hasChanges, !isOld, shown(card))
		}
	})
}

func TestTheLastLineSaysWhyThereIsNoNewerPrice(t *testing.T) {
	askPrices(t, func(t *testing.T, c ageCase, _ *commandstest.Answers, reply *chat.Reply, _ string) {
		card := words.Print(reply)
		if got := spaced(card.Footer.String()); got != c.source || len(card.Notes) > 0 {
			t.Errorf("the last line is %q, want %q, and the notes are %q", got, c.source, card.Notes)
		}
	})
}

func TestAPictureOfAnOldPriceTellsItsAge(t *testing.T) {
	askPrices(t, func(t *testing.T, c ageCase, w *commandstest.Answers, reply *chat.Reply, _ string) {
		if reply.Image == nil {
			return
		}
		isOld := c.shown != ""
		if w.Charted[0].Old() != isOld {
			t.Errorf("the picture is of an old quote: %t, want %t", w.Charted[0].Old(), isOld)
		}
		if alt := words.Print(reply).Image.Alt; strings.Contains(alt, " old") != isOld || !strings.Contains(alt, c.shown) {
			t.Errorf("the picture's description is %q, want the age %q", alt, c.shown)
		}
	})
}

func TestARefreshSaysWhyThereIsNoNewerPrice(t *testing.T) {
	askPrices(t, func(t *testing.T, _ ageCase, w *commandstest.Answers, reply *chat.Reply, _ string) {
		hasReason := w.Price.Why != nil || w.Price.Stale
		text := words.Say(chat.English, reply.Unchanged().Text)
		if saysWhy := text != ""; saysWhy != hasReason {
			t.Errorf("there is a reason: %t, and a refresh says %q", hasReason, text)
		}
	})
}

// An old answer prints its age, so a refresh must edit the card whenever the printed age changes.
func TestAnOldCardIsEditedWhenItsAgeChanges(t *testing.T) {
	oldPrice := func(w *commandstest.Answers) {
		w.Price.Stale = true
		w.Price.Value.LastUpdated = time.Now()
	}
	oldSupply := func(w *commandstest.Answers) {
		w.Supply.Stale = true
		w.Supply.At = time.Now()
	}
	for _, test := range []struct {
		name   string
		line   string
		change func(*commandstest.Answers)
	}{
		{"a price", "/price", oldPrice},
		{"an amount", "/price 1500", oldPrice},
		{"a supply at an old price", "/supply", oldPrice},
		{"an old supply", "/supply", oldSupply},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := commandstest.Healthy()
			start := time.Now()
			w.Supply.At = start
			w.Price.At = start
			w.Price.Value.LastUpdated = start
			test.change(w)
			var shownVersion chat.Version
			shownText := ""
			for time.Since(start) < 26*time.Hour {
				reply := commandstest.Ask(t, w.Router(t), test.line)
				card := words.Print(reply)
				text := card.Title.String() + card.Source.String()
				order := reply.Source.AsOf.Compare(shownVersion)
				isIgnored := order == chat.Same || order == chat.Older
				if text != shownText && isIgnored {
					t.Fatalf("%s, after %v: %q does not replace %q", test.name, time.Since(start), text, shownText)
				}
				shownVersion = reply.Source.AsOf
				shownText = text
				time.Sleep(time.Minute)
			}
		})
	}
}

func TestARefreshSaysWhenThereMayBeANewerPrice(t *testing.T) {
	for freshFor, want := range map[time.Duration]string{
		0:                              "Nothing newer yet",
		time.Minute:                    "Nothing newer yet",
		4*time.Minute + 10*time.Second: "Nothing newer yet. Next update in about 4 min",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := commandstest.Healthy()
			w.Price.FreshUntil = time.Now().Add(freshFor)
			refreshed := commandstest.Ask(t, w.Router(t), "/price 7d").Unchanged()
			if got := words.Say(chat.English, refreshed.Title); got != want {
				t.Errorf("fresh for %v: %q, want %q", freshFor, got, want)
			}
		})
	}
}

// waitingForCredit returns services whose price provider has no credit until 12:46. The quote itself is fresh for
// longer, which no reply tells.
func waitingForCredit() *commandstest.Answers {
	w := commandstest.Healthy()
	w.Price.Why = noCredit()
	w.Price.FreshUntil = time.Now().Add(time.Hour)
	return w
}

func TestARefreshWithoutACreditSaysWhenTheNextRequestIs(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		refreshed := commandstest.Ask(t, waitingForCredit().Router(t), "/price").Unchanged()
		title := words.Say(chat.English, refreshed.Title)
		text := words.Say(chat.English, refreshed.Text)
		if title != "Nothing newer yet" || spaced(text) != nextRequest {
			t.Errorf("%q, %q", title, text)
		}
	})
}

func TestNoPriceWithoutACreditSaysWhenTheNextRequestIs(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		w := waitingForCredit()
		w.PriceErr = w.Price.Why
		said := spaced(texts(commandstest.Ask(t, w.Router(t), "/price")))
		if strings.Count(said, nextRequest+".\n") != 1 || strings.Contains(said, "Try again later") {
			t.Errorf("it says %s", said)
		}
	})
}

func TestAPictureIsInTheLanguageOfItsAnswer(t *testing.T) {
	for _, test := range []struct {
		direct bool
		want   chat.Language
	}{
		{direct: false, want: chat.Russian}, // the bot's language
		{direct: true, want: chat.Turkish},  // the sender's language
	} {
		w := commandstest.Healthy()
		r := w.Router(t)
		r.Config.Language = chat.Russian
		r.Handle(t.Context(), &chat.Request{
			Command: "price",
			Args:    chat.Typed("7d"),
			From:    ann,
			Locale:  "tr",
			Direct:  test.direct,
		})
		if len(w.ChartedIn) != 1 || w.ChartedIn[0] != test.want {
			t.Errorf("direct %t: drawn in %q, want %q", test.direct, w.ChartedIn, test.want)
		}
	}
}

func TestAPictureIsInTheLanguageOfItsCommunity(t *testing.T) {
	for community, want := range map[string]chat.Language{"-5": chat.Turkish, "-6": chat.English} {
		w := commandstest.Healthy()
		r := w.Router(t)
		r.Config.ChatLanguages = map[string]chat.Language{"telegram:-5": chat.Turkish}
		r.Handle(t.Context(), &chat.Request{
			Command:   "price",
			Args:      chat.Typed("7d"),
			From:      ann,
			Locale:    "ru",
			Community: community,
			Chat:      community,
		})
		if !slices.Equal(w.ChartedIn, []chat.Language{want}) {
			t.Errorf("%s: drawn in %q, want %q", community, w.ChartedIn, want)
		}
	}
}
