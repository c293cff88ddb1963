package web

import (
	"cmp"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
)

// The IDs of the chats on each side. A person's direct messages on Discord are a channel
// whose ID is discordDirect and the rest of the person's ID.
const (
	groupTitle     = "Herald demo"
	telegramGroup  = -1001000000001
	discordGuild   = "810000000000000001"
	discordChannel = "820000000000000001"
	discordDirect  = "83"
)

// people lists everybody in the demo, in the order of the page.
type people []Person

func newPeople(w services.World) people {
	person := func(name string, p services.Person, moderator bool) Person {
		id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // the World has a number there
		return Person{Name: name, TelegramID: id, DiscordID: p.UID("Discord"), moderator: moderator}
	}
	return people{
		person("member", w.Registered, false), person("unregistered", w.Unregistered, false), person("moderator", w.Newcomer, true),
	}
}

// find returns the first person who fits, or a Person without a name.
func (all people) find(fits func(Person) bool) Person {
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return all[i]
	}
	return Person{}
}

func (all people) named(name string) Person {
	return all.find(func(a Person) bool { return a.Name == name })
}

// onTelegram returns the name of the person with a user ID, or Bot.
func (all people) onTelegram(id int64) string {
	return cmp.Or(all.find(func(a Person) bool { return a.TelegramID == id }).Name, Bot)
}

// onDiscord returns the name of the person with a user ID, or "".
func (all people) onDiscord(id string) string {
	return all.find(func(a Person) bool { return a.DiscordID == id }).Name
}

// mentioned returns the person whom a word such as @moderator mentions.
func (all people) mentioned(word string) Person {
	return all.find(func(a Person) bool { return "@"+a.Name == word })
}

// languageOf returns the language with a code, or English.
func languageOf(code string) chat.Language {
	if l := chat.Language(code); slices.Contains(chat.Languages(), l) {
		return l
	}
	return chat.English
}
