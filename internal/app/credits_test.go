package app_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
)

// budgeted starts a bot with few credits whose prices are fresh for an instant.
func budgeted(t *testing.T, world *fault.Sandbox, settings ...string) *app.Bot {
	t.Helper()
	few := append([]string{"PRICE_MONTHLY_CREDITS=100", "PRICE_TTL=1ms"}, settings...)
	return e2etest.New(t, e2etest.Settings(world, few...), e2etest.BareLog(false, io.Discard))
}

// wantPrice asks for the price many times, and wants it without a mark.
func wantPrice(t *testing.T, bot *app.Bot) {
	t.Helper()
	for range 20 {
		got := e2etest.Read(bot.Router.Handle(t.Context(), e2etest.Request("price")))
		if !strings.Contains(got, e2etest.Price) || strings.Contains(got, "old") {
			t.Fatalf("answered with %s", got)
		}
	}
}

func wantRequests(t *testing.T, world *fault.Sandbox, want int64) {
	t.Helper()
	if n := world.Price.Requests(); n != want {
		t.Errorf("the provider was asked %d times, want %d", n, want)
	}
}

// spendAll asks until both credits of a start are spent, and then again.
func spendAll(t *testing.T, world *fault.Sandbox, bot *app.Bot) {
	t.Helper()
	e2etest.Eventually(t, "a second call", func() bool {
		wantPrice(t, bot)
		return world.Price.Requests() == 2
	})
	wantPrice(t, bot)
}

func TestThePriceStaysWhenItsCreditsAreSpent(t *testing.T) {
	world := e2etest.Sandbox(t)
	spendAll(t, world, budgeted(t, world))
	wantRequests(t, world, 2)
}

func TestWithAFolderARestartCostsNoCredit(t *testing.T) {
	world := e2etest.Sandbox(t)
	dir := "DATA_DIR=" + t.TempDir()
	for i := range 3 {
		t.Run(fmt.Sprint("start ", i+1), func(t *testing.T) { spendAll(t, world, budgeted(t, world, dir)) })
	}
	wantRequests(t, world, 2)
}

func TestReplicasShareTheCredits(t *testing.T) {
	world := e2etest.Sandbox(t)
	redis := miniredis.RunT(t)
	for range 3 {
		spendAll(t, world, budgeted(t, world, e2etest.OnRedis(redis)...))
	}
	wantRequests(t, world, 2) // 3 % of 85
}

func TestWithoutABoundEveryPriceMayBeAskedFor(t *testing.T) {
	world := e2etest.Sandbox(t)
	bot := budgeted(t, world, "PRICE_MONTHLY_CREDITS=0")
	e2etest.Eventually(t, "many calls", func() bool {
		wantPrice(t, bot)
		return world.Price.Requests() > 5
	})
}

func TestNoPriceAndNoCreditIsSaid(t *testing.T) {
	world := e2etest.Sandbox(t)
	world.Price.SetFault(fault.Answer(500, "text/plain", ""))
	bot := budgeted(t, world, "PRICE_MONTHLY_CREDITS=10", "DATA_DIR="+t.TempDir())
	want := "The price provider can't be reached"
	e2etest.Eventually(t, "it says why", func() bool {
		got := e2etest.Read(bot.Router.Handle(t.Context(), e2etest.Request("price")))
		if !strings.Contains(got, want) && !strings.Contains(got, "allows only so many questions a month") {
			t.Fatalf("answered with %s", got)
		}
		return !strings.Contains(got, want)
	})
	wantRequests(t, world, 1)
}

func TestDiscordShowsThePriceUnderTheBotsName(t *testing.T) {
	world, discord := e2etest.Sandbox(t), e2etest.Discord(t)
	e2etest.ServeReady(t, world, append(e2etest.Gateway(discord), "DISCORD_PRESENCE=price", "PRICE_MONTHLY_CREDITS=1000", "CHAT_LANGUAGE=es")...)
	e2etest.Eventually(t, "the status", func() bool { return discord.Status() != "" })
	if got, want := e2etest.Plain(discord.Status()), "HRLD 0,04173 $ · 24 h ▲ +2,72 %"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	wantRequests(t, world, 1)
	if problems := discord.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}
