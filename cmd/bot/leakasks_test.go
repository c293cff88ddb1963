package main

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

// cutServices asks everything while every service fails, on both platforms,
// and waits for each answer. base is the bot's HTTP server if updates arrive
// there.
func (s *stage) cutServices(t *testing.T, base string, f *fault) {
	t.Helper()
	for _, service := range s.services {
		service.arm(f, "")
		defer service.arm(nil, "")
	}
	wallet := s.world.World.Staker.Hex()
	before := len(s.telegram.Sent())
	for _, text := range []string{"/price", "/supply", "/staked " + wallet, "/mylogins", "/exists", "/exists " + typed} {
		s.tell(t, base, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, i := range []discordtest.Interaction{
		{Command: "price"}, {Command: "supply"}, {Command: "mylogins"}, {Command: "exists"},
		{Command: "staked", Options: map[string]string{"wallet": wallet}},
		{Command: "staked", Options: map[string]string{"wallet": typed}},
	} {
		got, err := s.interact(ctx, t, base, i).Wait(ctx)
		if err != nil {
			t.Errorf("%s: /%s is not answered in Discord: %v", f.name, i.Command, err)
		}
		fmt.Fprintf(&s.answers, "%+v\n%s\n", got, got.Text())
	}
	// Each private one has a pointer in the group.
	const messages = 3 + 2*3
	if sent := s.telegram.WaitSent(before+messages, patience); len(sent) < before+messages {
		t.Errorf("%s: %d messages in Telegram, want %d", f.name, len(sent)-before, messages)
	}
}

// cutPlatforms asks while the platforms fail, until each has failed once.
func (s *stage) cutPlatforms(t *testing.T, base string, f *fault) {
	t.Helper()
	// Updates still arrive, so that there is something to answer.
	s.telegrams.arm(f, "sendMessage")
	s.discords.arm(f, "")
	s.tell(t, base, "/price "+typed)
	eventually(t, f.name+": Telegram is answered", func() bool { return s.telegrams.hasMet("sendMessage") })
	if base == "" {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		s.interact(ctx, t, base, discordtest.Interaction{Command: "price"})
		eventually(t, f.name+": Discord is answered", func() bool { return s.discords.hasMet("callback") })
		s.telegrams.arm(f, "")
		s.tell(t, base, "/price") // ends a poll that is under way
		eventually(t, f.name+": Telegram is asked for updates", func() bool { return s.telegrams.hasMet("getUpdates") })
	}
	s.telegrams.arm(nil, "")
	s.discords.arm(nil, "")
}

// tell writes a text in a group of Telegram as the registered person.
func (s *stage) tell(t *testing.T, base, text string) {
	t.Helper()
	m := telegramtest.Text(telegramtest.Group(leaksIn), telegramtest.Person(s.person()), text)
	if base == "" {
		s.telegram.Push(m)
		return
	}
	body := s.telegram.Update(m)
	go func() { // a delivery lasts until the answer is out
		if got, err := s.telegram.Deliver(t.Context(), base+"/hook", body); err == nil && got != http.StatusOK && got != http.StatusServiceUnavailable {
			t.Errorf("a delivery is answered with %d", got)
		}
	}()
}

// interact uses a command in Discord as the registered person.
func (s *stage) interact(ctx context.Context, t *testing.T, base string, i discordtest.Interaction) *discordtest.Pending {
	t.Helper()
	i.UserID, i.GuildID, i.ChannelID = s.world.World.Registered.UID("Discord"), "9988776655443322", "1122334455667788"
	var pending *discordtest.Pending
	var err error
	if base == "" {
		pending, err = s.discord.Push(i)
	} else {
		pending, _, err = s.discord.Post(ctx, base+"/discord/interactions", i)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.tokens = append(s.tokens, pending.Token)
	return pending
}
