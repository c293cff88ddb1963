package words_test

import (
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/words"
)

// priceReply has every field that a price can have.
func priceReply(l chat.Language) chat.Reply {
	field := func(name string, v chat.Value) chat.Field { return chat.Field{Name: chat.Say(name), Value: v} }
	return chat.Reply{
		Language: l,
		Title:    chat.SayWith("price.title", chat.Values{"symbol": chat.Plain("HRLD")}),
		Sections: []chat.Section{{Fields: []chat.Field{
			field("price.price", chat.Price{Decimal: dec("0.0417312")}),
			field("price.1h", chat.Change{Decimal: dec("0.41")}),
			field("price.24h", chat.Change{Decimal: dec("-3.2")}),
			field("price.7d", chat.Change{Decimal: dec("12.75")}),
			field("price.cap", chat.Money{Decimal: dec("25554321.5")}),
			field("price.volume", chat.Money{Decimal: dec("812345.678")}),
			field("price.updated", chat.Moment{Time: time.Now().Add(-90 * time.Second)}),
		}}},
		Actions: []chat.Action{{Label: chat.Say("button.refresh"), Command: "price", Edit: true},
			{Label: chat.Say("button.24h"), Command: "price", Args: []string{"24h"}}, {Label: chat.Say("button.7d"), Command: "price", Args: []string{"7d"}}},
		AsOf: time.Now(),
	}
}

func BenchmarkPrint(b *testing.B) {
	for _, l := range []chat.Language{chat.English, chat.Russian} {
		b.Run("price/"+string(l), func(b *testing.B) {
			reply := priceReply(l)
			b.ReportAllocs()
			for b.Loop() {
				words.Print(reply)
			}
		})
	}
}
