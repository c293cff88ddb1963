package web

import (
	"cmp"

	"herald/internal/chat"
	"herald/internal/demo/community"
)

// The IDs of the server on Discord and of its channel.
const (
	discordGuild   = "810000000000000001"
	discordChannel = "820000000000000001"
)

// discordDirect replaces the first digits of a person's ID in the ID of their channel of direct messages.
const discordDirect = "83"

// nameOnTelegram returns the name of the person with this user ID, or Bot if there is none.
func (d *Demo) nameOnTelegram(id int64) string {
	return cmp.Or(d.Community.People.OnTelegram(id).Name, Bot)
}

// nameOnDiscord returns the name of the person with this user ID, or "" if there is none.
func (d *Demo) nameOnDiscord(id string) string {
	return d.Community.People.Find(func(p community.Person) bool { return p.DiscordID == id }).Name
}

// languageOf returns the language with this code, or English if there is none.
func languageOf(code string) chat.Language {
	l, _ := chat.LanguageOf(code)
	return cmp.Or(l, chat.English)
}
