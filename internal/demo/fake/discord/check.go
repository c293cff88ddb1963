package discord

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// Limits of Discord's that its schema does not have.
const (
	// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
	maxEmbed = 6000
	// https://discord.com/developers/docs/components/reference#action-row
	maxRows = 5
	// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal
	maxInputs = 5
	// https://discord.com/developers/docs/resources/message#create-message
	maxAttachments = 10
)

// Discord's numbers for a link button and for one that sells something.
// https://discord.com/developers/docs/components/reference#button-button-styles
const (
	styleLink    = 5.0
	stylePremium = 6.0
)

// componentsV2 is the flag of messages that are all components, which are not
// known here.
const componentsV2 = 1 << 15

// checkSent holds the rules for what is sent of a message that the schema does
// not. That mentions must be forbidden is this project's rule, not Discord's.
func checkSent(message map[string]any) error {
	mentions, _ := message["allowed_mentions"].(map[string]any)
	if parse, ok := mentions["parse"].([]any); !ok || len(parse) != 0 {
		return fmt.Errorf("allowed_mentions: does not forbid all mentions")
	}
	if flags, _ := message["flags"].(float64); int(flags)&componentsV2 != 0 {
		return fmt.Errorf("flags: components of the second version are not known here")
	}
	embeds, _ := message["embeds"].([]any)
	total := 0
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
func textLength(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += textLength(item)
		}
	case map[string]any:
		for name, item := range v {
			if text, ok := item.(string); ok && slices.Contains([]string{"title", "description", "name", "value", "text"}, name) {
				n += len(utf16.Encode([]rune(text)))
			} else {
				n += textLength(item)
			}
		}
	}
	return n
}

// checkButtons checks rows of buttons, whose form the schema has checked.
func checkButtons(components any) error {
	rows, _ := components.([]any)
	if len(rows) > maxRows {
		return fmt.Errorf("components: %d rows", len(rows))
	}
	seen := map[any]bool{}
	for r, row := range rows {
		for b, item := range row.(map[string]any)["components"].([]any) {
			button := item.(map[string]any)
			if err := checkButton(button); err != nil {
				return fmt.Errorf("components[%d].components[%d]: %w", r, b, err)
			}
			id := button["custom_id"]
			if id != nil && seen[id] {
				return fmt.Errorf("components[%d].components[%d].custom_id: is there twice", r, b)
			}
			seen[id] = true
		}
	}
	return nil
}

func checkButton(button map[string]any) error {
	link, hasURL := button["url"].(string)
	label, _ := button["label"].(string)
	isLink := button["style"] == styleLink
	switch {
	case button["style"] == stylePremium:
		return fmt.Errorf("style: premium buttons are not known here")
	case label == "" && button["emoji"] == nil:
		return fmt.Errorf("has neither label nor emoji")
	case isLink != hasURL, isLink == (button["custom_id"] != nil):
		return fmt.Errorf("a link has a url and any other button a custom_id, and none has both")
	case isLink && !isLinkURL(link):
		return fmt.Errorf("url: is no address that a button may open")
	}
	return nil
}

func isLinkURL(link string) bool {
	u, err := url.Parse(link)
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https", "discord"}, u.Scheme)
}

// checkModal checks the inputs of a modal, whose form the schema has checked.
func checkModal(m *Modal) error {
	if len(m.Inputs) > maxInputs {
		return fmt.Errorf("components: %d inputs", len(m.Inputs))
	}
	seen := map[string]bool{}
	for n, input := range m.Inputs {
		path := fmt.Sprintf("components[%d]", n)
		switch {
		case seen[input.CustomID]:
			return fmt.Errorf("%s.custom_id: is there twice", path)
		case input.Label == "":
			return fmt.Errorf("%s.label: is required, in one place", path)
		case input.MaxLength > 0 && input.MinLength > input.MaxLength:
			return fmt.Errorf("%s: its lengths contradict each other", path)
		}
		seen[input.CustomID] = true
	}
	return nil
}

// checkShown checks a message as it would be shown.
func checkShown(m *Message) error {
	if m.Content == "" && len(m.Embeds) == 0 && len(m.Attachments) == 0 {
		return fmt.Errorf("the message is empty")
	}
	if len(m.Attachments) > maxAttachments {
		return fmt.Errorf("attachments: %d", len(m.Attachments))
	}
	for n, e := range m.Embeds {
		if e.Image == nil {
			continue
		}
		name, attached := strings.CutPrefix(e.Image.URL, "attachment://")
		switch {
		case attached && !slices.ContainsFunc(m.Attachments, func(a Attachment) bool { return a.Name == name && a.isImage() }):
			return fmt.Errorf("embeds[%d].image.url: no image of that name is attached", n)
		case !attached && !isLinkURL(e.Image.URL):
			return fmt.Errorf("embeds[%d].image.url: is no address", n)
		}
	}
	return nil
}
