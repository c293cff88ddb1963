package telegram

import (
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// BenchmarkRender has each answer of a healthy world, from the Reply to the
// message.
func BenchmarkRender(b *testing.B) {
	w := commandstest.Healthy()
	router := w.Router(b)
	for _, line := range []string{"/price", "/price 7d", "/supply", "/staked " + commandstest.Wallet, "/mylogins", "/exists", "/verify " + commandstest.AnnsWallet, "/help"} {
		reply := commandstest.Ask(b, router, line)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render(words.Print(reply), telegramtest.Username, false)
			}
		})
	}
	long := chat.Reply{Title: chat.Say("Long"), Sections: []chat.Section{{}}}
	for range 500 {
		long.Sections[0].Fields = append(long.Sections[0].Fields, chat.Field{Name: chat.Foreign("a dapp"), Value: chat.Foreign("somewhere")})
	}
	b.Run("500 fields, of which some fit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			render(words.Print(long), telegramtest.Username, false)
		}
	})
}
