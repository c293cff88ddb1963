package discord

import (
	"bytes"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
)

var curve = chat.Image{Name: "price.png", Alt: chat.Say("The price rose."), PNG: bytes.Repeat([]byte("\x89PNG"), 10_000)}

// showsCurve reports whether a message has curve once and nothing else attached.
func showsCurve(m fakediscord.Message) bool {
	return len(m.Attachments) == 1 && m.Attachments[0].Name == curve.Name && m.Attachments[0].Description == curve.Alt.Key &&
		m.Attachments[0].ContentType == "image/png" && bytes.Equal(m.Attachments[0].Bytes, curve.PNG)
}

// However often a picture is sent, it is there once; and an answer does not
// depend on its picture.
func TestAPictureArrivesOnceOrTheAnswerIsText(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []fakediscord.Fault
		until  time.Duration // how long the first of them lasts; 0 is for one call
		text   bool
	}{
		"nothing fails":                    {nil, 0, false},
		"server error, but carried out":    {[]fakediscord.Fault{{Status: 502, Landed: true}}, 0, false},
		"connection lost, but carried out": {[]fakediscord.Fault{{DropAnswer: true}}, 0, false},
		"too large":                        {[]fakediscord.Fault{{Status: 413, Code: 40005}}, 0, true},
		"nobody takes uploads":             {[]fakediscord.Fault{{Status: 503}}, pictureTime, true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *harness) {
				h.reply(0, chat.Reply{Title: chat.Say("Price"), Image: &curve})
				if h.fake.Script(fakediscord.Edit, tt.faults...); tt.until > 0 {
					h.fake.Break(fakediscord.Edit, tt.faults[0])
				}
				p := h.send(t, command("price"))
				pass(tt.until)
				h.fake.Break(fakediscord.Edit, fakediscord.Fault{})
				pass(time.Minute)
				a := p.Answer()
				if a.Text() != "\nPrice\n" || len(h.fake.Messages()) != 1 ||
					showsCurve(a.Message) == tt.text || tt.text && len(a.Attachments) != 0 {
					t.Errorf("shown: %+v", h.fake.Messages())
				}
				if !a.Deferred || h.events.Of("answered") != 1 || (h.events.Of("picture_failed") == 1) != tt.text {
					t.Errorf("deferred %v; counted %v", a.Deferred, h.events)
				}
			})
		})
	}
}

func TestAPictureGivesWayToTheNextAnswer(t *testing.T) {
	eachWay(t, func(t *testing.T, h *harness) {
		with, without := chat.Reply{Title: chat.Say("x"), Image: &curve}, chat.Reply{Title: chat.Say("x")}
		h.reply(0, with)
		p := h.ask(t, command("price"))
		for _, tt := range []struct {
			slow  time.Duration
			reply chat.Reply
		}{{0, with}, {0, without}, {0, with}, {5 * time.Second, without}} {
			h.reply(tt.slow, tt.reply)
			h.ask(t, p.Press("5", "1 e 0 price"))
			if m := p.Answer().Message; showsCurve(m) != (tt.reply.Image != nil) || len(h.fake.Messages()) != 1 {
				t.Errorf("shown: %+v", h.fake.Messages())
			}
		}
	})
}
