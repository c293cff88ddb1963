package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/secret/logtest"
)

// TestWhoMakesAGroupMayNotAskAboutOthers has somebody who moderates two groups
// and two servers, of which MODERATOR_CHATS lists one each. In Telegram they
// reply to a message, whose author's name the moderator alone may read.
func TestWhoMakesAGroupMayNotAskAboutOthers(t *testing.T) {
	t.Parallel()
	const name = "Wilhelmina"
	world, telegram, discord, log := e2etest.Sandbox(t), faketelegram.New(t), e2etest.Discord(t), &logtest.Buffer{}
	bot := e2etest.ServeBare(t, e2etest.Settings(world, slices.Concat(e2etest.Polling(telegram), e2etest.Gateway(discord),
		[]string{"MODERATOR_CHATS=telegram:-1001, discord:41"})...), log.Logger())
	bot.AwaitReady(t)
	const moderator, member = 11, 12
	for _, user := range []int64{moderator, member} {
		telegram.Start(user)
	}
	telegram.Promote(listedGroup, moderator, "administrator")
	telegram.Promote(otherGroup, moderator, "creator")
	about := world.World.Registered

	const registered, notListed, membersOnly = "is registered with the service", "to MODERATOR_CHATS", "Only moderators of this chat"
	for _, test := range []struct {
		user, group int64
		want        string
	}{
		{moderator, listedGroup, registered},
		{moderator, otherGroup, "Add telegram:-1002 " + notListed},
		{member, listedGroup, membersOnly},
		{member, otherGroup, membersOnly},
	} {
		telegram.Take()
		m := faketelegram.Text(faketelegram.Group(test.group), faketelegram.Person(test.user), "/exists")
		m["reply_to_message"] = map[string]any{"message_id": 5, "chat": faketelegram.Group(test.group), "text": "hi", "from": map[string]any{
			"id": e2etest.TelegramID(about), "first_name": name,
		}}
		telegram.Push(m)
		sent := telegram.WaitSent(2, e2etest.Patience) // the answer and the pointer to it
		if len(sent) != 2 || sent[0].Chat != test.user || !strings.Contains(sent[0].Text, test.want) {
			t.Fatalf("Telegram user %d in %d: %+v, want %q", test.user, test.group, sent, test.want)
		}
		if strings.Contains(sent[1].Text, name) || strings.Contains(log.String(), name) {
			t.Errorf("the group or the log reads whom it is about: %+v\n%s", sent[1], log)
		}
	}
	for _, test := range []struct {
		permissions int64
		server      string
		want        string
	}{
		{discordgo.PermissionBanMembers, listedServer, registered},
		{discordgo.PermissionAdministrator, otherServer, "Add discord:42 " + notListed},
		{0, listedServer, membersOnly},
		{0, otherServer, membersOnly},
	} {
		// The channel has the ID of the listed server, which must not count.
		pending, err := discord.Push(fakediscord.Interaction{Command: "exists", Options: map[string]string{"platform": "Discord", "uid": about.UID("Discord")},
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
