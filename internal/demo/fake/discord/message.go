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

// Message is a message of the bot.
type Message struct {
	ID string
	// Ephemeral is set if only one user sees the message. SeenBy is that user's ID.
	Ephemeral   bool
	SeenBy      string
	Content     string
	Embeds      []*discordgo.MessageEmbed
	Buttons     [][]Button // by row
	Attachments []Attachment
	// Edited is the number of changes after the message was first shown.
	Edited int
}

// Shown is a message that is new or has changed.
type Shown struct {
	// Interaction is the interaction that the message answers.
	Interaction Interaction
	Message     *Message
	// Loading is set if the message was deferred and is still empty.
	Loading bool
}

// Watch makes the server call f with every new state of a message from now on, in order. f must not block, call
// the server, or change the message.
func (s *Server) Watch(f func(Shown)) { s.Change(func() { s.watch = f }) }

// Button is a button under a message. It has either a URL, which it opens, or a custom ID, which identifies the
// button in the interaction of a press.
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
	Description string // the alternative text
	ContentType string
	Bytes       []byte
}

// isImage reports whether an embed can show the file.
// https://discord.com/developers/docs/reference#editing-message-attachments-using-attachments-within-embeds
func (a Attachment) isImage() bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".webp", ".gif"}, strings.ToLower(path.Ext(a.Name)))
}

// Text returns the text of the message, without its buttons. It removes the backslashes of escapes and the marks of
// small print, and prints the timestamp of an embed like a time in a text, "<t:1790000000:R>".
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

// Everything returns the content of the message as JSON: text with markup, embeds, buttons with their custom IDs,
// and the names and descriptions of files.
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

// Button returns the button with this label, and whether there is one.
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

// with returns m, changed by the members of a payload. files are the uploads of the call by their number in the
// payload. newID makes the IDs of new attachments. with returns an error if Discord would refuse the message.
func (m Message) with(sent map[string]any, files map[string]Attachment, newID func() string) (*Message, error) {
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
		m.Buttons = readButtons(components)
	}
	if list, listed := sent["attachments"].([]any); listed || len(files) > 0 {
		attachments, err := m.readAttachments(list, files, newID)
		if err != nil {
			return nil, err
		}
		m.Attachments = attachments
	}
	return &m, checkResult(&m)
}

// readAttachments returns the attachments in list. Each is either an attachment of m or an upload, which
// readAttachments removes from files. The message loses its other attachments.
// https://discord.com/developers/docs/resources/message#edit-message
func (m Message) readAttachments(
	list []any, files map[string]Attachment, newID func() string,
) (attachments []Attachment, err error) {
	for i, item := range list {
		var given struct{ ID, Filename, Description string }
		if err := convert(item, &given); err != nil {
			return nil, fmt.Errorf("attachments[%d]: %w", i, err)
		}
		old := slices.IndexFunc(m.Attachments, func(a Attachment) bool { return a.ID == given.ID })
		file, isUpload := files[given.ID]
		switch {
		case isUpload:
			file.ID = newID()
			file.Name = given.Filename
			file.Description = given.Description
			attachments = append(attachments, file)
			delete(files, given.ID)
		case old >= 0:
			attachments = append(attachments, m.Attachments[old])
		default:
			return nil, fmt.Errorf("attachments[%d].id: names neither an upload nor an attachment of the message, or one twice",
				i)
		}
	}
	if len(files) > 0 {
		return nil, errors.New("attachments: an upload is not listed, which is not known here")
	}
	return attachments, nil
}

// readButtons returns the rows of buttons in components, which checkButtons has accepted.
func readButtons(components any) (buttons [][]Button) {
	var rows []struct{ Components []Button }
	_ = convert(components, &rows)
	for _, row := range rows {
		buttons = append(buttons, row.Components)
	}
	return buttons
}

// Payload returns the message as Discord sends it, for json.Marshal.
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
			"id":           a.ID,
			"filename":     a.Name,
			"description":  a.Description,
			"content_type": a.ContentType,
			"size":         len(a.Bytes),
			"url":          address,
			"proxy_url":    address,
		})
	}
	flags := 0
	if m.Ephemeral {
		flags = int(discordgo.MessageFlagsEphemeral)
	}
	embeds := []discordgo.MessageEmbed{}
	for _, e := range m.Embeds {
		shown := *e
		if at, err := time.Parse(time.RFC3339, e.Timestamp); err == nil {
			shown.Timestamp = at.UTC().Format("2006-01-02T15:04:05.000000+00:00") // Discord's format
		}
		embeds = append(embeds, shown)
	}
	created, _ := discordgo.SnowflakeTimestamp(m.ID)
	return map[string]any{
		"id":               m.ID,
		"channel_id":       channelID,
		"type":             20,
		"application_id":   applicationID,
		"flags":            flags,
		"author":           map[string]any{"id": applicationID, "username": "fake", "discriminator": "0", "bot": true},
		"content":          m.Content,
		"embeds":           embeds,
		"components":       rows,
		"attachments":      files,
		"timestamp":        created.Format(time.RFC3339),
		"tts":              false,
		"pinned":           false,
		"mention_everyone": false,
		"mentions":         []any{},
	}
}

// convert copies from, a value that JSON was decoded to, into the value that to points to.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}
