package discord

import (
	"encoding/json"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
)

// BenchmarkRender renders each card, and encodes it as it is sent.
func BenchmarkRender(b *testing.B) {
	router := commandstest.Healthy().Router(b)
	for _, line := range []string{"/price", "/price 7d", "/supply", "/staked " + commandstest.Wallet, "/mylogins", "/exists 12345", "/verify 12345 " + commandstest.BobsWallet, "/help", "/staked"} {
		reply := commandstest.Ask(b, router, line)
		for _, l := range []chat.Language{chat.English, chat.Russian} {
			reply.Language = l
			b.Run(line+"/"+string(l), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := json.Marshal(newMessage(render(reply), false)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
