package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// offered are the registered commands that an asker's app lists in a chat. Every
// command here that asks for a permission asks for one that a moderator has.
func offered(registered []map[string]any, by asker, chat string) (all []*discordgo.ApplicationCommand) {
	where := discordgo.InteractionContextGuild
	if chat == Private {
		where = discordgo.InteractionContextBotDM
	}
	_ = json.Unmarshal(encoded(registered), &all) // whose form was checked
	return slices.DeleteFunc(all, func(c *discordgo.ApplicationCommand) bool {
		return c.Contexts != nil && !slices.Contains(*c.Contexts, where) || c.DefaultMemberPermissions != nil && !by.moderator
	})
}

// inLocale is one of some texts, or another where there is none in the locale.
func inLocale(texts *map[discordgo.Locale]string, locale, otherwise string) string {
	if texts != nil && (*texts)[discordgo.Locale(locale)] != "" {
		return (*texts)[discordgo.Locale(locale)]
	}
	return otherwise
}

// typedLine is a command as it is filled in.
type typedLine struct {
	command *discordgo.ApplicationCommand
	texts   map[string]string
	users   map[string]string // by option, user IDs
	target  string            // the user ID of whose menu was used
	last    *discordgo.ApplicationCommandOption
}

// find is the command of a kind and a name; nil if there is none.
func find(all []*discordgo.ApplicationCommand, kind discordgo.ApplicationCommandType, name string) *discordgo.ApplicationCommand {
	for _, c := range all {
		if c.Type == kind && c.Name == name {
			return c
		}
	}
	return nil
}

// read fills in the options of the command that a line begins with, as a person
// would in Discord's app, in order. The hint, in English as the page is, says why
// the app would not take it.
func read(line string, commands []*discordgo.ApplicationCommand, all people) (l typedLine, hint string) {
	words := strings.Fields(line)
	name := strings.TrimPrefix(words[0], "/")
	command := find(commands, discordgo.ChatApplicationCommand, name)
	if command == nil {
		return l, "There is no command /" + name + " here."
	}
	l = typedLine{command: command, texts: map[string]string{}, users: map[string]string{}}
	for _, word := range words[1:] {
		mention := strings.HasPrefix(word, "@")
		a, known := all.mentioned(word)
		l.last = l.free(mention)
		switch {
		case l.last == nil:
			return l, fmt.Sprintf("/%s has no option left for %q.", name, word)
		case !mention:
			l.texts[l.last.Name] = word
		case !known:
			return l, fmt.Sprintf("%s must be somebody here, such as @%s.", l.last.Name, all[0].name)
		default:
			l.users[l.last.Name] = a.discordID
		}
	}
	return l, ""
}

// free is the first option for a person, or for a text, that is not filled in; nil
// if there is none.
func (l *typedLine) free(person bool) *discordgo.ApplicationCommandOption {
	for _, o := range l.command.Options {
		if isPerson := o.Type == discordgo.ApplicationCommandOptionUser; isPerson == person && !l.filled(o) {
			return o
		}
	}
	return nil
}

func (l *typedLine) filled(o *discordgo.ApplicationCommandOption) bool {
	_, text := l.texts[o.Name]
	_, user := l.users[o.Name]
	return text || user
}

// missing is the hint for a required option that is not filled in, or "".
func (l *typedLine) missing() (hint string) {
	for _, o := range l.command.Options {
		if o.Required && !l.filled(o) {
			return fmt.Sprintf("/%s needs its option %q.", l.command.Name, o.Name)
		}
	}
	return ""
}

// pick is a command of the menu of a person.
func pick(label, target string, commands []*discordgo.ApplicationCommand, all people) (l typedLine, hint string) {
	command := find(commands, discordgo.UserApplicationCommand, label)
	a, known := all.named(target)
	if command == nil || !known {
		return l, "There is no such entry in the menu of a person here."
	}
	return typedLine{command: command, target: a.discordID}, ""
}

// typed is the line as the chat shows it.
func (l *typedLine) typed(all people) Typed {
	t := Typed{Command: l.command.Name, Target: all.onDiscord(l.target)}
	for _, o := range l.command.Options {
		if value, ok := l.texts[o.Name]; ok {
			t.Options = append(t.Options, TypedOption{o.Name, value})
		}
		if id, ok := l.users[o.Name]; ok {
			t.Options = append(t.Options, TypedOption{o.Name, all.onDiscord(id)})
		}
	}
	return t
}
