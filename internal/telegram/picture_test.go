package telegram

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// drawing is a PNG of this width.
func drawing(t testing.TB, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 10))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictured is a reply with a picture of this width.
func pictured(t testing.TB, width int) chat.Reply {
	return chat.Reply{
		Title: chat.Say("Price"), Notes: []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Unix(1750000000, 0)}})},
		Image: &chat.Image{Name: "price.png", PNG: drawing(t, width), Alt: chat.Say("It went up.")},
	}
}

// A picture is sent with its answer as the caption; where Telegram will not take
// it, the answer is a text; and where nobody knows, it is repeated.
func TestAPictureIsSentOrItsTextIs(t *testing.T) {
	unclear := telegramtest.Page(502)
	for name, tt := range map[string]struct {
		photo, text []telegramtest.Fault
		older       telegramtest.Older
		pictures    int
		messages    int
	}{
		"taken":              {pictures: 1},
		"refused":            {photo: slices.Repeat([]telegramtest.Fault{telegramtest.Status(400)}, 3), messages: 1},
		"refused for dates":  {older: telegramtest.Older{DateTime: true}, pictures: 1},
		"429":                {photo: []telegramtest.Fault{telegramtest.TooMany(time.Second)}, pictures: 1},
		"unclear":            {photo: []telegramtest.Fault{unclear}, pictures: 1},
		"unclear and out":    {photo: []telegramtest.Fault{unclear.CarriedOut()}, pictures: 2},
		"unclear twice":      {photo: []telegramtest.Fault{unclear, unclear}, messages: 1},
		"unclear to the end": {photo: []telegramtest.Fault{unclear, unclear}, text: []telegramtest.Fault{unclear}},
		"not allowed there":  {photo: []telegramtest.Fault{telegramtest.Status(403)}, messages: 1},
		"too large":          {photo: slices.Repeat([]telegramtest.Fault{telegramtest.Status(413)}, 3), messages: 1},
		"nothing allowed":    {photo: []telegramtest.Fault{telegramtest.Status(403)}, text: []telegramtest.Fault{telegramtest.Status(403)}},
		"refused as a text":  {photo: slices.Repeat([]telegramtest.Fault{telegramtest.Status(400)}, 3), text: slices.Repeat([]telegramtest.Fault{telegramtest.Status(400)}, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				reply := pictured(t, 100)
				r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return reply }
				r.api.MakeOlder(tt.older)
				r.api.Fail("sendPhoto", tt.photo...)
				r.api.Fail("sendMessage", tt.text...)
				r.run()
				r.askers(1)
				if !r.api.WaitAcknowledged(time.Minute) {
					t.Error("the update is not acknowledged")
				}
				pictures, messages := 0, 0
				for _, m := range r.api.Sent() {
					if m.Photo == nil {
						messages++
					} else if pictures++; !bytes.Equal(m.Photo, reply.Image.PNG) {
						t.Error("it is another picture")
					}
					if !strings.HasPrefix(m.Text, "Price\n\nIt went up.\n") {
						t.Errorf("it says %q", m.Text)
					}
					if !slices.Contains(typesOf(m.Entities), "bold") {
						t.Errorf("it has only %q, though it was the picture that was refused", typesOf(m.Entities))
					}
				}
				if pictures != tt.pictures || messages != tt.messages {
					t.Errorf("%d pictures and %d messages, want %d and %d", pictures, messages, tt.pictures, tt.messages)
				}
			})
		})
	}
}

// Many who ask for the same picture at once share few messages.
func TestAPictureIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const askers = 50
		r, _ := paced(t)
		reply := pictured(t, 100)
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return reply }
		r.run()
		for i := range askers {
			r.api.Push(asks(0, i, "/price 7d"))
		}
		total := 0
		sent := r.settled(time.Minute)
		for _, m := range sent {
			total += answered(m)
			if m.Photo == nil {
				t.Errorf("sent %+v", m)
			}
		}
		if total != askers || len(sent) > 3 {
			t.Errorf("%d messages for %d of %d askers", len(sent), total, askers)
		}
	})
}

// A picture takes the place of a text or of a picture. A text cannot take the
// place of a picture and stands below it, and so does the picture where the
// server is too old for the edit.
func TestAnEditMayTurnATextIntoAPicture(t *testing.T) {
	text := chat.Reply{Title: chat.Say("text")}
	for _, before := range []string{"text", "picture"} {
		for _, after := range []string{"text", "picture", "picture, refused"} {
			t.Run(before+" to "+after, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kinds := map[string]chat.Reply{"text": text, "picture": pictured(t, 200), "picture, refused": pictured(t, 200)}
					older := telegramtest.Older{TextToMedia: after == "picture, refused"}
					r := card(t, nil, kinds[after])
					if before == "picture" {
						r = setUpInMemory(t, nil)
						asked := 0
						r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
							if asked++; asked > 1 {
								return kinds[after]
							}
							first := pictured(t, 100)
							first.Actions = refreshed("", 1).Actions
							return first
						}
						r.run()
						r.api.Push(writes(telegramtest.Group(group), ann, "/price"))
						r.sent(1)
					}
					r.api.MakeOlder(older)
					r.press(ann, "Refresh")
					if told := r.told(1)[0]; told.Text != "" {
						t.Errorf("told %+v", told)
					}
					r.api.WaitAcknowledged(soon)
					sent, want := r.api.Sent(), 1
					if before == "picture" && after == "text" || before == "text" && older.TextToMedia {
						want = 2
					}
					last := sent[len(sent)-1]
					if len(sent) != want || sent[0].Edits != 2-want || (last.Photo != nil) != (after != "text") || last.Photo != nil && !bytes.Equal(last.Photo, kinds[after].Image.PNG) {
						t.Errorf("%d messages, edited %d times", len(sent), sent[0].Edits)
					}
				})
			})
		}
	}
}

// A text that another press has turned into a picture meanwhile is answered below.
func TestATextForWhatHasBecomeAPictureStandsBelowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t, nil, pictured(t, 100), refreshed("late", 5))
		data := dataOf(r.one(), "Refresh")
		release := make(chan struct{})
		r.api.Fail("editMessageMedia", telegramtest.Held(release))
		for range 2 {
			r.api.Press(ann, telegramtest.Group(group), r.one().ID, data)
			synctest.Wait()
		}
		close(release)
		for _, told := range r.told(2) {
			if told.Text != "" {
				t.Errorf("told %+v", told)
			}
		}
		if sent := r.sent(2); sent[0].Photo == nil || sent[0].Edits != 1 || sent[1].Text != "late" || !r.api.WaitAcknowledged(soon) {
			t.Errorf("sent %+v", sent)
		}
	})
}

// A server that knows no date_time refuses one message of this process, which is
// sent with dates as text; the next ones are.
func TestAServerThatRefusesDatesIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.api.MakeOlder(telegramtest.Older{DateTime: true})
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			return chat.Reply{Title: chat.Say("x"), Notes: pictured(t, 1).Notes}
		}
		r.run()
		r.askers(1)
		r.sent(1)
		r.askers(3)
		for i, m := range r.sent(4) {
			if !strings.Contains(m.Text, "2025-06-15 15:06 UTC") {
				t.Errorf("message %d says %q", i, m.Text)
			}
		}
		if n := len(r.api.Calls("sendMessage")); n != 5 {
			t.Errorf("%d calls for 4 messages", n)
		}
	})
}

// A message that is refused for another reason says nothing about dates.
func TestARefusalForAnotherReasonKeepsTheDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			return chat.Reply{Title: chat.Say("x"), Notes: pictured(t, 1).Notes}
		}
		r.api.CloseTopic(group, 9)
		r.run()
		r.api.Push(writes(telegramtest.Group(group), ann, "/price").In(9))
		if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != 0 {
			t.Errorf("sent %+v", r.api.Sent())
		}
		r.askers(1)
		if m := r.sent(1)[0]; !strings.Contains(fmt.Sprint(m.Entities), "date_time") {
			t.Errorf("sent %+v", m)
		}
	})
}

func TestATelephoneRingsInPrivateAlone(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		if req.Command == "price" {
			return pictured(t, 100)
		}
		return secretReply(t.Context(), req)
	}
	r.api.Start(ann)
	r.run()
	for _, where := range []telegramtest.Chat{telegramtest.Group(group), telegramtest.Private(ann)} {
		for _, command := range []string{"/help", "/price", "/mylogins"} {
			r.api.Push(writes(where, ann, command))
		}
	}
	for _, m := range r.sent(7) {
		if m.Silent != (m.Chat == group) {
			t.Errorf("sent %+v", m)
		}
	}
}
