package app

import (
	"testing"

	"herald/internal/chat"
	"herald/internal/words"
)

// The right's name is in the sentence about a badge that the bot may not give. Say returns the key if a text is
// missing.
func TestTheRightToGiveBadgesHasItsWordsOnEachPlatform(t *testing.T) {
	for _, p := range new(Config).platforms() {
		key := "badge.right." + string(p.name)
		if p.badgeSetting != "" && words.Say(chat.English, chat.Say(key)) == key {
			t.Errorf("%q is missing in internal/words/locales/en.json", key)
		}
	}
}
