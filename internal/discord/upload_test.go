package discord

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/discord/discordtest"
)

var curve = chat.Image{Name: "price.png", Alt: chat.Say("The price rose."), PNG: bytes.Repeat([]byte("\x89PNG"), 10_000)}

// withCurve shows curve.
func withCurve() message { return render(chat.Reply{Title: chat.Say("Price"), Image: &curve}) }

// text shows a title alone.
func text(title string) message { return render(chat.Reply{Title: chat.Say(title)}) }

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
func (h *harness) first(t *testing.T, work *chat.Work, p *pendingInteraction, r response) {
	t.Helper()
	if err := h.callback(work, p.ID, p.Token, p.arrived, r); err != nil {
		t.Fatalf("%v; refused: %q", err, h.fake.Problems())
	}
}

// showsCurve reports whether a message has curve once and nothing else attached.
func showsCurve(m discordtest.Message) bool {
	return len(m.Attachments) == 1 && m.Attachments[0].Name == curve.Name && m.Attachments[0].Description == curve.Alt.Key &&
		m.Attachments[0].ContentType == "image/png" && bytes.Equal(m.Attachments[0].Bytes, curve.PNG) && m.Text() == "\nPrice\n"
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
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
				h.first(t, work, p, deferral(place{}))
				h.fake.Script(discordtest.Edit, faults...)
				err := h.edit(work, p, withCurve())
				if err != nil || !showsCurve(fake.Answer().Message) || len(h.fake.Messages()) != 1 {
					t.Errorf("%v; refused: %q; shown: %+v", err, h.fake.Problems(), h.fake.Messages())
				}
				if got := h.fake.Calls(discordtest.Edit); got != len(faults)+1 {
					t.Errorf("%d calls", got)
				}
			})
		})
	}
}

// An answer does not depend on its picture.
func TestAnAnswerWhosePictureCannotBeSentIsText(t *testing.T) {
	for name, test := range map[string]struct {
		fault discordtest.Fault
		until time.Duration // how long it lasts; 0 is for one call
	}{
		"too large":            {discordtest.Fault{Status: 413, Code: 40005}, 0},
		"no such permission":   {discordtest.Fault{Status: 403, Code: 50013}, 0},
		"malformed":            {discordtest.Fault{Status: 400, Code: 50035}, 0},
		"nobody takes uploads": {discordtest.Fault{Status: 503}, pictureTime},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
					return chat.Reply{Title: chat.Say("Price"), Image: &curve}
				}
				if h.fake.Script(discordtest.Edit, test.fault); test.until > 0 {
					h.fake.Break(discordtest.Edit, test.fault)
				}
				p := h.push(t, discordtest.Interaction{Command: "price"})
				pass(test.until)
				h.fake.Break(discordtest.Edit, discordtest.Fault{})
				pass(time.Minute)
				if a := p.Answer(); a.Text() != "\nPrice\n" || len(a.Attachments) != 0 || !a.Deferred || h.counts.of("answered") != 1 || h.counts.of("picture_failed") != 1 {
					t.Errorf("%+v; counted %v", a, h.counts.events)
				}
			})
		})
	}
}

// What Discord takes no answer to gets none without the picture either.
func TestAnExpiredAnswerIsNotTriedWithoutItsPicture(t *testing.T) {
	simulate(t, func(t *testing.T, h *harness) {
		work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
		h.first(t, work, p, deferral(place{}))
		fake.Expire()
		if err := h.edit(work, p, withCurve()); !expired(err) || h.fake.Calls(discordtest.Edit) != 1 {
			t.Errorf("%v after %d calls", err, h.fake.Calls(discordtest.Edit))
		}
	})
}

func TestAPictureGivesWayToTheNextAnswer(t *testing.T) {
	simulate(t, func(t *testing.T, h *harness) {
		work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
		h.first(t, work, p, deferral(place{}))
		if err := h.edit(work, p, withCurve()); err != nil {
			t.Fatal(err)
		}
		attached := func(what string, want int) {
			t.Helper()
			if now := fake.Answer().Attachments; len(now) != want {
				t.Errorf("%s: %d attachments", what, len(now))
			}
		}
		press := func(r response) *pendingInteraction {
			work, p, _ := h.kept(t, fake.Press("5", "1:price"))
			h.first(t, work, p, r)
			return p
		}
		promised := func(m message) {
			p := press(deferral(place{replaces: true}))
			attached("a promise", 1)
			if err := h.edit(work, p, m); err != nil {
				t.Error(err)
			}
		}
		promised(withCurve())
		attached("another picture", 1)
		promised(text("Price"))
		attached("an edit without one", 0)
		if err := h.edit(work, p, withCurve()); err != nil {
			t.Error(err)
		}
		press(response{discordgo.InteractionResponseUpdateMessage, text("Price")})
		attached("an update without one", 0)
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
		large := withCurve()
		large.files[0].png = make([]byte, mib)
		work, p, _ := h.kept(t, discordtest.Interaction{Command: "price"})
		before := heap()
		ended := make(chan error, waiting)
		for range waiting {
			go func() { ended <- h.edit(work, p, large) }()
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
				h.first(t, work, p, newMessage(text("Price"), false))
				work, p, fake := h.kept(t, asked.Press("5", "1:price"))
				h.first(t, work, p, deferral(place{replaces: true}))
				h.fake.Script(discordtest.FollowUp, test.faults...)
				began := time.Now()
				err := h.tellAsker(work, p, text("Too fast"))
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
				ended <- h.tellAsker(work, p, text("x"))
			}()
			pass(time.Second)
			h.first(t, work, p, newMessage(text("first"), false))
			if err := <-ended; (err == nil) != byHTTP || len(fake.Answer().Followups) != map[bool]int{true: 1}[byHTTP] {
				t.Errorf("by HTTP %v: %v, shown %+v", byHTTP, err, fake.Answer().Followups)
			}
		}
	})
}
