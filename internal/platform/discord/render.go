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

// maxContent is the limit of a message's content, in characters. A headline is far shorter, because render fits the
// card into maxDescription, and words.Card.Fit cuts a title and a subtitle to a sixteenth of that each.
// https://discord.com/developers/docs/resources/message#create-message
const maxContent = 2000

// maxAlt is the limit of a picture's alternative text, in characters.
// https://discord.com/developers/docs/resources/message#attachment-object
const maxAlt = 1024

// colors are the colors of embeds, as 0xRRGGBB.
var colors = map[chat.Tone]int{
	chat.Neutral:  0x5865F2,
	chat.Positive: 0x57F287,
	chat.Negative: 0x95A5A6,
	chat.Warning:  0xFEE75C,
	chat.Rising:   0x16C784,
	chat.Falling:  0xEA3943,
}

// message is the body of a call that sends or edits a message. An edit removes the embeds, buttons and files that it
// does not list. Discord shows Content, then Embeds, then Components.
type message struct {
	// Content is the headline. A notification shows only Content, and so does the preview above a reply.
	Content         string                 `json:"content"`
	Embeds          []embed                `json:"embeds"`
	Components      []component            `json:"components"`
	Attachments     []attachment           `json:"attachments"`
	AllowedMentions mentions               `json:"allowed_mentions"`
	Flags           discordgo.MessageFlags `json:"flags,omitempty"`

	// picture is the PNG that Attachments describes, or nil. Only an edit can send a picture, because an HTTP response
	// is limited to some 150 kB.
	// https://github.com/discord/discord-api-docs/issues/5250
	picture []byte
}

type embed = discordgo.MessageEmbed

// attachment describes a file that is sent with a message. discordgo's type lacks the description. A retried edit does
// not attach the file twice, because each edit removes the files of earlier edits.
// https://discord.com/developers/docs/reference#uploading-files
type attachment struct {
	ID          string `json:"id"`          // the file's index in the call
	Filename    string `json:"filename"`    // of letters, digits, dots and dashes
	Description string `json:"description"` // for those who cannot see it
}

// mentions lists the users whom a message notifies. It is always empty. Without the list, Discord would notify
// everybody whom the text mentions.
type mentions struct {
	Parse [0]string `json:"parse"`
}

// render returns the message that shows a reply. The content is the card's headline. If the card has none, its text is
// the content, unless the text is too long. commandID returns Discord's ID of a command, or "" if it is unknown.
func render(reply *chat.Reply, commandID func(name string) string) *message {
	r := renderer{commandID: commandID}
	card := words.Print(reply).Fit(maxDescription, r.measure)
	m := &message{Content: headline(card), Components: rows(card.Buttons), Attachments: []attachment{}}
	if m.Content == "" {
		// The sign usually begins the headline. Here it begins the text, in the content or in the embed.
		card.Text = append(words.Line{{Text: card.Sign}}, card.Text...)
		if text := r.line(card.Text); words.Units(text) <= maxContent {
			m.Content = strings.TrimSpace(text)
			card.Text = nil
		}
	}
	e := r.embed(card)
	if card.Image != nil {
		e.Image = &discordgo.MessageEmbedImage{URL: "attachment://" + card.Image.Name}
		m.picture = card.Image.PNG
		alt := words.Cut(card.Image.Alt, maxAlt)
		m.Attachments = []attachment{{ID: "0", Filename: card.Image.Name, Description: alt}}
	}
	m.setEmbed(e)
	return m
}

// headline returns the card's title and subtitle on one line, or "" if the card has neither. They are plain text: a
// headline has no links, and a time in it is written in words.
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

// renderer renders the parts of a card. A command in a card becomes a link, which needs the ID of the command.
type renderer struct {
	commandID func(name string) string // "" if the ID is unknown
}

// embed returns the embed of a card, without its image.
func (r renderer) embed(card words.Card) embed {
	e := embed{Color: colors[card.Tone], Description: r.body(card)}
	if source := card.Source.String(); source != "" {
		e.Footer = &discordgo.MessageEmbedFooter{Text: source}
	}
	if card.Checked.IsZero() {
		return e
	}
	if e.Description == "" && e.Footer == nil {
		// Discord may refuse an embed that has only a Timestamp.
		e.Description = smallPrint + r.line(card.Footer)
	} else {
		e.Timestamp = card.Checked.UTC().Format(time.RFC3339)
	}
	return e
}

// setEmbed makes e the only embed of m. If e is empty, m has no embed, because Discord refuses an empty one. Discord
// also refuses an empty message, so m then has "…" as its content unless it has another.
func (m *message) setEmbed(e embed) {
	isEmpty := e.Description == "" && e.Image == nil && e.Footer == nil
	switch {
	case !isEmpty:
		m.Embeds = []embed{e}
	case m.Content == "":
		m.Embeds = []embed{}
		m.Content = "…"
	default:
		m.Embeds = []embed{}
	}
}

// withoutPicture returns m without its picture. It does not change m.
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
	Components []component             `json:"components,omitempty"` // the buttons of a row
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

// rows returns a card's buttons in rows. It leaves out buttons that Discord refuses, buttons that repeat the state of
// an earlier one, and rows beyond maxRows.
func rows(buttons []words.Button) []component {
	rows := []component{}
	seen := map[string]bool{} // by CustomID
	for _, b := range buttons {
		if !isAccepted(b) || seen[b.State] {
			continue
		}
		if b.State != "" {
			seen[b.State] = true
		}
		c := button(b)
		last := len(rows) - 1
		if last < 0 || b.NewRow || len(rows[last].Components) == maxInRow {
			rows = append(rows, component{Type: discordgo.ActionsRowComponent})
			last++
		}
		rows[last].Components = append(rows[last].Components, c)
	}
	return rows[:min(len(rows), maxRows)]
}

// isAccepted reports whether Discord accepts a button like b. It does not have buttons that copy a text, for example.
func isAccepted(b words.Button) bool {
	hasEffect := b.State != "" || b.URL != "" // It sends a request or opens a page.
	return hasEffect && b.Label != "" && len(b.URL) <= maxURL
}

// button returns a card's button.
func button(b words.Button) component {
	c := component{
		Type:     discordgo.ButtonComponent,
		Style:    discordgo.SecondaryButton,
		Label:    words.Cut(b.Label, maxLabel),
		CustomID: b.State,
		URL:      b.URL,
	}
	switch {
	case b.URL != "": // Discord shows all links in one color.
		c.Style = discordgo.LinkButton
	case b.Current:
		c.Style = discordgo.PrimaryButton
	case b.NextStep:
		c.Style = discordgo.SuccessButton
	}
	return c
}

// body renders the text, sections, exact values and notes of a card.
func (r renderer) body(card words.Card) string {
	lines := []string{r.line(card.Text)}
	for _, s := range card.Sections {
		if !s.Heading.Empty() {
			lines = append(lines, "", "**"+r.line(s.Heading)+"**")
		}
		for _, f := range s.Fields {
			lines = append(lines, r.field(f, "**"))
		}
	}
	for _, f := range card.FullValues {
		lines = append(lines, smallPrint+r.field(f, ""))
	}
	for _, note := range card.Notes {
		if !note.Empty() {
			lines = append(lines, smallPrint+r.line(note))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// gap separates a name from its value, and a title from its subtitle.
const gap = "  "

// smallPrint begins a line in small letters.
const smallPrint = "-# "

// field renders a field. If the field has both a name and a value, the value up to its first dot is put between marks,
// such as "**". A value that contains code gets no marks.
func (r renderer) field(f words.Field, marks string) string {
	beforeDot, rest := f.Value.CutDot()
	name := r.line(f.Name)
	value := r.line(beforeDot)
	more := r.line(rest)
	if name == "" || value == "" {
		return name + value + more
	}
	if strings.Contains(value+more, "`") {
		marks = ""
	}
	return name + gap + marks + value + marks + more
}

// measure returns at least as many UTF-16 units as a field takes in body, for words.Card.Fit. A heading or a note is
// measured as a field without a name. measure counts the most marks and line breaks that any of these has.
func (r renderer) measure(f words.Field) int {
	const marksAndBreaks = len(gap+"****") + len("\n\n")
	return words.Units(r.line(f.Name)) + words.Units(r.line(f.Value)) + marksAndBreaks
}

// line renders a line in Discord's markup.
func (r renderer) line(l words.Line) string {
	var b strings.Builder
	text := "" // the plain text since the last markup
	for _, s := range l {
		marked, hasMarkup := r.markup(s)
		if !hasMarkup {
			// Plain spans are escaped together, because two harmless ones can form markup.
			text += s.Text
			continue
		}
		b.WriteString(escape(text) + marked)
		text = ""
	}
	return b.String() + escape(text)
}

// markup renders a span that has markup on Discord, such as a link. Any other span is plain text: markup does not
// escape it, and hasMarkup is false.
// https://discord.com/developers/docs/reference#message-formatting
func (r renderer) markup(s words.Span) (marked string, hasMarkup bool) {
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
		id := r.commandID(strings.TrimPrefix(s.Text, "/"))
		if id == "" {
			return "", false
		}
		return "<" + s.Text + ":" + id + ">", true
	case s.Style == words.Code:
		return "`" + codeEscaper.Replace(s.Text) + "`", true
	case s.Style == words.Strong:
		return "**" + escape(s.Text) + "**", true
	default:
		return "", false
	}
}

var (
	// linkEscaper keeps a link's URL from ending early.
	linkEscaper = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", `\`, "%5C")
	// codeEscaper keeps code from ending early. It replaces the mark, because a backslash does not escape anything there.
	codeEscaper = strings.NewReplacer("`", "ˋ")
)

// escape adds backslashes to one line of plain text in valid UTF-8, so that Discord takes nothing in it for markup.
func escape(s string) string {
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if isMarkup(s, i) {
			b.WriteString(s[from:i])
			b.WriteByte('\\')
			from = i
		}
	}
	return b.String() + s[from:]
}

// isMarkup reports whether Discord could take the byte at i for markup. It assumes that s begins a line. If s does not,
// the result may be true without need: escape then adds a backslash, which Discord does not show.
// https://support.discord.com/hc/en-us/articles/210298617
func isMarkup(s string, i int) bool {
	before := s[:i]
	after := s[i+1:]
	switch s[i] {
	case '\\', '*', '_', '~', '`', '|', '[', ']', '<', '>', '@':
		// Emphasis, code, spoilers and links; quotes, mentions, timestamps and emoji.
		return true
	case '-', '+', '#': // They begin a list, small print or a heading.
		return before == ""
	case '.', ')': // In a numbered list, they follow digits at the beginning, and precede a space.
		isNumber := before != "" && strings.Trim(before, "0123456789") == ""
		return isNumber && strings.HasPrefix(after, " ")
	case ':': // Part of a URL or an emoji, but not at the end of a word or in a time such as 12:30.
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		endsWord := after == "" || unicode.IsSpace(next)
		isInTime := unicode.IsDigit(last) && unicode.IsDigit(next)
		return !endsWord && !isInTime
	default:
		return false
	}
}
