package discord

import (
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// maxDescription is what the description of an embed holds, in UTF-16 units; its
// title holds a sixteenth of that, which is the most that Fit leaves of one.
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const maxDescription = 4096

var colours = map[chat.Tone]int{
	chat.Neutral:  0x5865F2,
	chat.Positive: 0x57F287,
	chat.Negative: 0x95A5A6,
	chat.Warning:  0xFEE75C,
}

// render makes the embed of a reply.
func render(reply chat.Reply) *discordgo.MessageEmbed {
	r := reply.Fit(maxDescription, measure)
	embed := &discordgo.MessageEmbed{Color: colours[r.Tone], Title: escape(r.Title), Description: description(r)}
	if embed.Title == "" && embed.Description == "" {
		embed.Title = "…" // an empty embed is refused
	}
	return embed
}

// description is all of a reply but its title.
func description(r chat.Reply) string {
	lines := []string{escape(r.Text)}
	for _, s := range r.Sections {
		lines = append(lines, "")
		if s.Heading != "" {
			lines = append(lines, "**"+escape(s.Heading)+"**")
		}
		for _, f := range s.Fields {
			lines = append(lines, fieldLine(f))
		}
	}
	for _, note := range r.Notes {
		if note != "" {
			lines = append(lines, "-# "+escape(note))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func fieldLine(f chat.Field) string {
	name, value := escape(f.Name), escape(f.Value)
	if name == "" || value == "" {
		return name + value
	}
	return "**" + name + ":** " + value
}

// measure is how much room a field, a heading or a note takes at most.
func measure(f chat.Field) int {
	const marksAndBreaks = len("**:** ") + len("\n\n")
	return escapedUnits(f.Name) + escapedUnits(f.Value) + marksAndBreaks
}

// mentionNobody must be part of every message: without it text can ping.
var mentionNobody = &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}

// message is a whole answer as the first response to an interaction.
func message(embed *discordgo.MessageEmbed, flags discordgo.MessageFlags) *discordgo.InteractionResponse {
	return &discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{
			Embeds: []*discordgo.MessageEmbed{embed}, AllowedMentions: mentionNobody, Flags: flags,
		},
	}
}

// busy is the first response to a command for which there is no room.
func busy() *discordgo.InteractionResponse {
	return message(render(chat.Busy()), discordgo.MessageFlagsEphemeral)
}

// deferral promises an answer. Its flags decide who will see that answer.
func deferral(flags discordgo.MessageFlags) *discordgo.InteractionResponse {
	return &discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseDeferredChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{AllowedMentions: mentionNobody, Flags: flags},
	}
}

// edited is the answer that a deferral promised.
func edited(embed *discordgo.MessageEmbed) *discordgo.WebhookEdit {
	return &discordgo.WebhookEdit{Embeds: &[]*discordgo.MessageEmbed{embed}, AllowedMentions: mentionNobody}
}
