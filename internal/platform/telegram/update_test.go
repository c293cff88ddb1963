package telegram

import (
	"encoding/json"
	"testing"

	"github.com/go-telegram/bot/models"
)

// Updates as Telegram sends them.
var updates = map[string]string{
	"message": `{"update_id":123456789,"message":{"message_id":4711,` +
		`"from":{"id":7000000001,"is_bot":false,"first_name":"Ann","last_name":"Lee","username":"annlee",` +
		`"language_code":"en"},` +
		`"chat":{"id":-1001234567890,"title":"Holders","username":"holders","type":"supergroup"},"date":1750000000,` +
		`"text":"/price@herald_bot 7d","entities":[{"offset":0,"length":17,"type":"bot_command"}]}}`,
	"press": `{"update_id":123456790,"callback_query":{"id":"4382bfdwdsb323b2d9",` +
		`"from":{"id":7000000001,"is_bot":false,"first_name":"Ann","language_code":"en"},` +
		`"message":{"message_id":4712,` +
		`"from":{"id":123456789,"is_bot":true,"first_name":"Herald","username":"herald_bot"},` +
		`"chat":{"id":-1001234567890,"title":"Holders","type":"supergroup"},"date":1750000000,` +
		`"text":"HRLD $0.04173","entities":[{"offset":0,"length":13,"type":"bold"}],` +
		`"reply_markup":{"inline_keyboard":[[{"text":"Refresh","callback_data":"1:price"}]]}},` +
		`"chat_instance":"-123","data":"1:price"}}`,
}

// This is why we have callbackQuery.
func TestLibraryStillDecodesAPressTwice(t *testing.T) {
	decoding := func(u any) float64 {
		return testing.AllocsPerRun(10, func() {
			if err := json.Unmarshal([]byte(updates["press"]), u); err != nil {
				t.Fatal(err)
			}
		})
	}
	if ours, library := decoding(new(update)), decoding(new(models.Update)); library < 1.3*ours {
		t.Errorf("the library allocates %v times, we %v times: callbackQuery can go", library, ours)
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, raw := range updates {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal([]byte(raw), new(update)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal([]byte(raw), new(models.Update)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
