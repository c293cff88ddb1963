package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/service/rest/resttest"
	"herald/internal/words"
)

// glitch is a price provider whose prices are multiplied by a factor. Its changes stay the same.
type glitch struct{ factor atomic.Int64 }

func (g *glitch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/cryptocurrency/quotes/latest" {
		http.NotFound(w, r)
		return
	}
	price, now := 2*g.factor.Load(), time.Now().UTC().Format(time.RFC3339)
	fmt.Fprintf(w, `{"status":{"error_code":0},"data":{"%s":{"id":%[1]s,"symbol":"%s","circulating_supply":1000000,`+
		`"quote":{"USD":{"price":%d,"percent_change_1h":0.1,"percent_change_24h":-2,"market_cap":%d,"last_updated":"%s"}}}}}`,
		services.TokenID, services.Symbol, price, 1_000_000*price, now)
}

// said returns what the bot answers to a line, in English.
func said(t *testing.T, bot *Bot, line string) string {
	t.Helper()
	typed := strings.Fields(line)
	reply := bot.Router.Handle(t.Context(), &chat.Request{Command: typed[0], Args: chat.Typed(typed[1:]...), Direct: true})
	if reply.Image != nil {
		return "a picture"
	}
	card := words.Print(reply)
	lines := []string{words.Join(card.Title, card.Subtitle).String(), card.Text.String()}
	for _, s := range card.Sections {
		for _, f := range s.Fields {
			lines = append(lines, words.Join(f.Name, f.Value).String())
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\u00a0", " ")
}

// Only the first of two bots sees the price before it is wrong.
func TestNothingIsValuedByADoubtfulPrice(t *testing.T) {
	world, g, dir := startSandbox(t), new(glitch), t.TempDir()
	url := resttest.Serve(t, g.ServeHTTP)
	settings := append(DemoSettings(world), "PRICE_API_URL="+url, "DATA_DIR="+dir, "PRICE_TTL=1ms")
	lines := map[string]string{
		"price": "$2", "price 1500": "$3,000", "price $100": "50 HRLD", "price 7d": "a picture",
		"supply": "Market cap", "staked " + world.World.Staker.Hex(): "≈",
	}
	g.factor.Store(1)
	bot := newBot(t, settings)
	for line, worth := range lines {
		if got := said(t, bot, line); !strings.Contains(got, worth) || strings.Contains(got, "doubtful") {
			t.Errorf("%s before: %s", line, got)
		}
	}
	multiply := func(factor int64, price string) {
		t.Helper()
		g.factor.Store(factor)
		for begun := time.Now(); !strings.HasPrefix(said(t, bot, "price"), "HRLD "+price); time.Sleep(time.Millisecond) {
			if time.Since(begun) > 10*time.Second {
				t.Fatalf("after a change of the price /price still says %s", said(t, bot, "price"))
			}
		}
	}
	multiply(20_000_000, "$40,000,000.00 (doubtful)")
	for range 2 {
		for line, worth := range lines {
			got := said(t, bot, line)
			valued := line != "price" && strings.Contains(got, worth)
			doubtful := strings.Contains(got, "$40,000,000.00 (doubtful)")
			if valued || doubtful != strings.HasPrefix(line, "price") {
				t.Errorf("%s meanwhile: %s", line, got)
			}
		}
		if got := said(t, bot, "status"); !strings.Contains(got, "The price is doubtful") {
			t.Errorf("/status says %s", got)
		}
		var table bytes.Buffer
		_ = bot.Check(t.Context(), &table, "")
		if !strings.Contains(table.String(), "that price is doubtful: That is 20M times") {
			t.Errorf("bot check says %s", table.String())
		}
		bot.Close()
		bot = newBot(t, settings)
	}
	multiply(1, "$2.000")
	if got := said(t, bot, "price 1500"); !strings.Contains(got, "$3,000") {
		t.Errorf("afterwards: %s", got)
	}
	bot.Close()
}

func TestASupplyInBaseUnitsIsDoubtful(t *testing.T) {
	world, g := startSandbox(t), new(glitch)
	g.factor.Store(1)
	supplies := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "1000000000000000000000000\n")
	})
	bot := newBot(t, DemoSettings(world), "PRICE_API_URL="+resttest.Serve(t, g.ServeHTTP), "SUPPLY_URL="+supplies)
	defer bot.Close()
	const want = "circulating (doubtful)\nCoinMarketCap counts 1,000,000 HRLD"
	if got := said(t, bot, "supply"); !strings.Contains(got, want) || strings.Contains(got, "$") {
		t.Errorf("got %s", got)
	}
}
