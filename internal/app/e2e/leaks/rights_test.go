package leaks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

// TestANameIsShownToTheModeratorAlone has a moderator reply to somebody's message.
func TestANameIsShownToTheModeratorAlone(t *testing.T) {
	const group, moderator, name, family = -1001, 11, "Wilhelmina", "Featherstone"
	world, telegram := e2etest.Sandbox(t), telegramtest.New(t)
	var log e2etest.Buffer
	e2etest.ServeBare(t, e2etest.Settings(world, append(e2etest.Polling(telegram), "MODERATOR_CHATS=*")...), e2etest.BareLog(false, &log))
	telegram.Start(moderator)
	telegram.Promote(group, moderator, "administrator")
	m := telegramtest.Text(telegramtest.Group(group), telegramtest.Person(moderator), "/exists")
	m["reply_to_message"] = map[string]any{"message_id": 5, "chat": telegramtest.Group(group), "text": "hi", "from": map[string]any{
		"id": e2etest.TelegramID(world.World.Registered), "first_name": name, "last_name": family,
	}}
	telegram.Push(m)
	sent := telegram.WaitSent(2, e2etest.Patience) // the answer and the pointer to it
	if len(sent) != 2 || sent[0].Chat != moderator || !strings.Contains(sent[0].Text, name+" "+family) {
		t.Fatalf("%+v", sent)
	}
	for what, text := range map[string]string{"the group reads": fmt.Sprintf("%+v", sent[1]), "the log says": log.String()} {
		if strings.Contains(text, name) || strings.Contains(text, family) {
			t.Errorf("%s %s", what, text)
		}
	}
}

// TestWhoMakesAGroupMayNotAskAboutOthers has somebody who moderates two groups
// and two servers, of which MODERATOR_CHATS lists one each.
func TestWhoMakesAGroupMayNotAskAboutOthers(t *testing.T) {
	const listedGroup, ownGroup, listedServer, ownServer = -1001, -1002, "41", "42"
	world := e2etest.Sandbox(t)
	telegram, discord := telegramtest.New(t), e2etest.Discord(t)
	e2etest.ServeReady(t, world, slices.Concat(e2etest.Polling(telegram), e2etest.Gateway(discord),
		[]string{"MODERATOR_CHATS=telegram:-1001, discord:41"})...)
	const moderator, member = 11, 12
	for _, user := range []int64{moderator, member} {
		telegram.Start(user)
	}
	telegram.Promote(listedGroup, moderator, "administrator")
	telegram.Promote(ownGroup, moderator, "creator")
	about := world.World.Registered

	const registered, notListed, membersOnly = "is registered with the service", "to MODERATOR_CHATS", "Only moderators of this chat"
	for _, test := range []struct {
		user, group int64
		want        string
	}{
		{moderator, listedGroup, registered},
		{moderator, ownGroup, "Add telegram:-1002 " + notListed},
		{member, listedGroup, membersOnly},
		{member, ownGroup, membersOnly},
	} {
		telegram.Take()
		telegram.Push(telegramtest.Text(telegramtest.Group(test.group), telegramtest.Person(test.user), "/exists "+about.UID("Telegram")))
		sent := telegram.WaitSent(2, e2etest.Patience) // the answer and the pointer to it
		if len(sent) != 2 || sent[0].Chat != test.user || !strings.Contains(sent[0].Text, test.want) {
			t.Errorf("Telegram user %d in %d: %+v, want %q", test.user, test.group, sent, test.want)
		}
	}
	for _, test := range []struct {
		permissions int64
		server      string
		want        string
	}{
		{discordgo.PermissionBanMembers, listedServer, registered},
		{discordgo.PermissionAdministrator, ownServer, "Add discord:42 " + notListed},
		{0, listedServer, membersOnly},
		{0, ownServer, membersOnly},
	} {
		// The channel has the ID of the listed server, which must not count.
		pending, err := discord.Push(discordtest.Interaction{Command: "exists", Options: map[string]string{"platform": "Discord", "uid": about.UID("Discord")},
			UserID: "13", GuildID: test.server, ChannelID: listedServer, Permissions: test.permissions})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
		answer, err := pending.Wait(ctx)
		cancel()
		if err != nil || !answer.Ephemeral || !strings.Contains(e2etest.Plain(answer.Text()), test.want) {
			t.Errorf("Discord, permissions %d in %s: %v %+v, want %q", test.permissions, test.server, err, answer, test.want)
		}
	}
}
