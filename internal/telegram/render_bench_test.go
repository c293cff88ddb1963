package telegram

import (
	"testing"

	"herald/commands/commandstest"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// BenchmarkRender has each answer of a healthy world, from the Reply to the
// message.
func BenchmarkRender(b *testing.B) {
	router := commandstest.Healthy().Router(b)
	staked, verify := "/staked "+commandstest.Wallet, "/verify "+commandstest.AnnsWallet
	for _, line := range []string{"/price", "/price 7d", "/supply", staked, "/mylogins", "/exists", verify, "/help"} {
		reply := commandstest.Ask(b, router, line)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render(words.Print(reply), telegramtest.Username, false)
			}
		})
	}
}
