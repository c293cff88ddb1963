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

// distance is how long Discord takes for a call, there and back.
const distance = 50 * time.Millisecond

// burst is many commands in one instant.
type burst struct {
	commands int
	inHand   int  // how many are taken in hand; 0 is production's bound, and all
	slow     bool // all wait for one call to a service, of 300 ms
}

var bursts = map[string]burst{
	"1,000, cached":               {1000, 0, false},
	"300, waiting for one call":   {300, 0, true},
	"5,000, waiting for one call": {5000, 0, true},
	"2,000 where 500 fit":         {2000, 500, true},
}

// prepare makes the handler and the bound those of b.
func (b burst) prepare(h *harness) {
	if b.inHand > 0 {
		h.inHand = make(chan struct{}, b.inHand)
	}
	called := make(chan struct{})
	var call sync.Once
	h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		if b.slow {
			call.Do(func() { time.AfterFunc(300*time.Millisecond, func() { close(called) }) })
			<-called
		}
		return chat.Reply{Title: chat.Say("the price")}
	}
}

// check demands that everybody is answered by the first response, and that only
// those for whom there was no room are told "busy".
func (b burst) check(t *testing.T, h *harness, pending []*discordtest.Pending) {
	t.Helper()
	right, busy := 0, 0
	for _, p := range pending {
		switch a := p.Answer(); {
		case a.Callbacks+a.Edits > 1 || a.Deferred || a.First > firstResponse:
		case strings.Contains(a.Text(), "the price"):
			right++
		case strings.Contains(a.Text(), "Busy") && a.Ephemeral:
			busy++
		}
	}
	least := b.commands
	if b.inHand > 0 {
		least = b.inHand
	}
	if right < least || right+busy != b.commands {
		t.Errorf("%d are answered and %d told to wait; counted %v", right, busy, h.counts.events)
	}
}

// Time is simulated, so that this machine's speed does not count.
func TestABurstOverTheGatewayIsAnswered(t *testing.T) {
	for name, b := range bursts {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				b.prepare(h)
				h.fake.Break(discordtest.Callback, discordtest.Fault{Latency: distance})
				var pending []*discordtest.Pending
				for range b.commands {
					pending = append(pending, h.push(t, discordtest.Interaction{Command: "price"}))
				}
				pass(firstResponse)
				b.check(t, h, pending)
			})
		})
	}
}

func TestABurstByHTTPIsAnswered(t *testing.T) {
	for name, b := range bursts {
		t.Run(name, func(t *testing.T) {
			simulateHTTP(t, func(t *testing.T, h *harness, address string) {
				b.prepare(h)
				pending := make([]*discordtest.Pending, b.commands)
				var posts sync.WaitGroup
				for i := range pending {
					posts.Go(func() {
						var status int
						var err error
						pending[i], status, err = h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price"})
						if err != nil || status != http.StatusOK {
							t.Errorf("status %d, %v", status, err)
						}
					})
				}
				if posts.Wait(); t.Failed() {
					return
				}
				b.check(t, h, pending)
			})
		})
	}
}

func TestCommandsThatHangDelayOthersByPatienceAtMost(t *testing.T) {
	simulate(t, func(t *testing.T, h *harness) {
		h.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
			if req.Command == "exists" {
				<-ctx.Done()
			}
			return chat.Reply{Title: chat.Say(req.Command)}
		}
		for range 2 * maxAtOnce {
			h.push(t, discordtest.Interaction{Command: "exists"})
		}
		// Some of those that hang still wait for a place themselves.
		for range 3 {
			p := h.push(t, discordtest.Interaction{Command: "price"})
			pass(placeTimeout + 200*time.Millisecond)
			if a := p.Answer(); a.Deferred || !strings.Contains(a.Text(), "price") {
				t.Errorf("%+v", a)
			}
		}
		if n := h.counts.of("deferred"); n != 2*maxAtOnce {
			t.Errorf("%d of %d commands that hang are promised an answer", n, 2*maxAtOnce)
		}
	})
}

func TestRefusalsThatWaitAreBounded(t *testing.T) {
	var q refusals
	senders := 0
	for n := range maxRefused + 1 {
		taken, sender := q.add(refused{})
		if taken != (n < maxRefused) {
			t.Fatalf("the one after %d is taken: %v", n, taken)
		}
		if sender {
			senders++
		}
	}
	if senders != maxCalls {
		t.Errorf("%d senders", senders)
	}
	for range maxRefused {
		if _, ok := q.next(); !ok {
			t.Fatal("one is lost")
		}
	}
	for range senders {
		if _, ok := q.next(); ok {
			t.Fatal("one is sent twice")
		}
	}
	if _, sender := q.add(refused{}); !sender {
		t.Error("nobody sends what comes later")
	}
}
