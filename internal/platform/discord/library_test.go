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

// If discordgo gets one of these, this test fails and names our code that can be removed.
func TestLibraryStillLacks(t *testing.T) {
	platformtest.StillLacks(t, discordgo.MessageAttachment{}, attachment{}, "description", "attachment")
	library, ours := discordgo.Application{}, api.Application{}
	platformtest.StillLacks(t, library, ours, "interactions_endpoint_url", "api.Application")
	platformtest.StillLacks(t, library, ours, "bot", "as for interactions_endpoint_url")
	platformtest.StillLacks(t, discordgo.Ready{}, nil, "resume_gateway_url",
		"the type of READY in gateway; see whether Session resumes there")
	text, err := json.Marshal(discordgo.Activity{})
	if err != nil || !strings.Contains(string(text), `"created_at":"0001-`) {
		t.Errorf("an activity of discordgo is %s, %v: the one in gateway can go", text, err)
	}
}

// fixedAnswer is the response to every call.
type fixedAnswer struct {
	status int
	body   string
}

func (a fixedAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

// newSession returns a Session of discordgo. Its REST calls get this answer.
func newSession(token string, a fixedAnswer) *discordgo.Session {
	s, _ := discordgo.New(token)
	s.Client = &http.Client{Transport: a}
	s.LogLevel = discordgo.LogError - 1
	s.ShouldReconnectOnError = false
	return s
}

func TestDiscordgoStillPutsAnswersIntoErrors(t *testing.T) {
	_, err := newSession("", fixedAnswer{http.StatusBadRequest, "what the server says"}).Channel("1")
	if err == nil || !strings.Contains(err.Error(), "what the server says") {
		t.Errorf("%v: see whether api's transport can leave errors to discordgo", err)
	}
}

func TestDiscordgoStillSleepsThroughRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession("", fixedAnswer{http.StatusOK, "{}"})
		bucket := s.Ratelimiter.LockBucket(discordgo.EndpointChannel("1"))
		usedUp := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"60"}}
		if err := bucket.Release(usedUp); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.Channel("1", discordgo.WithContext(ctx))
		if time.Since(start) < time.Minute {
			t.Errorf("%v after %v: see whether api can use discordgo's limiter", err, time.Since(start))
		}
	})
}

func TestDiscordgoStillLocksUpWithoutHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := openSession(t, fakediscord.Behaviour{InsteadOfHello: []fakediscord.Action{{Stall: true}}})
		if s.TryLock() {
			t.Error("Open does not hold the lock for ever: see whether gateway can use Session")
		}
	})
}

func TestDiscordgoStillIdentifiesWhereItMayResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := openSession(t, fakediscord.Behaviour{})
		d.Do(fakediscord.Action{Op: 9, Resumable: true})
		time.Sleep(time.Minute)
		if identifies := len(d.Identifies()); identifies != 2 {
			t.Errorf("Session identified %d times, not 2: see whether gateway can use it", identifies)
		}
	})
}

// openSession opens a Session that is connected to a fake of Discord, and returns a day later.
func openSession(t *testing.T, b fakediscord.Behaviour) (*discordgo.Session, *discordtest.Server) {
	network := discordtest.NewNetwork()
	d := discordtest.NewOn(network)
	t.Cleanup(d.Close)
	b.Heartbeat = 48 * time.Hour
	d.Behave(b)
	s := newSession(d.Token, fixedAnswer{http.StatusOK, `{"url":"ws://discord.test/gateway"}`})
	s.Dialer = &websocket.Dialer{NetDialContext: network.Dial}
	go s.Open()
	time.Sleep(24 * time.Hour)
	return s, d
}
