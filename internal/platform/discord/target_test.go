package discord

import (
	"fmt"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
)

// A button can be forged: an answer that not all may read never replaces what all can read.
func TestWhereAnAnswerGoesBeforeItIsKnown(t *testing.T) {
	const ephemeral = discordgo.MessageFlagsEphemeral
	edits, opens := &chat.Press{Edit: true}, &chat.Press{}
	for name, tt := range map[string]struct {
		visibility chat.Visibility
		press      *chat.Press
		under      discordgo.MessageFlags // of the message with the button
		place      place
		reader     reader
	}{
		"typed, public":             {chat.Public, nil, 0, inNewMessage, everybody},
		"typed, private":            {chat.Private, nil, 0, inNewMessage, userAlone},
		"typed, unknown":            {0, nil, 0, inNewMessage, userAlone},
		"edits, public":             {chat.Public, edits, 0, inPlace, everybody},
		"edits, public, ephemeral":  {chat.Public, edits, ephemeral, inPlace, everybody},
		"edits, private":            {chat.Private, edits, 0, inNewMessage, userAlone},
		"edits, private, ephemeral": {chat.Private, edits, ephemeral, inPlace, userAlone},
		"edits, unknown":            {0, edits, 0, inNewMessage, userAlone},
		"opens, public":             {chat.Public, opens, 0, inNewMessage, everybody},
		"opens, private, ephemeral": {chat.Private, opens, ephemeral, inNewMessage, userAlone},
	} {
		i, _ := decode(fmt.Appendf(nil, `{"message":{"id":"1","flags":%d}}`, tt.under))
		to := targetOf(i, tt.visibility, tt.press)
		equal(t, name+": place", to.place, tt.place)
		equal(t, name+": reader", to.reader, tt.reader)
	}
}

func TestWhereAReplyIsShown(t *testing.T) {
	answered := &chat.Reply{Title: chat.Say("x")}
	noAnswer := &chat.Reply{Title: chat.NoAnswer("price")}
	forSender := &chat.Reply{Audience: chat.SenderAlone}
	for name, tt := range map[string]struct {
		to     target
		reply  *chat.Reply
		place  place
		reader reader
	}{
		"an answer":            {target{reader: everybody}, answered, inNewMessage, everybody},
		"a private answer":     {target{}, answered, inNewMessage, userAlone},
		"no answer":            {target{reader: everybody}, noAnswer, inNewMessage, everybody},
		"a refusal":            {target{reader: everybody}, forSender, inNewMessage, userAlone},
		"in place":             {target{place: inPlace, reader: everybody}, answered, inPlace, everybody},
		"in place, no answer":  {target{place: inPlace, reader: everybody}, noAnswer, inNewMessage, userAlone},
		"in place, a refusal":  {target{place: inPlace, reader: everybody}, forSender, inNewMessage, userAlone},
		"in place, in private": {target{place: inPlace}, answered, inPlace, userAlone},
	} {
		place, reader := tt.to.forReply(tt.reply)
		equal(t, name+": place", place, tt.place)
		equal(t, name+": reader", reader, tt.reader)
	}
}

func TestAMessageStaysAsItIsUnlessTheAnswerIsNewer(t *testing.T) {
	now := time.Now()
	at := func(age time.Duration) chat.Version { return chat.Version{Time: now.Add(-age)} }
	block := func(n uint64) chat.Version { return chat.Version{Block: chat.Block{Chain: 1, Number: n}} }
	fetched := func(n uint64) chat.Version { return chat.Version{Time: now, Block: block(n).Block} }
	const shown, another = "**x**", "**y**"
	for name, tt := range map[string]struct {
		to     target
		answer chat.Version
		want   bool
	}{
		"the same":             {target{asOf: at(0)}, at(0), true},
		"newer":                {target{asOf: at(time.Minute), text: shown}, at(0), false},
		"older":                {target{asOf: at(0), text: another}, at(time.Minute), true},
		"a newer block":        {target{asOf: block(5), text: shown}, fetched(6), false},
		"an older block":       {target{asOf: block(5), text: another}, fetched(4), true},
		"one block, one text":  {target{asOf: block(5), text: shown}, fetched(5), true},
		"one block, two texts": {target{asOf: block(5), text: another}, fetched(5), false},
		"without a time":       {target{}, chat.Version{}, false},
		"the same text":        {target{asOf: at(0), text: shown}, chat.Version{}, true},
		"another text":         {target{asOf: at(0), text: another}, chat.Version{}, false},
		"the text of a page":   {target{text: shown}, chat.Version{}, false},
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
	to := target{place: inPlace, asOf: chat.Version{Time: time.Now()}}
	refusal := &chat.Reply{Audience: chat.SenderAlone, Source: chat.Source{AsOf: to.asOf}}
	equal(t, "the message stands for it", to.keepsMessage(new(platform.Shown), refusal, render(refusal, someIDs)), false)
}
