package e2e

import (
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/words"
)

// CHAT_LANGUAGE sets the language of public answers for one chat on each platform, and another one for all other
// chats.
func TestAPublicAnswerIsInTheLanguageOfItsChat(t *testing.T) {
	t.Parallel()
	const otherGroup, otherGuild = int64(-1001112223334), "43"
	languages := fmt.Sprintf("CHAT_LANGUAGE=telegram:%d:tr,en,discord:%s:tr", e2etest.GroupID, e2etest.GuildID)
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes, platform := fault.Start(t), way.Open(t)
			platform.Serve(fakes, languages)
			user := way.User(fakes.World.Registered)
			inSetChat := e2etest.Command{User: user, Group: true, Name: "price"}
			inOtherChat := inSetChat
			inOtherChat.Guild = otherGuild
			inOtherChat.Alter = func(m faketelegram.Message) { m["chat"] = faketelegram.Group(otherGroup) }
			for _, test := range []struct {
				command        e2etest.Command
				want, mustLack chat.Language
			}{
				{command: inSetChat, want: chat.Turkish, mustLack: chat.English},
				{command: inOtherChat, want: chat.English, mustLack: chat.Turkish},
			} {
				answer := platform.Ask(test.command).Wait()
				has := func(l chat.Language) bool { return strings.Contains(answer.Text, words.Say(l, chat.Say("price.cap"))) }
				if !has(test.want) || has(test.mustLack) || answer.Private {
					t.Errorf("want an answer in %q: %+v", test.want, answer)
				}
			}
		})
	}
}
