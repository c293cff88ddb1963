package web

import (
	"cmp"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
)

// The chats, by their IDs on each side. Direct messages on Discord are a channel for
// each person, which begins with discordDirect and ends like their ID.
const (
	groupTitle     = "Herald demo"
	telegramGroup  = -1001000000001
	discordGuild   = "810000000000000001"
	discordChannel = "820000000000000001"
	discordDirect  = "83"
)

// people are the askers, in the order in which they are offered.
type people []Asker

func newPeople(w services.World) people {
	person := func(name string, p services.Person, moderator bool) Asker {
		id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // the World has a number there
		return Asker{Name: name, TelegramID: id, DiscordID: p.UID("Discord"), moderator: moderator}
	}
	return people{
		person("member", w.Registered, false), person("unregistered", w.Unregistered, false), person("moderator", w.Newcomer, true),
	}
}

// find returns the first who fits; nobody has no name.
func (all people) find(fits func(Asker) bool) Asker {
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return all[i]
	}
	return Asker{}
}

func (all people) named(name string) Asker {
	return all.find(func(a Asker) bool { return a.Name == name })
}

// onTelegram returns the name of the asker with a user ID, or else Bot.
func (all people) onTelegram(id int64) string {
	return cmp.Or(all.find(func(a Asker) bool { return a.TelegramID == id }).Name, Bot)
}

// onDiscord returns the name of the asker with a user ID, or "".
func (all people) onDiscord(id string) string {
	return all.find(func(a Asker) bool { return a.DiscordID == id }).Name
}

// mentioned returns the asker whom a word means, such as @moderator.
func (all people) mentioned(word string) Asker {
	return all.find(func(a Asker) bool { return "@"+a.Name == word })
}

// languageOf returns the language of a code, or else English.
func languageOf(code string) chat.Language {
	if l := chat.Language(code); slices.Contains(chat.Languages(), l) {
		return l
	}
	return chat.English
}
