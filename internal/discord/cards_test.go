package discord

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/discord/discordtest"
)

// world answers from a commandstest.World, in which asker has an account with
// logins.
type world struct {
	mu sync.Mutex
	*commandstest.World
	*chat.Router
	asked []chat.Request
}

const asker = "55"

func newWorld(t *testing.T) *world {
	w := commandstest.Healthy()
	w.Accounts[core.Identity{Platform: "Discord", UID: asker}] = w.Accounts[core.Identity{Platform: "Telegram", UID: commandstest.Ann}]
	for i := range 40 {
		w.Logins = append(w.Logins, core.Login{Dapp: "secretdapp", Platform: "EVM", At: commandstest.Noon.Add(-time.Duration(i) * time.Hour)})
	}
	return &world{World: w, Router: w.Router(t)}
}

// Handle makes one request after the other: World counts without a lock. From one
// to the next, everything is learned anew.
func (w *world) Handle(ctx context.Context, req chat.Request) chat.Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, req)
	for _, at := range []*time.Time{&w.Price.At, &w.Supply.At} {
		*at = at.Add(time.Minute)
	}
	return w.Router.Handle(ctx, req)
}

func (w *world) last() chat.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[len(w.asked)-1]
}

// cards are commands whose answers have buttons, and whether these are for their
// asker alone.
var cards = map[string]struct {
	discordtest.Interaction
	private bool
}{
	"price":            {Interaction: discordtest.Interaction{Command: "price"}},
	"price of a week":  {Interaction: discordtest.Interaction{Command: "price", Options: map[string]string{"period": "7d"}}},
	"supply":           {Interaction: discordtest.Interaction{Command: "supply"}},
	"staked":           {Interaction: discordtest.Interaction{Command: "staked", Options: map[string]string{"wallet": commandstest.Wallet}}},
	"logins":           {Interaction: discordtest.Interaction{Command: "mylogins"}, private: true},
	"second page":      {Interaction: discordtest.Interaction{Command: "mylogins"}, private: true},
	"a wallet mistold": {Interaction: discordtest.Interaction{Command: "staked", Options: map[string]string{"wallet": "0x1"}}, private: true},
}

// runWorld runs an adapter in front of a fake that answers from a world.
func runWorld(t *testing.T, fake *discordtest.Server) (h *harness, w *world) {
	t.Helper()
	h, w = prepareOn(t, fake, nil), newWorld(t)
	patient(h.Adapter)
	h.serve(t, w)
	h.wait(t, "a connection", h.Ready)
	return h, w
}

// Each button of each card is pressed by its asker, by another, by both at once
// and after a restart.
func TestEachButtonOfEachCardIsPressed(t *testing.T) {
	for name, card := range cards {
		t.Run(name, func(t *testing.T) {
			h, w := runWorld(t, discordtest.New())
			show := func() *discordtest.Pending {
				i := card.Interaction
				i.UserID, i.GuildID, i.ChannelID = asker, "7", "8"
				p := h.push(t, i)
				if _, err := p.Wait(h.ctx); err != nil {
					t.Fatalf("%v; refused: %q", err, h.fake.Problems())
				}
				if name == "second page" {
					h.pressed(t, p, asker, "Older")
				}
				return p
			}
			press := func(what string, p *discordtest.Pending, label string, users ...string) {
				t.Helper()
				b, ok := p.Answer().Button(label)
				if !ok {
					t.Fatalf("%s: no button %q", what, label)
				}
				var all []*discordtest.Pending
				for _, user := range users {
					all = append(all, h.push(t, p.Press(user, b.CustomID)))
				}
				for n, pressed := range all {
					a, err := pressed.Wait(h.ctx)
					if err != nil {
						t.Fatalf("%s: %s: %v; refused: %q", what, label, err, h.fake.Problems())
					}
					checkPressed(t, what+": "+label, p, pressed, a, users[n])
				}
				if len(users) == 1 && len(all[0].Shown()) > 0 {
					if req := w.last(); req.From.ID != users[0] || req.Community != "7" || req.Chat != "8" {
						t.Errorf("%s: %s: asked as %+v", what, label, req)
					}
				}
			}
			first := show()
			var labels []string
			for _, row := range first.Answer().Buttons {
				for _, b := range row {
					if b.CustomID != "" {
						labels = append(labels, b.Label)
					}
				}
			}
			if len(labels) == 0 || first.Answer().Ephemeral != card.private {
				t.Fatalf("%+v", first.Answer())
			}
			for _, label := range labels {
				press("by its asker", show(), label, asker)
				if !card.private {
					press("by another", show(), label, "66")
					press("by two at once", show(), label, asker, "66")
				}
				press("twice at once", show(), label, asker, asker)
				p := show()
				h.stop()
				<-h.ended
				h, w = runWorld(t, h.fake)
				press("after a restart", p, label, asker)
			}
			for _, m := range h.fake.Messages() {
				if !m.Ephemeral && strings.Contains(m.Everything(), "secretdapp") || m.Ephemeral && m.SeenBy != asker && m.SeenBy != "66" {
					t.Errorf("others see %+v", m)
				}
			}
			h.unrefused(t)
		})
	}
}

// checkPressed demands that a press has edited the message of p, or told or asked
// who pressed and nobody else.
func checkPressed(t *testing.T, what string, p, pressed *discordtest.Pending, a discordtest.Answer, user string) {
	t.Helper()
	now := p.Answer().Message
	switch {
	case a.Modal != nil:
	case a.Message.ID != now.ID:
		if !a.Ephemeral || a.SeenBy != user {
			t.Errorf("%s: others see %+v", what, a.Message)
		}
	case now.Edited == 0 || a.Edits+a.Callbacks == 0 || len(pressed.Shown()) == 0:
		t.Errorf("%s: %+v", what, a)
	case len(now.Embeds) != 1 || now.Embeds[0].Title == "" || len(now.Buttons) == 0:
		t.Errorf("%s: edited to %+v", what, now)
	case (now.Embeds[0].Image == nil) != (len(now.Attachments) == 0):
		t.Errorf("%s: a picture is missing or left over: %+v", what, now)
	}
}

// A picture takes the place of another or of none.
func TestPeriodsOfThePriceSwapThePicture(t *testing.T) {
	h, _ := runWorld(t, discordtest.New())
	p := h.push(t, discordtest.Interaction{Command: "price", UserID: asker, GuildID: "7"})
	if _, err := p.Wait(h.ctx); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"24 h", "7 d", "30 d", "24 h"} {
		h.pressed(t, p, "66", label)
		name := "price-" + strings.ReplaceAll(label, " ", "") + ".png"
		m := p.Answer().Message
		if len(m.Attachments) != 1 || m.Attachments[0].Name != name || !strings.HasPrefix(m.Attachments[0].Description, "Price of TKN over") {
			t.Errorf("%s: %+v", label, m.Attachments)
		}
	}
	if n := len(h.fake.Messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
	h.unrefused(t)
}
