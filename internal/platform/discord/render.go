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

// maxContent is the limit of a message's content, in characters. Fit leaves an eighth
// of maxDescription for the headline.
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

// message is the body of a call that sends a message. An edit removes embeds, buttons and
// files that are not in it.
type message struct {
	// Content is the headline. Notifications and the preview above a reply show no embed.
	Content         string                 `json:"content"`
	Embeds          []embed                `json:"embeds"`
	Components      []component            `json:"components"`
	Attachments     []attachment           `json:"attachments"`
	AllowedMentions mentions               `json:"allowed_mentions"`
	Flags           discordgo.MessageFlags `json:"flags,omitempty"`

	// picture is a PNG, described by Attachments, or nil. An edit sends it: in the body of an
	// HTTP response Discord takes no more than some 150 kB.
	// https://github.com/discord/discord-api-docs/issues/5250
	picture []byte
}

type embed = discordgo.MessageEmbed

// attachment describes a file that is sent with a message. ID is the file's index. A
// repeated call attaches no file twice, because files of the call before are removed.
// discordgo's type has no description.
// https://discord.com/developers/docs/reference#uploading-files
type attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`    // of letters, digits, dots and dashes
	Description string `json:"description"` // for those who cannot see it
}

// mentions lists who is notified: nobody. Every message has it, because without it text
// can ping.
type mentions struct {
	Parse [0]string `json:"parse"`
}

// commandIDs returns Discord's ID of a command, or "" if it is unknown.
type commandIDs func(name string) string

// render returns the message that shows a reply.
func render(reply chat.Reply, ids commandIDs) message {
	card := words.Print(reply).Fit(maxDescription, ids.measure)
	m := message{Content: headline(card), Components: rows(card.Buttons), Attachments: []attachment{}}
	if text := card.Sign + ids.line(card.Text); m.Content == "" && words.Units(text) <= maxContent {
		m.Content, card.Text = text, nil
	}
	e := embed{Color: colours[card.Tone], Description: ids.body(card)}
	if source := card.Source.String(); source != "" {
		e.Footer = &discordgo.MessageEmbedFooter{Text: source}
	}
	if !card.Checked.IsZero() {
		e.Timestamp = card.Checked.UTC().Format(time.RFC3339)
	}
	if card.Image != nil {
		e.Image = &discordgo.MessageEmbedImage{URL: "attachment://" + card.Image.Name}
		m.picture = card.Image.PNG
		m.Attachments = []attachment{{ID: "0", Filename: card.Image.Name, Description: words.Cut(card.Image.Alt, maxAlt)}}
	}
	if m.Embeds = embedsOf(e); m.Content == "" && len(m.Embeds) == 0 {
		m.Content = "…" // an empty message is refused
	}
	return m
}

// headline returns the card's title and its Beside, as text without links or times.
func headline(card words.Card) string {
	title, beside := escape(card.Title.String()), escape(card.Subtitle.String())
	if title != "" {
		title = card.Sign + "**" + title + "**"
	}
	if beside != "" {
		title += gap + card.Dot + beside
	}
	return strings.TrimSpace(title)
}

// embedsOf returns e, or nothing if e is empty: Discord refuses an empty embed.
func embedsOf(e embed) []embed {
	if e.Description == "" && e.Image == nil && e.Footer == nil {
		return []embed{}
	}
	return []embed{e}
}

// withoutPicture returns m as text alone.
func (m message) withoutPicture() message {
	if m.picture == nil {
		return m
	}
	text := m.Embeds[0]
	text.Image = nil
	m.Embeds, m.Attachments, m.picture = embedsOf(text), []attachment{}, nil
	return m
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

// Limits of a message's buttons.
// https://discord.com/developers/docs/components/reference
const (
	maxRows  = 5
	maxInRow = 5
	maxLabel = 80
	maxURL   = 512
)

// rows returns the buttons of a card, at most five a row. It leaves out buttons that copy,
// which Discord lacks, and a second button with the same state, which Discord refuses.
func rows(buttons []words.Button) []component {
	rows := []component{}
	seen := map[string]bool{"": true} // "" is the state of a button that copies
	for _, b := range buttons {
		c := component{Type: discordgo.ButtonComponent, Style: discordgo.SecondaryButton, Label: words.Cut(b.Label, maxLabel), CustomID: b.State}
		switch {
		case b.URL != "": // Discord shows all links in one colour.
			c.Style, c.URL = discordgo.LinkButton, b.URL
		case b.Current:
			c.Style = discordgo.PrimaryButton
		case b.NextStep:
			c.Style = discordgo.SuccessButton
		}
		if c.Label == "" || len(c.URL) > maxURL || c.URL == "" && seen[c.CustomID] {
			continue
		}
		seen[c.CustomID] = true
		if n := len(rows); n == 0 || b.NewRow || len(rows[n-1].Components) == maxInRow {
			rows = append(rows, component{Type: discordgo.ActionsRowComponent})
		}
		row := &rows[len(rows)-1]
		row.Components = append(row.Components, c)
	}
	return rows[:min(len(rows), maxRows)]
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
		lines = append(lines, "-# "+ids.named(f, ""))
	}
	for _, note := range card.Notes {
		if !note.Empty() {
			lines = append(lines, "-# "+ids.line(note))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// gap separates a name from its value, and the title from Beside.
const gap = "  "

// named renders a field. A value with a name is between marks up to its first dot, unless it
// has code.
func (ids commandIDs) named(f words.Field, marks string) string {
	first, rest := f.Value.CutDot()
	name, value, more := ids.line(f.Name), ids.line(first), ids.line(rest)
	switch {
	case name == "" || value == "":
		return name + value + more
	case strings.Contains(value+more, "`"):
		return name + gap + value + more
	}
	return name + gap + marks + value + marks + more
}

// measure returns an upper bound of the UTF-16 units of a field, a heading or a note.
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
		return "<" + s.Text + ":" + id + ">", id != ""
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

// special reports whether the byte at i needs a backslash. Lists, headings, quotes and
// small print begin a line. A colon begins a URL or an emoji, except at the end of a word
// or between digits, as in a time.
// https://support.discord.com/hc/en-us/articles/210298617
func special(s string, i int) bool {
	switch s[i] {
	case '\\', '*', '_', '~', '`', '|', '[', ']', '<', '>', '@':
		// Emphasis, code, spoilers, links, and what opens a mention, a timestamp
		// or an emoji mean something wherever they stand.
		return true
	case '-', '+', '#':
		return i == 0
	case '.', ')':
		return i > 0 && strings.HasPrefix(s[i+1:], " ") && strings.Trim(s[:i], "0123456789") == ""
	case ':':
		next, _ := utf8.DecodeRuneInString(s[i+1:])
		last, _ := utf8.DecodeLastRuneInString(s[:i])
		return i+1 < len(s) && !unicode.IsSpace(next) && !(unicode.IsDigit(last) && unicode.IsDigit(next))
	default:
		return false
	}
}
