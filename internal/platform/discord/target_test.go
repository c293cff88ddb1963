package discord

import (
	"fmt"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
)

// interactionUnder returns an interaction with a button of a message that has these flags.
func interactionUnder(t *testing.T, flags discordgo.MessageFlags) *interaction {
	t.Helper()
	i, _ := decode(fmt.Appendf(nil, `{"message":{"id":"1","flags":%d}}`, flags))
	return i
}

// A button can be forged: an answer that not all may read never replaces what all can read.
func TestWhereAnAnswerGoesBeforeItIsKnown(t *testing.T) {
	const unknown chat.Visibility = 0
	edits, opens := &chat.Press{Edit: true}, &chat.Press{}
	publicMessage := interactionUnder(t, 0)
	ephemeralMessage := interactionUnder(t, discordgo.MessageFlagsEphemeral)
	for name, tt := range map[string]struct {
		got  target
		want target
	}{
		"typed, public": {
			targetOf(publicMessage, chat.Public, nil),
			target{destination: toNewMessage, reader: everybody},
		},
		"typed, private": {
			targetOf(publicMessage, chat.Private, nil),
			target{destination: toNewMessage, reader: userAlone},
		},
		"typed, unknown": {
			targetOf(publicMessage, unknown, nil),
			target{destination: toNewMessage, reader: userAlone},
		},

		"edits, public": {
			targetOf(publicMessage, chat.Public, edits),
			target{destination: toPressedMessage, reader: everybody},
		},
		"edits, private": {
			targetOf(publicMessage, chat.Private, edits),
			target{destination: toNewMessage, reader: userAlone},
		},
		"edits, unknown": {
			targetOf(publicMessage, unknown, edits),
			target{destination: toNewMessage, reader: userAlone},
		},
		"edits an ephemeral one, public": {
			targetOf(ephemeralMessage, chat.Public, edits),
			target{destination: toPressedMessage, reader: everybody},
		},
		"edits an ephemeral one, private": {
			targetOf(ephemeralMessage, chat.Private, edits),
			target{destination: toPressedMessage, reader: userAlone},
		},

		"opens, public": {
			targetOf(publicMessage, chat.Public, opens),
			target{destination: toNewMessage, reader: everybody},
		},
		"opens below an ephemeral one, private": {
			targetOf(ephemeralMessage, chat.Private, opens),
			target{destination: toNewMessage, reader: userAlone},
		},
	} {
		equal(t, name+": destination", tt.got.destination, tt.want.destination)
		equal(t, name+": reader", tt.got.reader, tt.want.reader)
	}
}

func TestWhereAReplyIsShown(t *testing.T) {
	answer := &chat.Reply{Title: chat.Say("x")}
	noAnswer := &chat.Reply{Title: chat.NoAnswer("price")}
	forSender := &chat.Reply{Audience: chat.SenderAlone}
	toAll := target{reader: everybody}
	toUser := target{reader: userAlone}
	toAllInPressed := target{destination: toPressedMessage, reader: everybody}
	toUserInPressed := target{destination: toPressedMessage, reader: userAlone}
	for name, tt := range map[string]struct {
		to    target
		reply *chat.Reply
		want  target
	}{
		"an answer":            {toAll, answer, toAll},
		"a private answer":     {toUser, answer, toUser},
		"no answer":            {toAll, noAnswer, toAll},
		"a refusal":            {toAll, forSender, toUser},
		"in place":             {toAllInPressed, answer, toAllInPressed},
		"in place, no answer":  {toAllInPressed, noAnswer, toUser},
		"in place, a refusal":  {toAllInPressed, forSender, toUser},
		"in place, in private": {toUserInPressed, answer, toUserInPressed},
	} {
		destination, reader := tt.to.forReply(tt.reply)
		equal(t, name+": destination", destination, tt.want.destination)
		equal(t, name+": reader", reader, tt.want.reader)
	}
}

func TestAMessageStaysAsItIsUnlessTheAnswerIsNewer(t *testing.T) {
	now := time.Now()
	at := func(age time.Duration) chat.Version { return chat.Version{Time: now.Add(-age)} }
	block := func(n uint64) chat.Version { return chat.Version{Block: chat.Block{Chain: 1, Number: n}} }
	fetched := func(n uint64) chat.Version { return chat.Version{Time: now, Block: block(n).Block} }
	const shown, another = "**x**", "**y**"
	showing := func(version chat.Version, text string) target {
		return target{pressed: pressedMessage{version: version, text: text}}
	}
	for name, tt := range map[string]struct {
		to     target
		answer chat.Version
		want   bool
	}{
		"the same":             {showing(at(0), ""), at(0), true},
		"newer":                {showing(at(time.Minute), shown), at(0), false},
		"older":                {showing(at(0), another), at(time.Minute), true},
		"a newer block":        {showing(block(5), shown), fetched(6), false},
		"an older block":       {showing(block(5), another), fetched(4), true},
		"one block, one text":  {showing(block(5), shown), fetched(5), true},
		"one block, two texts": {showing(block(5), another), fetched(5), false},
		"without a time":       {target{}, chat.Version{}, false},
		"the same text":        {showing(at(0), shown), chat.Version{}, true},
		"another text":         {showing(at(0), another), chat.Version{}, false},
		"the text of a page":   {showing(chat.Version{}, shown), chat.Version{}, false},
	} {
		tt.to.destination = toPressedMessage
		reply := &chat.Reply{Title: chat.Say("x"), Source: chat.Source{AsOf: tt.answer}}
		m := render(reply, someIDs)
		equal(t, name, tt.to.keepsPressed(new(platform.Shown), reply, m), tt.want)
		tt.to.destination = toNewMessage
		equal(t, name+", in a new message", tt.to.keepsPressed(new(platform.Shown), reply, m), false)
	}
}

func TestMessagesWithTheSameTextLookTheSame(t *testing.T) {
	shown := embed{
		Description: "d",
		Timestamp:   "2026-01-02T03:04:05.678+00:00",
		Footer:      &discordgo.MessageEmbedFooter{Text: "f"},
		Color:       1,
	}
	for name, tt := range map[string]struct {
		change func(e *embed)
		same   bool
	}{
		"nothing":     {func(*embed) {}, true},
		"a fraction":  {func(e *embed) { e.Timestamp = "2026-01-02T03:04:05Z" }, true},
		"a second":    {func(e *embed) { e.Timestamp = "2026-01-02T03:04:06Z" }, false},
		"description": {func(e *embed) { e.Description = "x" }, false},
		"footer":      {func(e *embed) { e.Footer = &discordgo.MessageEmbedFooter{Text: "x"} }, false},
		"no footer":   {func(e *embed) { e.Footer = nil }, false},
		"colour":      {func(e *embed) { e.Color = 2 }, false},
	} {
		other := shown
		tt.change(&other)
		equal(t, "another "+name, textOf("c", []embed{shown}) == textOf("c", []embed{other}), tt.same)
	}
}

// A refusal is shown beside the message, however old.
func TestARefusalDoesNotStandForTheMessage(t *testing.T) {
	to := target{destination: toPressedMessage, pressed: pressedMessage{version: chat.Version{Time: time.Now()}}}
	refusal := &chat.Reply{Audience: chat.SenderAlone, Source: chat.Source{AsOf: to.pressed.version}}
	keeps := to.keepsPressed(new(platform.Shown), refusal, render(refusal, someIDs))
	equal(t, "the message stands for it", keeps, false)
}
