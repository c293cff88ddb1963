package web

import (
	"cmp"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
)

// The IDs of the group on Telegram, and of the server and its channel on Discord. The ID of a
// person's direct-message channel is the person's ID with discordDirect as its first digits.
const (
	groupTitle     = "Herald demo"
	telegramGroup  = -1001000000001
	discordGuild   = "810000000000000001"
	discordChannel = "820000000000000001"
	discordDirect  = "83"
)

// people holds the askers in the order of the page.
type people []Asker

// newPeople returns three of the World's persons as askers. The moderator is its Newcomer.
func newPeople(w services.World) people {
	asker := func(name string, p services.Person, moderator bool) Asker {
		id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // a number in every World
		return Asker{Name: name, TelegramID: id, DiscordID: p.UID("Discord"), moderator: moderator}
	}
	return people{
		asker("member", w.Registered, false), asker("unregistered", w.Unregistered, false), asker("moderator", w.Newcomer, true),
	}
}

// find returns the first asker for whom match returns true, or an empty Asker.
func (all people) find(match func(Asker) bool) Asker {
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i]
	}
	return Asker{}
}

// named returns the asker with this name, or an empty Asker.
func (all people) named(name string) Asker {
	return all.find(func(a Asker) bool { return a.Name == name })
}

// nameOnTelegram returns the name of the asker with this user ID, or Bot.
func (all people) nameOnTelegram(id int64) string {
	return cmp.Or(all.find(func(a Asker) bool { return a.TelegramID == id }).Name, Bot)
}

// nameOnDiscord returns the name of the asker with this user ID, or "".
func (all people) nameOnDiscord(id string) string {
	return all.find(func(a Asker) bool { return a.DiscordID == id }).Name
}

// mentioned returns the asker whom a word such as @moderator mentions, or an empty Asker.
func (all people) mentioned(word string) Asker {
	return all.find(func(a Asker) bool { return "@"+a.Name == word })
}

// languageOf returns the language with this code, or English.
func languageOf(code string) chat.Language {
	if l := chat.Language(code); slices.Contains(chat.Languages(), l) {
		return l
	}
	return chat.English
}
