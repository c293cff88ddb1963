package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// say is what the bot answers to a command without arguments.
func say(t *testing.T, bot *app.Bot, command string) string {
	t.Helper()
	reply := bot.Router.Handle(t.Context(), chat.Request{ID: "stored", Command: command, From: chat.User{Platform: "telegram", ID: "1"}, Chat: "1", Direct: true})
	return strings.Join(e2etest.Lines(reply), "\n")
}

// figures are an answer without what tells how old it is.
func figures(answer string) string {
	answer, _, _ = strings.Cut(answer, "\nUpdated ")
	answer, _, _ = strings.Cut(answer, "\nChecked ")
	return answer
}

func TestAnOldPriceIsShownForNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	const may = 400 * time.Millisecond
	world := e2etest.Sandbox(t)
	settings := append(e2etest.TTLs(time.Millisecond), "STALE_FOR="+may.String(), "UPSTREAM_TIMEOUT=200ms")
	bot := e2etest.New(t, e2etest.Settings(world, settings...), (&logtest.Buffer{}).Logger())
	say(t, bot, "price")
	world.Price.SetFault(fault.Answer(http.StatusBadGateway, "text/plain", "down"))
	learned := time.Now()
	e2etest.Eventually(t, "the price is no longer shown", func() bool {
		after := time.Since(learned)
		shown := !strings.HasPrefix(say(t, bot, "price"), "Could not be checked")
		if shown && after > may+slack {
			t.Fatalf("shown %v after it was learned", after)
		}
		return !shown
	})
}

// TestTwoBotsOnOneRedisDoNotMixUpTheirTokens runs bots of one partner on one
// Redis, which differ in the token or its symbol.
func TestTwoBotsOnOneRedisDoNotMixUpTheirTokens(t *testing.T) {
	t.Parallel()
	redis, world := miniredis.RunT(t), e2etest.Sandbox(t)
	for _, bot := range []struct {
		name          string
		settings      []string
		price, supply string
	}{
		{"the first bot", nil, e2etest.Price, "987"},
		{"another token there", []string{"PRICE_TOKEN_ID=77"}, "", ""},
		{"another symbol there", []string{"TOKEN_SYMBOL=OTHR"}, "", ""},
		{"the first bot again", nil, e2etest.Price, "987"},
	} {
		b := e2etest.New(t, e2etest.Settings(world, append(bot.settings, e2etest.OnRedis(redis)...)...), (&logtest.Buffer{}).Logger())
		if got := say(t, b, "price"); bot.price == "" && strings.Contains(got, "$") || !strings.Contains(got, bot.price) {
			t.Errorf("%s: /price is answered with %s, want %q", bot.name, got, bot.price)
		}
		if got := say(t, b, "supply"); !strings.Contains(got, bot.supply) {
			t.Errorf("%s: /supply is answered with %s, want %q", bot.name, got, bot.supply)
		}
	}
	for _, text := range []string{world.Price.URL(), "OTHR", "quotes"} {
		if dump := redis.Dump(); strings.Contains(dump, text) {
			t.Errorf("%s stands in Redis: %s", text, dump)
		}
	}
}

// foreign are entries that stand where an answer does. AT is a time.
var foreign = []string{
	`{}`, `null`, `7`, `garbage`, "\x00\xff", `{"Value":{},"At":"AT","Stale":false}`,
	storedPrice(`"9"`, `null`)[1:], storedPrice(`"9"`, `null`) + "}",
	storedPrice(`"0"`, `null`), storedPrice(`"-9"`, `null`), storedPrice(`null`, `null`), storedPrice(`"9e999999999"`, `null`),
	storedPrice(`"`+strings.Repeat("9", 100_000)+`"`, `null`), storedPrice(`"9"`, `"-5"`),
	strings.Replace(storedPrice(`"9"`, `null`), "AT", "9999-12-31T23:59:59Z", 1),
	strings.Replace(storedPrice(`"9"`, `null`), "AT", "0001-01-01T00:00:00Z", 1),
	strings.Replace(storedPrice(`"9"`, `null`), `"Stale":false`, `"Stale":true`, 1),
	storedSupply(`"9"`, `"10"`), storedSupply(`"0"`, `"0"`), storedSupply(`"9"`, `"-1"`), storedSupply(`"9e999999999"`, `"9"`), storedSupply(`"9"`, `null`),
}

func storedPrice(price, marketCap string) string {
	return fmt.Sprintf(`{"Value":{"Price":%s,"Change1h":null,"Change24h":null,"Change7d":null,"MarketCap":%s,"Volume24h":null,`+
		`"LastUpdated":"0001-01-01T00:00:00Z"},"At":"AT","Stale":false}`, price, marketCap)
}

func storedSupply(total, circulating string) string {
	return fmt.Sprintf(`{"Value":{"Total":%s,"Circulating":%s},"At":"AT","Stale":false}`, total, circulating)
}

func TestForeignEntriesInRedisAreNotAnswers(t *testing.T) {
	t.Parallel()
	redis, world := miniredis.RunT(t), e2etest.Sandbox(t)
	settings := e2etest.Settings(world, e2etest.OnRedis(redis)...)
	fresh := func() *app.Bot { return e2etest.New(t, settings, (&logtest.Buffer{}).Logger()) }
	right := map[string]string{}
	var keys []string
	e2etest.Eventually(t, "the price and the supply are in Redis", func() bool {
		bot := fresh()
		right["price"], right["supply"] = figures(say(t, bot, "price")), figures(say(t, bot, "supply"))
		before := len(keys)
		keys = slices.DeleteFunc(redis.Keys(), func(key string) bool { return !strings.HasPrefix(key, "herald:answer:") })
		return len(keys) >= 2 && len(keys) == before
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
			if got := figures(say(t, bot, command)); got != want {
				t.Errorf("/%s with %.300s in Redis is answered with %s", command, entry, got)
			}
		}
	}
}

// TestWhatIsNotWholeLeavesATrace has answers that miss something. The command's
// line in the log and the metrics must say what and why.
func TestWhatIsNotWholeLeavesATrace(t *testing.T) {
	t.Parallel()
	w := services.New().World
	staked := w.Staked[1].Pool.Address.Hex()
	for name, test := range map[string]struct {
		service       fault.Target
		fault         string
		command, word string
		answer, log   string
		unread        string // pool
	}{
		"a staker": {fault.Chain, "a pool with a stake reverts", "staked", w.Staker.Hex(), "Checked 20 of 21 pools", "pool " + staked, staked},
		"a supply": {fault.Price, "401 text/html", "supply", "", "Couldn't check what it's worth", "price: denied: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world, door, log := e2etest.Sandbox(t), e2etest.Ways[0].Open(t), &logtest.Buffer{}
			world.At(test.service).SetFault(findFault(t, test.service, test.fault))
			bot := e2etest.Serve(t, e2etest.Settings(world, append(door.Settings(), "LOG_LEVEL=debug")...), log)
			if got := door.Ask(e2etest.Command{User: 1, Name: test.command, Argument: test.word}).Wait(); !strings.Contains(got.Text, test.answer) {
				t.Fatalf("the answer is %+v, want %q", got, test.answer)
			}
			var line string
			for l := range strings.Lines(log.String()) {
				if strings.Contains(l, "command="+test.command) {
					line += l
				}
			}
			for _, want := range []string{"level=WARN", "outcome=partial", test.log} {
				if strings.Count(line, "\n") != 1 || !strings.Contains(line, want) {
					t.Errorf("the log lacks %q: %q", want, line)
				}
			}
			series := []string{fmt.Sprintf(`herald_command_seconds_count{command=%q,outcome="partial",platform="telegram"} 1`, test.command)}
			if test.unread != "" {
				series = append(series, fmt.Sprintf(`herald_pools_unread_total{pool=%q} 1`, test.unread))
			}
			metrics := strings.Split(e2etest.Metrics(t, bot.URL), "\n")
			for _, want := range series {
				if !slices.Contains(metrics, want) {
					t.Errorf("/metrics lacks %s", want)
				}
			}
		})
	}
}
