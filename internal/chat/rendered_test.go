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
		made     int // the number of renderings so far
		want     int // the rendering that RenderOnce returns
	}{
		{rendered: shared, platform: "telegram", language: english, made: 1, want: 1},
		{rendered: shared, platform: "telegram", language: english, made: 1, want: 1},
		{rendered: shared, platform: "telegram", language: turkish, made: 2, want: 2},
		{rendered: shared, platform: "discord", language: english, made: 3, want: 3},
		{rendered: shared, platform: "telegram", language: turkish, made: 3, want: 2},
		{rendered: new(chat.Rendered), platform: "telegram", language: english, made: 4, want: 4},
		{rendered: nil, platform: "telegram", language: english, made: 5, want: 5},
		{rendered: nil, platform: "telegram", language: english, made: 6, want: 6},
	} {
		reply := &chat.Reply{Language: tt.language, Rendered: tt.rendered}
		got := chat.RenderOnce(tt.platform, reply, func(*chat.Reply) int {
			renderings++
			return renderings
		})
		if renderings != tt.made || got != tt.want {
			t.Errorf("%+v: got rendering %d of %d", tt, got, renderings)
		}
	}
}
