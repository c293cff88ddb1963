package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/platform"
	"herald/internal/router"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/supply"
)

// checkWithFailure returns the table of a check. The first service's probe returns text as a detail and as an error.
// file is an env file, or "".
func checkWithFailure(t *testing.T, file, text string, settings ...string) string {
	t.Helper()
	cfg := mustLoad(t, append(DemoSettings(startFakes(t)), settings...), file)
	bot := mustNew(t, cfg, slog.New(slog.DiscardHandler))
	defer bot.Close()
	bot.services.list[0].ask = func(context.Context, string) ([]string, error) {
		return []string{text}, errors.New(text)
	}
	var table strings.Builder
	_ = bot.Check(t.Context(), &table, "")
	return table.String()
}

func TestTheTableOfCheckIsRedacted(t *testing.T) {
	const key = "a-key-that-nobody-may-see"
	const escape = "\x1b[2J" // clears a terminal
	table := checkWithFailure(t, "", "with\n"+key+escape, "PRICE_API_KEY="+key)
	if strings.Count(table, "with [redacted][2J\n") != 2 {
		t.Errorf("the detail and the error are not both redacted, on one line each:\n%s", table)
	}
}

func TestAFailedCheckEndsWithTheNextStep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my herald.env")
	if err := os.WriteFile(file, []byte("PRICE_MONTHLY_CREDITS=5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := checkWithFailure(t, file, "fails")
	want := "failed: price provider, platform. Correct what their rows name, " +
		"then run `bot check --env-file \"" + file + "\"` again.\n"
	if !strings.HasSuffix(table, want) {
		t.Errorf("the table does not end with %s\n%s", want, table)
	}
}

func TestAdviceNamesTheReasonAndTheSettings(t *testing.T) {
	p := probe{title: "supply host", settings: "SUPPLY_URL"}
	cause := errors.New("the cause")
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			err:  supply.Service.Fail(core.SlowAnswer, cause),
			want: "did not answer within UPSTREAM_TIMEOUT: the cause|look at SUPPLY_URL",
		},
		{
			err:  supply.Service.Fail(core.Limited, cause),
			want: "is rate-limiting us: the cause|look at SUPPLY_URL",
		},
		{
			err:  cause,
			want: "the cause|look at SUPPLY_URL",
		},
		{
			err:  supply.Service.Fail(core.Denied, &config.WrongError{Problem: "wrong", Settings: "A"}),
			want: "wrong|look at A",
		},
		{
			err:  &config.WrongError{Problem: "wrong, set A"},
			want: "wrong, set A",
		},
	} {
		if got := strings.Join(p.advice(test.err), "|"); got != test.want {
			t.Errorf("advice for %v is %q, want %q", test.err, got, test.want)
		}
	}
}

func TestCheckShowsThePartnersClock(t *testing.T) {
	denied := partner.Service.Fail(core.Denied, errors.New("401"))
	for _, test := range []struct {
		ahead time.Duration
		err   error
		want  string
	}{
		{
			ahead: 2 * time.Second,
			err:   nil,
			want:  "the signature is accepted",
		},
		{
			ahead: 9 * time.Second,
			err:   nil,
			want:  "the signature is accepted|its clock is 9s ahead of this machine's",
		},
		{
			ahead: -3 * time.Hour,
			err:   denied,
			want:  "its clock is 3h0m0s behind this machine's",
		},
	} {
		details := aboutPartner("https://h.example", test.ahead, test.err)
		if got := strings.Join(details, "|"); got != test.want {
			t.Errorf("a clock that is %v ahead, and the error %v: got %q, want %q", test.ahead, test.err, got, test.want)
		}
	}
}

func TestCheckShowsThatAQuoteIsOld(t *testing.T) {
	hourAgo := time.Now().Add(-time.Hour - time.Minute)
	details := aboutQuote(market.Listing{
		ID:     "1",
		Symbol: "HRLD",
		Name:   "Herald\x1b[31m\nDemo",
		Quote: core.Quote{
			Price:        decimal.NewFromInt(1),
			LastUpdated:  hourAgo,
			CurrentUntil: hourAgo,
		},
	})
	const want = "HRLD (Herald[31m Demo), id 1, $1.000, 1 h ago|that price is old: is this the right token?"
	if got := strings.Join(details, "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckShowsHowCreditsAreCountedIfTheProviderCannotTell(t *testing.T) {
	denied := partner.Service.Fail(core.Denied, errors.New("401"))
	const counted = "it does not say what is left of the plan: credits are counted here, " +
		"by PRICE_MONTHLY_CREDITS or 10000 a month"
	if got := aboutCredits(market.Reading{}, denied, true); got != counted {
		t.Errorf("counted here: got %q, want %q", got, counted)
	}
	const uncounted = "credits are not counted: PRICE_MONTHLY_CREDITS is 0"
	if got := aboutCredits(market.Reading{}, denied, false); got != uncounted {
		t.Errorf("not counted: got %q, want %q", got, uncounted)
	}
}

func TestCheckShowsNoNegativeSupply(t *testing.T) {
	details := aboutSupply(core.Supply{Total: decimal.NewFromInt(-5)}, "MAT")
	if got := strings.Join(details, "|"); got != "" {
		t.Errorf("got %q, want no detail", got)
	}
}

// checkedAdapter is an adapter of Discord whose Check returns these rights and this error.
type checkedAdapter struct {
	adapter
	rights []platform.Right
	err    error
}

func (checkedAdapter) Platform() chat.Platform { return "discord" }

// Check returns the setting and the ID of each entry as a detail.
func (a checkedAdapter) Check(
	_ context.Context, _ chat.Commands, entries ...platform.Entry,
) (details []string, _ []platform.Right, err error) {
	for _, entry := range entries {
		details = append(details, entry.Setting+" "+entry.ID)
	}
	return details, a.rights, a.err
}

// probeAdapter returns the details and the advice that bot check prints about an adapter, joined with |.
func probeAdapter(t *testing.T, adapter checkedAdapter, cfg *Config) string {
	t.Helper()
	bot := &Bot{cfg: cfg, Router: &router.Router{}}
	lines, err := bot.probe(connection{adapter: adapter}).ask(t.Context())
	if err != nil {
		lines = append(lines, probe{}.advice(err)...)
	}
	return strings.Join(lines, "|")
}

func TestAMissingRightFailsTheCheck(t *testing.T) {
	granted := platform.Right{
		Setting:   "A",
		Entry:     "group 1",
		Community: "Owls",
		May:       "it may",
		Advice:    []string{"but see"},
	}
	missing := platform.Right{
		Setting: "B",
		Entry:   "group 2",
		Problem: "it may not",
	}
	for _, test := range []struct {
		adapter checkedAdapter
		want    string
	}{
		{
			adapter: checkedAdapter{},
			want:    "",
		},
		{
			adapter: checkedAdapter{rights: []platform.Right{granted}},
			want:    "A, group 1 (Owls): it may|A, group 1 (Owls): but see",
		},
		{
			adapter: checkedAdapter{rights: []platform.Right{granted, missing}},
			want: "A, group 1 (Owls): it may|A, group 1 (Owls): but see|" +
				"B, group 2: it may not|B does not work yet: see above",
		},
		{
			adapter: checkedAdapter{err: errors.New("refused")},
			want:    "refused",
		},
		{
			adapter: checkedAdapter{rights: []platform.Right{missing}, err: errors.New("refused")},
			want:    "B, group 2: it may not|refused",
		},
	} {
		if got := probeAdapter(t, test.adapter, &Config{}); got != test.want {
			t.Errorf("printed %q, want %q", got, test.want)
		}
	}
}

func TestAnAdapterChecksTheChatsOfItsPlatform(t *testing.T) {
	got := probeAdapter(t, checkedAdapter{}, &Config{
		ModeratorChats: []string{"telegram:-6", "*", "discord:5", "discord:6"},
		ChatLanguages:  map[string]chat.Language{"discord:7": "tr", "telegram:-8": "tr", "discord:5": "es"},
	})
	const want = "MODERATOR_CHATS 5|MODERATOR_CHATS 6|CHAT_LANGUAGE 5|CHAT_LANGUAGE 7"
	if got != want {
		t.Errorf("Check is given %q, want %q", got, want)
	}
}

// watchedAdapter is an adapter of Discord that records what its Rights is asked about.
type watchedAdapter struct {
	checkedAdapter
	entries *[]platform.Entry
}

func (a watchedAdapter) Rights(_ context.Context, entries ...platform.Entry) []platform.Right {
	*a.entries = append(*a.entries, entries...)
	return nil
}

// Only bot check asks about MODERATOR_CHATS.
func TestTheWatchAsksAboutTheChatsOfChatLanguage(t *testing.T) {
	var entries []platform.Entry
	bot := &Bot{
		cfg: &Config{
			ModeratorChats: []string{"discord:5"},
			ChatLanguages:  map[string]chat.Language{"discord:7": "tr", "telegram:-8": "tr"},
		},
		connections: []connection{{adapter: watchedAdapter{entries: &entries}}},
	}
	bot.watchRights(t.Context())
	if want := []platform.Entry{{Setting: "CHAT_LANGUAGE", ID: "7"}}; !slices.Equal(entries, want) {
		t.Errorf("asked about %+v, want %+v", entries, want)
	}
}
