package app

import (
	"errors"
	"fmt"
	"strings"

	"herald/internal/chat"
	"herald/internal/config"
)

// everyCommunity is the community of an entry of CHAT_LANGUAGE that sets the default language.
const everyCommunity = ""

// setLanguages sets Language and ChatLanguages from value, the value of CHAT_LANGUAGE. Each entry names a community and
// its language, such as "telegram:-1001234567890:tr", or only the default language, such as "es". The entries have any
// order. If none names a default language, it is English. The error has a line for each invalid entry.
func (c *Config) setLanguages(value string) error {
	c.Language = chat.English
	c.ChatLanguages = map[string]chat.Language{}
	var invalid []error
	firstEntries := map[string]int{} // the number of each community's first entry; numbers begin with 1
	for i, entry := range config.SplitList(value) {
		number := i + 1
		community, language, err := parseLanguage(entry)
		if first, isRepeated := firstEntries[community]; isRepeated && err == nil {
			err = repeatedLanguage(community, first)
		}
		if err != nil {
			invalid = append(invalid, fmt.Errorf("entry %d %w", number, err))
			continue
		}
		firstEntries[community] = number
		if community == everyCommunity {
			c.Language = language
		} else {
			c.ChatLanguages[community] = language
		}
	}
	return errors.Join(invalid...)
}

// parseLanguage parses an entry of CHAT_LANGUAGE. If the entry is only a language, the community is everyCommunity.
func parseLanguage(entry string) (community string, language chat.Language, err error) {
	community = everyCommunity
	name := entry
	if colon := strings.LastIndexByte(entry, ':'); colon >= 0 {
		name = entry[colon+1:]
		community, err = checkLanguageCommunity(entry[:colon])
		if err != nil {
			return "", "", err
		}
	}
	for _, l := range chat.Languages() {
		if string(l) == name {
			return community, l, nil
		}
	}
	return "", "", fmt.Errorf("must name one of the languages %s", strings.Join(languageNames(), ", "))
}

// repeatedLanguage returns the error about an entry for a community that already has an entry. first is the number of
// that earlier entry.
func repeatedLanguage(community string, first int) error {
	if community == everyCommunity {
		return fmt.Errorf("is a second default language, after entry %d; keep one of the two", first)
	}
	return fmt.Errorf("names the chat of entry %d again; keep one of the two", first)
}

// languageNames returns the names of the languages in CHAT_LANGUAGE.
func languageNames() (names []string) {
	for _, l := range chat.Languages() {
		names = append(names, string(l))
	}
	return names
}
