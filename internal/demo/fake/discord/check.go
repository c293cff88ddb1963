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

// specJSON has the schemas of the payloads that an adapter sends: types, limits, enums, and required
// members. They are from Discord's OpenAPI description, https://github.com/discord/discord-api-spec. The
// limits of a button's label and of the number of rows are from
// https://discord.com/developers/docs/components/reference#action-row.
//
//go:embed spec.json
var specJSON []byte

// spec returns the schemas in specJSON. It decodes them when it is first called.
var spec = sync.OnceValue(func() schema.Schemas { return schema.Parse(specJSON) })

// Numbers from Discord's documentation that its schema does not have. Those that appear in payloads are of the
// type that JSON decodes to.
const (
	// maxEmbeds is the maximum number of characters in all embeds of a message.
	// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
	maxEmbeds = 6000
	// styleLink is the style of a button that opens a URL.
	// https://discord.com/developers/docs/components/reference#button-button-styles
	styleLink = 5.0
	// componentsV2 is the flag of a message with components of the second version.
	// https://discord.com/developers/docs/resources/message#message-object-message-flags
	componentsV2 = 1 << 15
	// The types of commands.
	// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-types
	slashCommand = 1.0
	entryPoint   = 4.0
)

// checkPayload checks a message that the bot sends against the rules that the schema does not have. Discord
// does not demand that mentions are forbidden; this project does.
func checkPayload(message map[string]any) error {
	mentions, _ := message["allowed_mentions"].(map[string]any)
	parse, isList := mentions["parse"].([]any)
	if !isList || len(parse) != 0 {
		return fmt.Errorf("allowed_mentions: does not forbid all mentions")
	}
	flags, _ := message["flags"].(float64)
	if int(flags)&componentsV2 != 0 {
		return fmt.Errorf("flags: components of the second version are not known here")
	}
	total := 0
	embeds, _ := message["embeds"].([]any)
	for _, embed := range embeds {
		length := textLength(embed)
		if length == 0 && embed.(map[string]any)["image"] == nil {
			return fmt.Errorf("embeds: one is empty")
		}
		total += length
	}
	if total > maxEmbeds {
		return fmt.Errorf("embeds: %d characters in all", total)
	}
	return checkButtons(message["components"])
}

// textMembers are the members of an embed with text that counts towards maxEmbeds.
var textMembers = []string{"title", "description", "name", "value", "text"}

// textLength returns the length of the text in an embed or a part of it, in UTF-16 code units.
func textLength(v any) (length int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			length += textLength(item)
		}
	case map[string]any:
		for name, item := range v {
			text, isText := item.(string)
			if isText && slices.Contains(textMembers, name) {
				length += len(utf16.Encode([]rune(text)))
			}
			length += textLength(item)
		}
	}
	return length
}

// checkButtons checks rows of buttons. They must satisfy the schema.
func checkButtons(components any) error {
	rows, _ := components.([]any)
	ids := map[any]bool{}
	for _, row := range rows {
		for _, item := range row.(map[string]any)["components"].([]any) {
			button := item.(map[string]any)
			link, hasURL := button["url"].(string)
			isLink := button["style"] == styleLink
			id := button["custom_id"]
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

// checkResult checks a message as it would be shown after a call.
func checkResult(m *Message) error {
	if m.Content == "" && len(m.Embeds) == 0 && len(m.Attachments) == 0 {
		return fmt.Errorf("the message is empty")
	}
	for _, e := range m.Embeds {
		if e.Image == nil {
			continue
		}
		name, isAttachment := strings.CutPrefix(e.Image.URL, "attachment://")
		isShown := func(a Attachment) bool { return a.Name == name && a.isImage() }
		if !isAttachment || !slices.ContainsFunc(m.Attachments, isShown) {
			return fmt.Errorf("embeds: no image of the name %q is attached", e.Image.URL)
		}
	}
	return nil
}

// slashName matches the name of a slash command or of an option, in every language. Besides, letters must be
// in lower case. The expression takes a megabyte, so it is compiled when it is first used.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
var slashName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)
})

func isSlashName(name any) bool {
	text, _ := name.(string)
	return slashName().MatchString(text) && strings.ToLower(text) == text
}

// checkCommands checks commands against their schema, and against the rules that the schema does not have.
func checkCommands(commands []any) error {
	taken := map[string]bool{} // type and name
	for i, item := range commands {
		path := fmt.Sprintf("commands[%d]", i)
		if err := spec().Check(path, "ApplicationCommandUpdateRequest", item); err != nil {
			return err
		}
		command := item.(map[string]any)
		kind, options := command["type"], command["options"]
		typeAndName := fmt.Sprint(kind, command["name"])
		isDescribed := command["description"] != nil && command["description"] != ""
		isSlash := kind == nil || kind == slashCommand
		switch {
		case taken[typeAndName]:
			return fmt.Errorf("%s.name: is taken", path)
		case isSlash && (!isSlashName(command["name"]) || !isDescribed):
			return fmt.Errorf("%s: has no name for a slash command, or no description", path)
		case !isSlash && (isDescribed || options != nil):
			return fmt.Errorf("%s: a context menu command has neither description nor options", path)
		}
		taken[typeAndName] = true
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

// checkOptions checks the options of the command at path.
func checkOptions(path string, options []any) error {
	afterOptional := false
	taken := map[string]bool{} // names, and locales with localized names
	for i, item := range options {
		option := item.(map[string]any)
		path := fmt.Sprintf("%s.options[%d]", path, i)
		name, _ := option["name"].(string)
		isRequired := option["required"] == true
		switch {
		case !isSlashName(name), taken[name]:
			return fmt.Errorf("%s.name: is taken or has a wrong form", path)
		case isRequired && afterOptional:
			return fmt.Errorf("%s: required options come first", path)
		}
		afterOptional = !isRequired
		taken[name] = true
		if err := checkLocales(path, option); err != nil {
			return err
		}
		localized, _ := option["name_localizations"].(map[string]any)
		for locale, name := range localized {
			localeAndName := locale + fmt.Sprint(name)
			if !isSlashName(name) || taken[localeAndName] {
				return fmt.Errorf("%s.name_localizations.%s: is taken or has a wrong form", path, locale)
			}
			taken[localeAndName] = true
		}
	}
	return nil
}

// checkLocales checks that Discord knows the locales of all localizations in object.
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
