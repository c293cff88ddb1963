package discord

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/platform/discord/api"
	"herald/internal/words"
)

// early is what an edit gets that reaches Discord before the first response,
// where that is the body of an HTTP response.
var early = fakediscord.Fault{Status: 404, Code: 10015}

func TestASlowCommandIsPromisedThenEdited(t *testing.T) {
	eachWay(t, func(t *testing.T, h *harness) {
		h.reply(5*time.Second, chat.Reply{Title: chat.Say("at last")})
		for name, ephemeral := range map[string]bool{"price": false, "mylogins": true} {
			if h.way == byHTTP {
				h.fake.Script(fakediscord.Edit, early, early)
			}
			p := h.send(t, command(name))
			pass(api.FirstResponse)
			if a := p.Answer(); !a.Deferred || a.Ephemeral != ephemeral || a.Edits != 0 {
				t.Errorf("%s: first %+v", name, a)
			}
			pass(5 * time.Second)
			if a := p.Answer(); a.Edits != 1 || a.Ephemeral != ephemeral || !strings.Contains(a.Text(), "at last") {
				t.Errorf("%s: final %+v", name, a)
			}
		}
	})
}

func TestAnAnswerArrivesWhateverFailsOnItsWay(t *testing.T) {
	limited := fakediscord.Fault{Status: 429, RetryAfter: 900 * time.Millisecond}
	for name, faults := range map[string][]fakediscord.Fault{
		"connection lost before":  {{Drop: true}, {Drop: true}},
		"landed, but answer lost": {{DropAnswer: true}},
		"server error":            {{Status: 502}, {Status: 503}},
		"limited":                 {limited},
	} {
		for route, slow := range map[fakediscord.Route]time.Duration{fakediscord.Callback: 0, fakediscord.Edit: 5 * time.Second} {
			t.Run(name+", "+string(route), func(t *testing.T) {
				simulate(t, overGateway, func(t *testing.T, h *harness) {
					h.reply(slow, chat.Reply{Title: chat.Say("the price")})
					h.fake.Script(route, faults...)
					p := h.send(t, command("price"))
					pass(30 * time.Second)
					a := p.Answer()
					if !strings.Contains(a.Text(), "the price") || h.events.Of("answered") != 1 || h.fake.Calls(route) != len(faults)+1 {
						t.Errorf("%+v; counted %v", a, h.events)
					}
					if name == "limited" && a.Final < slow+limited.RetryAfter {
						t.Errorf("tried again after %v", a.Final)
					}
				})
			})
		}
	}
}

// Discord takes a first response for 3 seconds and the rest for 15 minutes. Only what is
// certainly not out may be delivered again, and is an error.
func TestAnswersThatAreNotOutAreCountedAndLogged(t *testing.T) {
	const always = 0
	type test struct {
		reply chat.Reply
		slow  time.Duration
		route fakediscord.Route
		fault fakediscord.Fault
		lasts int // calls
		event string
		calls int // demanded; 0 is any number
	}
	each(t, map[string]test{
		"two tries lost before one that comes too late": {chat.Reply{}, 0, fakediscord.Callback,
			fakediscord.Fault{Latency: 1400 * time.Millisecond, Drop: true}, 2, "answer_outcome_unknown", 3},
		"a first response that lands, acknowledged late": {chat.Reply{}, 0, fakediscord.Callback,
			fakediscord.Fault{Hang: true, Landed: true}, always, "answer_outcome_unknown", 3},
		"a first response that is refused": {chat.Reply{}, 0, fakediscord.Callback,
			fakediscord.Fault{Status: http.StatusBadRequest, Code: 50035}, always, "answer_failed", 1},
		"a deferral that never lands": {chat.Reply{}, 5 * time.Second, fakediscord.Callback,
			fakediscord.Fault{Status: http.StatusNotFound, Code: 10062}, always, "answer_expired", 1},
		"edits refused for 15 minutes": {chat.Reply{}, 5 * time.Second, fakediscord.Edit,
			fakediscord.Fault{Status: http.StatusBadGateway}, always, "answer_outcome_unknown", 0},
		"a limit longer than the token lives": {chat.Reply{}, 5 * time.Second, fakediscord.Edit,
			fakediscord.Fault{Status: http.StatusTooManyRequests, RetryAfter: 20 * time.Minute}, always, "answer_failed", 1},
		"a picture with a token that expired": {chat.Reply{Image: &curve}, 0, fakediscord.Edit,
			fakediscord.Fault{Status: http.StatusNotFound, Code: 10015}, always, "answer_expired", 0},
	}, func(t *testing.T, h *harness, tt test) {
		h.reply(tt.slow, tt.reply)
		if h.fake.Script(tt.route, slices.Repeat([]fakediscord.Fault{tt.fault}, tt.lasts)...); tt.lasts == always {
			h.fake.Break(tt.route, tt.fault)
		}
		p := h.send(t, command("price"))
		pass(20 * time.Minute)
		if h.events.Of(tt.event) != 1 || h.events.Of("answered") != 0 || tt.calls > 0 && h.fake.Calls(tt.route) != tt.calls {
			t.Errorf("counted %v, %d calls", h.events, h.fake.Calls(tt.route))
		}
		if n := h.logged.Lines("an answer"); n != 1 {
			t.Errorf("%d lines tell of it:\n%s", n, h.logged)
		}
		failed, known := h.logged.Lines("level=ERROR") == 1, h.Dedup.Claim(t.Context(), "discord:interaction:"+p.ID)
		if failed != (tt.event == "answer_failed") || (known == chat.Answered) != (tt.event == "answer_outcome_unknown") {
			t.Errorf("delivered again it would be %v; log:\n%s", known, h.logged)
		}
		h.fake.Break(tt.route, fakediscord.Fault{})
		h.ask(t, command("price"))
	})
}

// The age of an interaction that comes as it should, here of years, is not judged:
// this machine's clock may be wrong.
func TestAnInteractionThatIsDeliveredAgainIsAnsweredOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, h *harness) {
		shown := h.ask(t, command("price"))
		for n, i := range []fakediscord.Interaction{command("price"), shown.Press("5", "1 e 0 price")} {
			i.ID, i.Token = []string{"1234567", "1234568"}[n], []string{"again", "and again"}[n]
			h.ask(t, i)
			h.fake.Do(fakediscord.Action{Op: 7})
			pass(2 * time.Minute)
			h.send(t, i)
			pass(time.Second)
			if h.events.Of("duplicate") != n+1 || len(h.handler.Requests()) != n+2 || h.way == byHTTP && h.events.Of("status 503") != n+1 {
				t.Errorf("handled %d times, counted %v", len(h.handler.Requests()), h.events)
			}
			// By whichever way, and by a replica that shares what is known.
			if d := h.Dedup.Claim(t.Context(), "discord:interaction:"+i.ID); d != chat.Answered {
				t.Errorf("known as %v", d)
			}
		}
	})
}

func TestWhatThereIsNoRoomForIsDroppedAndCounted(t *testing.T) {
	eachWay(t, func(t *testing.T, h *harness) {
		h.inFlight.Add(maxInFlight - 1)
		defer h.inFlight.Add(1 - maxInFlight)
		h.reply(5*time.Second, chat.Reply{Title: chat.Say("done")})
		first := h.send(t, command("price"))
		pass(time.Second)
		for n, i := range []fakediscord.Interaction{command("price"), {Button: "1 e 0 price", On: &fakediscord.Message{Content: "x"}}} {
			p := h.send(t, i)
			pass(100 * time.Millisecond)
			if p.Answer().Callbacks != 0 || h.events.Of("dropped") != n+1 || h.way == byHTTP && h.events.Of("status 503") != n+1 {
				t.Errorf("%+v; counted %v", p.Answer(), h.events)
			}
		}
		if n := h.InFlight(); n != maxInFlight {
			t.Errorf("%d in flight", n)
		}
		pass(10 * time.Second)
		if a := first.Answer(); a.Edits != 1 || h.InFlight() != maxInFlight-1 {
			t.Errorf("%+v, %d in flight", a, h.InFlight())
		}
		h.ask(t, command("price"))
	})
}

func TestStoppingAnswersWhatIsInFlightAndStopsWhatTakesTooLong(t *testing.T) {
	for said, slow := range map[string]time.Duration{"done": 5 * time.Second, "stopped": time.Hour} {
		eachWay(t, func(t *testing.T, h *harness) {
			h.handler.Reply = func(ctx context.Context, _ chat.Request) chat.Reply {
				select {
				case <-time.After(slow):
					return chat.Reply{Title: chat.Say("done")}
				case <-ctx.Done():
					return chat.Reply{Title: chat.Say("stopped")}
				}
			}
			p := h.send(t, command("price"))
			pass(api.FirstResponse)
			began := time.Now()
			time.AfterFunc(time.Second, func() {
				if h.Ready() {
					t.Error("ready")
				}
			})
			if err := h.stop(); err != nil || time.Since(began) >= chat.DrainTime || h.fake.Connected() != 0 {
				t.Errorf("Run returned after %v: %v; %d connections to the gateway", time.Since(began), err, h.fake.Connected())
			}
			if a := p.Answer(); a.Edits != 1 || !strings.Contains(a.Text(), said) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// What the adapter says itself is in the language of whom it is said to.
func TestTheAdapterSpeaksTheUsersLanguage(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		h.reply(0, chat.Reply{Title: chat.Say("price"), AsOf: start, Actions: []chat.Action{refresh}})
		for locale, l := range map[string]chat.Language{"en-US": chat.English, "xx": chat.English, "ru": chat.Russian, "zh-CN": chat.Chinese} {
			i := command("price")
			i.Locale = locale
			p := h.ask(t, i)
			b, _ := p.Answer().Button("Refresh")
			for state, said := range map[string]chat.Text{b.CustomID: chat.Say("current"), "0 old": chat.OldButton().Title} {
				if a := h.ask(t, p.Press("5", state)).Answer(); !strings.Contains(a.Content, "**"+words.Say(l, said)+"**") {
					t.Errorf("%s: %q", locale, a.Text())
				}
			}
		}
	})
}

// Slow uploads and edits have places of their own.
func TestSlowEditsHoldUpNeitherFirstResponsesNorTheGateway(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		h.fake.Break(fakediscord.Edit, fakediscord.Fault{Latency: time.Minute})
		h.reply(0, chat.Reply{Title: chat.Say("Price"), Image: &curve})
		for range api.MaxFirst + api.MaxOther {
			h.send(t, command("price"))
		}
		pass(time.Second)
		h.reply(0, chat.Reply{Title: chat.Say("done")})
		if a := h.ask(t, command("supply")).Answer(); a.Callbacks != 1 || a.First > 500*time.Millisecond {
			t.Errorf("%+v", a)
		}
		h.fake.Do(fakediscord.Action{Op: 9}) // so that its address is asked for
		if pass(5 * time.Second); !h.Ready() {
			t.Error("not connected again")
		}
		h.fake.Break(fakediscord.Edit, fakediscord.Fault{})
		pass(time.Minute)
	})
}

// What has waited too long for a place would only keep others waiting.
func TestAFirstResponseThatGotNoPlaceInTimeIsNotSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		h.fake.Break(fakediscord.Callback, fakediscord.Fault{Latency: time.Minute})
		for range 2000 {
			h.send(t, command("price"))
		}
		pass(time.Minute)
		// A place is free again every 1.5 seconds, for 4 seconds.
		tried := h.events.Of("answer_outcome_unknown")
		if n := h.fake.Calls(fakediscord.Callback); n > 3*api.MaxFirst || tried == 0 || tried+h.events.Of("answer_failed") != 2000 {
			t.Errorf("%d calls, counted %v", n, h.events)
		}
	})
}

// Discord refuses a second first response: that proves that the first one landed,
// but only if there was one.
func TestAFirstResponseOfUnknownOutcomeThatDiscordHasIsDelivered(t *testing.T) {
	has := fakediscord.Fault{Status: http.StatusBadRequest, Code: 40060}
	type test struct {
		faults []fakediscord.Fault
		out    bool
	}
	each(t, map[string]test{
		"taken without a word": {[]fakediscord.Fault{{Hang: true, Landed: true}}, true},
		"taken, and a 502":     {[]fakediscord.Fault{{Status: http.StatusBadGateway, Landed: true}}, true},
		"by somebody else":     {[]fakediscord.Fault{has}, false},
		"limited, not landed":  {[]fakediscord.Fault{{Status: http.StatusTooManyRequests}, has}, false},
	}, func(t *testing.T, h *harness, tt test) {
		h.fake.Script(fakediscord.Callback, tt.faults...)
		p := h.send(t, command("price"))
		pass(10 * time.Second)
		id := h.handler.Requests()[0].ID
		if strings.Contains(p.Answer().Text(), "price") != tt.out || h.events.Of("answered") == 1 != tt.out || strings.Contains(h.logged.String(), "id="+id) == tt.out {
			t.Errorf("counted %v; log:\n%s", h.events, h.logged)
		}
	})
}

// One after the other they would take a second each.
func TestEditsDoNotWaitForEachOther(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		h.reply(5*time.Second, chat.Reply{Title: chat.Say("done")})
		h.fake.Break(fakediscord.Edit, fakediscord.Fault{Latency: time.Second})
		for range 50 {
			h.send(t, command("price"))
		}
		pass(7 * time.Second)
		if n := h.events.Of("answered"); n != 50 {
			t.Errorf("%d are answered", n)
		}
	})
}

var curve = chat.Image{Name: "price.png", Alt: chat.Say("The price rose."), PNG: bytes.Repeat([]byte("\x89PNG"), 10_000)}

// showsCurve reports whether a message has curve once and nothing else attached.
func showsCurve(m fakediscord.Message) bool {
	return len(m.Attachments) == 1 && m.Attachments[0].Name == curve.Name && m.Attachments[0].Description == words.Say(chat.English, curve.Alt) &&
		m.Attachments[0].ContentType == "image/png" && bytes.Equal(m.Attachments[0].Bytes, curve.PNG)
}

// However often a picture is sent, it is there once; and an answer does not
// depend on its picture.
func TestAPictureArrivesOnceOrTheAnswerIsText(t *testing.T) {
	type test struct {
		faults []fakediscord.Fault
		until  time.Duration // how long the first of them lasts; 0 is for one call
		text   bool
	}
	each(t, map[string]test{
		"nothing fails":                    {nil, 0, false},
		"server error, but carried out":    {[]fakediscord.Fault{{Status: 502, Landed: true}}, 0, false},
		"connection lost, but carried out": {[]fakediscord.Fault{{DropAnswer: true}}, 0, false},
		"too large":                        {[]fakediscord.Fault{{Status: 413, Code: 40005}}, 0, true},
		"nobody takes uploads":             {[]fakediscord.Fault{{Status: 503}}, pictureTime, true},
	}, func(t *testing.T, h *harness, tt test) {
		h.reply(0, chat.Reply{Title: chat.Say("Price"), Image: &curve})
		if h.fake.Script(fakediscord.Edit, tt.faults...); tt.until > 0 {
			h.fake.Break(fakediscord.Edit, tt.faults[0])
		}
		p := h.send(t, command("price"))
		pass(tt.until)
		h.fake.Break(fakediscord.Edit, fakediscord.Fault{})
		pass(time.Minute)
		a := p.Answer()
		if strings.TrimSpace(a.Text()) != "**Price**" || len(h.fake.Messages()) != 1 ||
			showsCurve(a.Message) == tt.text || tt.text && len(a.Attachments) != 0 {
			t.Errorf("shown: %+v", h.fake.Messages())
		}
		if !a.Deferred || h.events.Of("answered") != 1 || (h.events.Of("picture_failed") == 1) != tt.text {
			t.Errorf("deferred %v; counted %v", a.Deferred, h.events)
		}
	})
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
