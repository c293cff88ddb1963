package web

import (
	"cmp"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
)

// The name of the group on Telegram and of the server on Discord, and the IDs of these and of
// the server's channel. The ID of a person's direct-message channel is the person's ID with
// discordDirect as its first digits.
const (
	groupTitle     = "Herald demo"
	telegramGroup  = -1001000000001
	discordGuild   = "810000000000000001"
	discordChannel = "820000000000000001"
	discordDirect  = "83"
)

// people lists everybody in the demo, in the order of the page.
type people []Person

// newPeople returns three persons of the World. The moderator is its Newcomer.
func newPeople(w services.World) people {
	person := func(name string, p services.Person, moderator bool) Person {
		id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // the World has a number there
		return Person{Name: name, TelegramID: id, DiscordID: p.UID("Discord"), moderator: moderator}
	}
	return people{
		person("member", w.Registered, false), person("unregistered", w.Unregistered, false),
		person("moderator", w.Newcomer, true),
	}
}

// find returns the first person for whom match returns true, or an empty Person.
func (all people) find(match func(Person) bool) Person {
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i]
	}
	return Person{}
}

// named returns the person with this name, or an empty Person.
func (all people) named(name string) Person {
	return all.find(func(a Person) bool { return a.Name == name })
}

// nameOnTelegram returns the name of the person with this user ID, or Bot.
func (all people) nameOnTelegram(id int64) string {
	return cmp.Or(all.find(func(a Person) bool { return a.TelegramID == id }).Name, Bot)
}

// nameOnDiscord returns the name of the person with this user ID, or "".
func (all people) nameOnDiscord(id string) string {
	return all.find(func(a Person) bool { return a.DiscordID == id }).Name
}

// mentioned returns the person whom a word such as @moderator mentions, or an empty Person.
func (all people) mentioned(word string) Person {
	return all.find(func(a Person) bool { return "@"+a.Name == word })
}

// languageOf returns the language with this code, or English.
func languageOf(code string) chat.Language {
	l, _ := chat.LanguageOf(code)
	return cmp.Or(l, chat.English)
}
