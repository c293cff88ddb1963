package discord

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// maxDescription is the limit of an embed's description, in UTF-16 units.
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const maxDescription = 4096

// maxContent is the limit of a message's content, in characters. A headline is far below: Fit
// cuts a title and a subtitle to a sixteenth of maxDescription each.
// https://discord.com/developers/docs/resources/message#create-message
const maxContent = 2000

// maxAlt is the limit of a picture's alternative text, in characters.
// https://discord.com/developers/docs/resources/message#attachment-object
const maxAlt = 1024

var colours = map[chat.Tone]int{
	chat.Neutral:  0x5865F2,
	chat.Positive: 0x57F287,
	chat.Negative: 0x95A5A6,
	chat.Warning:  0xFEE75C,
	chat.Rising:   0x16C784,
	chat.Falling:  0xEA3943,
}

// message is the body of a call that sends or edits a message. An edit removes the embeds,
// buttons and files that it does not list.
type message struct {
	// Content is the headline. A notification and the preview above a reply show Content alone.
	Content         string                 `json:"content"`
	Embeds          []embed                `json:"embeds"`
	Components      []component            `json:"components"`
	Attachments     []attachment           `json:"attachments"`
	AllowedMentions mentions               `json:"allowed_mentions"`
	Flags           discordgo.MessageFlags `json:"flags,omitempty"`

	// picture is the PNG that Attachments describes, or nil. Only an edit can send a picture:
	// an HTTP response is limited to some 150 kB.
	// https://github.com/discord/discord-api-docs/issues/5250
	picture []byte
}

type embed = discordgo.MessageEmbed

// attachment describes a file that is sent with a message, which discordgo's type cannot. A
// repeated edit does not attach the file twice: it removes the files of earlier edits.
// https://discord.com/developers/docs/reference#uploading-files
type attachment struct {
	ID          string `json:"id"`          // the file's index in the call
	Filename    string `json:"filename"`    // of letters, digits, dots and dashes
	Description string `json:"description"` // for those who cannot see it
}

// mentions is the list of those whom a message notifies: always nobody. Without the list,
// Discord notifies everybody whom the text mentions.
type mentions struct {
	Parse [0]string `json:"parse"`
}

// commandIDs returns Discord's ID of a command, or "" if it is unknown.
type commandIDs func(name string) string

// render returns the message that shows a reply. A reply without a headline has its text as
// the content, if it is short enough.
func render(reply *chat.Reply, ids commandIDs) *message {
	card := words.Print(reply).Fit(maxDescription, ids.measure)
	m := &message{Content: headline(card), Components: rows(card.Buttons), Attachments: []attachment{}}
	if m.Content == "" {
		card.Text = append(words.Line{{Text: card.Sign}}, card.Text...)
		if text := ids.line(card.Text); words.Units(text) <= maxContent {
			m.Content, card.Text = strings.TrimSpace(text), nil
		}
	}
	e := ids.embed(card)
	if card.Image != nil {
		e.Image = &discordgo.MessageEmbedImage{URL: "attachment://" + card.Image.Name}
		m.picture = card.Image.PNG
		m.Attachments = []attachment{{ID: "0", Filename: card.Image.Name, Description: words.Cut(card.Image.Alt, maxAlt)}}
	}
	m.setEmbed(e)
	return m
}

// headline returns the card's title and subtitle on one line, without links. Times are words.
func headline(card words.Card) string {
	title, subtitle := escape(card.Title.String()), escape(card.Subtitle.String())
	if title != "" {
		title = "**" + title + "**"
	}
	if subtitle != "" {
		subtitle = card.Dot + subtitle
	}
	line := strings.TrimSpace(title + gap + subtitle)
	if line != "" {
		line = card.Sign + line
	}
	return line
}

// embed returns the embed of a card, without its image.
func (ids commandIDs) embed(card words.Card) embed {
	e := embed{Color: colours[card.Tone], Description: ids.body(card)}
	if source := card.Source.String(); source != "" {
		e.Footer = &discordgo.MessageEmbedFooter{Text: source}
	}
	if card.Checked.IsZero() {
		return e
	}
	if e.Description == "" && e.Footer == nil {
		// Discord may refuse an embed with a time alone, so the time is text.
		e.Description = smallPrint + ids.line(card.Footer)
	} else {
		e.Timestamp = card.Checked.UTC().Format(time.RFC3339)
	}
	return e
}

// setEmbed sets the embed of m to e, or to none if e is empty: Discord refuses an empty embed, and an empty message.
func (m *message) setEmbed(e embed) {
	m.Embeds = []embed{}
	if e.Description != "" || e.Image != nil || e.Footer != nil {
		m.Embeds = []embed{e}
	} else if m.Content == "" {
		m.Content = "…"
	}
}

// withoutPicture returns m without its picture.
func (m *message) withoutPicture() *message {
	if m.picture == nil {
		return m
	}
	text := *m
	text.Attachments = []attachment{}
	text.picture = nil
	e := m.Embeds[0]
	e.Image = nil
	text.setEmbed(e)
	return &text
}

// component is a row of buttons, or a button.
type component struct {
	Type       discordgo.ComponentType `json:"type"`
	Components []component             `json:"components,omitempty"` // of a row
	Style      discordgo.ButtonStyle   `json:"style,omitempty"`
	Label      string                  `json:"label,omitempty"`
	CustomID   string                  `json:"custom_id,omitempty"`
	URL        string                  `json:"url,omitempty"`
}

// The limits of a message's buttons. maxLabel and maxURL are in characters.
// https://discord.com/developers/docs/components/reference
const (
	maxRows  = 5
	maxInRow = 5
	maxLabel = 80
	maxURL   = 512
)

// rows returns a card's buttons in rows. Of several buttons with one state it keeps the first,
// because Discord refuses the others.
func rows(buttons []words.Button) []component {
	rows := []component{}
	seen := map[string]bool{}
	for _, b := range buttons {
		c, ok := button(b)
		if !ok || seen[c.CustomID] {
			continue
		}
		if c.CustomID != "" {
			seen[c.CustomID] = true
		}
		last := len(rows) - 1
		if last < 0 || b.NewRow || len(rows[last].Components) == maxInRow {
			rows = append(rows, component{Type: discordgo.ActionsRowComponent})
			last++
		}
		rows[last].Components = append(rows[last].Components, c)
	}
	return rows[:min(len(rows), maxRows)]
}

// button returns a card's button. ok is false for a button that Discord lacks, such as one that
// copies, and for one that it refuses.
func button(b words.Button) (c component, ok bool) {
	c = component{
		Type: discordgo.ButtonComponent, Style: discordgo.SecondaryButton,
		Label: words.Cut(b.Label, maxLabel), CustomID: b.State, URL: b.URL,
	}
	switch {
	case b.URL != "": // Discord shows all links in one colour.
		c.Style = discordgo.LinkButton
	case b.Current:
		c.Style = discordgo.PrimaryButton
	case b.NextStep:
		c.Style = discordgo.SuccessButton
	}
	hasEffect := c.CustomID != "" || c.URL != ""
	return c, hasEffect && c.Label != "" && len(c.URL) <= maxURL
}

// body renders the text, sections, exact values and notes of a card.
func (ids commandIDs) body(card words.Card) string {
	lines := []string{ids.line(card.Text)}
	for _, s := range card.Sections {
		if !s.Heading.Empty() {
			lines = append(lines, "", "**"+ids.line(s.Heading)+"**")
		}
		for _, f := range s.Fields {
			lines = append(lines, ids.named(f, "**"))
		}
	}
	for _, f := range card.FullValues {
		lines = append(lines, smallPrint+ids.named(f, ""))
	}
	for _, note := range card.Notes {
		if !note.Empty() {
			lines = append(lines, smallPrint+ids.line(note))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// gap separates a name from its value, and a title from its subtitle.
const gap = "  "

// smallPrint begins a line in small letters.
const smallPrint = "-# "

// named renders a field. If the field has both a name and a value, the value is put between
// marks, such as "**", up to its first dot. A value with code gets no marks.
func (ids commandIDs) named(f words.Field, marks string) string {
	first, rest := f.Value.CutDot()
	name, value, more := ids.line(f.Name), ids.line(first), ids.line(rest)
	if name == "" || value == "" {
		return name + value + more
	}
	if strings.Contains(value+more, "`") {
		marks = ""
	}
	return name + gap + marks + value + marks + more
}

// measure returns an upper bound of the UTF-16 units that body needs for a field, a heading or
// a note, with its markup and line breaks.
func (ids commandIDs) measure(f words.Field) int {
	const marksAndBreaks = len(gap+"****") + len("\n\n")
	return words.Units(ids.line(f.Name)) + words.Units(ids.line(f.Value)) + marksAndBreaks
}

// line renders a line in Discord's markup.
func (ids commandIDs) line(l words.Line) string {
	var b strings.Builder
	text := "" // the plain text since the last markup
	for _, s := range l {
		marked, ok := ids.markup(s)
		if !ok {
			// Spans are escaped together: two harmless ones can make markup.
			text += s.Text
			continue
		}
		b.WriteString(escape(text) + marked)
		text = ""
	}
	return b.String() + escape(text)
}

// markup renders a span that Discord has markup for, such as a link. ok is false for
// plain text.
// https://discord.com/developers/docs/reference#message-formatting
func (ids commandIDs) markup(s words.Span) (marked string, ok bool) {
	switch {
	case s.Moment != nil:
		return "<t:" + strconv.FormatInt(s.Moment.Unix(), 10) + ":R>", true
	case s.Person != nil && s.Person.Platform == Platform && isSnowflake(s.Person.ID):
		return "<@" + s.Person.ID + ">", true
	case s.Text == "":
		return "", false
	case s.URL != "":
		return "[" + escape(s.Text) + "](" + linkEscaper.Replace(s.URL) + ")", true
	case s.Style == words.Command:
		id := ids(strings.TrimPrefix(s.Text, "/"))
		return "<" + s.Text + ":" + id + ">", id != "" // a link needs the command's ID
	case s.Style == words.Code:
		return "`" + codeEscaper.Replace(s.Text) + "`", true
	case s.Style == words.Strong:
		return "**" + escape(s.Text) + "**", true
	default:
		return "", false
	}
}

var (
	// linkEscaper keeps a link's address from ending early.
	linkEscaper = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", `\`, "%5C")
	// codeEscaper keeps code from ending early: a backslash escapes nothing there.
	codeEscaper = strings.NewReplacer("`", "ˋ")
)

// escape adds backslashes to one line of plain text in valid UTF-8, so that Discord shows
// the text and no markup.
func escape(s string) string {
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if special(s, i) {
			b.WriteString(s[from:i])
			b.WriteByte('\\')
			from = i
		}
	}
	return b.String() + s[from:]
}

// special reports whether Discord could take the byte at i for markup. The line begins with s.
// https://support.discord.com/hc/en-us/articles/210298617
func special(s string, i int) bool {
	switch s[i] {
	case '\\', '*', '_', '~', '`', '|', '[', ']', '<', '>', '@':
		// Emphasis, code, spoilers and links; quotes, mentions, timestamps and emoji.
		return true
	case '-', '+', '#': // A list, small print or a heading begins with one.
		return i == 0
	case '.', ')': // A numbered list begins with digits, one of these and a space.
		return i > 0 && strings.HasPrefix(s[i+1:], " ") && strings.Trim(s[:i], "0123456789") == ""
	case ':': // Part of a URL or an emoji, but not at the end of a word or in a time such as 12:30.
		next, _ := utf8.DecodeRuneInString(s[i+1:])
		last, _ := utf8.DecodeLastRuneInString(s[:i])
		return i+1 < len(s) && !unicode.IsSpace(next) && !(unicode.IsDigit(last) && unicode.IsDigit(next))
	default:
		return false
	}
}
