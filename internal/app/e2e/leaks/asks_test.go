package leaks

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// cutServices asks everything while every service fails, on both platforms,
// and waits for each answer.
func (s *stage) cutServices(t *testing.T, f *fault.Echo) {
	t.Helper()
	for _, service := range s.Services {
		service.Arm(f, "")
		defer service.Arm(nil, "")
	}
	wallet := s.World.World.Staker.Hex()
	before := len(s.Telegram.Sent())
	for _, text := range []string{"/price", "/supply", "/staked " + wallet, "/status", "/mylogins", "/exists", "/exists " + typed} {
		s.tell(t, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	for _, i := range []discordtest.Interaction{
		{Command: "price"}, {Command: "supply"}, {Command: "status"}, {Command: "mylogins"}, {Command: "exists"},
		{Command: "staked", Options: map[string]string{"wallet": wallet}},
		{Command: "staked", Options: map[string]string{"wallet": typed}},
	} {
		got, err := s.interact(ctx, t, i).Wait(ctx)
		if err != nil {
			t.Errorf("%s: /%s is not answered in Discord: %v", f.Name, i.Command, err)
		}
		fmt.Fprintf(&s.answers, "%+v\n%s\n", got, got.Text())
	}
	// Each private one has a pointer in the group.
	const messages = 4 + 2*3
	if sent := s.Telegram.WaitSent(before+messages, e2etest.Patience); len(sent) < before+messages {
		t.Errorf("%s: %d messages in Telegram, want %d", f.Name, len(sent)-before, messages)
	}
}

// cutPlatforms asks while the platforms fail, until each has failed once.
func (s *stage) cutPlatforms(t *testing.T, f *fault.Echo) {
	t.Helper()
	// Updates still arrive, so that there is something to answer.
	s.Telegrams.Arm(f, "sendMessage")
	s.Discords.Arm(f, "")
	s.tell(t, "/price "+typed)
	e2etest.Eventually(t, f.Name+": Telegram is answered", func() bool { return s.Telegrams.HasMet("sendMessage") })
	if !s.overHTTP {
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
		defer cancel()
		s.interact(ctx, t, discordtest.Interaction{Command: "price"})
		e2etest.Eventually(t, f.Name+": Discord is answered", func() bool { return s.Discords.HasMet("callback") })
		s.Telegrams.Arm(f, "")
		s.tell(t, "/price") // ends a poll that is under way
		e2etest.Eventually(t, f.Name+": Telegram is asked for updates", func() bool { return s.Telegrams.HasMet("getUpdates") })
	}
	s.Telegrams.Arm(nil, "")
	s.Discords.Arm(nil, "")
}

// tell writes a text in a group of Telegram as the registered person.
func (s *stage) tell(t *testing.T, text string) {
	t.Helper()
	m := telegramtest.Text(telegramtest.Group(groupID), telegramtest.Person(e2etest.TelegramID(s.World.World.Registered)), text)
	if !s.overHTTP {
		s.Telegram.Push(m)
		return
	}
	body := s.Telegram.Update(m)
	go func() { // a delivery lasts until the answer is out
		if got, err := s.Telegram.Deliver(t.Context(), s.bot.URL+e2etest.WebhookPath, body); err == nil && got != http.StatusOK && got != http.StatusServiceUnavailable {
			t.Errorf("a delivery is answered with %d", got)
		}
	}()
}

// interact uses a command in Discord as the registered person.
func (s *stage) interact(ctx context.Context, t *testing.T, i discordtest.Interaction) *discordtest.Pending {
	t.Helper()
	i.UserID, i.GuildID, i.ChannelID = s.World.World.Registered.UID("Discord"), "9988776655443322", "1122334455667788"
	var pending *discordtest.Pending
	var err error
	if !s.overHTTP {
		pending, err = s.Discord.Push(i)
	} else {
		pending, _, err = s.Discord.Post(ctx, s.bot.URL+e2etest.InteractionsPath, i)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.tokens = append(s.tokens, pending.Token)
	return pending
}
