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
	world, discard := startSandbox(t), slog.New(slog.DiscardHandler)
	staking := core.Stake{Checked: 21, Staked: []core.PoolAmount{{Amount: decimal.New(1, 0)}}}
	for _, store := range []string{"DATA_DIR=" + t.TempDir(), "REDIS_URL=redis://" + miniredis.RunT(t).Addr() + "?read_timeout=1s"} {
		bot := newBot(t, DemoSettings(world), store) // It runs on.
		for _, user := range []chat.User{{Platform: "telegram", ID: "77"}, {Platform: "discord", ID: "5"}, {Platform: "telegram", ID: "9"}} {
			if _, err := bot.members.Save(t.Context(), user, common.Address{19: 1}, staking); err != nil {
				t.Fatal(err)
			}
		}
		var table strings.Builder
		cfg := mustLoad(t, append(DemoSettings(world), store), "")
		if err := ListMembers(t.Context(), cfg, discard, &table); err != nil {
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
		if err := ReleaseBadges(t.Context(), cfg, discard, &released); err != nil || !strings.HasPrefix(released.String(), "Nobody is held") {
			t.Errorf("released %q, %v", &released, err)
		}
		bot.Close()
	}
	if err := ListMembers(t.Context(), mustLoad(t, DemoSettings(world), ""), discard, &strings.Builder{}); !errors.Is(err, errNothingSaved) {
		t.Errorf("without a store: %v", err)
	}
	away := mustLoad(t, append(DemoSettings(world), "REDIS_URL=redis://127.0.0.1:1"), "")
	if err := ListMembers(t.Context(), away, discard, &strings.Builder{}); err == nil {
		t.Error("rows that cannot be read are no failure")
	}
}
