package telegram

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// pictured is a reply with a picture of this width.
func pictured(t testing.TB, width int) chat.Reply {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 10))); err != nil {
		t.Fatal(err)
	}
	return chat.Reply{Title: chat.Say("Price"), Image: &chat.Image{Name: "price.png", PNG: b.Bytes(), Alt: chat.Say("It went up.")}}
}

func typesOf(entities []faketelegram.Entity) (types []string) {
	for _, e := range entities {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// What a server refuses of what a message looks like goes once more as plain text. It
// keeps what makes it safe: what is untrusted stays code, and a question says what it
// is about.
func TestWhatAServerRefusesGoesOnceMoreAsPlainText(t *testing.T) {
	for _, ask := range []*chat.Ask{nil, {Command: "staked", Question: chat.Say("Which?")}} {
		simulated(t, func(t *testing.T, r *rig) {
			reply := refreshed("x", 60)
			reply.Sections = []chat.Section{{Fields: []chat.Field{
				{Name: chat.Untrusted("evil.example"), Value: chat.Address{Hex: testWallet, URL: "https://explorer.example"}}}}}
			reply.Notes = []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Unix(1750000000, 0)}})}
			reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("Explorer"), URL: "https://explorer.example"},
				chat.Action{Label: chat.Say("Copy"), Copy: "x"}, chat.Action{Label: chat.Say("Open"), URL: "https://t.me/bot"})
			reply.Ask = ask
			r.answer(reply)
			r.api.MakeOlder(faketelegram.Older{DateTime: true})
			r.run()
			r.api.Push(inGroup(ann, "/price"))
			m, types, buttons := r.one(), []string{"code"}, " [Refresh] [Open]"
			if ask != nil {
				types, buttons = []string{"code", "text_link"}, ""
			}
			if !slices.Equal(typesOf(m.Entities), types) || labelsOf(m) != buttons || m.Markup.ForceReply != (ask != nil) || r.events.Of("send_refused") != 1 {
				t.Errorf("it is %+v", m)
			}
		})
	}
}

// A picture is sent with its answer as the caption; where Telegram will not take
// it, the answer is a text, as rich as it was; and where nobody knows, it is
// repeated.
func TestAPictureIsSentOrItsTextIs(t *testing.T) {
	unknown, refused := faketelegram.Page(502), faketelegram.Status(400)
	type faults []faketelegram.Fault
	type test struct {
		photo, text        faults
		pictures, messages int
	}
	inBubble(t, map[string]test{
		"taken":             {nil, nil, 1, 0},
		"refused":           {faults{refused, refused}, nil, 0, 1},
		"unknown twice":     {faults{unknown, unknown}, nil, 0, 1},
		"not allowed there": {faults{faketelegram.Status(403)}, nil, 0, 1},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		reply := pictured(t, 100)
		r.answer(reply)
		r.api.Fail("sendPhoto", tt.photo...)
		r.api.Fail("sendMessage", tt.text...)
		r.run()
		r.ask(1)
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
			if m.Text != "Price" {
				t.Errorf("it says %q", m.Text)
			}
			if m.Photo == nil && !slices.Contains(typesOf(m.Entities), "bold") {
				t.Errorf("it has only %q, though the picture was refused", typesOf(m.Entities))
			}
		}
		if pictures != tt.pictures || messages != tt.messages {
			t.Errorf("%d pictures and %d messages, want %d and %d", pictures, messages, tt.pictures, tt.messages)
		}
	})
}

// A picture takes the place of a text or of a picture. A text cannot take the
// place of a picture and stands below it, and so does the picture where the
// server is too old for the edit.
func TestAnEditMayTurnATextIntoAPicture(t *testing.T) {
	text, picture := chat.Reply{Title: chat.Say("text")}, pictured(t, 200)
	type test struct {
		from, to chat.Reply
		old      bool
		messages int
	}
	inBubble(t, map[string]test{
		"text to picture":          {text, picture, false, 1},
		"text to picture, refused": {text, picture, true, 2},
		"picture to text":          {picture, text, false, 2},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		first := tt.from
		first.Actions = refreshed("", 1).Actions
		r.answer(first)
		r.api.MakeOlder(faketelegram.Older{TextToMedia: tt.old})
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.sent(1)
		r.answer(tt.to)
		r.press(ann, "Refresh")
		if told := r.told(1)[0]; told.Text != "" || !r.api.WaitAcknowledged(soon) {
			t.Errorf("told %+v", told)
		}
		sent := r.sent(tt.messages)
		last := sent[len(sent)-1]
		if sent[0].Edits != 2-tt.messages || (last.Photo != nil) != (tt.to.Image != nil) ||
			last.Photo != nil && !bytes.Equal(last.Photo, tt.to.Image.PNG) {
			t.Errorf("%d messages, edited %d times", len(sent), sent[0].Edits)
		}
	})
}
