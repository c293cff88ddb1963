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
)

func TestMembersAreListedAsCSV(t *testing.T) {
	world, logged := startSandbox(t), new(strings.Builder)
	log := slog.New(slog.NewTextHandler(logged, nil))
	staking := core.Stake{Checked: 21, Staked: []core.PoolAmount{{Amount: decimal.New(1, 0)}}}
	for _, store := range []string{"DATA_DIR=" + t.TempDir(), "REDIS_URL=redis://" + miniredis.RunT(t).Addr() + "?read_timeout=1s"} {
		var table strings.Builder
		settings := append(DemoSettings(world), store, "TELEGRAM_BOT_TOKEN=77:token", "DISCORD_BOT_TOKEN=token")
		cfg := mustLoad(t, settings, "")
		ListMembers(t.Context(), cfg, log, new(strings.Builder)) // Nothing is saved yet.
		bot := newBot(t, settings)                               // It runs on.
		for _, user := range []chat.User{{Platform: "telegram", ID: "77"}, {Platform: "discord", ID: "5"}, {Platform: "telegram", ID: "9"}} {
			if _, err := bot.members.Save(t.Context(), user, common.Address{19: 1}, staking); err != nil {
				t.Fatal(err)
			}
		}
		if err := ListMembers(t.Context(), cfg, log, &table); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(table.String()), "\n")
		want := []string{"platform,user,wallet,saved,proven,checked,first_below,lost,given,waits_for_removal", "discord,5,", "telegram,9,", "telegram,77,0x0000000000000000000000000000000000000001,2"}
		for i := range want {
			if len(lines) != len(want) || !strings.HasPrefix(lines[i], want[i]) || i > 0 && !strings.HasSuffix(lines[i], "Z,,,,false") {
				t.Fatalf("printed\n%s\nwant lines that begin with %q", &table, want)
			}
		}
		var released strings.Builder
		if err := ReleaseBadges(t.Context(), cfg, log, &released); err != nil || !strings.HasPrefix(released.String(), "Nobody is held") {
			t.Errorf("released %q, %v", &released, err)
		}
		bot.Close()
	}
	if err := ListMembers(t.Context(), mustLoad(t, DemoSettings(world), ""), log, &strings.Builder{}); !errors.Is(err, errNothingSaved) || strings.Count(logged.String(), "nothing is saved there") != 2 {
		t.Errorf("without a store: %v; logged %s", err, logged)
	}
	away := mustLoad(t, append(DemoSettings(world), "REDIS_URL=redis://127.0.0.1:1", "DISCORD_BOT_TOKEN=token"), "")
	if err := ListMembers(t.Context(), away, log, &strings.Builder{}); err == nil {
		t.Error("rows that cannot be read are no failure")
	}
	withoutBot := mustLoad(t, append(DemoSettings(world), "DATA_DIR="+t.TempDir()), "")
	if err := ListMembers(t.Context(), withoutBot, log, &strings.Builder{}); !errors.Is(err, errNoBot) {
		t.Errorf("without a token: %v", err)
	}
}
