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

// unreachable refuses the connection, so that nothing is sent.
func unreachable(*http.Request) (*http.Response, error) {
	return nil, &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
}

// failedSend is a series of faults of sendMessage, and what becomes of one answer.
type failedSend struct {
	faults  []telegramtest.Fault
	sent    int // messages
	calls   int
	unknown int // calls that may have sent a message
	failed  int // 1 if the answer was given up
	refused int // 1 if Telegram refused it
}

// checkFailedSends asks for one answer in each of the cases.
func checkFailedSends(t *testing.T, cases map[string]failedSend) {
	t.Helper()
	inBubble(t, cases, func(t *testing.T, tt failedSend) {
		r := setUp(t)
		r.api.Fail("sendMessage", tt.faults...)
		r.run()
		r.pushPrices(1)
		if !r.api.WaitAcknowledged(20 * time.Minute) {
			t.Fatal("the update is not acknowledged")
		}
		calls := r.api.Calls("sendMessage")
		check(t, "messages", len(r.api.Sent()), tt.sent)
		check(t, "calls", len(calls), tt.calls)
		for i, call := range calls[1:] {
			least := time.Second
			if calls[i].Fault.Unclear() {
				least = 2 * time.Second
			}
			if gap := call.At.Sub(calls[i].At); gap < least {
				t.Errorf("call %d came %v after the one before", i+2, gap)
			}
		}
		for event, want := range map[string]int{
			"answered":             1 - tt.failed,
			"answer_failed":        tt.failed,
			"send_repeated":        tt.calls - 1,
			"send_outcome_unknown": tt.unknown,
			"send_refused":         tt.refused,
			"send_abandoned":       tt.failed - tt.refused,
			"rate_limited":         len(tt.faults) - tt.unknown - tt.refused,
		} {
			check(t, event, r.events.Of(event), want)
		}
		check(t, "lines of the log", strings.Count(r.logs.String(), "was not delivered"), tt.failed)
	})
}

// A message that may be delivered is sent at most three times, at least two seconds apart.
func TestFailedMessageIsRepeated(t *testing.T) {
	unknown := telegramtest.Status(http.StatusInternalServerError)
	delivered := unknown.CarriedOut()
	page := telegramtest.Page(http.StatusOK)
	tooMany := telegramtest.TooMany(time.Second)
	checkFailedSends(t, map[string]failedSend{
		"delivered": {
			faults:  []telegramtest.Fault{delivered},
			sent:    2,
			calls:   2,
			unknown: 1,
		},
		"delivered three times": {
			faults:  []telegramtest.Fault{delivered, delivered, delivered},
			sent:    3,
			calls:   3,
			unknown: 3,
			failed:  1,
		},
		"a page, then no answer": {
			faults:  []telegramtest.Fault{page, telegramtest.Hang()},
			sent:    1,
			calls:   3,
			unknown: 2,
		},
		"a 429 does not count": {
			faults:  []telegramtest.Fault{unknown, tooMany, unknown, unknown},
			calls:   4,
			unknown: 3,
			failed:  1,
		},
	})
}

func TestAMessageIsSentAfterA429ButNotAfterARefusal(t *testing.T) {
	tooMany := telegramtest.TooMany(2 * time.Minute)
	checkFailedSends(t, map[string]failedSend{
		"429 twice": {
			faults: []telegramtest.Fault{tooMany, tooMany},
			sent:   1,
			calls:  3,
		},
		"refused": {
			faults:  []telegramtest.Fault{telegramtest.NoRights()},
			calls:   1,
			failed:  1,
			refused: 1,
		},
	})
}

// An answer that a 429 holds back for more than five minutes is lost. One message says so once the chat may be
// written to. The adapter polls all the time, so a 429 lasts hardly longer than it must.
func TestChatLearnsOnceOfALong429(t *testing.T) {
	long, minutes := telegramtest.TooMany(6*time.Minute), telegramtest.TooMany(2*time.Minute)
	type test struct {
		people int
		faults []telegramtest.Fault
	}
	for way, change := range ways {
		inBubble(t, map[string]test{
			"three people": {people: 3, faults: []telegramtest.Fault{long, long}},
			"one person":   {people: 1, faults: []telegramtest.Fault{minutes, minutes, minutes}},
		}, func(t *testing.T, tt test) {
			r := setUp(t, change, paced)
			r.api.Fail("sendMessage", tt.faults...)
			r.run()
			for _, m := range differentCommands(tt.people) {
				r.deliverMessage(m)
				time.Sleep(time.Second)
			}
			start := time.Now()
			r.waitIdle(time.Hour)
			check(t, way+": lost answers", r.events.Of("send_abandoned"), tt.people)
			notice := r.waitSent(1)[0]
			if took := notice.At.Sub(start); took < 5*time.Minute || !strings.Contains(notice.Text, said("telegram.lost")) {
				t.Errorf("%s: told %q after %v", way, notice.Text, took)
			}
			r.deliverMessage(inGroup(ann, "/price"))
			r.waitSent(2)
		})
	}
}

// stopDuring stops the adapter after a call of a method has begun. It checks that the stop is in time and loses no
// answer.
func (r *adapterTest) stopDuring(method string, stop func() error) {
	r.Helper()
	r.waitFor("the call", func() bool { return r.events.Of(method) > 0 })
	start := time.Now()
	err := stop()
	if took := time.Since(start); err != nil || took > platform.DrainTime {
		r.Errorf("stopped after %v: %v", took, err)
	}
	if len(r.api.Pending()) != 1 || !strings.Contains(r.logs.String(), "was not delivered") {
		r.Fatalf("%d updates are queued; log:\n%s", len(r.api.Pending()), r.logs)
	}
}

func TestNextProcessSendsTheMessageThatAStopLeft(t *testing.T) {
	inBubble(t, map[string]roundTripper{
		"certainly not delivered": unreachable,
		"perhaps delivered":       hangs,
		"behind a 429":            limited(30),
	}, func(t *testing.T, failing roundTripper) {
		r := setUp(t)
		r.divert("sendMessage", time.Hour, failing)
		stop := r.run()
		r.pushPrices(1)
		r.stopDuring("sendMessage", stop)
		r.secondAdapter().run()
		r.api.WaitAcknowledged(atOnce)
		r.waitSent(1)
		check(t, "queued updates", len(r.api.Pending()), 0)
	})
}

func TestNextProcessMakesTheEditThatAStopLeft(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.divert("editMessageText", time.Hour, unreachable)
		r.answerAllWith(refreshed("new", 2))
		stop := r.run()
		r.pushAndWait(inPrivate(ann, "/price"))
		r.answerAllWith(refreshed("newer", 3))
		r.press(ann, "Refresh")
		r.stopDuring("editMessageText", stop)
		r.secondAdapter().run()
		r.api.WaitAcknowledged(atOnce)
		check(t, "text", r.one().Text, "newer")
		check(t, "queued updates", len(r.api.Pending()), 0)
	})
}

// pictured returns a reply with a picture of this width in pixels.
func pictured(t testing.TB, width int) *chat.Reply {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 10))); err != nil {
		t.Fatal(err)
	}
	return &chat.Reply{
		Title: chat.Say("Price"),
		Image: &chat.Image{Name: "price.png", PNG: b.Bytes(), Caption: chat.Say("It went up.")},
	}
}

// typesOf returns the types of the entities, each once, in order.
func typesOf(entities []faketelegram.Entity) (types []string) {
	for _, e := range entities {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// linkedReply returns a refreshed reply with an untrusted name, a linked wallet, a moment and three more buttons.
func linkedReply() *chat.Reply {
	reply := refreshed("x", 60)
	reply.Sections = []chat.Section{{
		Fields: []chat.Field{{
			Name:  chat.Untrusted("evil.example"),
			Value: chat.Address{Hex: testWallet, URL: "https://explorer.example"},
		}},
	}}
	when := chat.Moment{Time: time.Unix(1750000000, 0)}
	reply.Notes = []chat.Text{chat.SayWith("checked", chat.Values{"when": when})}
	reply.Actions = append(reply.Actions,
		chat.Action{Label: chat.Say("Explorer"), URL: "https://explorer.example"},
		chat.Action{Label: chat.Say("Copy"), Copy: "x"},
		chat.Action{Label: chat.Say("Open"), URL: "https://t.me/bot"},
	)
	return reply
}

// sentAfterTwoRefusals makes Telegram refuse a reply twice without a reason, and returns the message that it takes.
func (r *adapterTest) sentAfterTwoRefusals(reply *chat.Reply) faketelegram.Sent {
	r.Helper()
	r.answerAllWith(reply)
	refusal := telegramtest.Status(http.StatusBadRequest)
	r.api.Fail("sendMessage", refusal, refusal)
	r.run()
	r.api.Push(inGroup(ann, "/price"))
	m := r.one()
	check(r, "send_refused", r.events.Of("send_refused"), 2)
	return m
}

// The first attempt after a refusal has no links, and the second is plain text. Untrusted text stays code.
func TestRefusedMessageIsSentAsPlainText(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		m := r.sentAfterTwoRefusals(linkedReply())
		check(t, "entities", fmt.Sprint(typesOf(m.Entities)), "[code]")
		check(t, "buttons", labelsOf(m), " [Refresh] [Open]")
		check(t, "asks for a reply", m.Markup.ForceReply, false)
	})
}

func TestRefusedQuestionKeepsTheLinkThatNamesItsCommand(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		reply := linkedReply()
		reply.Ask = &chat.Ask{Command: "staked", Question: chat.Say("Which?")}
		m := r.sentAfterTwoRefusals(reply)
		check(t, "entities", fmt.Sprint(typesOf(m.Entities)), "[code text_link]")
		check(t, "buttons", labelsOf(m), "")
		check(t, "asks for a reply", m.Markup.ForceReply, true)
	})
}

// A text cannot replace a picture, and stands below it. So does a picture if the server is too old for the edit.
func TestRefreshReplacesATextByAPicture(t *testing.T) {
	text, picture := &chat.Reply{Title: chat.Say("text")}, pictured(t, 200)
	type test struct {
		from, to *chat.Reply
		refused  bool // whether the server refuses the edit
		edits    int
		messages int
	}
	inBubble(t, map[string]test{
		"text to picture":          {from: text, to: picture, edits: 1, messages: 1},
		"text to picture, refused": {from: text, to: picture, refused: true, messages: 2},
		"picture to text":          {from: picture, to: text, messages: 2},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		first := *tt.from
		first.Actions = refreshed("", 1).Actions
		r.answerAllWith(&first)
		if tt.refused {
			r.api.Fail("editMessageMedia", telegramtest.NoRights())
		}
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.waitSent(1)
		r.answerAllWith(tt.to)
		r.press(ann, "Refresh")
		check(t, "toast", r.pressAnswers(1)[0].Text, "")
		check(t, "acknowledged", r.api.WaitAcknowledged(atOnce), true)

		sent := r.waitSent(tt.messages)
		check(t, "edits", sent[0].Edits, tt.edits)
		last := sent[len(sent)-1]
		if tt.to.Image == nil {
			check(t, "picture", last.Photo == nil, true)
		} else if !bytes.Equal(last.Photo, tt.to.Image.PNG) {
			t.Errorf("the picture has %d bytes, want %d", len(last.Photo), len(tt.to.Image.PNG))
		}
	})
}
