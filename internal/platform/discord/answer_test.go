package discord

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
	"herald/internal/words"
)

// priceAgain is the state of a button that asks for the price again.
const priceAgain = "1 e 0 price"

func TestASlowCommandIsDeferredThenEdited(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("at last")})
		for name, ephemeral := range map[string]bool{"price": false, "mylogins": true} {
			p := h.send(t, command(name))
			pass(api.FirstResponse)
			a := p.Answer()
			equal(t, name+" is deferred", a.Deferred, true)
			equal(t, name+" is deferred for the user alone", a.Ephemeral, ephemeral)
			equal(t, "edits while it runs", a.Edits, 0)
			pass(5 * time.Second)
			a = p.Answer()
			equal(t, "edits", a.Edits, 1)
			equal(t, name+" is for the user alone", a.Ephemeral, ephemeral)
			checkText(t, a, "at last")
		}
	})
}

// tooEarly is Discord's response to an edit or a follow-up that arrives before the first response. That can happen if
// the first response is the body of an HTTP response.
var tooEarly = discordtest.Fault{Status: http.StatusNotFound, Code: 10015}

func TestAnEditBeforeTheFirstResponseIsRetried(t *testing.T) {
	simulate(t, byHTTP, func(t *testing.T, h *adapterTest) {
		h.fake.Script(fakediscord.Edit, tooEarly, tooEarly)
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("at last")})
		p := h.send(t, command("price"))
		pass(api.FirstResponse + 5*time.Second)
		equal(t, "calls", h.fake.Calls(fakediscord.Edit), 3)
		equal(t, "edits", p.Answer().Edits, 1)
		checkText(t, p.Answer(), "at last")
	})
}

func TestAnAnswerArrivesInSpiteOfPassingFaults(t *testing.T) {
	durations := map[fakediscord.Route]time.Duration{ // how long a command takes whose answer is sent by the route
		fakediscord.Callback: 0,
		fakediscord.Edit:     5 * time.Second,
	}
	for name, faults := range map[string][]discordtest.Fault{
		"connection lost before": {{Drop: true}, {Drop: true}},
		"delivered, answer lost": {{DropAnswer: true}},
		"server error":           {{Status: 502}, {Status: 503}},
		"limited":                {{Status: 429, RetryAfter: 900 * time.Millisecond}},
		"a proxy's page instead": {{Status: http.StatusOK}},
		"no answer at all":       {{Hang: true}},
	} {
		for route, duration := range durations {
			t.Run(name+", "+string(route), func(t *testing.T) {
				simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
					h.replyAfter(duration, &chat.Reply{Title: chat.Say("the price")})
					h.fake.Script(route, faults...)
					p := h.send(t, command("price"))
					pass(30 * time.Second)
					checkText(t, p.Answer(), "the price")
					h.checkCount(t, "answered", 1)
					equal(t, "calls", h.fake.Calls(route), len(faults)+1)
					took := p.Answer().Final
					if least := duration + faults[0].RetryAfter; took < least {
						t.Errorf("the answer took %v, want at least %v", took, least)
					}
				})
			})
		}
	}
}

// undelivered is an answer whose delivery fails.
type undelivered struct {
	reply *chat.Reply   // the empty Reply if it is nil
	slow  time.Duration // how long the command takes
	route fakediscord.Route
	fault discordtest.Fault // of the calls of route
	lasts int               // how many calls have the fault; if it is 0, all have it

	wantEvent string         // counted once
	wantLevel string         // of the log line
	wantCalls int            // of route; if it is 0, any number
	wantClaim claim.Progress // of the interaction, afterwards
}

// checkUndelivered sends one command in each of the cases, and checks what is counted, logged and claimed.
func checkUndelivered(t *testing.T, cases map[string]undelivered) {
	t.Helper()
	simulateEach(t, cases, func(t *testing.T, h *adapterTest, tt undelivered) {
		h.replyAfter(tt.slow, cmp.Or(tt.reply, &chat.Reply{}))
		if tt.lasts == 0 {
			h.fake.Break(tt.route, tt.fault)
		} else {
			h.fake.Script(tt.route, slices.Repeat([]discordtest.Fault{tt.fault}, tt.lasts)...)
		}
		p := h.send(t, command("price"))
		end := time.Now().Add(16 * time.Minute) // Discord accepts an answer for 15 minutes.
		for h.events.Of(tt.wantEvent) == 0 && time.Now().Before(end) {
			pass(time.Second)
		}
		h.checkCount(t, tt.wantEvent, 1)
		h.checkCount(t, "answered", 0)
		if tt.wantCalls > 0 {
			equal(t, "calls", h.fake.Calls(tt.route), tt.wantCalls)
		}
		equal(t, "lines about it", h.logged.Lines("an answer"), 1)
		equal(t, "lines of its level", h.logged.Lines("level="+tt.wantLevel), 1)
		progress, _ := h.Dedup.Claim(t.Context(), "discord:interaction:"+p.ID)
		equal(t, "claim", progress, tt.wantClaim)
		h.mend(tt.route)
		h.ask(t, command("price")) // The next command is answered.
	})
}

// Discord accepts a first response for 3 seconds. The claim is released, so that the interaction may be answered again,
// only if Discord certainly has no response.
func TestFirstResponsesThatAreNotDeliveredAreCountedAndLogged(t *testing.T) {
	checkUndelivered(t, map[string]undelivered{
		"two attempts lost before one that comes too late": {
			route:     fakediscord.Callback,
			fault:     discordtest.Fault{Latency: 1400 * time.Millisecond, Drop: true},
			lasts:     2,
			wantEvent: "answer_outcome_unknown",
			wantLevel: "WARN",
			wantCalls: 3,
			wantClaim: claim.Done,
		},
		"delivered, but acknowledged late": {
			route:     fakediscord.Callback,
			fault:     discordtest.Fault{Hang: true, Landed: true},
			wantEvent: "answer_outcome_unknown",
			wantLevel: "WARN",
			wantCalls: 3,
			wantClaim: claim.Done,
		},
		"refused": {
			route:     fakediscord.Callback,
			fault:     discordtest.Fault{Status: http.StatusBadRequest, Code: 50035},
			wantEvent: "answer_failed",
			wantLevel: "ERROR",
			wantCalls: 1,
			wantClaim: claim.New,
		},
		"a deferral that is never delivered": {
			slow:      5 * time.Second,
			route:     fakediscord.Callback,
			fault:     discordtest.Fault{Status: http.StatusNotFound, Code: 10062},
			wantEvent: "answer_expired",
			wantLevel: "WARN",
			wantCalls: 1,
			wantClaim: claim.New,
		},
	})
}

// Discord accepts an edit for 15 minutes. It is logged as an error only if it certainly was not delivered.
func TestEditsThatAreNotDeliveredAreCountedAndLogged(t *testing.T) {
	checkUndelivered(t, map[string]undelivered{
		"refused for 15 minutes": {
			slow:      5 * time.Second,
			route:     fakediscord.Edit,
			fault:     discordtest.Fault{Status: http.StatusBadGateway},
			wantEvent: "answer_outcome_unknown",
			wantLevel: "WARN",
			wantClaim: claim.Done,
		},
		"a limit longer than the token lives": {
			slow:      5 * time.Second,
			route:     fakediscord.Edit,
			fault:     discordtest.Fault{Status: http.StatusTooManyRequests, RetryAfter: 20 * time.Minute},
			wantEvent: "answer_failed",
			wantLevel: "ERROR",
			wantCalls: 1,
			wantClaim: claim.Done,
		},
		"a picture with a token that expired": {
			reply:     &chat.Reply{Image: &curve},
			route:     fakediscord.Edit,
			fault:     discordtest.Fault{Status: http.StatusNotFound, Code: 10015},
			wantEvent: "answer_expired",
			wantLevel: "WARN",
			wantClaim: claim.Done,
		},
	})
}

// The interactions' IDs contain a time years ago. That does not matter, because this machine's clock may be wrong.
func TestARepeatedInteractionIsAnsweredOnce(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		shown := h.ask(t, command("price"))
		typed := command("price")
		typed.ID, typed.Token = "1234567", "again"
		pressed := shown.Press("5", priceAgain)
		pressed.ID, pressed.Token = "1234568", "and again"
		for n, i := range []fakediscord.Interaction{typed, pressed} {
			h.ask(t, i)
			h.fake.Do(fakediscord.Action{Op: opReconnect})
			pass(2 * time.Minute)
			h.send(t, i)
			pass(time.Second)
			h.checkCount(t, "duplicate", n+1)
			equal(t, "handled", len(h.handler.Requests()), n+2)
			if h.way == byHTTP {
				h.checkCount(t, "status 503", n+1)
			}
			// Another replica with the same store also does not answer it.
			again, _ := h.Dedup.Claim(t.Context(), "discord:interaction:"+i.ID)
			equal(t, "claim", again, claim.Done)
		}
	})
}

func TestAPressRepeatedWhileItsCommandRunsIsHandledOnce(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		press := h.ask(t, command("price")).Press("5", priceAgain)
		press.ID, press.Token = "1234567", "again"
		h.replyAfter(time.Second, &chat.Reply{Title: chat.Say("done")})
		before := len(h.handler.Requests())
		for range 2 {
			h.send(t, press)
			pass(100 * time.Millisecond)
		}
		pass(10 * time.Second)
		equal(t, "handled", len(h.handler.Requests())-before, 1)
		h.checkCount(t, "duplicate", 1)
	})
}

func TestInteractionsBeyondTheBoundAreDropped(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		maximum := map[way]int{overGateway: maxInFlight, byHTTP: maxByHTTP}[h.way]
		others := int64(maximum - 1)
		h.inFlight.Add(others)
		defer h.inFlight.Add(-others)
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("done")})
		first := h.send(t, command("price"))
		pass(time.Second)
		press := fakediscord.Interaction{Button: priceAgain, On: &fakediscord.Message{Content: "x"}}
		for n, i := range []fakediscord.Interaction{command("price"), press} {
			p := h.send(t, i)
			pass(100 * time.Millisecond)
			equal(t, "responses", p.Answer().Callbacks, 0)
			h.checkCount(t, "dropped", n+1)
			if h.way == byHTTP {
				h.checkCount(t, "status 503", n+1)
			}
		}
		equal(t, "in flight", h.InFlight(), maximum)
		pass(10 * time.Second)
		equal(t, "edits", first.Answer().Edits, 1)
		equal(t, "in flight afterwards", h.InFlight(), maximum-1)
		h.ask(t, command("price"))
	})
}

// checkStop stops the Adapter during a command that takes a time, and checks that the answer is want. The command
// answers "done" after that time, or "stopped" if its context ends before.
func checkStop(t *testing.T, h *adapterTest, takes time.Duration, want string) {
	h.handler.Reply = func(ctx context.Context, _ *chat.Request) *chat.Reply {
		select {
		case <-time.After(takes):
			return &chat.Reply{Title: chat.Say("done")}
		case <-ctx.Done():
			return &chat.Reply{Title: chat.Say("stopped")}
		}
	}
	p := h.send(t, command("price"))
	pass(api.FirstResponse)
	start := time.Now()
	time.AfterFunc(time.Second, func() { equal(t, "ready while it stops", h.Ready(), false) })
	equal(t, "Run", h.stop(), nil)
	if took := time.Since(start); took >= platform.DrainTime {
		t.Errorf("Run returned after %v", took)
	}
	equal(t, "connections to the gateway", h.fake.Connected(), 0)
	equal(t, "edits", p.Answer().Edits, 1)
	checkText(t, p.Answer(), want)
}

func TestStoppingLetsACommandFinish(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) { checkStop(t, h, 5*time.Second, "done") })
}

func TestStoppingEndsACommandThatTakesTooLong(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) { checkStop(t, h, time.Hour, "stopped") })
}

// The adapter itself, not the handler, replies that an answer is current, and that a button is old.
func TestTheAdapterSpeaksTheUsersLanguage(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.replyAfter(0, &chat.Reply{Title: chat.Say("price"), Source: asOf(0), Actions: []chat.Action{refresh}})
		for locale, language := range map[string]chat.Language{
			"en-US": chat.English,
			"xx":    chat.English,
			"ru":    chat.Russian,
			"zh-CN": chat.Chinese,
		} {
			i := command("price")
			i.Locale = locale
			p := h.ask(t, i)
			b, _ := p.Answer().Button("Refresh")
			for state, want := range map[string]chat.Text{
				b.CustomID: chat.Say("current"),
				"0 old":    chat.OldButton().Title,
			} {
				title := words.Print(&chat.Reply{Language: language, Title: want}).Title.String()
				checkText(t, h.ask(t, p.Press("5", state)).Answer(), "**"+title+"**")
			}
		}
	})
}

func TestSlowEditsDoNotDelayOtherCalls(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Break(fakediscord.Edit, discordtest.Fault{Latency: time.Minute})
		h.replyAfter(0, &chat.Reply{Title: chat.Say("Price"), Image: &curve})
		for range api.MaxFirst + api.MaxOther {
			h.send(t, command("price"))
		}
		pass(time.Second)
		h.replyAfter(0, &chat.Reply{Title: chat.Say("done")})
		if a := h.ask(t, command("supply")).Answer(); a.First > 500*time.Millisecond {
			t.Errorf("a first response took %v", a.First)
		}
		h.fake.Do(fakediscord.Action{Op: opInvalidSession}) // The bot then asks Discord for the gateway's URL.
		pass(5 * time.Second)
		equal(t, "connected again", h.Ready(), true)
		h.mend(fakediscord.Edit)
		pass(time.Minute)
	})
}

// It would only delay the first responses of later interactions.
func TestALateFirstResponseIsNotSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: time.Minute})
		for range 2000 {
			h.send(t, command("price"))
		}
		pass(time.Minute)
		// MaxFirst calls run at the same time, and each is given up after 1.5 s. No call begins after 4 s. So calls begin at
		// 0, 1.5 and 3 s.
		if n := h.fake.Calls(fakediscord.Callback); n > 3*api.MaxFirst {
			t.Errorf("%d calls", n)
		}
		sent := h.events.Of("answer_outcome_unknown")
		equal(t, "some were sent", sent > 0, true)
		h.checkCount(t, "answer_failed", 2000-sent)
	})
}

// Discord refuses a second response to an interaction with code 40060, which means "already acknowledged". If an
// attempt with an unknown outcome came before, it was delivered. Otherwise, somebody else has answered.
func TestAlreadyAcknowledgedMeansDeliveredOnlyAfterAnUnknownOutcome(t *testing.T) {
	acknowledged := discordtest.Fault{Status: http.StatusBadRequest, Code: 40060}
	type test struct {
		faults    []discordtest.Fault
		delivered bool
	}
	simulateEach(t, map[string]test{
		"delivered without a response": {
			faults:    []discordtest.Fault{{Hang: true, Landed: true}},
			delivered: true,
		},
		"delivered, and a 502": {
			faults:    []discordtest.Fault{{Status: http.StatusBadGateway, Landed: true}},
			delivered: true,
		},
		"answered by somebody else": {
			faults:    []discordtest.Fault{acknowledged},
			delivered: false,
		},
		"limited, then answered by somebody else": {
			faults:    []discordtest.Fault{{Status: http.StatusTooManyRequests}, acknowledged},
			delivered: false,
		},
	}, func(t *testing.T, h *adapterTest, tt test) {
		h.fake.Script(fakediscord.Callback, tt.faults...)
		p := h.send(t, command("price"))
		pass(10 * time.Second)
		equal(t, "the answer is shown", strings.Contains(p.Answer().Text(), "price"), tt.delivered)
		equal(t, "it is counted as answered", h.events.Of("answered") == 1, tt.delivered)
		equal(t, "nothing is logged", h.logged.Lines("id="+h.handler.Requests()[0].ID) == 0, tt.delivered)
	})
}

// curve is the picture of an answer.
var curve = chat.Image{
	Name:    "price.png",
	Caption: chat.Say("The price rose."),
	PNG:     bytes.Repeat([]byte("\x89PNG"), 10_000),
}

// showsCurve reports whether curve is the only attachment of a message.
func showsCurve(m fakediscord.Message) bool {
	if len(m.Attachments) != 1 {
		return false
	}
	shown := m.Attachments[0]
	return shown.Name == curve.Name && shown.Description == words.Say(chat.English, curve.Caption) &&
		shown.ContentType == "image/png" && bytes.Equal(shown.Bytes, curve.PNG)
}

// checkPriceCard fails the test unless there is one message, with the title "Price" and, if hasCurve is true, with
// curve. If hasCurve is false, the picture must have failed.
func (h *adapterTest) checkPriceCard(t *testing.T, p *fakediscord.Pending, hasCurve bool) {
	t.Helper()
	a := p.Answer()
	h.messages(t, 1)
	equal(t, "text", strings.TrimSpace(a.Text()), "**Price**")
	equal(t, "the picture is shown", showsCurve(a.Message), hasCurve)
	equal(t, "nothing is attached", len(a.Attachments) == 0, !hasCurve)
	equal(t, "it was deferred", a.Deferred, true)
	equal(t, "the picture failed", h.events.Of("picture_failed") == 1, !hasCurve)
	h.checkCount(t, "answered", 1)
}

func TestAPictureThatIsSentTwiceIsShownOnce(t *testing.T) {
	simulateEach(t, map[string][]discordtest.Fault{
		"nothing fails":                    nil,
		"server error, but carried out":    {{Status: 502, Landed: true}},
		"connection lost, but carried out": {{DropAnswer: true}},
	}, func(t *testing.T, h *adapterTest, faults []discordtest.Fault) {
		h.replyAfter(0, &chat.Reply{Title: chat.Say("Price"), Image: &curve})
		h.fake.Script(fakediscord.Edit, faults...)
		p := h.send(t, command("price"))
		pass(time.Minute)
		equal(t, "calls", h.fake.Calls(fakediscord.Edit), len(faults)+1)
		h.checkPriceCard(t, p, true)
	})
}

func TestAnAnswerDoesNotDependOnItsPicture(t *testing.T) {
	type test struct {
		fault discordtest.Fault
		lasts time.Duration // if it is 0, only one call has the fault
	}
	simulateEach(t, map[string]test{
		"too large":          {fault: discordtest.Fault{Status: 413, Code: 40005}},
		"no upload succeeds": {fault: discordtest.Fault{Status: 503}, lasts: pictureTime},
	}, func(t *testing.T, h *adapterTest, tt test) {
		h.replyAfter(0, &chat.Reply{Title: chat.Say("Price"), Image: &curve})
		if tt.lasts == 0 {
			h.fake.Script(fakediscord.Edit, tt.fault)
		} else {
			h.fake.Break(fakediscord.Edit, tt.fault)
		}
		p := h.send(t, command("price"))
		pass(tt.lasts)
		h.mend(fakediscord.Edit)
		pass(time.Minute)
		h.checkPriceCard(t, p, false)
	})
}

func TestTheNextAnswerReplacesThePicture(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		withPicture := &chat.Reply{Title: chat.Say("x"), Image: &curve}
		withoutPicture := &chat.Reply{Title: chat.Say("x")}
		h.replyAfter(0, withPicture)
		p := h.ask(t, command("price"))
		for _, tt := range []struct {
			slow  time.Duration
			reply *chat.Reply
		}{
			{0, withPicture},
			{0, withoutPicture},
			{0, withPicture},
			{5 * time.Second, withoutPicture},
		} {
			h.replyAfter(tt.slow, tt.reply)
			h.ask(t, p.Press("5", priceAgain))
			equal(t, "the picture is shown", showsCurve(p.Answer().Message), tt.reply.Image != nil)
			h.messages(t, 1)
		}
	})
}
