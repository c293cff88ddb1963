package discord

import (
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// Limits of an embed, in characters.
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const (
	maxTitle       = 256
	maxDescription = 4096
	maxEmbed       = 6000
)

// Shares of the description, so that no part can crowd out the others.
const (
	maxText = 2000
	maxLine = 1000
	maxName = 256
	// maxNotes leaves a whole description beside a whole title.
	maxNotes = maxEmbed - maxDescription - maxTitle
)

var colours = map[chat.Tone]int{
	chat.Neutral:  0x5865F2,
	chat.Positive: 0x57F287,
	chat.Negative: 0x95A5A6,
	chat.Warning:  0xFEE75C,
}

// render makes the embed of a reply.
func render(reply chat.Reply) *discordgo.MessageEmbed {
	r := reply.Clean()
	embed := &discordgo.MessageEmbed{Color: colours[r.Tone], Title: escape(r.Title, maxTitle)}
	if notes := footer(r.Notes); notes != "" {
		embed.Footer = &discordgo.MessageEmbedFooter{Text: notes}
	}
	embed.Description = description(r)
	if embed.Title == "" && embed.Description == "" && embed.Footer == nil {
		embed.Title = "…" // an empty embed is refused
	}
	return embed
}

// footer joins the notes unescaped: a footer is plain text to Discord.
func footer(notes []string) string {
	var b strings.Builder
	size := 0
	for n, note := range notes {
		line := note
		if n > 0 {
			line = "\n" + note
		}
		size += units(line)
		if size > maxNotes-2 {
			runes := []rune(line)
			for len(runes) > 0 && size > maxNotes-2 {
				size -= units(string(runes[len(runes)-1]))
				runes = runes[:len(runes)-1]
			}
			return b.String() + string(runes) + "…"
		}
		b.WriteString(line)
	}
	return b.String()
}

// block is a section as lines; dropped counts the fields that had no room.
type block struct {
	heading string
	lines   []string
	dropped int
	size    int
}

func description(r chat.Reply) string {
	room := maxDescription
	text := escape(r.Text, maxText)
	room -= units(text) + 1
	blocks, total := make([]*block, len(r.Sections)), 0
	for i, s := range r.Sections {
		blocks[i] = newBlock(s)
		total += blocks[i].size
	}
	for total > room {
		longest := longestOf(blocks)
		if longest == nil {
			break
		}
		total -= longest.drop()
	}
	// Only headings are left to drop, each with its count of fields.
	hidden := 0
	for total > room-moreSize && len(blocks) > 0 && longestOf(blocks) == nil {
		last := blocks[len(blocks)-1]
		total -= last.size
		hidden++
		blocks = blocks[:len(blocks)-1]
	}
	parts := []string{text}
	for _, b := range blocks {
		parts = append(parts, b.String())
	}
	if hidden > 0 {
		parts = append(parts, more(hidden))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// moreSize is more than the line "… and N more" takes.
const moreSize = 40

func more(n int) string { return fmt.Sprintf("… and %d more", n) }

func newBlock(s chat.Section) *block {
	b := &block{}
	if s.Heading != "" {
		b.heading = "**" + escape(s.Heading, maxName) + "**"
	}
	b.size = units(b.heading) + 2
	for _, f := range s.Fields {
		line := fieldLine(f)
		b.lines = append(b.lines, line)
		b.size += units(line) + 1
	}
	return b
}

func fieldLine(f chat.Field) string {
	name, value := escape(f.Name, maxName), escape(f.Value, maxLine)
	switch {
	case name == "":
		return value
	case value == "":
		return name
	}
	return "**" + name + ":** " + value
}

// drop leaves out the last line and tells how much shorter the block is now.
func (b *block) drop() int {
	before := b.size
	last := len(b.lines) - 1
	b.size -= units(b.lines[last]) + 1
	b.lines = b.lines[:last]
	if b.dropped == 0 {
		b.size += moreSize
	}
	b.dropped++
	return before - b.size
}

// longestOf is the block with most to drop, nil if none has a line.
func longestOf(blocks []*block) *block {
	var longest *block
	for _, b := range blocks {
		if len(b.lines) > 0 && (longest == nil || b.size > longest.size) {
			longest = b
		}
	}
	return longest
}

func (b *block) String() string {
	lines := []string{""}
	if b.heading != "" {
		lines = append(lines, b.heading)
	}
	lines = append(lines, b.lines...)
	if b.dropped > 0 {
		lines = append(lines, more(b.dropped))
	}
	return strings.Join(lines, "\n")
}

// mentionNobody must be part of every message: without it text can ping.
var mentionNobody = &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}

// first is a whole answer as the first response to an interaction.
func first(embed *discordgo.MessageEmbed, flags discordgo.MessageFlags) *discordgo.InteractionResponse {
	return &discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{
			Embeds: []*discordgo.MessageEmbed{embed}, AllowedMentions: mentionNobody, Flags: flags,
		},
	}
}

// deferral promises an answer. Its flags decide who will see that answer.
func deferral(flags discordgo.MessageFlags) *discordgo.InteractionResponse {
	return &discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseDeferredChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{AllowedMentions: mentionNobody, Flags: flags},
	}
}

// edit is the answer that a deferral promised.
func edit(embed *discordgo.MessageEmbed) *discordgo.WebhookEdit {
	return &discordgo.WebhookEdit{Embeds: &[]*discordgo.MessageEmbed{embed}, AllowedMentions: mentionNobody}
}
