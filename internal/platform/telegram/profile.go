package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

// syncProfile sets the bot's menus of commands and its descriptions, in every language, and the menus of the groups in
// LanguageChats. It first asks Telegram for each, and sets only those that differ, because Telegram limits how often
// they may be set. It blocks until all are set or refused, or ctx is done.
func (s *session) syncProfile(ctx context.Context) {
	commands := s.work.Handler.Commands()
	for _, code := range append([]chat.Language{""}, chat.Languages()...) {
		language := code
		if code == "" { // for readers of all other languages
			language = s.work.Handler.Language(&chat.Request{}, chat.Public) // the default language
		}
		languageCode := string(code)
		everybodys := &bot.SetMyCommandsParams{
			Commands:     menuOf(commands, language, summary),
			Scope:        &models.BotCommandScopeDefault{},
			LanguageCode: languageCode,
		}
		moderators := &bot.SetMyCommandsParams{
			Commands:     menuOf(commands, language, moderatorSummary),
			Scope:        &models.BotCommandScopeAllChatAdministrators{},
			LanguageCode: languageCode,
		}
		s.sync(ctx, func() error { return s.adapter.syncMenu(ctx, everybodys) })
		s.sync(ctx, func() error { return s.adapter.syncMenu(ctx, moderators) })
		s.sync(ctx, func() error {
			text := s.adapter.description(language, commands)
			return s.adapter.syncDescription(ctx, languageCode, text)
		})
		s.sync(ctx, func() error {
			text := words.Say(language, about("telegram.short_description", commands))
			return s.adapter.syncShortDescription(ctx, languageCode, text)
		})
	}
	for _, group := range s.adapter.LanguageChats {
		s.syncGroupMenus(ctx, group)
	}
}

// syncGroupMenus sets the two menus of a group in LanguageChats, for everybody and for moderators, in the group's
// language. Telegram shows the menu of the narrowest scope, so in this group they replace the menus of syncProfile.
// They have no language code, and are therefore shown whatever the language of a reader's app is.
// https://core.telegram.org/bots/api#determining-list-of-commands
//
// If the first menu is refused, for example because the bot is not in the group, syncGroupMenus does not try the
// second, so that the group is logged once. It blocks until the menus are set or refused, or ctx is done.
func (s *session) syncGroupMenus(ctx context.Context, group string) {
	commands := s.work.Handler.Commands()
	anybody := userOf(0) // A public answer has the group's language, whoever asks.
	language := s.work.Handler.Language(&chat.Request{From: anybody, Community: group}, chat.Public)
	id := idOf(group)
	everybodys := &bot.SetMyCommandsParams{
		Commands: menuOf(commands, language, summary),
		Scope:    &models.BotCommandScopeChat{ChatID: id},
	}
	moderators := &bot.SetMyCommandsParams{
		Commands: menuOf(commands, language, moderatorSummary),
		Scope:    &models.BotCommandScopeChatAdministrators{ChatID: id},
	}
	s.sync(ctx, func() error {
		err := s.adapter.syncMenu(ctx, everybodys)
		if err == nil {
			err = s.adapter.syncMenu(ctx, moderators)
		}
		if err != nil {
			s.adapter.seeMove(id, err)
			return fmt.Errorf("the menus of group %s in CHAT_LANGUAGE: %w", group, err)
		}
		return nil
	})
}

// syncMenusAfterAdding starts to set the menus of a group in LanguageChats that the bot has just been added to.
// Telegram refused them before. It does nothing for other groups, and does not block.
func (s *session) syncMenusAfterAdding(group int64) {
	id := strconv.FormatInt(group, 10)
	if slices.Contains(s.adapter.LanguageChats, id) {
		s.work.Go(func(string) { s.syncGroupMenus(s.running, id) })
	}
}

// sync makes calls until they succeed or are refused, and logs a refusal. It blocks until then, ctx is done, or the
// token is refused.
func (s *session) sync(ctx context.Context, calls func() error) {
	_ = s.repeat(ctx, func() error {
		err := calls()
		e := botapi.ErrorOf(err)
		if err == nil || e.Temporary() || e.Kind == botapi.Unauthorized {
			return err
		}
		level := s.work.Rarely(slog.LevelWarn, "profile")
		s.adapter.Log.Log(ctx, level, "telegram: a part of the bot's menus or descriptions cannot be set", "err", err)
		return nil // The call was refused: do not repeat it.
	})
}

// syncMenu sets a menu unless Telegram has it already. It does not compare IsEphemeral. Bot API servers before 10.2
// never return that field, and every menu would seem changed at each start. But if such a server is upgraded, it learns
// which commands are ephemeral only when a name or a summary changes.
func (a *Adapter) syncMenu(ctx context.Context, menu *bot.SetMyCommandsParams) error {
	whose := &bot.GetMyCommandsParams{Scope: menu.Scope, LanguageCode: menu.LanguageCode}
	current, err := botapi.Call(ctx, a.api, (*bot.Bot).GetMyCommands, whose)
	if err != nil {
		return err
	}
	same := func(a, b models.BotCommand) bool { return a.Command == b.Command && a.Description == b.Description }
	if slices.EqualFunc(current, menu.Commands, same) {
		return nil
	}
	_, err = botapi.Change(ctx, a.api, (*bot.Bot).SetMyCommands, menu)
	return err
}

// syncDescription sets the text in the empty private chat with the bot, of at most 512
// characters, unless Telegram has it already.
func (a *Adapter) syncDescription(ctx context.Context, language, text string) error {
	whose := &bot.GetMyDescriptionParams{LanguageCode: language}
	current, err := botapi.Call(ctx, a.api, (*bot.Bot).GetMyDescription, whose)
	if err != nil || current.Description == text {
		return err
	}
	params := &bot.SetMyDescriptionParams{Description: text, LanguageCode: language}
	_, err = botapi.Change(ctx, a.api, (*bot.Bot).SetMyDescription, params)
	return err
}

// syncShortDescription sets the text on the bot's profile, of at most 120 characters, unless
// Telegram has it already.
func (a *Adapter) syncShortDescription(ctx context.Context, language, text string) error {
	whose := &bot.GetMyShortDescriptionParams{LanguageCode: language}
	current, err := botapi.Call(ctx, a.api, (*bot.Bot).GetMyShortDescription, whose)
	if err != nil || current.ShortDescription == text {
		return err
	}
	params := &bot.SetMyShortDescriptionParams{ShortDescription: text, LanguageCode: language}
	_, err = botapi.Change(ctx, a.api, (*bot.Bot).SetMyShortDescription, params)
	return err
}

// about returns the message with this key, which names the topics of all commands.
func about(key string, all chat.Commands) chat.Text {
	return chat.SayWith(key, chat.Values{"topics": chat.List(all.Topics())})
}

// description says what the bot does, how to get a tag, and how to join a group. It names only
// the first tag, because Telegram limits a description to 512 characters.
func (a *Adapter) description(l chat.Language, all chat.Commands) string {
	_, checksPeople := all.Find("exists")
	_, checksStakes := all.Find("staked")
	lines := []string{words.Say(l, about("telegram.about", all))}
	switch {
	case checksPeople && checksStakes:
		lines = append(lines, words.Say(l, chat.Say("telegram.about.stakes")))
	case checksPeople:
		lines = append(lines, words.Say(l, chat.Say("telegram.about.private")))
	}
	lines = append(lines, words.Say(l, chat.Say("help.honest")), words.Say(l, chat.Say("help.wallet")))
	text := strings.Join(lines, "\n")
	if tags := a.Settings.StakerTags; len(tags) > 0 {
		values := chat.Values{"command": chat.Plain("/verify"), "badge": chat.Plain(tags[0].ID)}
		text += "\n\n" + words.Say(l, chat.SayWith("help.role", values))
	}
	if len(a.Settings.JoinChats) > 0 {
		text += "\n\n" + words.Say(l, chat.Say("telegram.description.join"))
	}
	return text
}

// menuOf returns a menu of all commands with their summaries.
func menuOf(all chat.Commands, l chat.Language, summaryOf func(chat.Command) chat.Text) []models.BotCommand {
	var menu []models.BotCommand
	for _, c := range all {
		menu = append(menu, models.BotCommand{
			Command:     c.Name,
			Description: words.Say(l, summaryOf(c)),
			IsEphemeral: c.Visibility == chat.Private,
		})
	}
	return menu
}

func summary(c chat.Command) chat.Text { return c.Summary }

// moderatorSummary returns the summary for moderators if c has one, or else everybody's.
func moderatorSummary(c chat.Command) chat.Text {
	if c.ModeratorSummary.Key != "" {
		return c.ModeratorSummary
	}
	return c.Summary
}
