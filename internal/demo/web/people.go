package web

import (
	"cmp"

	"herald/internal/chat"
	"herald/internal/demo/community"
)

// The IDs of the server on Discord and of its channel. The ID of a person's direct-message channel
// is the person's ID with discordDirect as its first digits.
const (
	discordGuild   = "810000000000000001"
	discordChannel = "820000000000000001"
	discordDirect  = "83"
)

// nameOnTelegram returns the name of the person with this user ID, or Bot.
func (d *Demo) nameOnTelegram(id int64) string {
	return cmp.Or(d.Community.People.OnTelegram(id).Name, Bot)
}

// nameOnDiscord returns the name of the person with this user ID, or "".
func (d *Demo) nameOnDiscord(id string) string {
	return d.Community.People.Find(func(p community.Person) bool { return p.DiscordID == id }).Name
}

// languageOf returns the language with this code, or English.
func languageOf(code string) chat.Language {
	l, _ := chat.LanguageOf(code)
	return cmp.Or(l, chat.English)
}
