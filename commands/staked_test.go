package commands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/staking"
	"herald/internal/words"
)

// Words that look like wallets become one argument behind the other words. Tidying again changes nothing.
func TestWalletsAreOneArgument(t *testing.T) {
	const (
		first         = "0x52908400098527886E0F7030069857D2E4169EE7"
		second        = "0x8617E340B3D01FA5F11F306F4090FD50E238070D"
		wrongChecksum = "0x52908400098527886E0F7030069857D2E4169Ee7"
	)
	command, _ := allCommands(commandstest.Healthy()).Find("staked")
	tidy := command.Forms[0].Params[0].Tidy
	for typed, want := range map[string][]string{
		"":                                   {},
		"7d please":                          {"7d", "please"},
		"0x12 0x34":                          {"0x12", "0x34"},
		"@ann " + first[2:]:                  {"@ann", first},
		"@" + first + " now":                 {"now", first},
		first + " " + strings.ToLower(first): {first},
		"of " + first + " and " + second:     {"of", "and", first + " " + second},
		"of " + wrongChecksum + " or so":     {"of", "or", "so", wrongChecksum},
		"@ann_" + wrongChecksum:              {"@ann_" + wrongChecksum},
		"see https://example.org/" + first:   {"see", first},
	} {
		words := strings.Fields(typed)
		got := tidy(words)
		if !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
		if again := tidy(got); !slices.Equal(again, got) {
			t.Errorf("%q became %q, and then %q", typed, got, again)
		}
		if typed != strings.Join(words, " ") {
			t.Errorf("%q was changed to %q", typed, words)
		}
	}
}

// A node may not report the block's number, and contracts may count other blocks than headers do. If stakes were then
// compared by when they were fetched, an older block that was fetched later would replace a newer one.
func TestAnUnknownBlockIsNeitherShownNorCompared(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.ChainID = 698
	w.Stake.Block = 0
	reply := commandstest.Ask(t, w.Router(t), staked)
	asOf := reply.Source.AsOf
	if asOf != (chat.Version{Time: asOf.Time}) || asOf.IsZero() {
		t.Errorf("as of %+v", asOf)
	}
	if text := fmt.Sprint(words.Print(reply).Footer); strings.Contains(text, "block") {
		t.Errorf("the last line is %q", text)
	}
}

func TestAStakeIsAsOfItsBlock(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.ChainID = 698
	before := commandstest.Ask(t, w.Router(t), staked)
	for blocks, want := range map[int]chat.Order{-1: chat.Older, 0: chat.Unordered, 1: chat.Newer} {
		later := commandstest.Healthy()
		later.Options.ChainID = 698
		later.Stake.Block = uint64(int(w.Stake.Block) + blocks)
		later.Price.At = w.Price.At.Add(time.Minute)
		refreshed := commandstest.Ask(t, later.Router(t), staked)
		if got := refreshed.Source.AsOf.Compare(before.Source.AsOf); got != want {
			t.Errorf("a block later by %d, fetched later: got %d, want %d", blocks, got, want)
		}
	}
}

// unstaking500And1087 returns a stake of which 500 and 1,087.17 tokens are being unstaked. The amount next can be
// claimed after a time.
func unstaking500And1087(next string, after time.Duration) *commandstest.Answers {
	w := commandstest.Healthy()
	w.Stake.Unbonding = []core.PoolAmount{{Amount: number("500")}, {Amount: number("1087.17")}}
	w.Stake.NextWithdrawal = core.NextWithdrawal{Amount: number(next), At: time.Now().Add(after)}
	return w
}

// checkUnstaking checks /staked and /verify. Both replies must have these lines, one below the other, and must have the
// word "claim" only if a line has it.
func checkUnstaking(t *testing.T, name string, w *commandstest.Answers, lines ...string) {
	t.Helper()
	hasClaim := strings.Contains(strings.Join(lines, "\n"), "claim")
	for _, line := range []string{staked, verify} {
		said := spaced(texts(commandstest.Ask(t, w.Router(t), line)))
		want := "\n | " + strings.Join(lines, "\n | ") + "\n"
		if !strings.Contains(said, want) || strings.Contains(said, "claim") != hasClaim {
			t.Errorf("%s, %s: want %q in\n%s", name, line, lines, said)
		}
	}
}

// nextClaim is the next part of 1,587.17 tokens that can be claimed.
type nextClaim struct {
	name  string
	next  string // the amount
	after time.Duration
	want  string // a line of the replies
}

// checkNextClaims checks /staked and /verify for each case.
func checkNextClaims(t *testing.T, cases []nextClaim) {
	t.Helper()
	for _, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			checkUnstaking(t, c.name, unstaking500And1087(c.next, c.after), c.want)
		})
	}
}

func TestUnstakingSaysInHowManyDaysTheNextClaimIs(t *testing.T) {
	checkNextClaims(t, []nextClaim{
		{
			name:  "a part",
			next:  "500",
			after: 75 * time.Hour,
			want:  "Unstaking 1,587.17 TKN (500 of it in about 3 days)",
		},
		{
			name:  "all of it",
			next:  "1587.17",
			after: 75 * time.Hour,
			want:  "Unstaking 1,587.17 TKN (ready in about 3 days)",
		},
		{
			name:  "two days",
			next:  "500",
			after: 48 * time.Hour,
			want:  "Unstaking 1,587.17 TKN (500 of it in about 2 days)",
		},
		{
			name:  "almost two days",
			next:  "500",
			after: 47*time.Hour + 29*time.Minute,
			want:  "Unstaking 1,587.17 TKN (500 of it in about 47 hours)",
		},
	})
}

func TestUnstakingSaysInHowManyHoursTheNextClaimIs(t *testing.T) {
	checkNextClaims(t, []nextClaim{
		{
			name:  "an hour",
			next:  "500",
			after: time.Hour,
			want:  "Unstaking 1,587.17 TKN (500 of it in about 1 hour)",
		},
		{
			name:  "an hour and a bit",
			next:  "500",
			after: 100 * time.Minute,
			want:  "Unstaking 1,587.17 TKN (500 of it in about 2 hours)",
		},
		{
			name:  "within the hour",
			next:  "500",
			after: time.Hour - time.Second,
			want:  "Unstaking 1,587.17 TKN (500 of it in less than an hour)",
		},
		{
			name:  "since the chain was read",
			next:  "500",
			after: -time.Minute,
			want:  "Unstaking 1,587.17 TKN (500 of it in less than an hour)",
		},
	})
}

func TestUnstakingStandsBelowWhatCanBeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unstaking500And1087("500", 60*time.Hour)
		w.Stake.Withdrawable = []core.PoolAmount{{Amount: number("1000")}}
		checkUnstaking(t, "a known time", w,
			"Ready to claim 1,000 TKN",
			"Unstaking 1,587.17 TKN (500 of it in about 3 days)")
		w.Stake.NextWithdrawal.At = time.Time{}
		checkUnstaking(t, "an unknown time", w,
			"Ready to claim 1,000 TKN",
			"Unstaking 1,587.17 TKN")
	})
}

func TestAChainThatStandsStillTellsNoTimeOfAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unstaking500And1087("500", 75*time.Hour)
		w.Stake.BlockTime = time.Now().Add(-11 * time.Minute)
		checkUnstaking(t, "a block of eleven minutes ago", w, "Unstaking 1,587.17 TKN")
	})
}

// stakedIn returns stakes of 1, 2 and so on, each in a pool.
func stakedIn(pools int) *commandstest.Answers {
	w := commandstest.Healthy()
	w.Stake.Staked = nil
	for i := range pools {
		w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
			Pool:   core.Pool{Name: fmt.Sprint("Pool ", i)},
			Amount: number(fmt.Sprint(i + 1)),
		})
	}
	return w
}

// largestPools returns the line of a card of /staked that lists the largest pools.
func largestPools(c words.Card) string { return spaced(c.Sections[0].Fields[0].Value.String()) }

func TestAFewPoolsAreAllShown(t *testing.T) {
	for _, pools := range []int{5, 6} {
		card := words.Print(commandstest.Ask(t, stakedIn(pools).Router(t), staked))
		largest := largestPools(card)
		if n := strings.Count(largest, "Pool"); n != pools || len(card.Folded) > 0 || len(card.Sections[1].Fields) > 0 {
			t.Errorf("of %d pools, %d are shown first:\n%s", pools, n, shown(card))
		}
		if first := fmt.Sprintf("Pool %d %d  ·  ", pools-1, pools); !strings.HasPrefix(largest, first) {
			t.Errorf("of %d pools, the first is not %q:\n%s", pools, first, shown(card))
		}
	}
}

func TestOfManyPoolsFiveAreShownAndTheSumOfTheOthers(t *testing.T) {
	for pools, sum := range map[int]string{
		7:  "… and 2 more pools | 3 TKN",
		60: "… and 55 more pools | 1,540 TKN",
	} {
		card := words.Print(commandstest.Ask(t, stakedIn(pools).Router(t), staked))
		largest := largestPools(card)
		if n := strings.Count(largest, "Pool"); n != 5 || len(card.Folded) != pools-5 {
			t.Errorf("of %d pools, %d are shown and %d folded:\n%s", pools, n, len(card.Folded), shown(card))
		}
		if first := fmt.Sprintf("Pool %d %d  ·  ", pools-1, pools); !strings.HasPrefix(largest, first) {
			t.Errorf("of %d pools, the first is not %q:\n%s", pools, first, shown(card))
		}
		if !strings.Contains(spaced(shown(card)), sum) {
			t.Errorf("of %d pools, want %q in\n%s", pools, sum, shown(card))
		}
		cut := card.Fit(1000, func(f words.Field) int { return 20 + len(f.Name.String()+f.Value.String()) })
		if !strings.Contains(spaced(shown(cut)), sum) {
			t.Errorf("of %d pools, want %q in the card that was cut:\n%s", pools, sum, shown(cut))
		}
	}
}

// askStaked runs /staked while the answer to a question about the price takes delay. It returns the reply, how many
// times the price was asked for, and how long the reply took.
func askStaked(
	t *testing.T, w *commandstest.Answers, delay time.Duration,
) (reply *chat.Reply, pricesAsked int, took time.Duration) {
	t.Helper()
	from := w.Sources()
	price := &commandstest.Late[*core.Quote]{Source: from.Price, After: delay}
	from.Price = price
	began := time.Now()
	reply, _ = run(t, commands.All(from, w.Options), "staked", aboutWallet)
	return reply, price.Asked, time.Since(began)
}

// An old price says nothing about today's worth.
func TestAStakesWorthIsShownAtTodaysPrice(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*commandstest.Answers)
		worth  bool
	}{
		{
			name:   "today's",
			change: unchanged,
			worth:  true,
		},
		{
			name:   "today's, and some pools are unread",
			change: func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() },
			worth:  true,
		},
		{
			name:   "of minutes ago, and the provider does not answer",
			change: func(w *commandstest.Answers) { w.Price.Stale = true },
			worth:  true,
		},
		{
			name: "ten minutes old, and the provider does not answer",
			change: func(w *commandstest.Answers) {
				w.Price.Stale = true
				w.Price.Value.LastUpdated = time.Now().Add(-10 * time.Minute)
			},
			worth: false,
		},
		{
			name:   "old at the provider",
			change: func(w *commandstest.Answers) { w.Price.Value.CurrentUntil = time.Now() },
			worth:  false,
		},
		{
			name:   "unknown",
			change: func(w *commandstest.Answers) { w.PriceErr = market.Service.Fail(core.Limited, errInner) },
			worth:  false,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			reply, asked, took := askStaked(t, answersTo(test.change), 0)
			if hasWorth := strings.Contains(texts(reply), "≈\u00a0$15,242"); hasWorth != test.worth {
				t.Errorf("%s: the worth is shown: %t, want %t:\n%s", test.name, hasWorth, test.worth, texts(reply))
			}
			if asked != 1 || took != 0 {
				t.Errorf("%s: asked for the price %d times, after %v", test.name, asked, took)
			}
		})
	}
}

func TestStakedWaitsForThePriceASecondAtMost(t *testing.T) {
	for _, test := range []struct {
		delay time.Duration
		took  time.Duration
		worth bool
	}{
		{delay: 900 * time.Millisecond, took: 900 * time.Millisecond, worth: true},
		{delay: time.Hour, took: time.Second, worth: false},
	} {
		synctest.Test(t, func(t *testing.T) {
			reply, asked, took := askStaked(t, commandstest.Healthy(), test.delay)
			if took != test.took || asked != 1 {
				t.Errorf("a price after %v: asked %d times, after %v", test.delay, asked, took)
			}
			if hasWorth := strings.Contains(texts(reply), "≈\u00a0$15,242"); hasWorth != test.worth {
				t.Errorf("a price after %v: the worth is shown: %t:\n%s", test.delay, hasWorth, texts(reply))
			}
		})
	}
}

// Nobody pays for a price that is not shown.
func TestNoPriceIsAskedForWithoutAStake(t *testing.T) {
	for name, change := range map[string]func(*commandstest.Answers){
		"no stake":         func(w *commandstest.Answers) { w.Stake.Staked = nil },
		"an unknown stake": func(w *commandstest.Answers) { w.StakeErr = staking.Service.Fail(core.Limited, errInner) },
	} {
		synctest.Test(t, func(t *testing.T) {
			_, asked, took := askStaked(t, answersTo(change), time.Hour)
			if asked != 0 || took != 0 {
				t.Errorf("%s: asked for the price %d times, after %v", name, asked, took)
			}
		})
	}
}
