package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Message is one that the bot shows.
type Message struct {
	ID string
	// Ephemeral tells that only the user SeenBy sees it. All others are seen by
	// everybody in the channel.
	Ephemeral   bool
	SeenBy      string
	Content     string
	Embeds      []*discordgo.MessageEmbed
	Buttons     [][]Button // by row
	Attachments []Attachment
	// Edited is how often it was changed after it was first shown.
	Edited int
}

// Shown is a message that the answer to an interaction has people shown.
type Shown struct {
	// Interaction is the one that was answered, with its ID.
	Interaction Interaction
	// Message is new or changed.
	Message *Message
	// Loading tells that it is promised and empty so far.
	Loading bool
}

// Watch has f called with all that is shown from then on, in order. It must not
// block, nor call the server, nor change what it is given.
func (s *Server) Watch(f func(Shown)) { s.Change(func() { s.watch = f }) }

// Button is a button under a message: a link with a URL, or one with a custom
// ID, which comes back when somebody presses it.
type Button struct {
	Label    string
	CustomID string `json:"custom_id"`
	URL      string
	Style    int
}

// Attachment is a file of a message.
type Attachment struct {
	ID          string
	Name        string
	Description string // for those who cannot see it
	ContentType string
	Bytes       []byte
}

// isImage reports whether Discord would show the file in an embed.
// https://discord.com/developers/docs/reference#editing-message-attachments-using-attachments-within-embeds
func (a Attachment) isImage() bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".webp", ".gif"}, strings.ToLower(path.Ext(a.Name)))
}

// Text is all text of the message but its buttons', without the backslashes of
// escapes and the marks of small print. The time of a footer is told as in a text.
func (m Message) Text() string {
	parts := []string{m.Content}
	for _, e := range m.Embeds {
		parts = append(parts, e.Title, e.Description)
		for _, f := range e.Fields {
			parts = append(parts, f.Name+" "+f.Value)
		}
		var footer []string
		if e.Footer != nil {
			footer = append(footer, e.Footer.Text)
		}
		if at, err := time.Parse(time.RFC3339, e.Timestamp); err == nil {
			footer = append(footer, fmt.Sprintf("<t:%d:R>", at.Unix()))
		}
		if len(footer) > 0 {
			parts = append(parts, strings.Join(footer, " · "))
		}
	}
	text := strings.ReplaceAll(strings.Join(parts, "\n"), "\n-# ", "\n")
	return strings.ReplaceAll(text, `\`, "")
}

// Everything is all that is in the message for those who see it, as JSON: its
// text with the markup, its embeds, its buttons with what they carry, and its
// files' names and descriptions.
func (m Message) Everything() string {
	files := slices.Clone(m.Attachments)
	for i := range files {
		files[i].Bytes = nil
	}
	var all strings.Builder
	encoder := json.NewEncoder(&all)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{m.Content, m.Embeds, m.Buttons, files}); err != nil {
		panic(err)
	}
	return all.String()
}

// Button is the button with a label.
func (m Message) Button(label string) (b Button, ok bool) {
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Label == label {
				return b, true
			}
		}
	}
	return Button{}, false
}

// changed is m with what is sent of it: a member that is not sent stays as it
// is. newID makes the IDs of its new attachments.
func (m Message) changed(sent map[string]any, files map[string]Attachment, newID func() string) (*Message, error) {
	if content, ok := sent["content"]; ok {
		m.Content, _ = content.(string)
	}
	if embeds, ok := sent["embeds"]; ok {
		m.Embeds = nil
		if err := convert(embeds, &m.Embeds); err != nil {
			return nil, fmt.Errorf("embeds: %w", err)
		}
	}
	if components, ok := sent["components"]; ok {
		m.Buttons = buttons(components)
	}
	if list, listed := sent["attachments"].([]any); listed || len(files) > 0 {
		attachments, err := m.attachments(list, files, newID)
		if err != nil {
			return nil, err
		}
		m.Attachments = attachments
	}
	return &m, checkShown(&m)
}

// attachments are those that are listed: ones that stay, and uploads. All others
// of the message are removed.
// https://discord.com/developers/docs/resources/message#edit-message
func (m Message) attachments(list []any, files map[string]Attachment, newID func() string) (all []Attachment, err error) {
	for n, item := range list {
		var given struct{ ID, Filename, Description string }
		if err := convert(item, &given); err != nil {
			return nil, fmt.Errorf("attachments[%d]: %w", n, err)
		}
		was := slices.IndexFunc(m.Attachments, func(a Attachment) bool { return a.ID == given.ID })
		if file, isNew := files[given.ID]; isNew {
			file.ID, file.Name, file.Description = newID(), given.Filename, given.Description
			all = append(all, file)
			delete(files, given.ID)
		} else if was >= 0 {
			all = append(all, m.Attachments[was])
		} else {
			return nil, fmt.Errorf("attachments[%d].id: names neither an upload nor an attachment of the message, or one twice", n)
		}
	}
	if len(files) > 0 {
		return nil, errors.New("attachments: an upload is not listed, which is not known here")
	}
	return all, nil
}

// buttons reads the rows of buttons in components, whose form was checked.
func buttons(components any) (all [][]Button) {
	var rows []struct{ Components []Button }
	_ = convert(components, &rows)
	for _, row := range rows {
		all = append(all, row.Components)
	}
	return all
}

// Payload is the message as Discord sends it: JSON, to be encoded.
func (m Message) Payload(applicationID, channelID string) map[string]any {
	rows := []any{}
	for _, row := range m.Buttons {
		shown := []any{}
		for _, b := range row {
			button := map[string]any{"type": 2, "style": b.Style, "label": b.Label}
			if b.URL != "" {
				button["url"] = b.URL
			} else {
				button["custom_id"] = b.CustomID
			}
			shown = append(shown, button)
		}
		rows = append(rows, map[string]any{"type": 1, "components": shown})
	}
	files := []any{}
	for _, a := range m.Attachments {
		address := "https://cdn.discordapp.com/attachments/" + channelID + "/" + a.ID + "/" + a.Name
		files = append(files, map[string]any{
			"id": a.ID, "filename": a.Name, "description": a.Description, "content_type": a.ContentType,
			"size": len(a.Bytes), "url": address, "proxy_url": address,
		})
	}
	flags := 0
	if m.Ephemeral {
		flags = int(discordgo.MessageFlagsEphemeral)
	}
	shown, _ := discordgo.SnowflakeTimestamp(m.ID)
	return map[string]any{
		"id": m.ID, "channel_id": channelID, "type": 20, "application_id": applicationID, "flags": flags,
		"author":  map[string]any{"id": applicationID, "username": "fake", "discriminator": "0", "bot": true},
		"content": m.Content, "embeds": append([]*discordgo.MessageEmbed{}, m.Embeds...), "components": rows, "attachments": files,
		"timestamp": shown.Format(time.RFC3339), "tts": false, "pinned": false, "mention_everyone": false, "mentions": []any{},
	}
}

// convert decodes JSON that was decoded before into a type.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}
