package telegram

import (
	"testing"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

// An album comes as one message for each picture. It is answered once, by the caption if there is one.
func TestAnAlbumIsAnsweredOnce(t *testing.T) {
	type test struct {
		where    faketelegram.Chat
		captions []string
		asked    string // "" is nothing
	}
	inBubble(t, map[string]test{
		"a caption first":              {faketelegram.Group(group), []string{"/price", "", ""}, "price"},
		"a caption last":               {faketelegram.Group(group), []string{"", "", "/price"}, "price"},
		"each with the same":           {faketelegram.Group(group), []string{"/price", "/price", "/price"}, "price"},
		"without a caption":            {faketelegram.Group(group), []string{"", "", ""}, ""},
		"a caption first, in private":  {faketelegram.Private(ann), []string{"/price", "", ""}, "price"},
		"a caption last, in private":   {faketelegram.Private(ann), []string{"", "", "/price"}, "price"},
		"a title, then a command":      {faketelegram.Private(ann), []string{"our holiday", "", "/price"}, "price"},
		"without a caption in private": {faketelegram.Private(ann), []string{"", "", ""}, "start"},
	}, func(t *testing.T, tt test) {
		for way, change := range ways {
			r := setUp(t, change)
			stop := r.run()
			for _, caption := range tt.captions {
				m := writes(tt.where, ann, caption).AsCaption()
				m["media_group_id"] = "album"
				r.send(m)
			}
			time.Sleep(atOnce)
			var asked string
			for _, req := range r.handler.Requests() {
				asked += req.Command
			}
			check(t, way+": asked", asked, tt.asked)
			check(t, way+": messages", len(r.api.Sent()), min(len(tt.asked), 1))
			_ = stop()
		}
	})
}
