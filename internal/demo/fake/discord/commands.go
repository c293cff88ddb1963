package discord

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// slashName is the form of a slash command's and an option's name, in every
// language; letters that have a lower case are in it.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
// It takes a megabyte, which a bot that runs has no use for.
var slashName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)
})

func isSlashName(name any) bool {
	text, _ := name.(string)
	return slashName().MatchString(text) && strings.ToLower(text) == text
}

// checkCommands holds the rules for commands that the schema does not.
func checkCommands(commands []any) error {
	seen := map[string]bool{}
	for n, item := range commands {
		path := fmt.Sprintf("commands[%d]", n)
		if err := spec()["ApplicationCommandUpdateRequest"].check(path, item); err != nil {
			return err
		}
		command := item.(map[string]any)
		key := fmt.Sprint(command["type"], command["name"])
		if seen[key] {
			return fmt.Errorf("%s.name: is taken", path)
		}
		seen[key] = true
		if err := checkCommand(path, command); err != nil {
			return err
		}
	}
	return nil
}

func checkCommand(path string, command map[string]any) error {
	options, _ := command["options"].([]any)
	description, _ := command["description"].(string)
	if kind := command["type"]; kind != nil && kind != 1.0 {
		described, _ := command["description_localizations"].(map[string]any)
		if description != "" || len(described) > 0 || len(options) > 0 {
			return fmt.Errorf("%s: a context menu command has neither description nor options", path)
		}
		return checkLocales(path, command, false)
	}
	if !isSlashName(command["name"]) {
		return fmt.Errorf("%s.name: is no name for a slash command", path)
	}
	if description == "" {
		return fmt.Errorf("%s.description: is required", path)
	}
	if err := checkLocales(path, command, true); err != nil {
		return err
	}
	return checkOptions(path, options)
}

func checkOptions(path string, options []any) error {
	optional, seen := false, map[any]bool{}
	for n, o := range options {
		option := o.(map[string]any)
		path := fmt.Sprintf("%s.options[%d]", path, n)
		switch required := option["required"] == true; {
		case !isSlashName(option["name"]), seen[option["name"]]:
			return fmt.Errorf("%s.name: is taken or has a wrong form", path)
		case required && optional:
			return fmt.Errorf("%s: required options come first", path)
		case option["choices"] != nil && option["autocomplete"] == true:
			return fmt.Errorf("%s: has choices and autocomplete", path)
		case !required:
			optional = true
		}
		seen[option["name"]] = true
		if err := checkLocales(path, option, true); err != nil {
			return err
		}
	}
	return nil
}

// checkLocales checks the languages that something is localized to, and where
// its names are typed, their form.
func checkLocales(path string, object map[string]any, typed bool) error {
	for _, member := range []string{"name_localizations", "description_localizations"} {
		localized, _ := object[member].(map[string]any)
		for locale, text := range localized {
			if !slices.Contains(spec()["AvailableLocalesEnum"].Enum, any(locale)) {
				return fmt.Errorf("%s.%s: %q is none of Discord's locales", path, member, locale)
			}
			if typed && member == "name_localizations" && !isSlashName(text) {
				return fmt.Errorf("%s.%s.%s: has a wrong form", path, member, locale)
			}
		}
	}
	return nil
}
