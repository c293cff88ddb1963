package discord

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/discord/discordtest"
)

// start is as of when the first answer of a test is.
var start = time.Unix(1_790_000_000, 0)

// refresh is a button under every answer of numbered.
var refresh = chat.Action{Label: chat.Say("Refresh"), Command: "price", Edit: true, Refresh: true}

// numbered answers every request with its number, as of so many minutes after
// start, and a button that refreshes it.
func numbered(h *harness) {
	var mu sync.Mutex
	n := 0
	h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		mu.Lock()
		defer mu.Unlock()
		n++
		return chat.Reply{Title: chat.Say("answer " + string(rune('0'+n))), AsOf: start.Add(time.Duration(n) * time.Minute),
			Actions: []chat.Action{refresh}}
	}
}

// pressed is the answer to a press on the button with a label under the message
// of p, by a user.
func (h *harness) pressed(t *testing.T, p *discordtest.Pending, user, label string) discordtest.Answer {
	t.Helper()
	m := p.Answer().Message
	b, ok := m.Button(label)
	if !ok {
		t.Fatalf("no button %q under %+v", label, m)
	}
	return h.answer(t, p.Press(user, b.CustomID))
}

// asked is an answered command of user 5 in guild 7.
func (h *harness) asked(t *testing.T, command string) *discordtest.Pending {
	t.Helper()
	p := h.push(t, discordtest.Interaction{Command: command, UserID: "5", GuildID: "7", ChannelID: "8"})
	if _, err := p.Wait(h.ctx); err != nil {
		t.Fatalf("%v; refused: %q", err, h.fake.Problems())
	}
	return p
}

// unrefused fails the test if the fake refused anything.
func (h *harness) unrefused(t *testing.T) {
	t.Helper()
	if p := h.fake.Problems(); len(p) > 0 {
		t.Errorf("refused: %q", p)
	}
}

func TestAPressEditsTheMessageInPlace(t *testing.T) {
	h := connected(t, func(h *harness, _ *Config) { numbered(h) }, patient)
	p := h.asked(t, "price")
	for n, user := range []string{"5", "6"} {
		a := h.pressed(t, p, user, "Refresh")
		if a.Type != updateMessage || a.Message.ID != p.Answer().Message.ID || !strings.Contains(a.Text(), "answer "+string(rune('2'+n))) || a.Edited != n+1 {
			t.Errorf("pressed by %s: %+v", user, a)
		}
		if req := h.handler.Requests()[n+1]; req.From.ID != user || req.Command != "price" || req.Chat != "8" || req.Community != "7" {
			t.Errorf("asked as %+v", req)
		}
	}
	if all := h.fake.Messages(); len(all) != 1 || all[0].Ephemeral {
		t.Errorf("shown: %+v", all)
	}
	h.unrefused(t)
}

// The kinds of first responses, by Discord's numbers.
const (
	showMessage   = 4
	promiseUpdate = 6
	updateMessage = 7
	openModal     = 9
)

func TestASlowPressIsPromisedThenEditsInPlace(t *testing.T) {
	release := make(chan struct{})
	h := connected(t, nil)
	h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		if len(h.handler.Requests()) > 1 {
			<-release
		}
		return chat.Reply{Title: chat.Say(req.ID), Actions: []chat.Action{refresh}}
	}
	p := h.asked(t, "price")
	before := p.Answer().Text()
	b, _ := p.Answer().Button("Refresh")
	press := h.push(t, p.Press("6", b.CustomID))
	a, err := press.First(h.ctx)
	if err != nil || a.Type != promiseUpdate || p.Answer().Text() != before {
		t.Fatalf("first %+v, %v", a, err)
	}
	close(release)
	if a, err = press.Wait(h.ctx); err != nil || a.Edits != 1 || a.Message.ID != p.Answer().Message.ID || a.Text() == before || len(h.fake.Messages()) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	h.unrefused(t)
}

// sluggish makes the adapter promise every answer, by a handler that waits for
// the promise.
func sluggish(h *harness, reply func(chat.Request) chat.Reply) {
	h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		promises := len(h.handler.Requests())
		_ = h.fake.Wait(h.ctx, func() bool { return h.fake.Calls(discordtest.Callback) >= promises })
		return reply(req)
	}
}

// What concerns the one who pressed alone never takes the place of an answer.
func TestWhatMayNotReplaceAnAnswerIsToldTheAskerAlone(t *testing.T) {
	for name, second := range map[string]chat.Reply{
		"nothing new":            {Title: chat.Say("the same"), AsOf: start},
		"a limit":                {Title: chat.Say("Too many commands"), ToAsker: true, Tone: chat.Warning},
		"no answer":              {Title: chat.Say("unchecked.title"), Tone: chat.Warning},
		"nothing new, slowly":    {Title: chat.Say("the same"), AsOf: start.Add(time.Second - 1)},
		"a limit, slowly":        {Title: chat.Say("Too many commands"), ToAsker: true},
		"no answer, slowly":      {Title: chat.Say("unchecked.title"), Tone: chat.Warning, AsOf: start},
		"a limit with a picture": {Title: chat.Say("Too many commands"), ToAsker: true, Image: &curve},
	} {
		t.Run(name, func(t *testing.T) {
			var tune []func(*Adapter)
			if !strings.Contains(name, "slowly") {
				tune = append(tune, patient)
			}
			h := connected(t, nil, tune...)
			reply := func(chat.Request) chat.Reply {
				if len(h.handler.Requests()) == 1 {
					return chat.Reply{Title: chat.Say("the answer"), AsOf: start, Actions: []chat.Action{refresh}}
				}
				return second
			}
			if h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply { return reply(req) }; len(tune) == 0 {
				sluggish(h, reply)
			}
			p := h.asked(t, "price")
			a := h.pressed(t, p, "6", "Refresh")
			all := h.fake.Messages()
			if len(all) != 2 || !strings.Contains(all[0].Text(), "the answer") || all[0].Edited > 1 || strings.Contains(all[0].Text(), "current") {
				t.Errorf("shown: %+v", all)
			}
			alone := all[len(all)-1]
			if !alone.Ephemeral || alone.SeenBy != "6" || len(alone.Embeds) == 0 {
				t.Errorf("told as %+v; %+v", alone, a)
			}
			if wanted := map[bool]string{true: "Already up to date", false: ""}[strings.HasPrefix(name, "nothing new")]; !strings.Contains(alone.Text(), wanted) {
				t.Errorf("told %q", alone.Text())
			}
			h.unrefused(t)
		})
	}
}

// Anybody can forge a button, and one of an earlier version may name a command
// that has become private.
func TestAPrivateAnswerNeverReplacesWhatOthersSee(t *testing.T) {
	const secret = "nobodyelsesbusiness"
	for _, slow := range []bool{false, true} {
		for _, command := range []string{"mylogins", "exists 6", "nonsense"} {
			h := connected(t, nil, func(a *Adapter) {
				if !slow {
					patient(a)
				}
			})
			reply := func(req chat.Request) chat.Reply {
				if req.Command == "price" {
					return chat.Reply{Title: chat.Say("the answer"), AsOf: start}
				}
				return chat.Reply{Title: chat.Say(secret), AsOf: start}
			}
			if h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply { return reply(req) }; slow {
				sluggish(h, reply)
			}
			p := h.asked(t, "price")
			for _, kind := range []string{"e 0", "n 0", "e tlpwu8"} {
				a := h.answer(t, p.Press("6", "1 "+kind+" "+command))
				if !a.Ephemeral || a.SeenBy != "6" || !strings.Contains(a.Text(), secret) || a.Deferred != slow {
					t.Errorf("%s %s, slow %v: %+v", kind, command, slow, a)
				}
			}
			for _, m := range h.fake.Messages() {
				if !m.Ephemeral && (strings.Contains(m.Everything(), secret) || !strings.Contains(m.Text(), "the answer")) {
					t.Errorf("everybody sees %+v", m)
				}
			}
			h.unrefused(t)
		}
	}
}

func TestButtonsOfAPrivateAnswerEditItAndItStaysPrivate(t *testing.T) {
	for _, slow := range []bool{false, true} {
		h := connected(t, nil, func(a *Adapter) {
			if !slow {
				patient(a)
			}
		})
		reply := func(req chat.Request) chat.Reply {
			return chat.Reply{Title: chat.Say("page " + req.ID), Actions: []chat.Action{{Label: chat.Say("Older"), Command: "mylogins", Args: []string{"2"}, Edit: true}}}
		}
		if h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply { return reply(req) }; slow {
			sluggish(h, reply)
		}
		p := h.asked(t, "mylogins")
		before := p.Answer().Text()
		a := h.pressed(t, p, "5", "Older")
		if all := h.fake.Messages(); len(all) != 1 || !all[0].Ephemeral || all[0].SeenBy != "5" || all[0].Text() == before || a.Type != map[bool]int{false: updateMessage, true: promiseUpdate}[slow] {
			t.Errorf("slow %v: %+v, shown %+v", slow, a, all)
		}
		h.unrefused(t)
	}
}

func TestAButtonThatDoesNotEditAsksForANewMessage(t *testing.T) {
	h := connected(t, nil, patient)
	h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		return chat.Reply{Title: chat.Say(req.Command), Actions: []chat.Action{
			{Label: chat.Say("Price"), Command: "price"}, {Label: chat.Say("Logins"), Command: "mylogins"},
		}}
	}
	p := h.asked(t, "help")
	for label, private := range map[string]bool{"Price": false, "Logins": true} {
		if a := h.pressed(t, p, "6", label); a.Type != showMessage || a.Ephemeral != private || a.Message.ID == p.Answer().Message.ID {
			t.Errorf("%s: %+v", label, a)
		}
	}
	if p.Answer().Edited != 0 {
		t.Error("the message was edited")
	}
	h.unrefused(t)
}

func TestButtonsThatWereNotMadeByThisVersionAreToldSo(t *testing.T) {
	h, address := byHTTP(t, nil)
	over := connected(t, nil)
	lastYear := &discordtest.Message{Embeds: nil, Content: "the price of last year", Buttons: [][]discordtest.Button{{{Label: "Refresh", CustomID: "0 price", Style: 2}}}}
	for _, state := range []string{"0 price", "2 e 0 price", "refresh", "1 e 0", strings.Repeat("\xf0\x9f\x98\x80", 16), strings.Repeat("x", 100), "1 a 0 price wallet", "1 a 0 staked uid"} {
		i := discordtest.Interaction{Button: state, On: lastYear, UserID: "6", GuildID: "7"}
		p, status, err := h.fake.Post(h.ctx, address, i)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%q: status %d, %v", state, status, err)
		}
		for way, a := range map[string]discordtest.Answer{"by HTTP": p.Answer(), "over the gateway": over.answer(t, i)} {
			if !a.Ephemeral || a.SeenBy != "6" || !strings.Contains(a.Text(), "too old") {
				t.Errorf("%q %s: %+v", state, way, a)
			}
		}
	}
	if n := len(h.handler.Requests()) + len(over.handler.Requests()); n != 0 {
		t.Errorf("%d of them were asked", n)
	}
	for _, m := range over.fake.Messages() {
		if m.Content != "" && m.Edited != 0 {
			t.Errorf("the message became %+v", m)
		}
	}
	h.unrefused(t)
	over.unrefused(t)
}

func TestTwoPressesAtOnceAreBothAnswered(t *testing.T) {
	h := connected(t, func(h *harness, _ *Config) { numbered(h) }, patient)
	p := h.asked(t, "price")
	b, _ := p.Answer().Button("Refresh")
	var both []*discordtest.Pending
	for _, user := range []string{"5", "6"} {
		both = append(both, h.push(t, p.Press(user, b.CustomID)))
	}
	for _, press := range both {
		if a, err := press.Wait(h.ctx); err != nil || a.Type != updateMessage {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if all := h.fake.Messages(); len(all) != 1 || all[0].Edited != 2 {
		t.Errorf("shown: %+v", all)
	}
	h.unrefused(t)
}

func TestARepeatedPressIsAnsweredOnce(t *testing.T) {
	h := connected(t, func(h *harness, _ *Config) { numbered(h) }, patient)
	p := h.asked(t, "price")
	b, _ := p.Answer().Button("Refresh")
	press := p.Press("5", b.CustomID)
	press.ID, press.Token = "1234567", "again"
	h.answer(t, press)
	h.push(t, press)
	h.wait(t, "duplicate", func() bool { return h.counts.of("duplicate") == 1 })
	if n := len(h.handler.Requests()); n != 2 {
		t.Errorf("handled %d times", n)
	}
}

// Buttons hold all that their press needs.
func TestButtonsWorkAfterARestart(t *testing.T) {
	before := connected(t, func(h *harness, _ *Config) { numbered(h) }, patient)
	p := before.asked(t, "price")
	before.stop()
	<-before.ended
	after := prepareOn(t, before.fake, func(h *harness, _ *Config) { numbered(h) })
	patient(after.Adapter)
	after.run(t)
	after.wait(t, "a connection", after.Ready)
	b, _ := p.Answer().Button("Refresh")
	// Of the new adapter, this is the first answer, as of the same time.
	if a := after.answer(t, p.Press("5", b.CustomID)); !a.Ephemeral || !strings.Contains(a.Text(), "Already up to date") {
		t.Errorf("%+v", a)
	}
	if a := after.answer(t, p.Press("5", b.CustomID)); a.Type != updateMessage || !strings.Contains(a.Text(), "answer 2") {
		t.Errorf("%+v", a)
	}
	after.unrefused(t)
}

func TestPressesByHTTP(t *testing.T) {
	h, address := byHTTP(t, nil, patient)
	numbered(h)
	post := func(i discordtest.Interaction) *discordtest.Pending {
		t.Helper()
		p, status, err := h.fake.Post(h.ctx, address, i)
		if err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
		return p
	}
	p := post(discordtest.Interaction{Command: "price", UserID: "5", GuildID: "7"})
	b, _ := p.Answer().Button("Refresh")
	if a := post(p.Press("6", b.CustomID)).Answer(); a.Type != updateMessage || !strings.Contains(p.Answer().Text(), "answer 2") {
		t.Errorf("%+v", a)
	}
	if n := h.fake.Calls(discordtest.Callback) + h.fake.Calls(discordtest.Edit); n != 0 {
		t.Errorf("%d calls", n)
	}
	h.unrefused(t)
}

func TestSlowPressesByHTTP(t *testing.T) {
	for name, reply := range map[string]chat.Reply{"answer": {Title: chat.Say("at last")}, "limit": {Title: chat.Say("at last"), ToAsker: true}} {
		release := make(chan struct{})
		h, address := byHTTP(t, nil)
		h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			<-release
			return reply
		}
		shown := &discordtest.Message{Content: "the price", Buttons: [][]discordtest.Button{{{Label: "Refresh", CustomID: "1 e 0 price", Style: 2}}}}
		// What follows the body can reach Discord before it.
		early := discordtest.Fault{Status: 404, Code: 10015}
		h.fake.Script(discordtest.Edit, early, early)
		h.fake.Script(discordtest.FollowUp, early, early)
		p, status, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Button: "1 e 0 price", On: shown, UserID: "6", GuildID: "7"})
		if err != nil || status != http.StatusOK || p.Answer().Type != promiseUpdate {
			t.Fatalf("status %d, %v, %+v", status, err, p.Answer())
		}
		close(release)
		a, err := p.Wait(h.ctx)
		if alone := len(a.Followups) == 1 && a.Followups[0].Ephemeral && a.Edited == 0; err != nil || alone != reply.ToAsker || (a.Edited == 1) == alone {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		h.unrefused(t)
	}
}

func TestPressesBeyondTheBoundAreToldToWait(t *testing.T) {
	release := make(chan struct{})
	h := connected(t, nil, func(a *Adapter) { a.inHand = make(chan struct{}, 1) })
	h.until(release, "done")
	first := h.push(t, discordtest.Interaction{Command: "price"})
	h.wait(t, "request", func() bool { return len(h.handler.Requests()) == 1 })
	shown := &discordtest.Message{Content: "the price"}
	for _, i := range []discordtest.Interaction{
		{Button: "1 e 0 price", On: shown, UserID: "6"},
		{Modal: &discordtest.Modal{CustomID: "1 a 0 staked wallet", Inputs: []discordtest.Input{{CustomID: "wallet", Value: "x", InLabel: true}}}, On: shown, UserID: "6"},
	} {
		if a := h.answer(t, i); !a.Ephemeral || !strings.Contains(a.Text(), "Busy") {
			t.Errorf("%+v", a)
		}
	}
	close(release)
	if _, err := first.Wait(h.ctx); err != nil {
		t.Error(err)
	}
	h.unrefused(t)
}
