package app

import (
	"strings"

	"herald/internal/chat"
	"herald/internal/config"
)

// Settings name a user or a community by its platform and its ID there, such as telegram:123456789.

// parseOperator parses an entry of OPERATORS.
func parseOperator(value string) (chat.User, error) {
	_, err := checkOperator(value)
	platform, id, _ := strings.Cut(value, ":")
	return chat.User{Platform: chat.Platform(platform), ID: id}, err
}

// These functions return an entry as it is, or an error if it has another form than the setting's entries.
var (
	// checkOperator checks an entry of OPERATORS. Users' IDs are positive numbers on every platform.
	checkOperator = config.Matching(
		"("+strings.Join(platformNames(), "|")+"):[1-9][0-9]{0,19}",
		strings.Join(platformNames(), ":ID or ")+":ID with a numeric ID",
	)
	// checkModeratorChat checks an entry of MODERATOR_CHATS.
	checkModeratorChat = config.Matching(communityForm()+`|\*`, describeCommunities("")+", or *")
	// checkLanguageCommunity checks the community in an entry of CHAT_LANGUAGE, which ends before the last colon.
	checkLanguageCommunity = config.Matching(communityForm(), "a language, or "+describeCommunities(":LANGUAGE"))
)

// platformNames returns the name of every platform.
func platformNames() []string {
	return ofEachPlatform(func(p servable) string { return string(p.name) })
}

// communityForm returns a regular expression that matches a community of any platform as settings name it.
func communityForm() string {
	return strings.Join(ofEachPlatform(func(p servable) string {
		if p.communityID == "" {
			return ""
		}
		return string(p.name) + ":" + p.communityID
	}), "|")
}

// describeCommunities describes, for an error, an entry that names a community of any platform and ends with suffix. If
// suffix is ":LANGUAGE", it returns "telegram:ID:LANGUAGE with the ID of a group, which is negative, or
// discord:ID:LANGUAGE with the ID of a server".
func describeCommunities(suffix string) string {
	return strings.Join(ofEachPlatform(func(p servable) string {
		if p.communityID == "" {
			return ""
		}
		return string(p.name) + ":ID" + suffix + " with the ID of " + p.communityWords
	}), ", or ")
}
