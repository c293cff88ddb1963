package discord

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"herald/internal/demo/fake/schema"
)

// specJSON holds the schemas of the payloads that an adapter sends: types, bounds, enums,
// and required members. They are from Discord's OpenAPI description,
// https://github.com/discord/discord-api-spec, with a button's label and the five rows of
// https://discord.com/developers/docs/components/reference#action-row.
//
//go:embed spec.json
var specJSON []byte

// spec returns the schemas in specJSON. They are decoded when they are first used.
var spec = sync.OnceValue(func() schema.Schemas { return schema.Parse(specJSON) })

// Limits of Discord's that its schema does not have.
const (
	// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
	maxEmbed = 6000 // characters of all embeds
	// https://discord.com/developers/docs/components/reference#button-button-styles
	styleLink = 5.0
	// https://discord.com/developers/docs/resources/message#message-object-message-flags
	componentsV2 = 1 << 15
	// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-types
	entryPoint = 4.0
)

// checkSent checks a message by the rules that the schema does not have. Only this project
// demands that mentions are forbidden.
func checkSent(message map[string]any) error {
	mentions, _ := message["allowed_mentions"].(map[string]any)
	if parse, ok := mentions["parse"].([]any); !ok || len(parse) != 0 {
		return fmt.Errorf("allowed_mentions: does not forbid all mentions")
	}
	if flags, _ := message["flags"].(float64); int(flags)&componentsV2 != 0 {
		return fmt.Errorf("flags: components of the second version are not known here")
	}
	total := 0
	embeds, _ := message["embeds"].([]any)
	for _, e := range embeds {
		n := textLength(e)
		if n == 0 && e.(map[string]any)["image"] == nil {
			return fmt.Errorf("embeds: one is empty")
		}
		total += n
	}
	if total > maxEmbed {
		return fmt.Errorf("embeds: %d characters in all", total)
	}
	return checkButtons(message["components"])
}

// textLength counts the text in an embed.
func textLength(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += textLength(item)
		}
	case map[string]any:
		for name, item := range v {
			text, ok := item.(string)
			if ok && slices.Contains([]string{"title", "description", "name", "value", "text"}, name) {
				n += len(utf16.Encode([]rune(text)))
			}
			n += textLength(item)
		}
	}
	return n
}

// checkButtons checks rows of buttons, whose form the schema has checked.
func checkButtons(components any) error {
	rows, _ := components.([]any)
	ids := map[any]bool{}
	for _, row := range rows {
		for _, item := range row.(map[string]any)["components"].([]any) {
			button := item.(map[string]any)
			link, hasURL := button["url"].(string)
			id, isLink := button["custom_id"], button["style"] == styleLink
			switch {
			case isLink != hasURL, isLink == (id != nil):
				return fmt.Errorf("components: a link has a url and any other button a custom_id, and none has both")
			case isLink && !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://"):
				return fmt.Errorf("components: a url is no address that a button may open")
			case id != nil && ids[id]:
				return fmt.Errorf("components: a custom_id is there twice")
			}
			ids[id] = true
		}
	}
	return nil
}

// checkShown checks a message as it would be shown.
func checkShown(m *Message) error {
	if m.Content == "" && len(m.Embeds) == 0 && len(m.Attachments) == 0 {
		return fmt.Errorf("the message is empty")
	}
	for _, e := range m.Embeds {
		if e.Image == nil {
			continue
		}
		name, attached := strings.CutPrefix(e.Image.URL, "attachment://")
		shown := func(a Attachment) bool { return a.Name == name && a.isImage() }
		if !attached || !slices.ContainsFunc(m.Attachments, shown) {
			return fmt.Errorf("embeds: no image of the name %q is attached", e.Image.URL)
		}
	}
	return nil
}

// slashName matches the name of a slash command or an option in every language. Letters
// must also be in lower case.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
// It takes a megabyte, so it is compiled when it is first used.
var slashName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)
})

func isSlashName(name any) bool {
	text, _ := name.(string)
	return slashName().MatchString(text) && strings.ToLower(text) == text
}

// checkCommands checks commands by their schema, and by the rules that it does not have.
func checkCommands(commands []any) error {
	names := map[string]bool{}
	for n, item := range commands {
		path := fmt.Sprintf("commands[%d]", n)
		if err := spec().Check(path, "ApplicationCommandUpdateRequest", item); err != nil {
			return err
		}
		command := item.(map[string]any)
		kind, options := command["type"], command["options"]
		name, described := fmt.Sprint(kind, command["name"]), command["description"] != nil && command["description"] != ""
		slash := kind == nil || kind == 1.0
		switch {
		case names[name]:
			return fmt.Errorf("%s.name: is taken", path)
		case slash && (!isSlashName(command["name"]) || !described):
			return fmt.Errorf("%s: has no name for a slash command, or no description", path)
		case !slash && (described || options != nil):
			return fmt.Errorf("%s: a context menu command has neither description nor options", path)
		}
		names[name] = true
		if err := checkLocales(path, command); err != nil {
			return err
		}
		list, _ := options.([]any)
		if err := checkOptions(path, list); err != nil {
			return err
		}
	}
	return nil
}

func checkOptions(path string, options []any) error {
	optional, names := false, map[any]bool{}
	for n, o := range options {
		option := o.(map[string]any)
		path := fmt.Sprintf("%s.options[%d]", path, n)
		required := option["required"] == true
		switch {
		case !isSlashName(option["name"]), names[option["name"]]:
			return fmt.Errorf("%s.name: is taken or has a wrong form", path)
		case required && optional:
			return fmt.Errorf("%s: required options come first", path)
		}
		optional = !required
		names[option["name"]] = true
		if err := checkLocales(path, option); err != nil {
			return err
		}
		localized, _ := option["name_localizations"].(map[string]any)
		for locale, name := range localized {
			if key := locale + fmt.Sprint(name); !isSlashName(name) || names[key] {
				return fmt.Errorf("%s.name_localizations.%s: is taken or has a wrong form", path, locale)
			} else {
				names[key] = true
			}
		}
	}
	return nil
}

// checkLocales checks that the localizations of object are to locales of Discord.
func checkLocales(path string, object map[string]any) error {
	for _, member := range []string{"name_localizations", "description_localizations"} {
		localized, _ := object[member].(map[string]any)
		for locale := range localized {
			if !slices.Contains(spec()["AvailableLocalesEnum"].Enum, any(locale)) {
				return fmt.Errorf("%s.%s: %q is not a locale of Discord's", path, member, locale)
			}
		}
	}
	return nil
}
