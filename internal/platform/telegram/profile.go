package telegram

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

// syncProfile sets the bot's menus of commands and its descriptions, in every language. It
// sets only those that differ, because Telegram bounds how often they may be set. It
// repeats a call that fails until ctx is done, and logs one that is refused.
func (s *session) syncProfile(ctx context.Context) {
	persist := func(calls func() error) {
		_ = s.repeat(ctx, func() error {
			err := calls()
			if botapi.ErrorOf(err).Kind == botapi.Refused {
				s.a.Log.Log(ctx, s.tasks.Rarely(slog.LevelWarn, "profile"), "telegram: the server refuses a part of the bot's menus or descriptions", "err", err)
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
		for moderators, scope := range map[bool]models.BotCommandScope{
			false: &models.BotCommandScopeDefault{}, true: &models.BotCommandScopeAllChatAdministrators{},
		} {
			menu := menuOf(s.tasks.Handler.Commands(), moderators, l)
			persist(func() error { return s.setMenu(ctx, &bot.GetMyCommandsParams{Scope: scope, LanguageCode: code}, menu) })
		}
		persist(func() error {
			is, err := botapi.Call(ctx, s.a.api, (*bot.Bot).GetMyDescription, &bot.GetMyDescriptionParams{LanguageCode: code})
			if text := s.a.description(l); err == nil && is.Description != text {
				_, err = botapi.Change(ctx, s.a.api, (*bot.Bot).SetMyDescription, &bot.SetMyDescriptionParams{Description: text, LanguageCode: code})
			}
			return err
		})
		persist(func() error {
			is, err := botapi.Call(ctx, s.a.api, (*bot.Bot).GetMyShortDescription, &bot.GetMyShortDescriptionParams{LanguageCode: code})
			if text := words.Say(l, chat.Say("telegram.short_description")); err == nil && is.ShortDescription != text {
				_, err = botapi.Change(ctx, s.a.api, (*bot.Bot).SetMyShortDescription,
					&bot.SetMyShortDescriptionParams{ShortDescription: text, LanguageCode: code})
			}
			return err
		})
	}
}

// description says what the bot does, and how to get a tag or join a group of the settings. Of
// the tags it has the first one only, because Telegram bounds it to 512 characters.
func (a *Adapter) description(l chat.Language) string {
	text := words.Say(l, chat.Say("telegram.description"))
	if tags := a.Settings.StakerTags; len(tags) > 0 {
		text += "\n\n" + words.Say(l, chat.SayWith("help.role", chat.Values{"command": chat.Plain("/verify"), "badge": chat.Plain(tags[0].ID)}))
	}
	if len(a.Settings.JoinChats) > 0 {
		text += "\n\n" + words.Say(l, chat.Say("telegram.description.join"))
	}
	return text
}

// menuOf returns the menu of all commands, with moderators' summaries in theirs.
func menuOf(all chat.Commands, moderators bool, l chat.Language) []models.BotCommand {
	var menu []models.BotCommand
	for _, c := range all {
		summary := c.Summary
		if moderators && c.ModeratorSummary.Key != "" {
			summary = c.ModeratorSummary
		}
		menu = append(menu, models.BotCommand{
			Command:     c.Name,
			Description: words.Say(l, summary),
			IsEphemeral: c.Visibility == chat.Private, // A server before Bot API 10.2 ignores it.
		})
	}
	return menu
}

// setMenu sets one menu, unless Telegram has it already. It does not compare the mark of
// ephemeral commands: a server that ignores the mark would be sent its menus at each
// start.
func (s *session) setMenu(ctx context.Context, menu *bot.GetMyCommandsParams, commands []models.BotCommand) error {
	is, err := botapi.Call(ctx, s.a.api, (*bot.Bot).GetMyCommands, menu)
	if err != nil || slices.EqualFunc(is, commands, func(a, b models.BotCommand) bool {
		return a.Command == b.Command && a.Description == b.Description
	}) {
		return err
	}
	_, err = botapi.Change(ctx, s.a.api, (*bot.Bot).SetMyCommands,
		&bot.SetMyCommandsParams{Commands: commands, Scope: menu.Scope, LanguageCode: menu.LanguageCode})
	return err
}
