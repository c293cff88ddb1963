package webdemo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// slashCommand is as much of a registered command as Discord's app needs.
type slashCommand struct {
	Type        discordgo.ApplicationCommandType   `json:"type"`
	Name        string                             `json:"name"`
	Names       map[string]string                  `json:"name_localizations,omitempty"`
	Description string                             `json:"description"`
	Described   map[string]string                  `json:"description_localizations,omitempty"`
	Permissions *string                            `json:"default_member_permissions,omitempty"`
	Contexts    []discordgo.InteractionContextType `json:"contexts"`
	Options     []slashOption                      `json:"options"`
	// NameShown and DescriptionShown are those of a Menu.
	NameShown        string `json:"name_localized,omitempty"`
	DescriptionShown string `json:"description_localized,omitempty"`
}

type slashOption struct {
	Type             discordgo.ApplicationCommandOptionType `json:"type"`
	Name             string                                 `json:"name"`
	Description      string                                 `json:"description"`
	Described        map[string]string                      `json:"description_localizations,omitempty"`
	Required         bool                                   `json:"required"`
	Autocomplete     bool                                   `json:"autocomplete"`
	DescriptionShown string                                 `json:"description_localized,omitempty"`
}

func (o slashOption) person() bool { return o.Type == discordgo.ApplicationCommandOptionUser }

// offered reports whether an asker's app lists the command in a chat. Every
// command here that asks for a permission asks for one that a moderator has.
func (c slashCommand) offered(by asker, chat string) bool {
	where := discordgo.InteractionContextGuild
	if chat == Private {
		where = discordgo.InteractionContextBotDM
	}
	return (len(c.Contexts) == 0 || slices.Contains(c.Contexts, where)) && (c.Permissions == nil || by.moderator)
}

// shownIn is the command as a Menu has it.
func (c slashCommand) shownIn(locale string) slashCommand {
	c.NameShown, c.DescriptionShown = inLocale(c.Names, locale, c.Name), inLocale(c.Described, locale, c.Description)
	c.Options = append([]slashOption{}, c.Options...)
	for i, o := range c.Options {
		c.Options[i].DescriptionShown, c.Options[i].Described = inLocale(o.Described, locale, o.Description), nil
	}
	c.Names, c.Described = nil, nil
	return c
}

func inLocale(texts map[string]string, locale, otherwise string) string {
	if text, ok := texts[locale]; ok {
		return text
	}
	return otherwise
}

// typedLine is a command as it is filled in.
type typedLine struct {
	command slashCommand
	texts   map[string]string
	users   map[string]string // by option, user IDs
	target  string            // the user ID of whose menu was used
	last    string            // the option that was filled in last
	// more tells that the last word is complete: a space follows.
	more bool
}

// read fills in the options of the command that a line begins with, as a person
// would in Discord's app: in order, or as name:value. The hint, in English as the
// page is, says why the app would not take it.
func read(line string, commands []slashCommand, all people) (l typedLine, hint string) {
	words := strings.Fields(line)
	name := strings.TrimPrefix(words[0], "/")
	i := slices.IndexFunc(commands, func(c slashCommand) bool {
		return c.Type == discordgo.ChatApplicationCommand && c.Name == name
	})
	if i < 0 {
		return l, "There is no command /" + name + " here."
	}
	l = typedLine{command: commands[i], texts: map[string]string{}, users: map[string]string{}, more: strings.HasSuffix(line, " ")}
	for _, word := range words[1:] {
		if hint := l.take(word, all); hint != "" {
			return l, hint
		}
	}
	return l, ""
}

// take gives one word to an option.
func (l *typedLine) take(word string, all people) (hint string) {
	if name, value, named := strings.Cut(word, ":"); named {
		if o, known := l.option(func(o slashOption) bool { return o.Name == name }); known {
			return l.fill(o, value, all)
		}
	}
	mention := strings.HasPrefix(word, "@")
	o, free := l.option(func(o slashOption) bool { return o.person() == mention && !l.filled(o) })
	if !free {
		return fmt.Sprintf("/%s has no option left for %q.", l.command.Name, word)
	}
	return l.fill(o, word, all)
}

func (l *typedLine) fill(o slashOption, value string, all people) (hint string) {
	l.last = o.Name
	if !o.person() {
		l.texts[o.Name] = value
		return ""
	}
	a, known := all.mentioned(value)
	if !known {
		a, known = all.find(func(a asker) bool { return a.discordID == value })
	}
	if !known {
		return fmt.Sprintf("%s must be somebody here, such as @%s.", o.Name, all[0].name)
	}
	l.users[o.Name] = a.discordID
	return ""
}

func (l *typedLine) option(is func(slashOption) bool) (slashOption, bool) {
	if i := slices.IndexFunc(l.command.Options, is); i >= 0 {
		return l.command.Options[i], true
	}
	return slashOption{}, false
}

func (l *typedLine) filled(o slashOption) bool {
	_, text := l.texts[o.Name]
	_, user := l.users[o.Name]
	return text || user
}

// missing is the hint for a required option that is not filled in, or "".
func (l *typedLine) missing() (hint string) {
	if o, missing := l.option(func(o slashOption) bool { return o.Required && !l.filled(o) }); missing {
		return fmt.Sprintf("/%s needs its option %q.", l.command.Name, o.Name)
	}
	return ""
}

// focused is the option that is being typed: the last one, or after a space the
// next.
func (l *typedLine) focused() (slashOption, bool) {
	if !l.more {
		return l.option(func(o slashOption) bool { return o.Name == l.last })
	}
	o, free := l.option(func(o slashOption) bool { return !l.filled(o) })
	if free && !o.person() {
		l.texts[o.Name] = ""
	}
	return o, free
}

// pick is a command of the menu of a person.
func pick(label, target string, commands []slashCommand, all people) (l typedLine, hint string) {
	i := slices.IndexFunc(commands, func(c slashCommand) bool {
		return c.Type == discordgo.UserApplicationCommand && c.Name == label
	})
	a, known := all.named(target)
	if i < 0 || !known {
		return l, "There is no such entry in the menu of a person here."
	}
	return typedLine{command: commands[i], target: a.discordID}, ""
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
