package telegram

import (
	"fmt"
	"slices"
	"strings"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// A group that becomes a supergroup gets another ID, and the old one never works again. The bot reports the new ID, but
// does not use it for settings: it never lets people into a group that the settings do not name.

// moved logs and remembers that a group has another ID, if the settings name the old one.
func (a *Adapter) moved(from, to int64) {
	if move, isNew := a.rememberMove(from, to); isNew {
		a.Log.Warn("telegram: a group has become a supergroup with another ID: change its entries in the settings",
			"settings", move.Settings, "from", move.From, "to", move.To)
	}
}

// seeMove calls moved if err, the error of a call about the group, says that the group has another ID.
func (a *Adapter) seeMove(group int64, err error) {
	if e := botapi.ErrorOf(err); e.Kind == botapi.Migrated {
		a.moved(group, e.NewChat)
	}
}

// rememberMove adds a move to Moves if the settings name the old ID. isNew is false if they do not, or if the move was
// known.
func (a *Adapter) rememberMove(from, to int64) (move chat.Move, isNew bool) {
	move = chat.Move{From: settingsID(from), To: settingsID(to), Settings: strings.Join(a.settingsOf(from), ", ")}
	if move.Settings == "" {
		return move, false
	}
	return move, a.Moves.Add(move)
}

// settingsID returns a group's ID as settings spell it, such as "telegram:-1001".
func settingsID(group int64) string { return fmt.Sprint(Platform, ":", group) }

// settingsOf returns the names of the settings that have an entry for a group.
func (a *Adapter) settingsOf(group int64) (names []string) {
	id := fmt.Sprint(group)
	if _, isListed := a.Settings.JoinChats[group]; isListed {
		names = append(names, "JOIN_CHATS")
	}
	if slices.ContainsFunc(a.Settings.StakerTags, func(b chat.Badge) bool { return b.Community == id }) {
		names = append(names, "STAKER_TAGS")
	}
	if slices.Contains(a.ModeratorChats, id) {
		names = append(names, "MODERATOR_CHATS")
	}
	if slices.Contains(a.LanguageChats, id) {
		names = append(names, "CHAT_LANGUAGE")
	}
	return names
}
