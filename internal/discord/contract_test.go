package discord_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
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
		Log: slog.New(slog.DiscardHandler), Count: func(string) {}, Connected: func(string) {},
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
			i := discordtest.Interaction{Command: command}
			if len(argument) > 0 {
				i.Options = map[string]string{"wallet": argument[0]}
			}
			s.act(t, i, "5", send)
		},
		Press: func(t *testing.T, label string, other bool) {
			for _, m := range slices.Backward(s.Server.Messages()) {
				if b, ok := m.Button(label); ok {
					s.act(t, discordtest.Interaction{Button: b.CustomID, On: &m}, map[bool]string{false: "5", true: "6"}[other], send)
					return
				}
			}
			t.Fatalf("no button %q in %+v", label, s.Server.Messages())
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

// act has a user of the guild do something once the adapter is ready.
func (s *server) act(t *testing.T, i discordtest.Interaction, user string, send func(context.Context, discordtest.Interaction) (*discordtest.Pending, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s.waitReady(ctx, t)
	i.UserID, i.GuildID, i.ChannelID = user, "7", "8"
	go func() {
		if _, err := send(ctx, i); err != nil {
			t.Errorf("%+v: %v", i, err)
		}
	}()
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

// messages are those that are shown, without the ones that are only promised.
func (s *server) messages() []chattest.Message {
	var all []chattest.Message
	for _, m := range s.Server.Messages() {
		if len(m.Embeds) > 0 {
			all = append(all, chattest.Message{Text: m.Text() + "\n" + m.Everything(), Private: m.Ephemeral})
		}
	}
	return all
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
