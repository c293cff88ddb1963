package discord

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord/api"
)

// newRESTTest returns an adapterTest whose Adapter makes its REST calls to a server with this handler.
func newRESTTest(t *testing.T, answer http.HandlerFunc) *adapterTest {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	toServer := func(_ *adapterTest, c *Config) { c.APIURL = server.URL }
	return newAdapterTest(t, discordtest.New(), overGateway, toServer)
}

// discordgo's limiter would fail on the first two of these headers, and sleep before the next call after the third.
func TestRateLimitHeadersOfASuccessAreIgnored(t *testing.T) {
	for _, headers := range []http.Header{
		{"X-Ratelimit-Global": {"true"}, "X-Ratelimit-Reset-After": {"3600"}},
		{"X-Ratelimit-Reset-After": {"soon"}, "X-Ratelimit-Remaining": {"few"}},
		{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"3600"}},
	} {
		h := newRESTTest(t, func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), headers)
			fmt.Fprint(w, `{"id":"42"}`)
		})
		for range 3 {
			if app, err := h.api.Application(t.Context()); app.ID != "42" || err != nil {
				t.Fatalf("%v: %+v, %v", headers, app, err)
			}
		}
	}
}

// faults are ways in which a call fails.
var faults = map[string]struct {
	fault     discordtest.Fault
	retryable bool
	isToken   bool // whether the error is api.ErrToken
}{
	"malformed":              {fault: discordtest.Fault{Status: 400, Code: 50035}},
	"refused token":          {fault: discordtest.Fault{Status: 401}, isToken: true},
	"expired interaction":    {fault: discordtest.Fault{Status: 401, Code: 50027}},
	"unknown interaction":    {fault: discordtest.Fault{Status: 404, Code: 10062}},
	"redirect":               {fault: discordtest.Fault{Status: 302}},
	"a proxy's page":         {fault: discordtest.Fault{Status: 502}, retryable: true},
	"connection lost before": {fault: discordtest.Fault{Drop: true}, retryable: true},
	"connection lost after":  {fault: discordtest.Fault{DropAnswer: true}, retryable: true},
	"rate limit": {
		fault:     discordtest.Fault{Status: 429, RetryAfter: 1500 * time.Millisecond},
		retryable: true,
	},
}

func TestErrorsContainNeitherTokensNorTextOfTheServer(t *testing.T) {
	for name, tt := range faults {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
				answered := h.ask(t, command("price"))
				h.fake.Break(fakediscord.Callback, tt.fault)
				failed := h.send(t, command("price"))
				endpoint := "https://discord.com/api/v9/interactions/1/interactiontoken/callback"
				err := h.api.Call(t.Context(), http.MethodPost, endpoint, message{}, nil)
				retryable, minWait := api.Retryable(err)
				equal(t, "retryable", retryable, tt.retryable)
				equal(t, "minimum wait", minWait, tt.fault.RetryAfter)
				equal(t, "it is ErrToken", errors.Is(err, api.ErrToken), tt.isToken)
				pass(time.Minute)
				text := fmt.Sprint(err, "\n", h.logged)
				for _, secret := range []string{
					failed.Token,
					answered.Token,
					"interactiontoken",
					h.fake.Token,
					"/interactions/",
					"scripted", // in the fake's errors
					"html",     // in the fake's pages
				} {
					if strings.Contains(text, secret) {
						t.Errorf("%q is in:\n%s", secret, text)
					}
				}
			})
		})
	}
}

func TestPrintingShowsNoToken(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), overGateway)
	for _, v := range []any{h.Adapter, h.api, h.gateway} {
		if text := fmt.Sprintf("%+v %#v", v, v); strings.Contains(text, h.fake.Token) {
			t.Errorf("a %T shows the token", v)
		}
	}
}

func TestARefusedTokenEndsRunAndCheck(t *testing.T) {
	for _, arrival := range []way{overGateway, byHTTP} {
		h := newRESTTest(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		if arrival == byHTTP {
			h.PublicKey = h.fake.PublicKey // Then interactions arrive by HTTP.
		}
		if err := h.Run(t.Context(), h.handler); err != api.ErrToken {
			t.Errorf("Run: %v", err)
		}
		if _, _, err := h.Check(t.Context(), nil); err != api.ErrToken {
			t.Errorf("Check: %v", err)
		}
	}
}

// If each of the 1,000 edits were retried by itself, Discord would refuse some 30,000 calls in ten minutes. After
// 10,000 it bans the address.
func TestALastingLimitIsMetByFewCalls(t *testing.T) {
	simulateEach(t, map[string]discordtest.Fault{
		"without a time":        {Status: http.StatusTooManyRequests},
		"for minutes, globally": {Status: http.StatusTooManyRequests, RetryAfter: 5 * time.Minute, Global: true},
	}, func(t *testing.T, h *adapterTest, fault discordtest.Fault) {
		h.fake.Break(fakediscord.Edit, fault)
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("done")})
		for range 1000 {
			h.send(t, command("price"))
		}
		pass(10 * time.Minute)
		h.checkCount(t, "deferred", 1000)
		const few = 3 * api.MaxOther // those in flight at the first 429, and the probes
		if n := h.fake.Calls(fakediscord.Edit); n > few {
			t.Errorf("%d calls", n)
		}
		h.replyAfter(0, &chat.Reply{Title: chat.Say("at once")})
		a := h.ask(t, command("price")).Answer()
		equal(t, "the next is deferred", a.Deferred, false)
		equal(t, "its first response is held back", a.First > time.Second, false)
		h.mend(fakediscord.Edit)
		pass(time.Minute)
		h.checkCount(t, "answered", 1001)
	})
}

func TestAGlobalLimitHoldsBackEditsButNotFirstResponses(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("done")})
		limit := discordtest.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Minute, Global: true}
		h.fake.Script(fakediscord.Edit, limit) // only the next edit
		for range 10 {
			h.send(t, command("price"))
			pass(3 * time.Second)
		}
		pass(20 * time.Second) // The limit still lasts.
		h.checkCount(t, "deferred", 10)
		equal(t, "edits", h.fake.Calls(fakediscord.Edit), 1)
		pass(time.Minute)
		h.checkCount(t, "answered", 10)
		equal(t, "edits afterwards", h.fake.Calls(fakediscord.Edit), 11)
	})
}

// Discord bans an IP address after 10,000 refusals in ten minutes.
func TestEditsStopAfterTooManyRefusals(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		p := h.ask(t, command("price"))
		var edited atomic.Int64
		i := api.Interaction{ID: p.ID, ApplicationID: h.fake.ApplicationID, Token: p.Token}
		h.fake.Break(fakediscord.Edit, discordtest.Fault{Status: http.StatusForbidden, Code: 50001})
		for range 5500 {
			go func() {
				body := render(&chat.Reply{Title: chat.Say("x")}, someIDs)
				err := h.api.Edit(t.Context(), i, api.Message{Body: body}, time.Now().Add(api.TokenLife))
				if err == nil {
					edited.Add(1)
				}
			}()
		}
		pass(9 * time.Minute)
		n := h.fake.Calls(fakediscord.Edit)
		if n > 5000 || n < 4800 {
			t.Errorf("%d calls, want 4800 to 5000", n)
		}
		equal(t, "lines about it", h.logged.Lines("level=ERROR"), 1)
		h.ask(t, command("price")) // First responses are still sent.
		h.mend(fakediscord.Edit)
		pass(2 * time.Minute)
		// The refused ones have failed. All others have waited.
		equal(t, "edits after the window", edited.Load(), int64(5500-n))
	})
}
