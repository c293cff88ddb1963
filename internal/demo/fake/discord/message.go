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
	// Ephemeral is true if only the user SeenBy sees it.
	Ephemeral   bool
	SeenBy      string
	Content     string
	Embeds      []*discordgo.MessageEmbed
	Buttons     [][]Button // by row
	Attachments []Attachment
	// Edited is how often it was changed after it was first shown.
	Edited int
}

// Shown is a message that is new or has changed.
type Shown struct {
	// Interaction is the one that the message answers.
	Interaction Interaction
	Message     *Message
	// Loading is true for a deferred message, which is empty so far.
	Loading bool
}

// Watch calls f with every message that is shown from then on, in order. f must not block,
// call the server, or change the message.
func (s *Server) Watch(f func(Shown)) { s.Change(func() { s.watch = f }) }

// Button is a button under a message. It has a URL to open, or a custom ID, which comes
// back in a press.
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

// isImage reports whether an embed can show the file.
// https://discord.com/developers/docs/reference#editing-message-attachments-using-attachments-within-embeds
func (a Attachment) isImage() bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".webp", ".gif"}, strings.ToLower(path.Ext(a.Name)))
}

// Text returns all text of the message but its buttons', without the backslashes of
// escapes and the marks of small print. An embed's time has the form that times have in
// texts.
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

// Everything returns all that is in the message as JSON: text with markup, embeds, buttons
// with their states, and the names and descriptions of files.
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

// Button returns the button with a label.
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

// changed returns m with the members that are sent. newID makes the IDs of new attachments.
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

// attachments returns those in list: attachments of m and uploads. All others of m are
// removed.
// https://discord.com/developers/docs/resources/message#edit-message
func (m Message) attachments(
	list []any, files map[string]Attachment, newID func() string,
) (all []Attachment, err error) {
	for n, item := range list {
		var given struct{ ID, Filename, Description string }
		if err := convert(item, &given); err != nil {
			return nil, fmt.Errorf("attachments[%d]: %w", n, err)
		}
		was := slices.IndexFunc(m.Attachments, func(a Attachment) bool { return a.ID == given.ID })
		if file, isNew := files[given.ID]; isNew {
			file.ID = newID()
			file.Name = given.Filename
			file.Description = given.Description
			all = append(all, file)
			delete(files, given.ID)
		} else if was >= 0 {
			all = append(all, m.Attachments[was])
		} else {
			return nil, fmt.Errorf("attachments[%d].id: names neither an upload nor an attachment of the message, or one twice",
				n)
		}
	}
	if len(files) > 0 {
		return nil, errors.New("attachments: an upload is not listed, which is not known here")
	}
	return all, nil
}

// buttons returns the rows of buttons in components, whose form was checked.
func buttons(components any) (all [][]Button) {
	var rows []struct{ Components []Button }
	_ = convert(components, &rows)
	for _, row := range rows {
		all = append(all, row.Components)
	}
	return all
}

// Payload returns the message as Discord sends it, to be encoded as JSON.
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
			shown.Timestamp = at.UTC().Format("2006-01-02T15:04:05.000000+00:00") // as Discord writes it
		}
		embeds = append(embeds, shown)
	}
	shown, _ := discordgo.SnowflakeTimestamp(m.ID)
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
		"timestamp":        shown.Format(time.RFC3339),
		"tts":              false,
		"pinned":           false,
		"mention_everyone": false,
		"mentions":         []any{},
	}
}

// convert decodes JSON, given as decoded before, into a type.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}
