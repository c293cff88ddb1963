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

// A public answer is in the language that CHAT_LANGUAGE has for its chat, and otherwise in the default one.
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
			here := e2etest.Command{User: user, Group: true, Name: "price"}
			elsewhere := here
			elsewhere.Guild = otherGuild
			elsewhere.Alter = func(m faketelegram.Message) { m["chat"] = faketelegram.Group(otherGroup) }
			for _, test := range []struct {
				asked      e2etest.Command
				want, lack chat.Language
			}{
				{here, chat.Turkish, chat.English},
				{elsewhere, chat.English, chat.Turkish},
			} {
				answer := platform.Ask(test.asked).Wait()
				has := func(l chat.Language) bool { return strings.Contains(answer.Text, words.Say(l, chat.Say("price.cap"))) }
				if !has(test.want) || has(test.lack) || answer.Private {
					t.Errorf("want an answer in %q: %+v", test.want, answer)
				}
			}
		})
	}
}
