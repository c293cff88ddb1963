package discord

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/platformtest"
)

// If discordgo gets one of these members, the test fails and names our code that can then be removed.
func TestLibraryStillLacks(t *testing.T) {
	for _, test := range []struct {
		library any
		ours    any // our type that has the member; nil if we read the member elsewhere
		member  string
		canGo   string
	}{
		{
			library: discordgo.MessageAttachment{},
			ours:    attachment{},
			member:  "description",
			canGo:   "attachment",
		},
		{
			library: discordgo.Application{},
			ours:    api.Application{},
			member:  "interactions_endpoint_url",
			canGo:   "api.Application, if discordgo has bot, too",
		},
		{
			library: discordgo.Application{},
			ours:    api.Application{},
			member:  "bot",
			canGo:   "api.Application, if discordgo has interactions_endpoint_url, too",
		},
		{
			library: discordgo.Ready{},
			member:  "resume_gateway_url",
			canGo:   "the type of READY in gateway; see whether Session resumes there",
		},
	} {
		platformtest.StillLacks(t, test.library, test.ours, test.member, test.canGo)
	}
}

func TestDiscordgoStillSendsAZeroTimeInActivities(t *testing.T) {
	text, err := json.Marshal(discordgo.Activity{})
	if err != nil || !strings.Contains(string(text), `"created_at":"0001-`) {
		t.Errorf("discordgo sends %s, %v: see whether gateway can send discordgo's activity", text, err)
	}
}

// fixedAnswer is an http.RoundTripper that responds to every call in the same way.
type fixedAnswer struct {
	status int
	body   string
}

func (a fixedAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

// silent is a LogLevel below every level of discordgo.
const silent = discordgo.LogError - 1

// newLibrarySession returns a Session of discordgo that logs nothing, with a transport for its REST calls.
func newLibrarySession(token string, a fixedAnswer) *discordgo.Session {
	s, _ := discordgo.New(token)
	s.Client = &http.Client{Transport: a}
	s.LogLevel = silent
	s.ShouldReconnectOnError = false
	return s
}

func TestDiscordgoStillPutsAnswersIntoErrors(t *testing.T) {
	const body = "the body of the response"
	_, err := newLibrarySession("", fixedAnswer{http.StatusBadRequest, body}).Channel("1")
	if err == nil || !strings.Contains(err.Error(), body) {
		t.Errorf("%v: see whether api's transport can leave errors to discordgo", err)
	}
}

func TestDiscordgoStillSleepsThroughRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLibrarySession("", fixedAnswer{http.StatusOK, "{}"})
		bucket := s.Ratelimiter.LockBucket(discordgo.EndpointChannel("1"))
		usedUp := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"60"}}
		if err := bucket.Release(usedUp); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.Channel("1", discordgo.WithContext(ctx))
		if took := time.Since(start); took < time.Minute { // ctx ends after a second.
			t.Errorf("%v after %v: see whether api can use discordgo's limiter", err, took)
		}
	})
}

// Open holds the Session's lock while it waits for Hello, and waits without a time limit.
func TestDiscordgoStillBlocksWithoutHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := openSession(t, fakediscord.Behaviour{InsteadOfHello: []fakediscord.Action{{Stall: true}}})
		if isUnlocked := s.TryLock(); isUnlocked {
			t.Error("Open has released the lock: see whether gateway can use Session")
		}
	})
}

// Discord says that the session may be resumed.
func TestDiscordgoStillIdentifiesInsteadOfResuming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := openSession(t, fakediscord.Behaviour{})
		d.Do(fakediscord.Action{Op: opInvalidSession, Resumable: true})
		time.Sleep(time.Minute)
		if identifies := len(d.Identifies()); identifies != 2 {
			t.Errorf("Session identified %d times, want 2: see whether gateway can use Session", identifies)
		}
	})
}

// openSession makes a Session open a connection to a fake of Discord, and returns a day later, whether or not Open has
// returned: a day is longer than any timeout that discordgo could have.
func openSession(t *testing.T, b fakediscord.Behaviour) (*discordgo.Session, *discordtest.Server) {
	network := discordtest.NewNetwork()
	d := discordtest.NewOn(network)
	t.Cleanup(d.Close)
	b.Heartbeat = 48 * time.Hour // No heartbeat is due before openSession returns.
	d.Behave(b)
	s := newLibrarySession(d.Token, fixedAnswer{http.StatusOK, `{"url":"ws://discord.test/gateway"}`})
	s.Dialer = &websocket.Dialer{NetDialContext: network.Dial}
	go s.Open()
	time.Sleep(24 * time.Hour)
	return s, d
}
