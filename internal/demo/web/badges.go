package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
)

// badge is what stakers have on the page: a tag on Telegram, a role on Discord. roleID and
// botRoleID are the roles of stakers and of the bot.
const (
	badge     = "Staker"
	roleID    = "840000000000000001"
	botRoleID = "840000000000000002"
)

// StakerTags returns the setting STAKER_TAGS for the group of the page.
func StakerTags() []chat.Badge {
	return []chat.Badge{{Community: strconv.FormatInt(telegramGroup, 10), ID: badge}}
}

// StakerRoles returns the setting STAKER_ROLES for the server of the page.
func StakerRoles() []chat.Badge { return []chat.Badge{{Community: discordGuild, ID: roleID}} }

// openBadges lets the bot give the badge on both sides, to everybody on the page.
func (d *Demo) openBadges() {
	d.Telegram.GrantTags(telegramGroup, true)
	d.Telegram.SetChat(faketelegram.ChatInfo{
		Chat: telegramChat(Group, Person{}), Permissions: &faketelegram.ChatPermissions{},
	})
	d.Discord.AddGuild(discordGuild, []fakediscord.Role{
		{ID: roleID, Name: badge, Position: 1},
		{ID: botRoleID, Name: fakediscord.BotName, Position: 2, Permissions: discordgo.PermissionManageRoles},
	}, botRoleID)
	d.Discord.NameGuild(discordGuild, groupTitle)
	for _, p := range d.people {
		d.Discord.Enter(discordGuild, p.DiscordID)
	}
}

// watchBadges adds to the feed who has the badge on a side, whenever that changes. wait is
// that of the side's stand-in. watchBadges blocks until ctx is done.
func (d *Demo) watchBadges(
	ctx context.Context, side string, has func(Person) bool, wait func(context.Context, func() bool) error,
) {
	names := []string{}
	for {
		d.feed.add(Event{Kind: KindBadges, Side: side, ID: KindBadges, Message: encoded(names)})
		var now []string
		err := wait(ctx, func() bool {
			now = []string{}
			for _, p := range d.people {
				if has(p) {
					now = append(now, p.Name)
				}
			}
			return !slices.Equal(now, names)
		})
		if err != nil {
			return
		}
		names = now
	}
}

// followBadges starts watchBadges for both sides.
func (d *Demo) followBadges(ctx context.Context) {
	hasTag := func(p Person) bool { return d.Telegram.Tag(telegramGroup, p.TelegramID) == badge }
	go d.watchBadges(ctx, Telegram, hasTag, d.Telegram.Wait)
	hasRole := func(p Person) bool { return d.Discord.Wears(discordGuild, p.DiscordID, roleID) }
	go d.watchBadges(ctx, Discord, hasRole, d.Discord.Wait)
}

// later has hours pass for the saved addresses, and the bot check them.
func (d *Demo) later(w http.ResponseWriter, r *http.Request) {
	err := d.Later(r.Context())
	answer(w, strconv.FormatBool(err == nil), err)
}
