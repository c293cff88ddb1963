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
		"typed, public":  {targetOf(publicMessage, chat.Public, nil), target{place: inNewMessage, reader: everybody}},
		"typed, private": {targetOf(publicMessage, chat.Private, nil), target{place: inNewMessage, reader: userAlone}},
		"typed, unknown": {targetOf(publicMessage, unknown, nil), target{place: inNewMessage, reader: userAlone}},

		"edits, public":  {targetOf(publicMessage, chat.Public, edits), target{place: inPlace, reader: everybody}},
		"edits, private": {targetOf(publicMessage, chat.Private, edits), target{place: inNewMessage, reader: userAlone}},
		"edits, unknown": {targetOf(publicMessage, unknown, edits), target{place: inNewMessage, reader: userAlone}},
		"edits an ephemeral one, public": {
			targetOf(ephemeralMessage, chat.Public, edits),
			target{place: inPlace, reader: everybody},
		},
		"edits an ephemeral one, private": {
			targetOf(ephemeralMessage, chat.Private, edits),
			target{place: inPlace, reader: userAlone},
		},

		"opens, public": {targetOf(publicMessage, chat.Public, opens), target{place: inNewMessage, reader: everybody}},
		"opens below an ephemeral one, private": {
			targetOf(ephemeralMessage, chat.Private, opens),
			target{place: inNewMessage, reader: userAlone},
		},
	} {
		equal(t, name+": place", tt.got.place, tt.want.place)
		equal(t, name+": reader", tt.got.reader, tt.want.reader)
	}
}

func TestWhereAReplyIsShown(t *testing.T) {
	answer := &chat.Reply{Title: chat.Say("x")}
	noAnswer := &chat.Reply{Title: chat.NoAnswer("price")}
	forSender := &chat.Reply{Audience: chat.SenderAlone}
	toAll := target{reader: everybody}
	toUser := target{reader: userAlone}
	toAllInPlace := target{place: inPlace, reader: everybody}
	toUserInPlace := target{place: inPlace, reader: userAlone}
	for name, tt := range map[string]struct {
		to    target
		reply *chat.Reply
		want  target
	}{
		"an answer":            {toAll, answer, toAll},
		"a private answer":     {toUser, answer, toUser},
		"no answer":            {toAll, noAnswer, toAll},
		"a refusal":            {toAll, forSender, toUser},
		"in place":             {toAllInPlace, answer, toAllInPlace},
		"in place, no answer":  {toAllInPlace, noAnswer, toUser},
		"in place, a refusal":  {toAllInPlace, forSender, toUser},
		"in place, in private": {toUserInPlace, answer, toUserInPlace},
	} {
		place, reader := tt.to.forReply(tt.reply)
		equal(t, name+": place", place, tt.want.place)
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
		tt.to.place = inPlace
		reply := &chat.Reply{Title: chat.Say("x"), Source: chat.Source{AsOf: tt.answer}}
		m := render(reply, someIDs)
		equal(t, name, tt.to.keepsMessage(new(platform.Shown), reply, m), tt.want)
		tt.to.place = inNewMessage
		equal(t, name+", in a new message", tt.to.keepsMessage(new(platform.Shown), reply, m), false)
	}
}

// A refusal is shown beside the message, however old.
func TestARefusalDoesNotStandForTheMessage(t *testing.T) {
	to := target{place: inPlace, pressed: pressedMessage{version: chat.Version{Time: time.Now()}}}
	refusal := &chat.Reply{Audience: chat.SenderAlone, Source: chat.Source{AsOf: to.pressed.version}}
	keeps := to.keepsMessage(new(platform.Shown), refusal, render(refusal, someIDs))
	equal(t, "the message stands for it", keeps, false)
}
