package chat_test

import (
	"testing"

	"herald/internal/chat"
)

func TestReplyIsRenderedOnceForAPlatformAndALanguage(t *testing.T) {
	english, _ := chat.LanguageOf("en")
	turkish, _ := chat.LanguageOf("tr")
	shared := new(chat.Rendered)
	renderings := 0
	for _, tt := range []struct {
		rendered *chat.Rendered
		platform chat.Platform
		language chat.Language
		made     int // the renderings up to now
		want     int // the rendering that is returned
	}{
		{shared, "telegram", english, 1, 1},
		{shared, "telegram", english, 1, 1},
		{shared, "telegram", turkish, 2, 2},
		{shared, "discord", english, 3, 3},
		{shared, "telegram", turkish, 3, 2},
		{new(chat.Rendered), "telegram", english, 4, 4},
		{nil, "telegram", english, 5, 5},
		{nil, "telegram", english, 6, 6},
	} {
		reply := &chat.Reply{Language: tt.language, Rendered: tt.rendered}
		got := chat.RenderOnce(tt.platform, reply, func(*chat.Reply) int {
			renderings++
			return renderings
		})
		if renderings != tt.made || got != tt.want {
			t.Errorf("%+v: rendering %d of %d", tt, got, renderings)
		}
	}
}
