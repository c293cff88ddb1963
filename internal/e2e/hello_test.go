package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// withRole returns a platform and services before a bot that gives a role, and its settings. On
// Telegram it opens the door too.
func withRole(t *testing.T, way e2etest.Way) (d *door, settings []string) {
	t.Helper()
	settings = e2etest.OnRedis(miniredis.RunT(t))
	if !way.OnDiscord {
		d = newDoor(t, way)
		d.platform.Telegram.GrantTags(e2etest.GroupID, true)
		return d, append(d.settings(settings...), fmt.Sprintf("STAKER_TAGS=telegram:%d:Staker", e2etest.GroupID))
	}
	d = &door{T: t, fakes: fault.Start(t), platform: way.Open(t)}
	d.platform.Discord.AddGuild(e2etest.GuildID, []fakediscord.Role{
		{ID: "7", Name: "Staker", Position: 1}, {ID: "8", Name: "Herald", Position: 2, Permissions: discordgo.PermissionManageRoles},
	}, "8")
	return d, append(settings, "STAKER_ROLES=discord:"+e2etest.GuildID+":7")
}

// The bot stops or is killed right after it was added to a group, and says hello there once.
func TestHelloIsSaidOnceAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]e2etest.Way{"polling, SIGTERM": e2etest.Ways[0], "polling, SIGKILL": e2etest.Ways[0], "webhook, SIGTERM": e2etest.Ways[1]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, settings := withRole(t, way)
			first := d.platform.Start(binary(t), d.fakes, settings...)
			d.platform.Deliver(e2etest.GroupID, 2, func() {
				d.platform.Telegram.ChangeBot(faketelegram.Group(e2etest.GroupID), faketelegram.Standing{Status: "left"}, faketelegram.Standing{Status: "member"})
			})
			if strings.HasSuffix(name, "SIGTERM") {
				first.Leave()
			} else {
				first.Kill()
			}
			d.platform.Start(binary(t), d.fakes, settings...)
			sent := d.platform.Telegram.WaitSent(1, e2etest.Patience)
			if len(sent) != 1 || !d.platform.Telegram.WaitAcknowledged(e2etest.Patience) {
				t.Fatalf("%d messages, %d updates are queued", len(sent), len(d.platform.Telegram.Pending()))
			}
			for _, want := range []string{"/price", fmt.Sprint("telegram:", e2etest.GroupID), "/verify gets you Staker"} {
				if !strings.Contains(sent[0].Text, want) {
					t.Errorf("%q lacks %q", sent[0].Text, want)
				}
			}
		})
	}
}

// /help in a group or a server names the role there and the groups that can be joined, once
// their names are known. In a server it has the list of all commands.
func TestHelpNamesTheWayToARole(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d, settings := withRole(t, way)
			d.platform.Serve(d.fakes, settings...)
			want := []string{"/verify gets you Staker", "join on Telegram: MAT Holders · MAT Stakers"}
			if way.OnDiscord {
				want = []string{"gets you Staker", "mylogins"}
			}
			user := int64(9000)
			e2etest.Eventually(t, strings.Join(want, " and "), func() bool {
				user++
				a := d.platform.Ask(e2etest.Command{User: user, Group: true, Name: "help"})
				e2etest.Eventually(t, "an answer", func() bool { return len(a.Answers()) > 0 })
				text := a.Answers()[0].Text
				return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) })
			})
		})
	}
}
