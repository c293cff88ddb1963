package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/disk"
	"herald/internal/history"
	"herald/internal/redact/logtest"
	"herald/internal/sandbox"
)

// asked runs a bot that is asked for the price, until it is closed.
func asked(t *testing.T, world *sandbox.Sandbox, command chat.Request, settings ...string) (*Config, chat.Reply) {
	t.Helper()
	cfg := mustLoad(t, append(DemoSettings(world), settings...), "")
	bot, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Close()
	return cfg, bot.Router.Handle(t.Context(), command)
}

func startSandbox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	return world
}

func TestQuotesSeenOutliveTheBot(t *testing.T) {
	world := startSandbox(t)
	dir := filepath.Join(t.TempDir(), "made")
	cfg, _ := asked(t, world, chat.Request{Command: "price", Direct: true}, "DATA_DIR="+dir)

	store, err := disk.New(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	seen := history.New(history.Config{Source: tokenID(cfg.Market), Stores: []core.Store{store}})
	points := seen.Since(time.Time{})
	if len(points) != 1 || !points[0].Price.Equal(world.World.Quote.Price) || !points[0].At.Equal(world.World.Quote.LastUpdated) {
		t.Errorf("kept %+v, want %+v", points, world.World.Quote)
	}
}

func TestTheQuotesOfAnEarlierVersionAreLookedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "quotes.db"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log logtest.Buffer
	cfg := mustLoad(t, append(DemoSettings(startSandbox(t)), "DATA_DIR="+dir), "")
	bot, err := New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Close()
	bot.Router.Handle(t.Context(), chat.Request{Command: "price", Direct: true})
	if strings.Count(log.String(), "the quotes that were kept cannot be read") != 1 {
		t.Errorf("logged %s", &log)
	}
}

func TestAChartIsDrawnOfTheQuotesSeen(t *testing.T) {
	_, reply := asked(t, startSandbox(t), chat.Request{Command: "price", Args: chat.Typed("24h"), Direct: true})
	if reply.Image == nil || len(reply.Image.PNG) == 0 {
		t.Errorf("no picture in %+v", reply)
	}
}

func TestTokensAreToldApartWithoutTheirURL(t *testing.T) {
	cfg := mustLoad(t, with("PRICE_API_URL=https://prices.example.org/key-in-a-path"), "")
	first := tokenID(cfg.Market)
	seen := map[string]bool{first: true}
	for _, change := range []string{"PRICE_API_URL=https://prices.example.org", "PRICE_TOKEN_ID=1", "PRICE_TOKEN_SLUG=1", "TOKEN_SYMBOL=OTHR"} {
		id := tokenID(mustLoad(t, with(change), "").Market)
		if seen[id] {
			t.Errorf("%s makes no difference", change)
		}
		seen[id] = true
	}
	if len(first) != 64 {
		t.Errorf("the ID is %q", first)
	}
}

func TestAFolderThatCannotBeMadeIsToldWithTheOtherMistakes(t *testing.T) {
	_, err := Load(with("CHAT_LANGUAGE=xx", "DATA_DIR="+filepath.Join(t.TempDir(), "no", "parent")), "")
	if mistakes, ok := errors.AsType[config.Mistakes](err); !ok || len(mistakes) != 2 || !strings.Contains(err.Error(), "DATA_DIR: ") {
		t.Errorf("got %v", err)
	}
}
