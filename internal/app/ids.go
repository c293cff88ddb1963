package app

import (
	"strings"

	"herald/internal/chat"
	"herald/internal/config"
)

// Settings name a user or a community by its platform and its ID there, such as telegram:123456789. Users' IDs are
// positive numbers on every platform.

var (
	matchOperator = config.Matching(
		"("+strings.Join(platformNames(), "|")+"):[1-9][0-9]{0,19}",
		strings.Join(platformNames(), ":ID or ")+":ID with a numeric ID",
	)
	parseModeratorChat = config.Matching(communityForm()+`|\*`, describeCommunities("")+", or *")
	// parseLanguageCommunity checks the community in an entry of CHAT_LANGUAGE: what stands before its last colon.
	parseLanguageCommunity = config.Matching(communityForm(), "a language, or "+describeCommunities(":LANGUAGE"))
)

// parseOperator parses an entry of OPERATORS.
func parseOperator(value string) (chat.User, error) {
	_, err := matchOperator(value)
	platform, id, _ := strings.Cut(value, ":")
	return chat.User{Platform: chat.Platform(platform), ID: id}, err
}

// platformNames returns the name of every platform.
func platformNames() []string {
	return ofEachPlatform(func(p servable) string { return string(p.name) })
}

// communityForm returns a regular expression that matches how settings name a community of any platform.
func communityForm() string {
	return strings.Join(ofEachPlatform(func(p servable) string {
		if p.communityID == "" {
			return ""
		}
		return string(p.name) + ":" + p.communityID
	}), "|")
}

// describeCommunities returns words that describe an entry of a setting: a community of any platform, followed by
// suffix. If suffix is ":LANGUAGE", one of them is "discord:ID:LANGUAGE with the ID of a server".
func describeCommunities(suffix string) string {
	return strings.Join(ofEachPlatform(func(p servable) string {
		if p.communityID == "" {
			return ""
		}
		return string(p.name) + ":ID" + suffix + " with the ID of " + p.communityWords
	}), ", or ")
}
