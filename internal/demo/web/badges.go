package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/demo/community"
	fakediscord "herald/internal/demo/fake/discord"
)

// roleID and botRoleID are the roles of stakers and of the bot on Discord. The role of stakers has
// the name of their tag on Telegram.
const (
	roleID    = "840000000000000001"
	botRoleID = "840000000000000002"
)

// StakerRoles returns the setting STAKER_ROLES for the server of the page.
func StakerRoles() []chat.Badge { return []chat.Badge{{Community: discordGuild, ID: roleID}} }

// openGuild makes the server on Discord. The bot may give the role there to everybody.
func (d *Demo) openGuild() {
	d.Discord.AddGuild(discordGuild, []fakediscord.Role{
		{ID: roleID, Name: community.Badge, Position: 1},
		{ID: botRoleID, Name: fakediscord.BotName, Position: 2, Permissions: discordgo.PermissionManageRoles},
	}, botRoleID)
	d.Discord.NameGuild(discordGuild, community.GroupTitle)
	for _, p := range d.Community.People {
		d.Discord.Enter(discordGuild, p.DiscordID)
	}
}

// watchBadges adds to the feed who has the badge on a side, whenever that changes. wait is
// that of the side's stand-in. watchBadges blocks until ctx is done.
func (d *Demo) watchBadges(
	ctx context.Context, side string, has func(community.Person) bool, wait func(context.Context, func() bool) error,
) {
	names := []string{}
	for {
		d.feed.add(Event{Kind: KindBadges, Side: side, ID: KindBadges, Message: encoded(names)})
		var now []string
		err := wait(ctx, func() bool {
			now = []string{}
			for _, p := range d.Community.People {
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
	telegram := d.Community.Telegram
	hasTag := func(p community.Person) bool {
		return telegram.Tag(community.GroupID, p.TelegramID) == community.Badge
	}
	go d.watchBadges(ctx, Telegram, hasTag, telegram.Wait)
	hasRole := func(p community.Person) bool { return d.Discord.HasRole(discordGuild, p.DiscordID, roleID) }
	go d.watchBadges(ctx, Discord, hasRole, d.Discord.Wait)
}

// later has hours pass for the saved addresses, and the bot check them.
func (d *Demo) later(w http.ResponseWriter, r *http.Request) {
	err := d.Later(r.Context())
	answer(w, strconv.FormatBool(err == nil), err)
}
