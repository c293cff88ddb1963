package telegram

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform"
	"herald/internal/transport"
)

// unreachable is what a server that is down answers: no message is sent.
func unreachable(*http.Request) (*http.Response, error) {
	return nil, &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
}

// A message that may be out is sent again twice at most, seconds apart; one that
// certainly is not, for minutes; and one that Telegram refuses is not.
func TestFailedMessageIsRepeated(t *testing.T) {
	atOnce, later := telegramtest.TooMany(time.Second), telegramtest.TooMany(2*time.Minute)
	unknown, page, hang := telegramtest.Status(500), telegramtest.Page(http.StatusOK), telegramtest.Hang()
	type faults []telegramtest.Fault
	type test struct {
		faults  faults
		sent    int
		calls   int
		unknown int
		failed  int
	}
	inBubble(t, map[string]test{
		"429 twice":                 {faults{later, later}, 1, 3, 0, 0},
		"500, out":                  {faults{unknown.CarriedOut()}, 2, 2, 1, 0},
		"500 to the end, out":       {faults{unknown.CarriedOut(), unknown.CarriedOut(), unknown.CarriedOut()}, 3, 3, 3, 1},
		"a page and no answer":      {faults{page, hang}, 1, 3, 2, 0},
		"500 to the end beside 429": {faults{unknown, atOnce, unknown, unknown}, 0, 4, 3, 1},
		"refused":                   {faults{telegramtest.NoRights()}, 0, 1, 0, 1},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.api.Fail("sendMessage", tt.faults...)
		r.run()
		r.ask(1)
		if !r.api.WaitAcknowledged(20 * time.Minute) {
			t.Fatal("the update is not acknowledged")
		}
		calls := r.api.Calls("sendMessage")
		if len(r.api.Sent()) != tt.sent || len(calls) != tt.calls {
			t.Errorf("%d messages and %d calls, want %d and %d", len(r.api.Sent()), len(calls), tt.sent, tt.calls)
		}
		for i := range calls[1:] {
			if gap := calls[i+1].At.Sub(calls[i].At); gap < time.Second || calls[i].Fault.Unclear() && gap < 2*time.Second {
				t.Errorf("call %d came %v after the one before", i+2, gap)
			}
		}
		for event, want := range map[string]int{
			"send_repeated": tt.calls - 1, "send_outcome_unknown": tt.unknown, "answer_failed": tt.failed, "answered": 1 - tt.failed,
			"rate_limited": len(tt.faults) - tt.unknown - r.events.Of("send_refused"), "send_abandoned": tt.failed - r.events.Of("send_refused"),
		} {
			if n := r.events.Of(event); n != want {
				t.Errorf("%s is counted %d times, want %d", event, n, want)
			}
		}
		if strings.Count(r.logs.String(), "was not delivered") != tt.failed {
			t.Errorf("log:\n%s", r.logs)
		}
	})
}

// Answers that a 429 holds back for more than five minutes are lost. One message says so
// once the chat may be written to.
func TestChatLearnsOnceOfALong429(t *testing.T) {
	long, later := telegramtest.TooMany(time.Hour), telegramtest.TooMany(2*time.Minute)
	for way, change := range ways {
		for people, faults := range map[int][]telegramtest.Fault{3: {long, long}, 1: {later, later, later}} {
			t.Run(fmt.Sprint(way, " by ", people), func(t *testing.T) {
				simulated(t, func(t *testing.T, r *adapterTest) {
					r.api.Fail("sendMessage", faults...)
					r.run()
					for _, m := range flood(people) {
						r.send(m)
						time.Sleep(time.Second)
					}
					start := time.Now()
					r.idle(3 * time.Hour)
					if r.events.Of("send_abandoned") != people {
						t.Errorf("%d are lost: %v", people, r.events)
					}
					want := said("telegram.lost")
					if sent := r.sent(1); !strings.Contains(sent[0].Text, want) || sent[0].At.Sub(start) < 5*time.Minute {
						t.Errorf("it is told %q after %v", sent[0].Text, sent[0].At.Sub(start))
					}
					r.send(inGroup(ann, "/price"))
					r.sent(2)
				}, change, paced)
			})
		}
	}
}

// A stop takes no longer than a drain may, and loses no answer that is not out:
// the next process gives it.
func TestNextProcessSendsWhatAStopLeft(t *testing.T) {
	type test struct {
		method string
		carry  roundTripper
	}
	inBubble(t, map[string]test{
		"a message certainly not out": {"sendMessage", unreachable},
		"a message perhaps out":       {"sendMessage", hangs},
		"a message behind a 429":      {"sendMessage", limited(30)},
		"an edit":                     {"editMessageText", unreachable},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.carry(tt.method, time.Hour, tt.carry)
		r.answer(refreshed("new", 2))
		stop := r.run()
		if tt.method == "editMessageText" {
			r.give(inPrivate(ann, "/price"))
			r.answer(refreshed("newer", 3))
			r.press(ann, "Refresh")
		} else {
			r.ask(1)
		}
		r.waitFor("the call", func() bool { return r.events.Of(tt.method) > 0 })
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > platform.DrainTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if len(r.api.Pending()) != 1 || !strings.Contains(r.logs.String(), "was not delivered") {
			t.Fatalf("%d updates are queued; log:\n%s", len(r.api.Pending()), r.logs)
		}
		next := r.again()
		next.run()
		r.api.WaitAcknowledged(atOnce)
		if m := r.sent(1)[0]; len(r.api.Pending()) != 0 || tt.method == "editMessageText" && m.Text != "newer" {
			t.Errorf("the message is %+v", m)
		}
	})
}

// pictured is a reply with a picture of this width.
func pictured(t testing.TB, width int) *chat.Reply {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 10))); err != nil {
		t.Fatal(err)
	}
	return &chat.Reply{Title: chat.Say("Price"), Image: &chat.Image{Name: "price.png", PNG: b.Bytes(), Caption: chat.Say("It went up.")}}
}

func typesOf(entities []faketelegram.Entity) (types []string) {
	for _, e := range entities {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// A message that is refused without a reason is sent once more without links, and then as plain text. Untrusted text
// stays code, and a question keeps the link that names its command.
func TestRefusedMessageIsSentAsPlainText(t *testing.T) {
	for _, ask := range []*chat.Ask{nil, {Command: "staked", Question: chat.Say("Which?")}} {
		simulated(t, func(t *testing.T, r *adapterTest) {
			reply := refreshed("x", 60)
			reply.Sections = []chat.Section{{Fields: []chat.Field{
				{Name: chat.Untrusted("evil.example"), Value: chat.Address{Hex: testWallet, URL: "https://explorer.example"}}}}}
			reply.Notes = []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Unix(1750000000, 0)}})}
			reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("Explorer"), URL: "https://explorer.example"},
				chat.Action{Label: chat.Say("Copy"), Copy: "x"}, chat.Action{Label: chat.Say("Open"), URL: "https://t.me/bot"})
			reply.Ask = ask
			r.answer(reply)
			refusal := telegramtest.Status(http.StatusBadRequest)
			r.api.Fail("sendMessage", refusal, refusal)
			r.run()
			r.api.Push(inGroup(ann, "/price"))
			m, types, buttons := r.one(), []string{"code"}, " [Refresh] [Open]"
			if ask != nil {
				types, buttons = []string{"code", "text_link"}, ""
			}
			check(t, "entities", fmt.Sprint(typesOf(m.Entities)), fmt.Sprint(types))
			check(t, "buttons", labelsOf(m), buttons)
			check(t, "force reply", m.Markup.ForceReply, ask != nil)
			check(t, "send_refused", r.events.Of("send_refused"), 2)
		})
	}
}

// A picture takes the place of a text or of a picture. A text cannot take the
// place of a picture and stands below it, and so does the picture where the
// server is too old for the edit.
func TestEditTurnsTextIntoPicture(t *testing.T) {
	text, picture := &chat.Reply{Title: chat.Say("text")}, pictured(t, 200)
	type test struct {
		from, to *chat.Reply
		refused  bool
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
		if tt.refused {
			r.api.Fail("editMessageMedia", telegramtest.NoRights())
		}
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.sent(1)
		r.answer(tt.to)
		r.press(ann, "Refresh")
		if told := r.pressAnswers(1)[0]; told.Text != "" || !r.api.WaitAcknowledged(atOnce) {
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
