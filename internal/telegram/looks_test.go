package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/botapi"
	"herald/internal/telegram/telegramtest"
)

// dressed is a reply with everything that a server may refuse, and a link and a
// button that lead to an explorer.
func dressed(explorer string) chat.Reply {
	r := refreshed("dressed", 1)
	r.Sections = []chat.Section{{Fields: []chat.Field{
		{Name: chat.Foreign("evil.example"), Value: chat.Address{Hex: testWallet, URL: explorer + "/address/" + testWallet}},
	}}}
	r.Notes = []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Unix(1750000000, 0)}})}
	r.Actions = append(r.Actions, chat.Action{Label: chat.Say("Explorer"), URL: explorer}, chat.Action{Label: chat.Say("Open"), URL: "https://t.me/herald_bot"})
	return r
}

func typesOf(entities []telegramtest.Entity) (types []string) {
	for _, e := range entities {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// Whatever a server refuses of what a message looks like, the message is sent
// with the rest; and what no message can have is not tried with the next one.
func TestAServerThatRefusesLooksIsSentPlainerOnes(t *testing.T) {
	const explorer = "https://explorer.example"
	all := []string{"bold", "code", "date_time", "expandable_blockquote", "italic", "text_link"}
	for name, tt := range map[string]struct {
		older    telegramtest.Older
		explorer string
		types    []string
		buttons  string
		// first and next are the calls that a message takes.
		first, next int
	}{
		"all is taken":    {explorer: explorer, types: all, buttons: "Refresh Explorer Open", first: 1, next: 1},
		"no dates":        {older: telegramtest.Older{DateTime: true}, explorer: explorer, types: slices.Delete(slices.Clone(all), 2, 3), buttons: "Refresh Explorer Open", first: 2, next: 1},
		"no quotes":       {older: telegramtest.Older{Quote: true}, explorer: explorer, types: []string{"code"}, buttons: "Refresh Open", first: 4, next: 1},
		"no such address": {explorer: "http://localhost", types: []string{"bold", "code", "expandable_blockquote", "italic"}, buttons: "Refresh Open", first: 3, next: 3},
	} {
		for way, prepare := range map[string]func(*rig) (ask func()){
			"message": func(r *rig) func() { return func() { r.askers(1) } },
			"picture": func(r *rig) func() {
				reply := dressed(tt.explorer)
				reply.Image = pictured(t, 100).Image
				r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return reply }
				return func() { r.askers(1) }
			},
			"ephemeral": func(r *rig) func() {
				return func() { r.api.PushEphemeral(whispered("/mylogins")) }
			},
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := setUpInMemory(t, nil)
					r.api.MakeOlder(tt.older)
					r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return dressed(tt.explorer) }
					ask := prepare(r)
					r.run()
					for i, calls := range []int{tt.first, tt.next} {
						before := len(r.api.Calls("sendMessage")) + len(r.api.Calls("sendPhoto"))
						ask()
						m := r.sent(i + 1)[i]
						if n := len(r.api.Calls("sendMessage")) + len(r.api.Calls("sendPhoto")) - before; n != calls {
							t.Errorf("message %d took %d calls, want %d", i, n, calls)
						}
						var labels []string
						for _, row := range m.Markup.Rows {
							for _, b := range row {
								labels = append(labels, b.Text)
							}
						}
						if got := strings.Join(labels, " "); !slices.Equal(typesOf(m.Entities), tt.types) || got != tt.buttons || (m.Photo != nil) != (way == "picture") {
							t.Errorf("message %d has %q and the buttons %q, want %q and %q", i, typesOf(m.Entities), got, tt.types, tt.buttons)
						}
						if !strings.Contains(m.Text, testWallet) {
							t.Errorf("it says %q", m.Text)
						}
					}
				})
			})
		}
	}
}

// An edit is made plainer like a message.
func TestAnEditThatIsRefusedForItsLooksIsMadePlainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := dressed("http://localhost")
		reply.AsOf = reply.AsOf.Add(time.Hour)
		r := card(t, nil, reply)
		r.press(ann, "Refresh")
		if told := r.told(1)[0]; told.Text != "" || !r.api.WaitAcknowledged(soon) {
			t.Errorf("told %+v", told)
		}
		if m := r.one(); m.Edits != 1 || !strings.HasPrefix(m.Text, "dressed") {
			t.Errorf("the message is %+v", m)
		}
	})
}

// Plain text keeps what makes it safe: what is foreign stays code, and a question
// says what it is about.
func TestPlainTextKeepsCodeAndQuestions(t *testing.T) {
	asks := shown(chat.Reply{Title: chat.Say("x"), Sections: dressed("").Sections, Ask: &chat.Ask{Command: "staked", Question: chat.Say("Which?")}}, true)
	plain := plainText.of(asks.Content)
	if got := fmt.Sprint(spansOf(richText{Content: plain})); !strings.Contains(got, "code evil.example") || !strings.Contains(got, "text_link") || plain.Markup != asks.Markup {
		t.Errorf("it has %s", got)
	}
	copies := botapi.Content{Text: "x", Markup: botapi.Keyboard{Rows: [][]botapi.Button{{{Text: "Copy", Copy: "x"}}}}}
	if plain := plainText.of(copies); plain.Markup != nil || ownLinks.changes(copies) {
		t.Errorf("the buttons are %+v", plain.Markup)
	}
}
