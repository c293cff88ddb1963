package discord

import (
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// maxDescription is what the description of an embed holds, in UTF-16 units; its
// title holds a sixteenth of that, which is the most that Fit leaves of one.
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const maxDescription = 4096

// maxAlt is what the alternative text of a picture holds, in characters.
// https://discord.com/developers/docs/resources/message#attachment-object
const maxAlt = 1024

var colours = map[chat.Tone]int{
	chat.Neutral:  0x5865F2,
	chat.Positive: 0x57F287,
	chat.Negative: 0x95A5A6,
	chat.Warning:  0xFEE75C,
}

// message is what is sent of one. In an edit, what it holds takes the place of
// all that was there: buttons and files that are not in it go.
type message struct {
	Embeds          []embed                `json:"embeds"`
	Components      []component            `json:"components"`
	Attachments     []attachment           `json:"attachments"`
	AllowedMentions mentions               `json:"allowed_mentions"`
	Flags           discordgo.MessageFlags `json:"flags,omitempty"`

	// picture is a PNG, described by Attachments, or nil. It goes with a call and
	// never with the body of an HTTP response, where Discord takes no more than
	// some 150 kB: an interaction that came by HTTP is deferred there, and the
	// edit brings the picture.
	// https://github.com/discord/discord-api-docs/issues/5250
	picture []byte
}

type embed = discordgo.MessageEmbed

// attachment is what a message says of a file: ID is the place among those that
// are sent with it. What a message had and its attachments leave out goes, so
// that a repeated call attaches no file twice. discordgo's type has no description.
// https://discord.com/developers/docs/reference#uploading-files
type attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`    // of letters, digits, dots and dashes
	Description string `json:"description"` // for those who cannot see it
}

// mentions are those that notify somebody: none. They must be part of every
// message: without them text can ping.
type mentions struct {
	Parse [0]string `json:"parse"`
}

// render makes the message of a reply.
func render(reply chat.Reply) message {
	card := words.Print(reply)
	card.Title = words.Line{{Text: card.Title.String()}} // no title has links or times
	card = card.Fit(maxDescription, measure)
	e := embed{Color: colours[card.Tone], Title: line(card.Title), Description: description(card)}
	if e.Title == "" && e.Description == "" {
		e.Title = "…" // an empty embed is refused
	}
	m := message{Components: rows(card, reply.Ask), Attachments: []attachment{}}
	if card.Image != nil {
		e.Image = &discordgo.MessageEmbedImage{URL: "attachment://" + card.Image.Name}
		m.picture = card.Image.PNG
		m.Attachments = []attachment{{ID: "0", Filename: card.Image.Name, Description: cut(card.Image.Alt, maxAlt)}}
	}
	m.Embeds = []embed{e}
	return m
}

// seenBy is m for everybody or, if private, for the user alone.
func (m message) seenBy(private bool) message {
	if private {
		m.Flags = discordgo.MessageFlagsEphemeral
	}
	return m
}

// withoutPicture is m as text alone.
func (m message) withoutPicture() message {
	text := m.Embeds[0]
	text.Image = nil
	m.Embeds, m.Attachments, m.picture = []embed{text}, []attachment{}, nil
	return m
}

// description is all of a card's text but its title.
func description(card words.Card) string {
	lines := []string{line(card.Text)}
	for _, s := range card.Sections {
		lines = append(lines, "")
		if !s.Heading.Empty() {
			lines = append(lines, "**"+line(s.Heading)+"**")
		}
		for _, f := range s.Fields {
			lines = append(lines, named("**", f, ":** "))
		}
	}
	for _, f := range card.Details {
		lines = append(lines, "-# "+named("", f, ": "))
	}
	for _, note := range card.Notes {
		if !note.Empty() {
			lines = append(lines, "-# "+line(note))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// named is a field with marks around its name, or without them the half that it
// has.
func named(before string, f words.Field, after string) string {
	name, value := line(f.Name), line(f.Value)
	if name == "" || value == "" {
		return name + value
	}
	return before + name + after + value
}

// measure is how much room a field, a heading or a note takes at most.
func measure(f words.Field) int {
	const marksAndBreaks = len("**:** ") + len("\n\n")
	return units(line(f.Name)) + units(line(f.Value)) + marksAndBreaks
}

// line is a line in Discord's markup.
func line(l words.Line) string {
	var b strings.Builder
	text := "" // what is there of plain text that goes on
	for _, s := range l {
		marked, ok := markup(s)
		if !ok {
			// What neighbours make together may mean something that neither does.
			text += s.Text
			continue
		}
		b.WriteString(escape(text))
		b.WriteString(marked)
		text = ""
	}
	b.WriteString(escape(text))
	return b.String()
}

// markup is a span that Discord shows in another way than its text, if it does.
// https://discord.com/developers/docs/reference#message-formatting
func markup(s words.Span) (marked string, ok bool) {
	switch {
	case !s.At.IsZero():
		return "<t:" + strconv.FormatInt(s.At.Unix(), 10) + ":R>", true
	case s.Person != nil && s.Person.Platform == Platform && isSnowflake(s.Person.ID):
		return "<@" + s.Person.ID + ">", true
	case s.Channel != nil && isSnowflake(s.Channel.ID):
		return "<#" + s.Channel.ID + ">", true
	case s.Text == "":
		return "", false
	case s.URL != "":
		return "[" + escape(s.Text) + "](" + linkable.Replace(s.URL) + ")", true
	case s.Style == words.Code:
		return "`" + inCode.Replace(s.Text) + "`", true
	default:
		return "", false
	}
}

var (
	// linkable keeps what would end a link's address out of it.
	linkable = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", `\`, "%5C")
	// inCode keeps code from ending early: within it nothing can be escaped.
	inCode = strings.NewReplacer("`", "ˋ")
)
