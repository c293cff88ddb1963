package truth

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/sandbox/fault"
)

// say is what the bot answers to a command without arguments, but for its notes,
// which tell how old it is.
func say(t *testing.T, bot *app.Bot, world *fault.Sandbox, command string) string {
	t.Helper()
	reply := bot.Router.Handle(t.Context(), chat.Request{
		ID: "store", Command: command, From: e2etest.TelegramUser(world.World.Registered), Chat: "1", Direct: true,
	})
	reply.Notes = nil
	return e2etest.Read(reply)
}

// TestTwoBotsOnOneRedisDoNotMixUpTheirTokens runs bots of one partner on one
// Redis, which differ in the token, its symbol, or the service.
func TestTwoBotsOnOneRedisDoNotMixUpTheirTokens(t *testing.T) {
	redis := miniredis.RunT(t)
	world := e2etest.Sandbox(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/cryptocurrency/quotes/latest" {
			io.WriteString(w, `{"status":{"error_code":0},"data":[{"id":77,"symbol":"OTHR","slug":"other","quote":{"USD":{"price":7.5}}}]}`)
			return
		}
		io.WriteString(w, "75")
	}))
	defer elsewhere.Close()
	for _, bot := range []struct {
		name     string
		settings []string
		price    string
		supply   string
	}{
		{"the first bot", nil, e2etest.Price, world.World.Supply.Total.StringFixed(0)[:2]},
		{"another token there", []string{"PRICE_TOKEN_ID=77"}, "", ""},
		{"another symbol there", []string{"TOKEN_SYMBOL=OTHR"}, "", ""},
		{"other services", []string{"PRICE_API_URL=" + elsewhere.URL, "PRICE_TOKEN_ID=77", "TOKEN_SYMBOL=OTHR", "SUPPLY_URL=" + elsewhere.URL}, "$7.50", "75"},
		{"another token elsewhere", []string{"PRICE_API_URL=" + elsewhere.URL, "TOKEN_SYMBOL=OTHR", "PRICE_TOKEN_ID=78"}, "", ""},
		{"the first bot again", nil, e2etest.Price, ""},
	} {
		b := e2etest.New(t, e2etest.Settings(world, append(bot.settings, e2etest.OnRedis(redis)...)...), e2etest.BareLog(false, io.Discard))
		got := say(t, b, world, "price")
		if bot.price == "" && strings.Contains(got, "$") || !strings.Contains(got, bot.price) {
			t.Errorf("%s: /price is answered with %s, want %q", bot.name, got, bot.price)
		}
		if got := say(t, b, world, "supply"); !strings.Contains(got, bot.supply) {
			t.Errorf("%s: /supply is answered with %s, want %q", bot.name, got, bot.supply)
		}
	}
	for _, text := range []string{world.Price.URL(), elsewhere.URL, "OTHR", "quotes"} {
		if dump := redis.Dump(); strings.Contains(dump, text) {
			t.Errorf("%s stands in Redis: %s", text, dump)
		}
	}
}

// foreign are entries that stand where an answer does. AT is a time.
var foreign = []string{
	`{}`, `null`, `7`, `[]`, `garbage`, "\x00\xff", `{"Value":null,"At":"AT"}`, `{"Value":{},"At":"AT"}`, `{"Value":{},"At":"AT","Stale":false}`,
	`{"Value":{"Price":"9"},"At":"AT"}`, `{"Value":{"Price":"9"},"At":"AT","Stale":false}`, `{"value":{"price":9},"at":"AT"}`,
	`{"Value":{"USD":"9","MarketCap":"9"},"At":"AT","Stale":false}`,
	price(`"9"`, `null`, `null`, "AT")[1:], price(`"9"`, `null`, `null`, "AT") + "}",
	price(`"0"`, `null`, `null`, "AT"), price(`"-9"`, `null`, `null`, "AT"), price(`null`, `null`, `null`, "AT"), price(`""`, `null`, `null`, "AT"),
	price(`"9e999999999"`, `null`, `null`, "AT"), price(`"9e-999999999"`, `null`, `null`, "AT"), price(`"9000000000000000000"`, `null`, `null`, "AT"),
	price(`"`+strings.Repeat("9", 1000)+`"`, `null`, `null`, "AT"), price(`"`+strings.Repeat("9", 100_000)+`"`, `null`, `null`, "AT"),
	price(`"9"`, `"0"`, `null`, "AT"), price(`"9"`, `"-5"`, `null`, "AT"), price(`"9"`, `"9e999999999"`, `null`, "AT"),
	price(`"9"`, `null`, `"-101"`, "AT"), price(`"9"`, `null`, `"1e999999999"`, "AT"),
	price(`"9"`, `null`, `null`, "9999-12-31T23:59:59Z"), price(`"9"`, `null`, `null`, "0001-01-01T00:00:00Z"),
	strings.Replace(price(`"9"`, `null`, `null`, "AT"), `"Stale":false`, `"Stale":true`, 1),
	strings.Replace(price(`"9"`, `null`, `null`, "AT"), `"LastUpdated":"0001-01-01`, `"LastUpdated":"9999-01-01`, 1),
	supply(`"9"`, `"10"`), supply(`"0"`, `"0"`), supply(`"9"`, `"0"`), supply(`"9"`, `"-1"`), supply(`"-1"`, `"-2"`), supply(`"9e999999999"`, `"9"`),
	supply(`"9"`, `"1e-999999999"`), supply(`"9"`, `null`), supply(`null`, `null`), `{"Value":{"Total":"9"},"At":"AT","Stale":false}`,
}

func price(price, marketCap, change, at string) string {
	return fmt.Sprintf(`{"Value":{"Price":%s,"Change1h":%s,"Change24h":null,"Change7d":null,"MarketCap":%s,"Volume24h":null,`+
		`"LastUpdated":"0001-01-01T00:00:00Z"},"At":"%s","Stale":false}`, price, change, marketCap, at)
}

func supply(total, circulating string) string {
	return fmt.Sprintf(`{"Value":{"Total":%s,"Circulating":%s},"At":"AT","Stale":false}`, total, circulating)
}

func TestForeignEntriesInRedisAreNotAnswers(t *testing.T) {
	redis := miniredis.RunT(t)
	world := e2etest.Sandbox(t)
	settings := e2etest.Settings(world, e2etest.OnRedis(redis)...)
	fresh := func() *app.Bot { return e2etest.New(t, settings, e2etest.BareLog(false, io.Discard)) }
	right := map[string]string{}
	var keys []string
	e2etest.Eventually(t, "the price and the supply are in Redis", func() bool {
		bot := fresh()
		for _, command := range []string{"price", "supply"} {
			right[command] = say(t, bot, world, command)
		}
		keys = slices.DeleteFunc(redis.Keys(), func(key string) bool { return !strings.HasPrefix(key, "herald:answer:") })
		return len(keys) == 2
	})
	if !strings.Contains(right["price"], e2etest.Price) {
		t.Fatalf("/price is answered with %s", right["price"])
	}
	for _, entry := range foreign {
		entry := strings.ReplaceAll(entry, "AT", time.Now().Add(-time.Second).Format(time.RFC3339Nano))
		for _, key := range keys {
			redis.Set(key, entry)
		}
		bot := fresh()
		for command, want := range right {
			if got := say(t, bot, world, command); got != want {
				t.Errorf("/%s with %.300s in Redis is answered with %s", command, entry, got)
			}
		}
	}
}
