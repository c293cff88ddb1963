package app

import (
	"testing"

	"herald/internal/chat"
	"herald/internal/words"
)

// The right to give badges has a name on each platform. Members read the name if the bot lacks the right. words.Say
// returns the key if a text is missing.
func TestTheRightToGiveBadgesHasItsWordsOnEachPlatform(t *testing.T) {
	for _, p := range new(Config).platforms() {
		key := "badge.right." + string(p.name)
		if p.badgeSetting != "" && words.Say(chat.English, chat.Say(key)) == key {
			t.Errorf("%q is missing in internal/words/locales/en.json", key)
		}
	}
}
