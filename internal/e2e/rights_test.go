package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/secret/logtest"
)

// Somebody moderates two groups and two servers. MODERATOR_CHATS lists one of
// each. In Telegram they reply to a message, whose author only they may be told.
func TestWhoMakesAGroupMayNotAskAboutOthers(t *testing.T) {
	t.Parallel()
	const name, moderator, member = "Wilhelmina", 11, 12
	world, telegram, discord, log := e2etest.Sandbox(t), faketelegram.New(t), e2etest.Discord(t), &logtest.Buffer{}
	settings := append(e2etest.Polling(telegram), e2etest.Gateway(discord)...)
	bot := e2etest.ServeBare(t, e2etest.Settings(world, append(settings, "MODERATOR_CHATS=telegram:-1001, discord:41")...), log.Logger())
	bot.AwaitReady(t)
	telegram.Start(moderator)
	telegram.Start(member)
	telegram.Promote(listedGroup, moderator, "administrator")
	telegram.Promote(otherGroup, moderator, "creator")
	about := world.World.Registered
	for _, test := range []struct {
		user, group int64
		server      string
		want, where string
	}{
		{moderator, listedGroup, listedServer, "is registered with the service", ""},
		{moderator, otherGroup, otherServer, "to MODERATOR_CHATS", "Add telegram:-1002 Add discord:42"},
		{member, listedGroup, listedServer, "Only moderators of this chat", ""},
		{member, otherGroup, otherServer, "Only moderators of this chat", ""},
	} {
		permissions := map[bool]int64{true: discordgo.PermissionBanMembers}[test.user == moderator]
		pending, err := discord.Push(fakediscord.Interaction{Command: "exists", UserID: strconv.FormatInt(test.user, 10),
			Options: map[string]string{"platform": "Discord", "uid": about.UID("Discord")}, Permissions: permissions,
			GuildID: test.server, ChannelID: listedServer}) // whose ID must not count
		if err != nil {
			t.Fatal(err)
		}
		telegram.Take()
		m := faketelegram.Text(faketelegram.Group(test.group), faketelegram.Person(test.user), "/exists")
		m["reply_to_message"] = faketelegram.Message{"message_id": 5, "chat": faketelegram.Group(test.group), "text": "hi",
			"from": faketelegram.User{ID: e2etest.TelegramID(about), FirstName: name}}
		telegram.Push(m)
		sent := telegram.WaitSent(2, e2etest.Patience) // the answer and the pointer to it
		if len(sent) != 2 || sent[0].Chat != test.user || !strings.Contains(sent[0].Text, test.want) {
			t.Fatalf("Telegram user %d in %d: %+v, want %q", test.user, test.group, sent, test.want)
		}
		if strings.Contains(sent[1].Text, name) || strings.Contains(log.String(), name) {
			t.Errorf("the group or the log is told about whom it is: %+v\n%s", sent[1], log)
		}
		answer, err := pending.Wait(t.Context())
		text := e2etest.Plain(answer.Text())
		if err != nil || !answer.Ephemeral || !strings.Contains(text, test.want) {
			t.Errorf("Discord user %d in %s: %v %+v, want %q", test.user, test.server, err, answer, test.want)
		}
		if telegramAdds, discordAdds, listed := strings.Cut(test.where, " Add discord"); listed &&
			(!strings.Contains(sent[0].Text, telegramAdds) || !strings.Contains(text, "Add discord"+discordAdds)) {
			t.Errorf("the entry to add is missing: %q, %q", sent[0].Text, text)
		}
	}
}
