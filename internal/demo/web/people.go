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

// directPrefix begins the IDs of channels of direct messages.
const directPrefix = "83"

// directChannelOf returns the ID of a person's channel of direct messages. It is the person's ID with directPrefix in
// place of its first digits.
func directChannelOf(by community.Person) string {
	return directPrefix + by.DiscordID[len(directPrefix):]
}

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
