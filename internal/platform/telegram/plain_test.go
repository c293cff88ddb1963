package telegram

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// dressed is a reply with everything that a server may refuse, and a link and a
// button that lead to an explorer.
func dressed(explorer string) chat.Reply {
	r := refreshed("dressed", 60)
	r.Sections = []chat.Section{{Fields: []chat.Field{
		{Name: chat.Untrusted("evil.example"), Value: chat.Address{Hex: testWallet, URL: explorer + "/address/" + testWallet}},
	}}}
	r.Notes = []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Unix(1750000000, 0)}})}
	r.Actions = append(r.Actions,
		chat.Action{Label: chat.Say("Explorer"), URL: explorer}, chat.Action{Label: chat.Say("Open"), URL: "https://t.me/herald_bot"})
	return r
}

func typesOf(entities []faketelegram.Entity) (types []string) {
	for _, e := range entities {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// Whatever a server refuses of what a message looks like, the message goes once
// more as plain text, whatever the call; and the next message is tried whole.
func TestWhatAServerRefusesGoesOnceMoreAsPlainText(t *testing.T) {
	const explorer = "https://explorer.example"
	type test struct {
		older    faketelegram.Older
		explorer string
		plain    bool
	}
	asked := map[string]func(*rig){
		"message":   func(r *rig) { r.ask(1) },
		"picture":   func(r *rig) { r.ask(1) },
		"ephemeral": func(r *rig) { r.api.PushEphemeral(inGroup(ann, "/mylogins")) },
		"edit":      func(r *rig) { r.press(ann, "Refresh") },
	}
	for way, ask := range asked {
		inBubble(t, map[string]test{
			"all is taken, " + way:    {faketelegram.Older{}, explorer, false},
			"no dates, " + way:        {faketelegram.Older{DateTime: true}, explorer, true},
			"no quotes, " + way:       {faketelegram.Older{Quote: true}, explorer, true},
			"no such address, " + way: {faketelegram.Older{}, "http://localhost", true},
		}, func(t *testing.T, tt test) {
			r := card(t)
			reply := dressed(tt.explorer)
			if way == "picture" {
				reply.Image = pictured(t, 100).Image
			}
			r.api.MakeOlder(tt.older)
			for i := range 2 {
				reply.AsOf = reply.AsOf.Add(time.Hour)
				r.answer(reply)
				ask(r)
				r.api.WaitAcknowledged(soon)
				synctest.Wait()
				sent := r.api.Sent()
				m, refused := sent[len(sent)-1], r.events.of("send_refused")
				types, buttons := []string{"bold", "code", "date_time", "expandable_blockquote", "italic", "text_link"}, " [Refresh] [Explorer] [Open]"
				if tt.plain {
					types, buttons = []string{"code"}, " [Refresh] [Open]"
				}
				if got := labelsOf(m); !slices.Equal(typesOf(m.Entities), types) || got != buttons ||
					(m.Photo != nil) != (way == "picture") {
					t.Errorf("message %d has %q and the buttons %q, want %q and %q", i, typesOf(m.Entities), got, types, buttons)
				}
				if !strings.Contains(m.Text, testWallet) || tt.plain != (refused == i+1) {
					t.Errorf("message %d says %q, and %d are refused", i, m.Text, refused)
				}
			}
		})
	}
}
