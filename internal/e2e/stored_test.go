package e2e

import (
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/chat"
	"herald/internal/e2e/e2etest"
	"herald/internal/secret/logtest"
)

// Two bots of one partner share a Redis, and differ in the token or its symbol.
func TestBotsOnOneRedisDoNotMixUpTheirTokens(t *testing.T) {
	t.Parallel()
	redis, world := miniredis.RunT(t), e2etest.Sandbox(t)
	for _, step := range []struct {
		name     string
		settings []string
		own      bool // the price and the supply are its own
	}{
		{"the first bot", nil, true},
		{"one with another token", []string{"PRICE_TOKEN_ID=77"}, false},
		{"one with another symbol", []string{"TOKEN_SYMBOL=OTHR"}, false},
		{"the first bot again", nil, true},
	} {
		bot := e2etest.New(t, e2etest.Settings(world, append(step.settings, e2etest.OnRedis(redis)...)...), (&logtest.Buffer{}).Logger())
		reply := bot.Router.Handle(t.Context(), chat.Request{
			ID: "1", Command: "price", From: chat.User{Platform: "telegram", ID: "1"}, Chat: "1", Direct: true,
		})
		if got := strings.Join(e2etest.Lines(reply), "\n"); step.own != strings.Contains(got, e2etest.Price) {
			t.Errorf("%s: /price is answered with %s", step.name, got)
		}
	}
	for _, text := range []string{world.Price.URL(), "OTHR", "quotes"} {
		if dump := redis.Dump(); strings.Contains(dump, text) {
			t.Errorf("%s is in Redis: %s", text, dump)
		}
	}
}
