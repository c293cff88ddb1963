package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/core"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord"

	"github.com/bwmarrin/discordgo"
)

func TestMembersAreListedAsCSV(t *testing.T) {
	world, discard := startSandbox(t), slog.New(slog.DiscardHandler)
	staking := core.Stake{Checked: 21, Staked: []core.PoolAmount{{Amount: decimal.New(1, 0)}}}
	for _, store := range []string{"DATA_DIR=" + t.TempDir(), "REDIS_URL=redis://" + miniredis.RunT(t).Addr() + "?read_timeout=1s"} {
		bot := newBot(t, world, store) // It runs on.
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

// The whole bot, before the real client libraries: a press gives the role, a restart keeps the
// row, the stake goes and so does the role.
func TestARoleFollowsTheStakeAcrossARestart(t *testing.T) {
	world, fake, dir := startSandbox(t), discordtest.New(), t.TempDir()
	defer fake.Close()
	const server, role, ours = "400000000000000001", "400000000000000002", "400000000000000003"
	fake.AddGuild(server, []fakediscord.Role{
		{ID: role, Name: "Staker", Position: 1}, {ID: ours, Position: 2, Permissions: discordgo.PermissionManageRoles},
	}, ours)
	member := world.World.Registered.UID("Discord")
	fake.Enter(server, member)
	start := func() (*Bot, func()) {
		bot := newBot(t, world, "DATA_DIR="+dir, "DISCORD_BOT_TOKEN="+fake.Token, "DISCORD_API_URL="+fake.URL(), "HTTP_ADDR=off",
			"STAKER_ROLES=discord:"+server+":"+role, "STAKE_TTL=1ms")
		bot.members.Limiter = unlimited{} // which would wait a second between two calls
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- bot.Run(ctx) }()
		chattest.WaitUntil(t, "the bot's name of the role", func() bool {
			if fake.Connected() == 0 {
				return false
			}
			all := bot.members.Badges(discord.Platform, server)
			return len(all) > 0 && all[0].Name != ""
		})
		return bot, func() { stop(); <-ended; bot.Close() }
	}
	_, stop := start()
	ask := func(i fakediscord.Interaction) *fakediscord.Pending {
		i.GuildID, i.UserID = server, member
		p, err := fake.Push(i)
		if err == nil {
			_, err = p.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	card := ask(fakediscord.Interaction{Command: "verify", Options: map[string]string{"wallet": world.World.Staker.Hex()}})
	press := card.Press(member, "1 e 0 save "+world.World.Staker.Hex())
	ask(press)
	if !fake.Wears(server, member, role) {
		t.Fatalf("the press gives no role: %s", card.Answer().Text())
	}
	if reason := fake.RoleCalls()[0].Reason; !strings.HasPrefix(reason, "Herald: stakes enough (21 pools, block of ") {
		t.Errorf("the audit log shows %q", reason)
	}
	stop()
	bot, stop := start()
	defer func() { stop() }()
	for cycle := range 3 {
		world.Unstaked.On.Store(cycle > 0)
		if err := bot.members.CheckAll(t.Context(), 6*time.Hour); err != nil || fake.Wears(server, member, role) != (cycle < 2) {
			t.Errorf("cycle %d: the role is worn: %t, %v", cycle, fake.Wears(server, member, role), err)
		}
	}
	if problems := fake.Problems(); len(problems) > 0 {
		t.Errorf("refused: %q", problems)
	}
}
