package discord

import (
	"context"
	"fmt"
	"net/http/httptest"
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
	"price":              {Interaction: discordtest.Interaction{Command: "price"}},
	"price of a week":    {Interaction: discordtest.Interaction{Command: "price", Options: map[string]string{"period": "7d"}}},
	"supply":             {Interaction: discordtest.Interaction{Command: "supply"}},
	"status":             {Interaction: discordtest.Interaction{Command: "status"}},
	"staked":             {Interaction: discordtest.Interaction{Command: "staked", Options: map[string]string{"wallet": commandstest.Wallet}}},
	"logins":             {Interaction: discordtest.Interaction{Command: "mylogins"}, private: true},
	"second page":        {Interaction: discordtest.Interaction{Command: "mylogins"}, private: true},
	"own wallet mistold": {Interaction: discordtest.Interaction{Command: "verify", Options: map[string]string{"wallet": "0x1"}}, private: true},
	"a wallet mistold":   {Interaction: discordtest.Interaction{Command: "staked", Options: map[string]string{"wallet": "0x1"}}, private: true},
}

// cardHarness is an adapter that answers from a world.
type cardHarness struct {
	*harness
	*world
	send func(discordtest.Interaction) *discordtest.Pending
}

func newCardHarness(t *testing.T, fake *discordtest.Server, byHTTP bool) *cardHarness {
	t.Helper()
	h := &cardHarness{world: newWorld(t)}
	if h.harness = prepareOn(t, fake, nil); byHTTP {
		h.PublicKey = fake.PublicKey
	}
	patient(h.Adapter)
	h.serve(t, h.world)
	h.wait(t, "Ready", h.Ready)
	h.send = func(i discordtest.Interaction) *discordtest.Pending { return h.push(t, i) }
	if !byHTTP {
		return h
	}
	endpoint := httptest.NewServer(h.Adapter)
	t.Cleanup(endpoint.Close)
	h.send = func(i discordtest.Interaction) *discordtest.Pending {
		p, body := fake.Prepare(i)
		go func() {
			resp, err := fake.PostRaw(h.ctx, endpoint.URL, body, time.Now())
			if err != nil {
				return // the answer is missed then
			}
			defer resp.Body.Close()
			_ = p.Responded(resp.Body) // which the fake notes
		}()
		return p
	}
	return h
}

// answerTo is the whole answer to i.
func (h *cardHarness) answerTo(t *testing.T, i discordtest.Interaction) *discordtest.Pending {
	t.Helper()
	p := h.send(i)
	if _, err := p.Wait(h.ctx); err != nil {
		t.Fatalf("%v; refused: %q", err, h.fake.Problems())
	}
	return p
}

// press has users press the button with a label under p at once.
func (h *cardHarness) press(t *testing.T, p *discordtest.Pending, label string, users ...string) {
	t.Helper()
	b, ok := p.Answer().Button(label)
	if !ok {
		t.Fatalf("no button %q under %+v", label, p.Answer())
	}
	var all []*discordtest.Pending
	for _, user := range users {
		all = append(all, h.send(p.Press(user, b.CustomID)))
	}
	for n, pressed := range all {
		a, err := pressed.Wait(h.ctx)
		if err != nil {
			t.Fatalf("%s: %v; refused: %q", label, err, h.fake.Problems())
		}
		checkPressed(t, label, p, pressed, a, users[n])
	}
	if len(users) > 1 || all[0].Answer().Modal != nil {
		return
	}
	if req := h.last(); req.From.ID != users[0] || req.Community != "7" || req.Chat != "8" {
		t.Errorf("%s: asked as %+v", label, req)
	}
}

// Each button of each card is pressed by its asker, by another, by both at once
// and after a restart.
func TestEachButtonOfEachCardIsPressed(t *testing.T) {
	pressed := map[string]bool{}
	for _, byHTTP := range []bool{false, true} {
		for name, card := range cards {
			t.Run(fmt.Sprintf("%s, by HTTP %v", name, byHTTP), func(t *testing.T) {
				h := newCardHarness(t, discordtest.New(), byHTTP)
				show := func() *discordtest.Pending {
					i := card.Interaction
					i.UserID, i.GuildID, i.ChannelID = asker, "7", "8"
					p := h.answerTo(t, i)
					if name == "second page" {
						h.press(t, p, "Older", asker)
					}
					return p
				}
				var labels []string
				first := show().Answer()
				for _, row := range first.Buttons {
					for _, b := range row {
						if b.CustomID != "" {
							labels = append(labels, b.Label)
							pressed[kindOf(b.CustomID)] = true
						}
					}
				}
				if len(labels) == 0 || first.Ephemeral != card.private {
					t.Fatalf("%+v", first)
				}
				for _, label := range labels {
					h.press(t, show(), label, asker)
					h.press(t, show(), label, asker, asker)
					if !card.private {
						h.press(t, show(), label, "66")
						h.press(t, show(), label, asker, "66")
					}
					p := show()
					h.stop()
					<-h.ended
					h = newCardHarness(t, h.fake, byHTTP)
					h.press(t, p, label, asker)
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
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		for _, row := range render(c.Reply).Components {
			for _, b := range row.Components {
				if b.CustomID != "" && !pressed[kindOf(b.CustomID)] {
					t.Errorf("%s has a button %q that is never pressed", c.Line, b.CustomID)
				}
			}
		}
	})
}

// kindOf is what a button's state has in common with those of the same button
// under other answers.
func kindOf(state string) string {
	words := strings.Fields(state)
	return fmt.Sprint(words[1], words[3], len(words))
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
	h := newCardHarness(t, discordtest.New(), false)
	p := h.answerTo(t, discordtest.Interaction{Command: "price", UserID: asker, GuildID: "7", ChannelID: "8"})
	for _, label := range []string{"24 h", "7 d", "30 d", "24 h"} {
		h.press(t, p, label, "66")
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
