package discord_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/config"
	"herald/internal/discord"
	"herald/internal/discord/discordtest"
	"herald/internal/state"
)

// server is a guild's channel in a fake Discord, in which one person asks.
type server struct {
	*discordtest.Server
	adapter *discord.Adapter

	mu      sync.Mutex
	pending []*discordtest.Pending
	shown   []chattest.Message
}

// newServer makes an adapter that does not run yet. byHTTP chooses the way in.
func newServer(t *testing.T, byHTTP bool) *server {
	fake := discordtest.New()
	t.Cleanup(fake.Close)
	settings := discord.Settings{Token: config.NewSecret(fake.Token), ApplicationID: fake.ApplicationID, APIURL: fake.URL()}
	if byHTTP {
		settings.PublicKey = fake.PublicKey
	}
	adapter, err := discord.New(discord.Config{
		Settings: settings, Dedup: state.NewMemory(), CommandTimeout: time.Minute,
		Log: slog.New(slog.DiscardHandler), Count: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &server{Server: fake, adapter: adapter}
}

// harness is s for the suite, with a way to send an interaction.
func (s *server) harness(send func(context.Context, discordtest.Interaction) (*discordtest.Pending, error)) chattest.Harness {
	return chattest.Harness{
		Adapter: s.adapter,
		Ask: func(t *testing.T, command string, argument ...string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			t.Cleanup(cancel)
			s.waitReady(ctx, t)
			i := discordtest.Interaction{Command: command, UserID: "5", GuildID: "7", ChannelID: "8"}
			if len(argument) > 0 {
				i.Options = map[string]string{"wallet": argument[0]}
			}
			go func() {
				p, err := send(ctx, i)
				if err != nil {
					t.Errorf("ask %s: %v", command, err)
					return
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				s.pending = append(s.pending, p)
			}()
		},
		Messages: func(t *testing.T, atLeast int) []chattest.Message {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for {
				if all := s.messages(); len(all) >= atLeast {
					return all
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					t.Fatalf("not %d messages in time: %+v", atLeast, s.messages())
				}
			}
		},
		Faults: s.Problems,
		Args:   func(wallet string) chat.Args { return chat.Named(map[string]string{"wallet": wallet}) },
	}
}

func (s *server) waitReady(ctx context.Context, t *testing.T) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !s.adapter.Ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("not ready in time")
		}
	}
}

// messages are the whole answers, in the order in which they came.
func (s *server) messages() []chattest.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var waiting []*discordtest.Pending
	for _, p := range s.pending {
		if a := p.Answer(); a.Final > 0 {
			s.shown = append(s.shown, chattest.Message{Text: a.Text(), Private: a.Ephemeral})
		} else {
			waiting = append(waiting, p)
		}
	}
	s.pending = waiting
	return append([]chattest.Message(nil), s.shown...)
}

func TestTheAdapterKeepsTheContractOverTheGateway(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		s := newServer(t, false)
		return s.harness(func(_ context.Context, i discordtest.Interaction) (*discordtest.Pending, error) { return s.Push(i) })
	})
}

func TestTheAdapterKeepsTheContractByHTTP(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		s := newServer(t, true)
		endpoint := httptest.NewServer(http.Handler(s.adapter))
		t.Cleanup(endpoint.Close)
		return s.harness(func(ctx context.Context, i discordtest.Interaction) (*discordtest.Pending, error) {
			p, _, err := s.Post(ctx, endpoint.URL, i)
			return p, err
		})
	})
}
