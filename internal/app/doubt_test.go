package app

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/platform/platformtest"
	"herald/internal/service/rest/resttest"
	"herald/internal/words"
)

// glitch is a price provider that multiplies the price of $2 by factor. The changes that it reports
// stay the same.
type glitch struct{ factor atomic.Int64 }

func (g *glitch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/cryptocurrency/quotes/latest" {
		http.NotFound(w, r)
		return
	}
	price := 2 * g.factor.Load()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": map[string]any{"error_code": 0},
		"data": map[string]any{services.TokenID: map[string]any{
			"id":                 json.Number(services.TokenID),
			"symbol":             services.Symbol,
			"circulating_supply": 1_000_000,
			"quote": map[string]any{"USD": map[string]any{
				"price":              price,
				"percent_change_1h":  0.1,
				"percent_change_24h": -2,
				"market_cap":         1_000_000 * price,
				"last_updated":       time.Now().UTC().Format(time.RFC3339),
			}},
		}},
	})
}

// ask returns what the bot answers to a command line such as "price 1500", in English, or "a picture".
func ask(t *testing.T, bot *Bot, line string) string {
	t.Helper()
	typed := strings.Fields(line)
	request := &chat.Request{Command: typed[0], Args: chat.Typed(typed[1:]...), Direct: true}
	reply := bot.Router.Handle(t.Context(), request)
	if reply.Image != nil {
		return "a picture"
	}
	card := words.Print(reply)
	lines := []string{words.Join(card.Title, card.Subtitle).String(), card.Text.String()}
	for _, section := range card.Sections {
		for _, field := range section.Fields {
			lines = append(lines, words.Join(field.Name, field.Value).String())
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\u00a0", " ")
}

// priceGlitch runs a bot whose price provider multiplies its prices by a factor.
type priceGlitch struct {
	t        *testing.T
	bot      *Bot
	provider *glitch
	settings []string
	staker   string // the wallet of somebody who stakes
}

// newPriceGlitch returns a bot that has learned the correct price.
func newPriceGlitch(t *testing.T) *priceGlitch {
	t.Helper()
	world := startSandbox(t)
	g := &priceGlitch{t: t, provider: new(glitch), staker: world.World.Staker.Hex()}
	url := resttest.Serve(t, g.provider.ServeHTTP)
	g.settings = append(DemoSettings(world), "PRICE_API_URL="+url, "DATA_DIR="+t.TempDir(), "PRICE_TTL=1ms")
	g.bot = newBot(t, g.settings)
	t.Cleanup(func() { g.bot.Close() })
	g.multiply(1, "HRLD $2.000")
	return g
}

// restart replaces the bot by one that has only what the first one saved.
func (g *priceGlitch) restart() {
	g.t.Helper()
	g.bot.Close()
	g.bot = newBot(g.t, g.settings)
}

// multiply changes the factor, and waits until the answer to /price begins with shown.
func (g *priceGlitch) multiply(factor int64, shown string) {
	g.t.Helper()
	g.provider.factor.Store(factor)
	platformtest.WaitUntil(g.t, "/price shows "+shown, func() bool {
		return strings.HasPrefix(ask(g.t, g.bot, "price"), shown)
	})
}

// valuations returns command lines, and what their answers contain if they value tokens by the price.
func (g *priceGlitch) valuations() map[string]string {
	return map[string]string{
		"price 1500":         "$3,000",
		"price $100":         "50 HRLD",
		"price 7d":           "a picture",
		"supply":             "Market cap",
		"staked " + g.staker: "≈",
	}
}

const (
	glitchFactor  = 20_000_000
	doubtfulPrice = "$40,000,000.00 (doubtful)"
)

func TestTokensAreValuedByABelievedPrice(t *testing.T) {
	g := newPriceGlitch(t)
	for line, value := range g.valuations() {
		got := ask(t, g.bot, line)
		if !strings.Contains(got, value) || strings.Contains(got, "doubtful") {
			t.Errorf("/%s answers %s, want %s", line, got, value)
		}
	}
}

// requireNoValuation fails the test unless /price and its variants show the doubtful price, and no
// command values tokens.
func (g *priceGlitch) requireNoValuation(t *testing.T) {
	t.Helper()
	for line, value := range g.valuations() {
		got := ask(t, g.bot, line)
		if strings.Contains(got, value) {
			t.Errorf("/%s values tokens by a doubtful price: %s", line, got)
		}
		showsDoubt := strings.Contains(got, doubtfulPrice)
		if isPrice := strings.HasPrefix(line, "price"); showsDoubt != isPrice {
			t.Errorf("/%s shows that the price is doubtful: %t, want %t", line, showsDoubt, isPrice)
		}
	}
	if got := ask(t, g.bot, "price"); !strings.Contains(got, doubtfulPrice) {
		t.Errorf("/price answers %s, want %s", got, doubtfulPrice)
	}
}

func TestNothingIsValuedByADoubtfulPrice(t *testing.T) {
	g := newPriceGlitch(t)
	g.multiply(glitchFactor, "HRLD "+doubtfulPrice)
	g.requireNoValuation(t)
}

func TestABotThatStartsDuringAGlitchDoubtsThePriceToo(t *testing.T) {
	g := newPriceGlitch(t)
	g.multiply(glitchFactor, "HRLD "+doubtfulPrice)
	g.restart()
	g.requireNoValuation(t)
}

func TestStatusAndCheckReportADoubtfulPrice(t *testing.T) {
	g := newPriceGlitch(t)
	g.multiply(glitchFactor, "HRLD "+doubtfulPrice)
	for range 2 {
		ask(t, g.bot, "price")
		if got := ask(t, g.bot, "status"); !strings.Contains(got, "The price is doubtful") {
			t.Errorf("/status answers %s", got)
		}
		var table strings.Builder
		_ = g.bot.Check(t.Context(), &table, "")
		if !strings.Contains(table.String(), "that price is doubtful: That is 20M times") {
			t.Errorf("the table of check is\n%s", &table)
		}
		g.restart()
	}
}

func TestTokensAreValuedAgainAfterAGlitch(t *testing.T) {
	g := newPriceGlitch(t)
	g.multiply(glitchFactor, "HRLD "+doubtfulPrice)
	g.restart()
	g.multiply(1, "HRLD $2.000")
	if got := ask(t, g.bot, "price 1500"); !strings.Contains(got, "$3,000") {
		t.Errorf("/price 1500 answers %s, want $3,000", got)
	}
}

func TestASupplyInBaseUnitsIsDoubtful(t *testing.T) {
	provider := new(glitch)
	provider.factor.Store(1)
	supplyURL := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "1000000000000000000000000\n")
	})
	bot := newBot(t, DemoSettings(startSandbox(t)),
		"PRICE_API_URL="+resttest.Serve(t, provider.ServeHTTP),
		"SUPPLY_URL="+supplyURL)
	defer bot.Close()
	const want = "circulating (doubtful)\nCoinMarketCap counts 1,000,000 HRLD"
	if got := ask(t, bot, "supply"); !strings.Contains(got, want) || strings.Contains(got, "$") {
		t.Errorf("/supply answers %s, want %s", got, want)
	}
}
