package app

import (
	"errors"
	"fmt"
	"strings"

	"herald/internal/chat"
	"herald/internal/config"
)

// setLanguages sets Language and ChatLanguages to the entries of CHAT_LANGUAGE, in any order: at most one default
// language, and communities with a language each. If there is no default language, it is English. The error has a line
// for each invalid entry.
func (c *Config) setLanguages(value string) error {
	c.Language = chat.English
	c.ChatLanguages = map[string]chat.Language{}
	var invalid []error
	numbers := map[string]int{} // of the entries so far, from 1, by their communities
	for i, entry := range config.SplitList(value) {
		community, language, err := parseLanguage(entry)
		first, isRepeated := numbers[community]
		if err == nil && isRepeated {
			err = repeatedLanguage(community, first)
		}
		if err != nil {
			invalid = append(invalid, fmt.Errorf("entry %d %w", i+1, err))
			continue
		}
		numbers[community] = i + 1
		if community == everyCommunity {
			c.Language = language
		} else {
			c.ChatLanguages[community] = language
		}
	}
	return errors.Join(invalid...)
}

// repeatedLanguage returns the error about an entry for a community that an entry before it has, which has the number
// first.
func repeatedLanguage(community string, first int) error {
	if community == everyCommunity {
		return fmt.Errorf("is a second default language, after entry %d; keep one of the two", first)
	}
	return fmt.Errorf("names the chat of entry %d again; keep one of the two", first)
}

// everyCommunity is the community of the default language.
const everyCommunity = ""

// matchLanguageChat checks an entry of CHAT_LANGUAGE without its last colon and its language.
var matchLanguageChat = config.Matching(communityForm,
	"a language, or telegram:ID:LANGUAGE with the ID of a group, which is negative, or discord:ID:LANGUAGE "+
		"with the ID of a server")

// parseLanguage parses an entry of CHAT_LANGUAGE, such as telegram:-1001234567890:tr. An entry without a colon is the
// language of everyCommunity.
func parseLanguage(entry string) (community string, language chat.Language, err error) {
	name := entry
	if colon := strings.LastIndexByte(entry, ':'); colon >= 0 {
		name = entry[colon+1:]
		community, err = matchLanguageChat(entry[:colon])
	}
	if err != nil {
		return "", "", err
	}
	for _, l := range chat.Languages() {
		if string(l) == name {
			return community, l, nil
		}
	}
	return "", "", fmt.Errorf("must name one of the languages %s", strings.Join(languageNames(), ", "))
}

// languageNames returns how CHAT_LANGUAGE names the languages.
func languageNames() (names []string) {
	for _, l := range chat.Languages() {
		names = append(names, string(l))
	}
	return names
}
