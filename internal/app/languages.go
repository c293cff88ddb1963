package app

import (
	"errors"
	"fmt"
	"strings"

	"herald/internal/chat"
	"herald/internal/config"
)

// setLanguages sets Language and ChatLanguages from CHAT_LANGUAGE. Its entries, in any order, are at most one default
// language, such as "es", and the languages of communities, such as "telegram:-1001234567890:tr". Without a default
// language, the default is English. The error has a line for each invalid entry.
func (c *Config) setLanguages(value string) error {
	c.Language = chat.English
	c.ChatLanguages = map[string]chat.Language{}
	var invalid []error
	firstEntries := map[string]int{} // the number of each community's first entry; numbers begin with 1
	for i, entry := range config.SplitList(value) {
		number := i + 1
		community, language, err := parseLanguage(entry)
		first, isRepeated := firstEntries[community]
		switch {
		case err != nil:
			invalid = append(invalid, fmt.Errorf("entry %d %w", number, err))
			continue
		case isRepeated:
			invalid = append(invalid, fmt.Errorf("entry %d %w", number, repeatedLanguage(community, first)))
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

// repeatedLanguage returns the error about an entry for the same community as an earlier entry, which has the number
// first.
func repeatedLanguage(community string, first int) error {
	if community == everyCommunity {
		return fmt.Errorf("is a second default language, after entry %d; keep one of the two", first)
	}
	return fmt.Errorf("names the chat of entry %d again; keep one of the two", first)
}

// everyCommunity stands for all communities that have no entry of their own: it has the default language.
const everyCommunity = ""

// parseLanguage parses an entry of CHAT_LANGUAGE. If the entry is a language alone, the community is everyCommunity.
func parseLanguage(entry string) (community string, language chat.Language, err error) {
	community = everyCommunity
	name := entry
	if colon := strings.LastIndexByte(entry, ':'); colon >= 0 {
		name = entry[colon+1:]
		community, err = parseLanguageCommunity(entry[:colon])
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

// languageNames returns the names of the languages in CHAT_LANGUAGE.
func languageNames() (names []string) {
	for _, l := range chat.Languages() {
		names = append(names, string(l))
	}
	return names
}
