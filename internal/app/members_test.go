package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/secret/logtest"
)

// withEachStore runs test twice: with the settings of a bot that saves addresses in a folder, and in Redis.
func withEachStore(t *testing.T, test func(t *testing.T, settings []string)) {
	settings := append(DemoSettings(startFakes(t)), "TELEGRAM_BOT_TOKEN=77:token", "DISCORD_BOT_TOKEN=token")
	t.Run("folder", func(t *testing.T) {
		test(t, append(settings, "DATA_DIR="+t.TempDir()))
	})
	t.Run("Redis", func(t *testing.T) {
		test(t, append(settings, redisSetting(miniredis.RunT(t))))
	})
}

// saveThree starts a bot, which is closed when the test ends, and saves the same address for three users.
func saveThree(t *testing.T, settings []string) {
	t.Helper()
	bot := newBot(t, settings)
	t.Cleanup(bot.Close)
	wallet := common.Address{19: 1}
	stake := core.Stake{Checked: 21, Staked: []core.PoolAmount{{Amount: decimal.NewFromInt(1)}}}
	for _, user := range []chat.User{
		{Platform: "telegram", ID: "77"},
		{Platform: "discord", ID: "5"},
		{Platform: "telegram", ID: "9"},
	} {
		if _, err := bot.members.Save(t.Context(), user, wallet, stake); err != nil {
			t.Fatal(err)
		}
	}
}

// listMembers returns the lines that ListMembers prints.
func listMembers(t *testing.T, settings []string, log *slog.Logger) []string {
	t.Helper()
	var table strings.Builder
	if err := ListMembers(t.Context(), mustLoad(t, settings, ""), log, &table); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(table.String()), "\n")
}

func TestMembersAreListedAsCSV(t *testing.T) {
	withEachStore(t, func(t *testing.T, settings []string) {
		saveThree(t, settings)
		lines := listMembers(t, settings, slog.New(slog.DiscardHandler))
		// The columns between start and end have times, or a wallet and times.
		want := []struct{ start, end string }{
			{"platform,user,wallet,saved,proven,checked,", "first_below,lost,given,waits_for_removal"},
			{"discord,5,", "Z,,,,false"},
			{"telegram,9,", "Z,,,,false"},
			{"telegram,77,0x0000000000000000000000000000000000000001,2", "Z,,,,false"},
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, want[i].start) || !strings.HasSuffix(line, want[i].end) {
				t.Errorf("line %d is %s, want %s…%s", i+1, line, want[i].start, want[i].end)
			}
		}
	})
}

func TestListingAnEmptyStoreIsLogged(t *testing.T) {
	const nothing = "nothing is saved there"
	withEachStore(t, func(t *testing.T, settings []string) {
		var log logtest.Buffer
		_ = ListMembers(t.Context(), mustLoad(t, settings, ""), log.Logger(), new(strings.Builder))
		if log.Lines(nothing) != 1 {
			t.Errorf("an empty store is not logged:\n%s", log.String())
		}
		saveThree(t, settings)
		listMembers(t, settings, log.Logger())
		if log.Lines(nothing) != 1 {
			t.Errorf("a store with addresses is logged as empty:\n%s", log.String())
		}
	})
}

func TestReleaseSaysIfNobodyIsHeld(t *testing.T) {
	withEachStore(t, func(t *testing.T, settings []string) {
		saveThree(t, settings)
		var released strings.Builder
		err := ReleaseBadges(t.Context(), mustLoad(t, settings, ""), slog.New(slog.DiscardHandler), &released)
		if err != nil || !strings.HasPrefix(released.String(), "Nobody is held") {
			t.Errorf("released %q, %v", &released, err)
		}
	})
}

func TestListingNeedsAStoreThatAnswersAndABot(t *testing.T) {
	fakes := startFakes(t)
	list := func(settings ...string) error {
		cfg := mustLoad(t, append(DemoSettings(fakes), settings...), "")
		return ListMembers(t.Context(), cfg, slog.New(slog.DiscardHandler), new(strings.Builder))
	}
	if err := list(); !errors.Is(err, errNothingSaved) {
		t.Errorf("without a store: %v", err)
	}
	if err := list("REDIS_URL=redis://127.0.0.1:1", "DISCORD_BOT_TOKEN=token"); err == nil {
		t.Error("Redis does not answer, and the listing succeeds")
	}
	if err := list("DATA_DIR=" + t.TempDir()); !errors.Is(err, errNoBot) {
		t.Errorf("without a token: %v", err)
	}
}
