package telegram

import (
	"context"
	"log/slog"
	"slices"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

// syncProfile sets what Telegram shows of the bot before anybody writes to it: its
// menus of commands and its descriptions, in every language. What is there already
// is not set again, since Telegram bounds how often that may be done. What fails is
// repeated until ctx is done, and what is refused is left as it is.
func (s *session) syncProfile(ctx context.Context) {
	persist := func(calls func() error) {
		_ = s.repeat(ctx, func() error {
			err := calls()
			if botapi.ErrorOf(err).Kind == botapi.Refused {
				s.Log.Log(ctx, s.tasks.Rarely(slog.LevelWarn, "profile"), "telegram: the server refuses a part of the bot's menus or descriptions", "err", err)
				return nil
			}
			return err
		})
	}
	for _, l := range append([]chat.Language{""}, chat.Languages()...) {
		code := string(l)
		if code == "" { // An app in any other language reads the chats' own.
			l = s.tasks.Handler.Language(chat.Request{}, false)
		}
		for _, scope := range []botapi.Scope{botapi.Everybody, botapi.Administrators} {
			menu := menuOf(s.tasks.Handler.Commands(), scope == botapi.Administrators, l)
			persist(func() error { return s.setMenu(ctx, botapi.Menu{Scope: scope, Language: code}, menu) })
		}
		for t, text := range map[botapi.ProfileText]string{
			botapi.Description:      words.Say(l, chat.Say("telegram.description")),
			botapi.ShortDescription: words.Say(l, chat.Say("telegram.short_description")),
		} {
			persist(func() error {
				is, err := s.api.GetProfileText(ctx, t, code)
				if err != nil || is == text {
					return err
				}
				return s.api.SetProfileText(ctx, t, code, text)
			})
		}
	}
}

// menuOf lists the commands, with what moderators may ask if the menu is theirs.
func menuOf(all chat.Commands, moderators bool, l chat.Language) []botapi.MenuCommand {
	var menu []botapi.MenuCommand
	for _, c := range all {
		summary := c.Summary
		if moderators && c.ModeratorSummary.Key != "" {
			summary = c.ModeratorSummary
		}
		menu = append(menu, botapi.MenuCommand{
			Command: c.Name, Description: words.Say(l, summary), Ephemeral: c.Visibility == chat.Private,
		})
	}
	return menu
}

// setMenu sets one menu, unless it is there already. Whether its commands are marked
// as ephemeral there does not matter: a server that ignores the mark would be given
// its menus at each start. One that refuses the mark gets them without.
func (s *session) setMenu(ctx context.Context, m botapi.Menu, commands []botapi.MenuCommand) error {
	is, err := s.api.GetMyCommands(ctx, m)
	if err != nil || slices.EqualFunc(is, commands, func(a, b botapi.MenuCommand) bool {
		return a.Command == b.Command && a.Description == b.Description
	}) {
		return err
	}
	err = s.api.SetMyCommands(ctx, m, commands)
	if botapi.ErrorOf(err).Kind == botapi.Refused {
		for i := range commands {
			commands[i].Ephemeral = false
		}
		err = s.api.SetMyCommands(ctx, m, commands)
	}
	return err
}
