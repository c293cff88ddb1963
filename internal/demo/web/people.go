package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
)

// The chats that there are, by their IDs on each side. Direct messages on Discord
// are a channel for each person, which begins like this and ends like their ID.
const (
	groupTitle         = "Herald demo"
	telegramGroup      = -1001000000001
	discordGuild       = "810000000000000001"
	discordChannel     = "820000000000000001"
	discordDirectBegin = "83"
)

// asker is somebody whom one can be.
type asker struct {
	name       string
	telegramID int64
	discordID  string
	moderator  bool
}

// people are the askers, in the order in which they are offered.
type people []asker

func newPeople(w services.World) people {
	person := func(name string, p services.Person, moderator bool) asker {
		id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // which the World has as a number
		return asker{name, id, p.UID("Discord"), moderator}
	}
	return people{
		person("member", w.Registered, false),
		person("unregistered", w.Unregistered, false),
		person("moderator", w.Newcomer, true),
	}
}

// named is the asker of a name.
func (all people) named(name string) (asker, bool) {
	return all.find(func(a asker) bool { return a.name == name })
}

// onTelegram is the name of the asker with a user ID, or that of the bot.
func (all people) onTelegram(id int64) string {
	a, _ := all.find(func(a asker) bool { return a.telegramID == id })
	return cmp.Or(a.name, Bot)
}

// onDiscord is the name of the asker with a user ID; it is their own.
func (all people) onDiscord(id string) string {
	a, _ := all.find(func(a asker) bool { return a.discordID == id })
	return a.name
}

func (all people) find(is func(asker) bool) (asker, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return asker{}, false
}

// mentioned is the asker whom a word means: @moderator.
func (all people) mentioned(word string) (asker, bool) {
	name, at := strings.CutPrefix(word, "@")
	a, known := all.named(name)
	return a, at && known
}

// language is one of an app, as each side names it.
type language struct{ code, telegram, discord string }

func languageOf(code string) (l language, spoken bool) {
	own := chat.Language(code)
	return language{code: code, telegram: code, discord: own.Info().Discord[0]}, slices.Contains(chat.Languages(), own)
}
