package discord

import (
	"fmt"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
)

// pressOf returns an interaction with the press of a button of a message with these flags.
func pressOf(t *testing.T, flags discordgo.MessageFlags) *interaction {
	t.Helper()
	i, _ := decode(fmt.Appendf(nil, `{"message":{"id":"1","flags":%d}}`, flags))
	return i
}

// The targets of these tests. The reader matters only for a new message.
var (
	newForAll      = target{destination: toNewMessage, reader: everybody}
	newForUser     = target{destination: toNewMessage, reader: userAlone}
	pressedForAll  = target{destination: toPressedMessage, reader: everybody}
	pressedForUser = target{destination: toPressedMessage, reader: userAlone}
)

// A button can be forged, so the answer to a private or unknown command never replaces a message that others can read.
func TestTargetOf(t *testing.T) {
	const unknown chat.Visibility = 0
	const ephemeral = discordgo.MessageFlagsEphemeral
	edit, open := &chat.Press{Edit: true}, &chat.Press{}
	for name, tt := range map[string]struct {
		visibility chat.Visibility        // of the command
		press      *chat.Press            // nil if the command was typed
		flags      discordgo.MessageFlags // of the message with the button
		want       target
	}{
		"typed, public":  {visibility: chat.Public, want: newForAll},
		"typed, private": {visibility: chat.Private, want: newForUser},
		"typed, unknown": {visibility: unknown, want: newForUser},

		"edit, public":               {visibility: chat.Public, press: edit, want: pressedForAll},
		"edit, private":              {visibility: chat.Private, press: edit, want: newForUser},
		"edit, unknown":              {visibility: unknown, press: edit, want: newForUser},
		"edit of ephemeral, public":  {visibility: chat.Public, press: edit, flags: ephemeral, want: pressedForAll},
		"edit of ephemeral, private": {visibility: chat.Private, press: edit, flags: ephemeral, want: pressedForUser},

		"open, public":                  {visibility: chat.Public, press: open, want: newForAll},
		"open below ephemeral, private": {visibility: chat.Private, press: open, flags: ephemeral, want: newForUser},
	} {
		got := targetOf(pressOf(t, tt.flags), tt.visibility, tt.press)
		equal(t, name+": destination", got.destination, tt.want.destination)
		equal(t, name+": reader", got.reader, tt.want.reader)
	}
}

func TestForReply(t *testing.T) {
	answer := &chat.Reply{Title: chat.Say("x")}
	noAnswer := &chat.Reply{Title: chat.NoAnswer("price")} // It must not replace an answer that is shown.
	refusal := &chat.Reply{Audience: chat.SenderAlone}
	for name, tt := range map[string]struct {
		to    target
		reply *chat.Reply
		want  target
	}{
		"new, answer":                     {newForAll, answer, newForAll},
		"new, private answer":             {newForUser, answer, newForUser},
		"new, no answer":                  {newForAll, noAnswer, newForAll},
		"new, refusal":                    {newForAll, refusal, newForUser},
		"pressed message, answer":         {pressedForAll, answer, pressedForAll},
		"pressed message, no answer":      {pressedForAll, noAnswer, newForUser},
		"pressed message, refusal":        {pressedForAll, refusal, newForUser},
		"private pressed message, answer": {pressedForUser, answer, pressedForUser},
	} {
		destination, reader := tt.to.forReply(tt.reply)
		equal(t, name+": destination", destination, tt.want.destination)
		equal(t, name+": reader", reader, tt.want.reader)
	}
}

func TestThePressedMessageStaysIfItShowsTheSameOrANewerAnswer(t *testing.T) {
	now := time.Now()
	aged := func(age time.Duration) chat.Version { return chat.Version{Time: now.Add(-age)} }
	block := func(n uint64) chat.Version { return chat.Version{Block: chat.Block{Chain: 1, Number: n}} }
	fetched := func(n uint64) chat.Version { return chat.Version{Time: now, Block: block(n).Block} }
	const same, other = "**x**", "**y**" // texts of the pressed message; the answer's text is same
	for name, tt := range map[string]struct {
		pressed pressedMessage
		answer  chat.Version
		keeps   bool
	}{
		"the same time":                         {pressedMessage{version: aged(0), text: other}, aged(0), true},
		"newer":                                 {pressedMessage{version: aged(time.Minute), text: same}, aged(0), false},
		"older":                                 {pressedMessage{version: aged(0), text: other}, aged(time.Minute), true},
		"a newer block":                         {pressedMessage{version: block(5), text: same}, fetched(6), false},
		"an older block":                        {pressedMessage{version: block(5), text: other}, fetched(4), true},
		"the same block and text":               {pressedMessage{version: block(5), text: same}, fetched(5), true},
		"the same block":                        {pressedMessage{version: block(5), text: other}, fetched(5), false},
		"the answer has no version, same text":  {pressedMessage{version: aged(0), text: same}, chat.Version{}, true},
		"the answer has no version, other text": {pressedMessage{version: aged(0), text: other}, chat.Version{}, false},
		"the button has no version, same text":  {pressedMessage{text: same}, chat.Version{}, false},
		"the button has no version, other text": {pressedMessage{text: other}, chat.Version{}, false},
	} {
		reply := &chat.Reply{Title: chat.Say("x"), Source: chat.Source{AsOf: tt.answer}}
		m := render(reply, someIDs)
		to := target{destination: toPressedMessage, pressed: tt.pressed}
		equal(t, name, to.keepsPressed(new(platform.Shown), reply, m), tt.keeps)
		to.destination = toNewMessage
		equal(t, name+", in a new message", to.keepsPressed(new(platform.Shown), reply, m), false)
	}
}

func TestTextOfTellsEmbedsApart(t *testing.T) {
	shown := embed{
		Description: "d",
		Timestamp:   "2026-01-02T03:04:05.678+00:00",
		Footer:      &discordgo.MessageEmbedFooter{Text: "f"},
		Color:       1,
	}
	for name, tt := range map[string]struct {
		change func(e *embed)
		same   bool // whether textOf returns the same
	}{
		"no change":                {func(*embed) {}, true},
		"another form of the time": {func(e *embed) { e.Timestamp = "2026-01-02T03:04:05Z" }, true},
		"another second":           {func(e *embed) { e.Timestamp = "2026-01-02T03:04:06Z" }, false},
		"another description":      {func(e *embed) { e.Description = "x" }, false},
		"another footer":           {func(e *embed) { e.Footer = &discordgo.MessageEmbedFooter{Text: "x"} }, false},
		"no footer":                {func(e *embed) { e.Footer = nil }, false},
		"another color":            {func(e *embed) { e.Color = 2 }, false},
	} {
		other := shown
		tt.change(&other)
		equal(t, name, textOf("c", []embed{shown}) == textOf("c", []embed{other}), tt.same)
	}
}

// A refusal is shown in a message of its own, however old it is.
func TestARefusalIsNotComparedWithThePressedMessage(t *testing.T) {
	to := target{destination: toPressedMessage, pressed: pressedMessage{version: chat.Version{Time: time.Now()}}}
	refusal := &chat.Reply{Audience: chat.SenderAlone, Source: chat.Source{AsOf: to.pressed.version}}
	keeps := to.keepsPressed(new(platform.Shown), refusal, render(refusal, someIDs))
	equal(t, "the message counts as showing the refusal", keeps, false)
}
