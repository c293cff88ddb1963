package discord

import (
	"bytes"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/discord/discordtest"
)

var curve = upload{name: "price.png", description: "The price rose.", png: bytes.Repeat([]byte("\x89PNG"), 10_000)}

// withCurve shows curve.
func withCurve() *discordgo.MessageEmbed {
	return &discordgo.MessageEmbed{Title: "Price", Image: &discordgo.MessageEmbedImage{URL: "attachment://" + curve.name}}
}

// kept is an interaction that only the test answers, and what the fake has of it.
func (h *harness) kept(t *testing.T, i discordtest.Interaction) (*chat.Work, *pendingInteraction, *discordtest.Pending) {
	t.Helper()
	i.UserID = "5"
	fake, _ := h.fake.Keep(i)
	work := chat.NewWork(h.ctx, h.handler, h.Log, h.Count)
	t.Cleanup(func() { work.Drain() })
	return work, &pendingInteraction{
		interaction: &interaction{ID: fake.ID, Token: fake.Token, ApplicationID: h.fake.ApplicationID}, arrived: time.Now(),
	}, fake
}

// first gives the first response to p.
func (h *harness) first(t *testing.T, work *chat.Work, p *pendingInteraction, response *discordgo.InteractionResponse, files ...upload) {
	t.Helper()
	if err := h.callback(work, p.ID, p.Token, p.arrived, response, files...); err != nil {
		t.Fatalf("%v; refused: %q", err, h.fake.Problems())
	}
}

// showsCurve reports whether a message has curve once and nothing else attached.
func showsCurve(m discordtest.Message) bool {
	return len(m.Attachments) == 1 && m.Attachments[0].Name == curve.name && m.Attachments[0].Description == curve.description &&
		m.Attachments[0].ContentType == "image/png" && bytes.Equal(m.Attachments[0].Bytes, curve.png) && m.Text() == "\nPrice\n"
}

// However often a picture is sent, it is there once.
func TestAPictureArrivesOnceWhateverFails(t *testing.T) {
	for name, faults := range map[string][]discordtest.Fault{
		"nothing":                          nil,
		"server error":                     {{Status: 502}, {Status: 503}},
		"server error, but carried out":    {{Status: 502, Landed: true}},
		"connection lost":                  {{Drop: true}, {Drop: true}},
		"connection lost, but carried out": {{DropAnswer: true}},
		"limited":                          {{Status: 429, RetryAfter: 100 * time.Millisecond}},
	} {
		for way, route := range map[string]discordtest.Route{"first response": discordtest.Callback, "edit": discordtest.Edit} {
			t.Run(way+"/"+name, func(t *testing.T) {
				simulate(t, func(t *testing.T, h *harness) {
					work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
					h.fake.Script(route, faults...)
					var err error
					if way == "edit" {
						h.first(t, work, p, deferral(0))
						err = h.editOriginal(work, p, edited(withCurve()), curve)
					} else {
						err = h.callback(work, p.ID, p.Token, p.arrived, message(withCurve(), 0), curve)
					}
					if err != nil || !showsCurve(fake.Answer().Message) || len(h.fake.Messages()) != 1 {
						t.Errorf("%v; refused: %q; shown: %+v", err, h.fake.Problems(), h.fake.Messages())
					}
					if got := h.fake.Calls(route); got != len(faults)+1 {
						t.Errorf("%d calls", got)
					}
				})
			})
		}
	}
}

func TestAPictureGivesWayToTheNextAnswer(t *testing.T) {
	simulate(t, func(t *testing.T, h *harness) {
		text := &discordgo.MessageEmbed{Title: "Price"}
		work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
		h.first(t, work, p, message(withCurve(), 0), curve)
		press := func(response *discordgo.InteractionResponse, files ...upload) *pendingInteraction {
			work, p, _ := h.kept(t, fake.Press("5", "1:price"))
			h.first(t, work, p, response, files...)
			return p
		}
		attached := func(what string, want int) {
			t.Helper()
			if now := fake.Answer().Attachments; len(now) != want {
				t.Errorf("%s: %d attachments", what, len(now))
			}
		}
		update := func(embed *discordgo.MessageEmbed) *discordgo.InteractionResponse {
			response := message(embed, 0)
			response.Type = discordgo.InteractionResponseUpdateMessage
			return response
		}
		press(update(withCurve()), curve)
		attached("another picture", 1)
		press(update(text))
		attached("an update without one", 0)
		press(update(withCurve()), curve)
		p = press(&discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate})
		attached("a promise", 1)
		if err := h.editOriginal(work, p, edited(text)); err != nil {
			t.Error(err)
		}
		attached("an edit without one", 0)
		if refused := h.fake.Problems(); len(refused) > 0 {
			t.Errorf("refused: %q", refused)
		}
	})
}

// What waits for other calls holds the picture that all share, and no copy.
func TestPicturesThatWaitTakeNoMemory(t *testing.T) {
	const waiting, mib = 40, 1 << 20
	simulate(t, func(t *testing.T, h *harness) {
		if err := h.calls.Acquire(h.ctx, maxCalls); err != nil {
			t.Fatal(err)
		}
		large := upload{name: curve.name, png: make([]byte, mib)}
		work, p, _ := h.kept(t, discordtest.Interaction{Command: "price"})
		before := heap()
		ended := make(chan error, waiting)
		for range waiting {
			go func() { ended <- h.editOriginal(work, p, edited(withCurve()), large) }()
		}
		synctest.Wait()
		if grown := heap() - before; grown > waiting*mib/4 {
			t.Errorf("%d uploads of 1 MiB that wait hold %d MiB", waiting, grown/mib)
		}
		h.calls.Release(maxCalls)
		for range waiting {
			if err := <-ended; err == nil {
				t.Error("an answer that was never promised was edited")
			}
		}
	})
}

// heap is what is in use after a collection, in bytes.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A message beside the answer may be there twice, where nobody knows, but it is
// never shown to others.
func TestTheAskerIsToldAlone(t *testing.T) {
	for name, test := range map[string]struct {
		faults      []discordtest.Fault
		shown       int
		calls       int
		atLeast     time.Duration
		undelivered bool
	}{
		"nothing fails":        {nil, 1, 1, 0, false},
		"limited again":        {[]discordtest.Fault{{Status: 429, RetryAfter: time.Second}, {Status: 429, RetryAfter: time.Second}, {Status: 429, RetryAfter: time.Second}, {Status: 429, RetryAfter: time.Second}}, 1, 5, 4 * time.Second, false},
		"502":                  {[]discordtest.Fault{{Status: 502}}, 1, 2, 2 * time.Second, false},
		"502, but carried out": {[]discordtest.Fault{{Status: 502, Landed: true}}, 2, 2, 2 * time.Second, false},
		"dropped twice":        {[]discordtest.Fault{{Drop: true}, {DropAnswer: true}}, 2, 3, 7 * time.Second, false},
		"502 three times":      {[]discordtest.Fault{{Status: 502}, {Status: 500}, {Status: 502}}, 0, 3, 7 * time.Second, true},
		"refused":              {[]discordtest.Fault{{Status: 403, Code: 50001}}, 0, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				work, p, asked := h.kept(t, discordtest.Interaction{Command: "price", GuildID: "7"})
				h.first(t, work, p, message(&discordgo.MessageEmbed{Title: "Price"}, 0))
				work, p, fake := h.kept(t, asked.Press("5", "1:price"))
				h.first(t, work, p, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate})
				h.fake.Script(discordtest.FollowUp, test.faults...)
				began := time.Now()
				err := h.tellAsker(work, p, discordgo.WebhookParams{Content: "Too fast", AllowedMentions: mentionNobody})
				a := fake.Answer()
				if (err != nil) != test.undelivered || len(a.Followups) != test.shown || h.fake.Calls(discordtest.FollowUp) != test.calls ||
					time.Since(began) < test.atLeast {
					t.Errorf("%v after %v and %d calls; refused: %q; shown: %+v", err, time.Since(began),
						h.fake.Calls(discordtest.FollowUp), h.fake.Problems(), a.Followups)
				}
				for _, m := range a.Followups {
					if !m.Ephemeral || m.SeenBy != "5" {
						t.Errorf("seen by others: %+v", m)
					}
				}
				if m := asked.Answer().Message; m.Text() != "\nPrice\n" || m.Edited != 0 {
					t.Errorf("the answer became %+v", m)
				}
			})
		})
	}
}

// The first response by HTTP can come after what needs it.
func TestATellingThatOvertakesTheFirstResponseIsRepeated(t *testing.T) {
	simulate(t, func(t *testing.T, h *harness) {
		for _, byHTTP := range []bool{true, false} {
			_, _, asked := h.kept(t, discordtest.Interaction{Command: "price"})
			work, p, fake := h.kept(t, asked.Press("5", "x"))
			p.byHTTP = byHTTP
			ended := make(chan error, 1)
			go func() {
				ended <- h.tellAsker(work, p, discordgo.WebhookParams{Content: "x", AllowedMentions: mentionNobody})
			}()
			pass(time.Second)
			h.first(t, work, p, message(&discordgo.MessageEmbed{Title: "first"}, 0))
			if err := <-ended; (err == nil) != byHTTP || len(fake.Answer().Followups) != map[bool]int{true: 1}[byHTTP] {
				t.Errorf("by HTTP %v: %v, shown %+v", byHTTP, err, fake.Answer().Followups)
			}
		}
	})
}
