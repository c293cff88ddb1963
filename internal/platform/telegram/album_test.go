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
		captions [3]string // of the pictures, in order
		asked    string    // the command; "" if there is none
	}
	inGroup, inPrivate := faketelegram.Group(group), faketelegram.Private(ann)
	inBubble(t, map[string]test{
		"the first has a caption":       {where: inGroup, captions: [3]string{"/price", "", ""}, asked: "price"},
		"the last has a caption":        {where: inGroup, captions: [3]string{"", "", "/price"}, asked: "price"},
		"each has the same caption":     {where: inGroup, captions: [3]string{"/price", "/price", "/price"}, asked: "price"},
		"without a caption":             {where: inGroup, captions: [3]string{"", "", ""}},
		"the first, in private":         {where: inPrivate, captions: [3]string{"/price", "", ""}, asked: "price"},
		"the last, in private":          {where: inPrivate, captions: [3]string{"", "", "/price"}, asked: "price"},
		"a title, then a command":       {where: inPrivate, captions: [3]string{"our holiday", "", "/price"}, asked: "price"},
		"without a caption, in private": {where: inPrivate, captions: [3]string{"", "", ""}, asked: "start"},
	}, func(t *testing.T, tt test) {
		for way, change := range ways {
			r := setUp(t, change)
			stop := r.run()
			for _, caption := range tt.captions {
				m := writes(tt.where, ann, caption).AsCaption()
				m["media_group_id"] = "album"
				r.deliverMessage(m)
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
