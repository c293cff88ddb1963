package words_test

import (
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/words"
)

// cards are replies as commands give them, the longest of each kind.
func cards() map[string]chat.Reply {
	field := func(name chat.Value, v chat.Value) chat.Field { return chat.Field{Name: name, Value: v} }
	ago := func(d time.Duration) chat.Moment { return chat.Moment{Time: time.Now().Add(-d)} }
	refresh := chat.Action{Label: chat.Say("button.refresh"), Command: "price", Edit: true, Refresh: true}
	service := chat.Values{"service": chat.Say("service.chain")}

	price := chat.Reply{
		Title: chat.SayWith("price.title", chat.Values{"symbol": chat.Plain("HRLD")}),
		Sections: []chat.Section{{Fields: []chat.Field{
			field(chat.Say("price.price"), chat.Price{Decimal: dec("0.0417312")}),
			field(chat.Say("price.1h"), chat.Change{Decimal: dec("0.41")}),
			field(chat.Say("price.24h"), chat.Change{Decimal: dec("-3.2")}),
			field(chat.Say("price.7d"), chat.Change{Decimal: dec("12.75")}),
			field(chat.Say("price.cap"), chat.Money{Decimal: dec("25554321.5")}),
			field(chat.Say("price.volume"), chat.Money{Decimal: dec("812345.678")}),
		}}},
		Notes:   []chat.Text{chat.SayWith("price.updated", chat.Values{"when": ago(90 * time.Second)})},
		Actions: []chat.Action{refresh, {Label: chat.Say("price.24h"), Command: "price", Args: []string{"24h"}}, {Label: chat.Say("price.7d"), Command: "price", Args: []string{"7d"}}},
		AsOf:    time.Now(),
	}
	supply := chat.Reply{
		Title: chat.SayWith("supply.title", chat.Values{"symbol": chat.Plain("HRLD")}),
		Sections: []chat.Section{{Fields: []chat.Field{
			field(chat.Say("supply.total"), chat.Amount{Decimal: dec("1000000000"), Symbol: "HRLD"}),
			field(chat.Say("supply.circulating"), chat.Amount{Decimal: dec("987654321.123456789012345678"), Symbol: "HRLD"}),
			field(chat.Say("supply.share"), chat.Share{Decimal: dec("98.765")}),
		}}, {Heading: chat.SayWith("supply.worth", chat.Values{"price": chat.Price{Decimal: dec("0.0417312")}}), Fields: []chat.Field{
			field(chat.Say("supply.total"), chat.Money{Decimal: dec("41731200")}),
			field(chat.Say("supply.circulating"), chat.Money{Decimal: dec("41216000.5")}),
		}}},
		Notes:   []chat.Text{chat.SayWith("checked", chat.Values{"when": ago(time.Minute)})},
		Actions: []chat.Action{refresh},
	}
	var pools, logins []chat.Field
	for i := range 21 {
		pools = append(pools, field(chat.NewForeign(fmt.Sprintf("Pool %d", i), 40), chat.Amount{Decimal: dec("1234567.123456789012345678"), Symbol: "HRLD"}))
	}
	for i := range 10 {
		login := chat.SayWith("logins.login", chat.Values{"platform": chat.NewForeign("EVM", 40), "when": ago(time.Duration(i) * 20 * time.Hour)})
		logins = append(logins, field(chat.NewForeign(fmt.Sprintf("dapp %d", i), 40), login))
	}
	stake := chat.Reply{
		Tone: chat.Positive, Title: chat.Say("stake.yes"),
		Sections: []chat.Section{
			{Fields: []chat.Field{field(chat.Say("stake.wallet"), chat.Address{Hex: wallet, URL: "https://explorer.example/address/" + wallet})}},
			{Heading: chat.Say("stake.pools"), Fields: pools},
		},
		Notes: []chat.Text{chat.SayWith("stake.checked", chat.Values{"checked": chat.Count(21), "n": chat.Count(21),
			"block": chat.Block{Number: 1_000_000, At: time.Now().Add(-12 * time.Second)}})},
		Actions: []chat.Action{{Label: chat.Say("button.refresh"), Command: "staked", Args: []string{wallet}, Edit: true, Refresh: true}, {Label: chat.Say("button.copy_wallet"), Copy: wallet}},
		AsOf:    time.Now(),
	}
	return map[string]chat.Reply{
		"price": price, "supply": supply, "stake in 21 pools": stake,
		"logins":  {Title: chat.Say("logins.title"), Text: chat.SayWith("logins.count", chat.Values{"n": chat.Count(10)}), Sections: []chat.Section{{Fields: logins}}},
		"failure": {Tone: chat.Warning, Title: chat.Say("unchecked.title"), Text: chat.SayWith("reason.slow", service), Notes: []chat.Text{chat.SayWith("reference", chat.Values{"reference": chat.Plain("REF")})}},
	}
}

func BenchmarkPrint(b *testing.B) {
	for name, reply := range cards() {
		for _, l := range []chat.Language{chat.English, chat.Russian} {
			b.Run(name+"/"+string(l), func(b *testing.B) {
				reply.Language = l
				b.ReportAllocs()
				for b.Loop() {
					words.Print(reply)
				}
			})
		}
	}
}

func BenchmarkFit(b *testing.B) {
	measure := func(f words.Field) int {
		return utf8.RuneCountInString(f.Name.String()) + utf8.RuneCountInString(f.Value.String()) + 3
	}
	for name, reply := range cards() {
		card := words.Print(reply)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				card.Fit(4096, measure)
			}
		})
	}
}
