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

// A glitch of the price provider multiplies the price for a while. The bot must doubt such a price.

// glitchingProvider is a price provider that quotes $2 multiplied by factor. The changes that it quotes stay the same.
type glitchingProvider struct{ factor atomic.Int64 }

func (p *glitchingProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/cryptocurrency/quotes/latest" {
		http.NotFound(w, r)
		return
	}
	price := 2 * p.factor.Load()
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

// glitchTest is a bot that asks a glitchingProvider.
type glitchTest struct {
	t        *testing.T
	bot      *Bot
	provider *glitchingProvider
	settings []string
	staker   string // the wallet of somebody who stakes
}

// newGlitchTest returns a glitchTest whose bot has learned the correct price, $2.
func newGlitchTest(t *testing.T) *glitchTest {
	t.Helper()
	fakes := startFakes(t)
	g := &glitchTest{t: t, provider: new(glitchingProvider), staker: fakes.World.Staker.Hex()}
	url := resttest.Serve(t, g.provider.ServeHTTP)
	g.settings = append(DemoSettings(fakes), "PRICE_API_URL="+url, "DATA_DIR="+t.TempDir(), "PRICE_TTL=1ms")
	g.bot = newBot(t, g.settings)
	t.Cleanup(func() { g.bot.Close() })
	g.setFactor(1, "HRLD $2.000")
	return g
}

// restart closes the bot, and starts another one with the same DATA_DIR.
func (g *glitchTest) restart() {
	g.t.Helper()
	g.bot.Close()
	g.bot = newBot(g.t, g.settings)
}

// beginGlitch makes the provider's price doubtful, and endGlitch makes it correct again.
func (g *glitchTest) beginGlitch() { g.setFactor(glitchFactor, "HRLD "+doubtfulPrice) }
func (g *glitchTest) endGlitch()   { g.setFactor(1, "HRLD $2.000") }

// The price during a glitch, and how /price shows it.
const (
	glitchFactor  = 20_000_000
	doubtfulPrice = "$40,000,000.00 (doubtful)"
)

// setFactor changes the provider's factor, and waits until the answer to /price begins with shown.
func (g *glitchTest) setFactor(factor int64, shown string) {
	g.t.Helper()
	g.provider.factor.Store(factor)
	platformtest.WaitUntil(g.t, "/price shows "+shown, func() bool {
		return strings.HasPrefix(ask(g.t, g.bot, "price"), shown)
	})
}

// valuation is a command line, and what its answer contains only if the bot values tokens by the price.
type valuation struct{ line, value string }

func (g *glitchTest) valuations() []valuation {
	return []valuation{
		{line: "price 1500", value: "$3,000"},
		{line: "price $100", value: "50 HRLD"},
		{line: "price 7d", value: "a picture"},
		{line: "supply", value: "Market cap"},
		{line: "staked " + g.staker, value: "≈"},
	}
}

func TestTokensAreValuedByABelievedPrice(t *testing.T) {
	g := newGlitchTest(t)
	for _, v := range g.valuations() {
		got := ask(t, g.bot, v.line)
		if !strings.Contains(got, v.value) || strings.Contains(got, "doubtful") {
			t.Errorf("/%s answers %s, want %s", v.line, got, v.value)
		}
	}
}

// requireNoValuation fails the test if a command values tokens. It also fails the test unless the answers to /price,
// and only these, show that the price is doubtful.
func (g *glitchTest) requireNoValuation(t *testing.T) {
	t.Helper()
	for _, v := range g.valuations() {
		got := ask(t, g.bot, v.line)
		if strings.Contains(got, v.value) {
			t.Errorf("/%s values tokens by a doubtful price: %s", v.line, got)
		}
		showsDoubt := strings.Contains(got, doubtfulPrice)
		mustShowDoubt := strings.HasPrefix(v.line, "price")
		if showsDoubt != mustShowDoubt {
			t.Errorf("/%s shows that the price is doubtful: %t, want %t", v.line, showsDoubt, mustShowDoubt)
		}
	}
	if got := ask(t, g.bot, "price"); !strings.Contains(got, doubtfulPrice) {
		t.Errorf("/price answers %s, want %s", got, doubtfulPrice)
	}
}

func TestNothingIsValuedByADoubtfulPrice(t *testing.T) {
	g := newGlitchTest(t)
	g.beginGlitch()
	g.requireNoValuation(t)
}

func TestABotThatStartsDuringAGlitchDoubtsThePriceToo(t *testing.T) {
	g := newGlitchTest(t)
	g.beginGlitch()
	g.restart()
	g.requireNoValuation(t)
}

func TestStatusAndCheckReportADoubtfulPrice(t *testing.T) {
	g := newGlitchTest(t)
	g.beginGlitch()
	for range 2 { // before and after a restart
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
	g := newGlitchTest(t)
	g.beginGlitch()
	g.restart()
	g.endGlitch()
	if got := ask(t, g.bot, "price 1500"); !strings.Contains(got, "$3,000") {
		t.Errorf("/price 1500 answers %s, want $3,000", got)
	}
}

func TestASupplyInBaseUnitsIsDoubtful(t *testing.T) {
	provider := new(glitchingProvider)
	provider.factor.Store(1)
	const inBaseUnits = "1000000000000000000000000\n" // 1,000,000 tokens with 18 decimals
	supplyURL := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, inBaseUnits)
	})
	bot := newBot(t, DemoSettings(startFakes(t)),
		"PRICE_API_URL="+resttest.Serve(t, provider.ServeHTTP),
		"SUPPLY_URL="+supplyURL)
	defer bot.Close()
	const want = "circulating (doubtful)\nCoinMarketCap counts 1,000,000 HRLD"
	if got := ask(t, bot, "supply"); !strings.Contains(got, want) || strings.Contains(got, "$") {
		t.Errorf("/supply answers %s, want %s", got, want)
	}
}
