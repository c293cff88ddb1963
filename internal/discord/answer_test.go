package discord

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"herald/internal/chat"
	"herald/internal/discord/discordtest"
)

func TestFastCommandIsAnsweredAtOnce(t *testing.T) {
	h := connected(t, nil, patient)
	for command, ephemeral := range map[string]bool{"price": false, "start": false, "mylogins": true, "nonsense": true} {
		a := h.answer(t, discordtest.Interaction{Command: command, GuildID: "7"})
		if a.Deferred || a.Ephemeral != ephemeral || a.Callbacks != 1 || a.Edits != 0 || a.Text() == "" {
			t.Errorf("%s: %+v", command, a)
		}
	}
	if p := h.fake.Problems(); len(p) > 0 {
		t.Errorf("refused: %q", p)
	}
}

func TestSlowCommandIsDeferredThenEdited(t *testing.T) {
	for command, ephemeral := range map[string]bool{"price": false, "mylogins": true} {
		release := make(chan struct{})
		h := connected(t, func(h *harness, _ *Config) { h.until(release, "at last") })
		p := h.push(t, discordtest.Interaction{Command: command})
		a, err := p.First(h.ctx)
		if err != nil || !a.Deferred || a.Ephemeral != ephemeral || a.Edits != 0 {
			t.Fatalf("%s: first %+v, %v", command, a, err)
		}
		close(release)
		if a, err = p.Wait(h.ctx); err != nil || a.Edits != 1 || !strings.Contains(a.Text(), "at last") {
			t.Errorf("%s: final %+v, %v", command, a, err)
		}
	}
}

// One after the other they would take a second each.
func TestEditsDoNotWaitForEachOther(t *testing.T) {
	const askers = 50
	release := make(chan struct{})
	h := connected(t, func(h *harness, _ *Config) { h.until(release, "done") })
	var pending []*discordtest.Pending
	for range askers {
		pending = append(pending, h.push(t, discordtest.Interaction{Command: "price"}))
	}
	for _, p := range pending {
		if _, err := p.First(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	h.fake.Break(discordtest.Edit, discordtest.Fault{Latency: time.Second})
	began := time.Now()
	close(release)
	for _, p := range pending {
		if _, err := p.Wait(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > askers*time.Second/2 {
		t.Errorf("%d edits took %v", askers, took)
	}
}

func TestFaultsOfTheFirstResponse(t *testing.T) {
	for name, faults := range map[string][]discordtest.Fault{
		"connection lost before":  {{Drop: true}, {Drop: true}},
		"landed, but answer lost": {{DropAnswer: true}},
		"server error":            {{Status: 502}, {Status: 503}},
		"limited":                 {{Status: 429, RetryAfter: 50 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			h := connected(t, nil, patient)
			h.fake.Script(discordtest.Callback, faults...)
			a := h.answer(t, discordtest.Interaction{Command: "price"})
			h.wait(t, "answered", func() bool { return h.counts.of("answered") == 1 })
			if !strings.Contains(a.Text(), "price") || a.Edits != 0 {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestFaultsOfTheEdit(t *testing.T) {
	for name, faults := range map[string][]discordtest.Fault{
		"connection lost": {{Drop: true}, {DropAnswer: true}},
		"server error":    {{Status: 500}, {Status: 502}, {Status: 504}},
		"limited":         {{Status: 429, Code: 20028, RetryAfter: 50 * time.Millisecond}, {Status: 429, RetryAfter: 20 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			h := connected(t, func(h *harness, _ *Config) { h.until(release, "done") })
			h.fake.Script(discordtest.Edit, faults...)
			p := h.push(t, discordtest.Interaction{Command: "price"})
			if _, err := p.First(h.ctx); err != nil {
				t.Fatal(err)
			}
			close(release)
			if _, err := p.Wait(h.ctx); err != nil {
				t.Fatal(err)
			}
			h.wait(t, "answered", func() bool { return h.counts.of("answered") == 1 })
			if got := h.fake.Calls(discordtest.Edit); got != len(faults)+1 {
				t.Errorf("%d edits", got)
			}
		})
	}
}

func TestLimitIsWaitedOutAsTold(t *testing.T) {
	h := connected(t, nil, patient)
	h.fake.Script(discordtest.Callback, discordtest.Fault{Status: 429, RetryAfter: 200 * time.Millisecond})
	if a := h.answer(t, discordtest.Interaction{Command: "price"}); a.First < 200*time.Millisecond {
		t.Errorf("tried again after %v", a.First)
	}
}

func TestExpiredTokenIsCountedAndForgotten(t *testing.T) {
	release := make(chan struct{})
	h := connected(t, func(h *harness, _ *Config) { h.until(release, "late") })
	p := h.push(t, discordtest.Interaction{Command: "price"})
	if _, err := p.First(h.ctx); err != nil {
		t.Fatal(err)
	}
	p.Expire()
	close(release)
	h.wait(t, "expiry", func() bool { return h.counts.of("answer_expired") == 1 })
	if got := h.fake.Calls(discordtest.Edit); got != 1 {
		t.Errorf("%d edits of an expired answer", got)
	}
	for _, code := range []int{10062, 10015} {
		h.fake.Script(discordtest.Callback, discordtest.Fault{Status: http.StatusNotFound, Code: code})
		h.push(t, discordtest.Interaction{Command: "price"})
	}
	h.wait(t, "expiries", func() bool { return h.counts.of("answer_expired") == 3 })
	h.answer(t, discordtest.Interaction{Command: "price"})
}

func TestRepeatedInteractionIsAnsweredOnce(t *testing.T) {
	h := connected(t, nil)
	i := discordtest.Interaction{Command: "price", ID: "1234567", Token: "again"}
	h.answer(t, i)
	h.push(t, i)
	h.wait(t, "duplicate", func() bool { return h.counts.of("duplicate") == 1 })
	if got := h.fake.Calls(discordtest.Callback); got != 1 {
		t.Errorf("answered %d times", got)
	}
	if got := len(h.handler.Requests()); got != 1 {
		t.Errorf("handled %d times", got)
	}
}

func TestPanicReachesItsAskerAlone(t *testing.T) {
	h := connected(t, func(h *harness, _ *Config) {
		h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
			if req.Command == "price" {
				panic("boom " + h.fake.Token)
			}
			return chat.Reply{Title: chat.Say(req.Command)}
		}
	})
	a := h.answer(t, discordtest.Interaction{Command: "price"})
	id := h.handler.Requests()[0].ID
	if !strings.Contains(a.Text(), "Something went wrong") || !strings.Contains(a.Text(), id) {
		t.Errorf("the asker reads %q", a.Text())
	}
	if h.logged.Lines("level=ERROR") != 1 || h.logged.Lines("answer_test.go") != 1 || h.logged.Lines(id) != 1 {
		t.Errorf("log:\n%s", h.logged)
	}
	if h.logged.Lines(h.fake.Token) != 0 {
		t.Error("the token is in the log")
	}
	if a := h.answer(t, discordtest.Interaction{Command: "staked"}); !strings.Contains(a.Text(), "staked") {
		t.Errorf("the next asker reads %q", a.Text())
	}
}

func TestMoreThanTheBoundAreToldToWait(t *testing.T) {
	release := make(chan struct{})
	h := connected(t, func(h *harness, _ *Config) { h.until(release, "done") },
		func(a *Adapter) { a.inHand = make(chan struct{}, 1) })
	p := h.push(t, discordtest.Interaction{Command: "price"})
	h.wait(t, "request", func() bool { return len(h.handler.Requests()) == 1 })
	if n := h.InHand(); n != 1 {
		t.Errorf("%d in hand, want 1", n)
	}
	a := h.answer(t, discordtest.Interaction{Command: "price", GuildID: "7"})
	if !a.Ephemeral || !strings.Contains(a.Text(), "Busy") {
		t.Errorf("%+v", a)
	}
	close(release)
	if _, err := p.Wait(h.ctx); err != nil {
		t.Error(err)
	}
	h.wait(t, "nothing in hand", func() bool { return h.InHand() == 0 })
}

func TestStoppingFinishesWhatIsInHand(t *testing.T) {
	release := make(chan struct{})
	h := connected(t, func(h *harness, _ *Config) { h.until(release, "done") })
	p := h.push(t, discordtest.Interaction{Command: "price"})
	if _, err := p.First(h.ctx); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h.wait(t, "unreadiness", func() bool { return !h.Ready() })
	close(release)
	if _, err := p.Wait(h.ctx); err != nil {
		t.Error("the command in hand was dropped")
	}
	if err := <-h.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if h.fake.Connected() != 0 {
		t.Error("the gateway is still connected")
	}
}

func TestStoppingTellsSlowHandlersToStop(t *testing.T) {
	simulate(t, func(t *testing.T, h *harness) {
		h.until(nil, "never")
		p := h.push(t, discordtest.Interaction{Command: "price"})
		pass(3 * time.Second)
		h.stop()
		began := time.Now()
		if err := <-h.ended; err != nil || time.Since(began) >= chat.DrainTime {
			t.Errorf("Run returned after %v: %v", time.Since(began), err)
		}
		if a := p.Answer(); !strings.Contains(a.Text(), "stopped") {
			t.Errorf("the asker reads %q", a.Text())
		}
	})
}

func TestStoppingLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	h := connected(t, nil)
	h.answer(t, discordtest.Interaction{Command: "price"})
	h.stop()
	<-h.ended
	h.fake.Close()
	goleak.VerifyNone(t, before)
}

func TestContextMenuAsksAboutThePersonPicked(t *testing.T) {
	h := connected(t, nil)
	a := h.answer(t, discordtest.Interaction{Command: "Check registration", Target: "6", GuildID: "7"})
	req := h.handler.Requests()[0]
	if !a.Ephemeral || req.Command != "exists" || req.Target == nil || req.Target.ID != "6" {
		t.Errorf("%+v asked as %+v", a, req)
	}
}

func TestNoTokenIsEverLogged(t *testing.T) {
	h := connected(t, nil, func(a *Adapter) { a.timings.callback = 50 * time.Millisecond })
	var tokens []string
	for n, fault := range []discordtest.Fault{
		{Status: 404, Code: 10062}, {Status: 400, Code: 50035}, {Status: 401}, {Status: 403, Code: 50001},
		{Status: 500}, {Status: 502}, {Status: 429, RetryAfter: time.Minute}, {Drop: true}, {Status: 302},
	} {
		h.fake.Break(discordtest.Callback, fault)
		h.fake.Break(discordtest.Edit, fault)
		p := h.push(t, discordtest.Interaction{Command: "price"})
		tokens = append(tokens, p.Token)
		h.wait(t, "outcome", func() bool {
			return h.counts.of("answer_failed")+h.counts.of("answer_expired") == n+1
		})
	}
	h.fake.Do(discordtest.Action{Op: 7})
	h.wait(t, "disconnection", func() bool { return h.counts.of("disconnected") > 0 })
	log := h.logged.String()
	for _, secret := range append(tokens, h.fake.Token, "/interactions/", "/webhooks/", "<html>") {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
}
