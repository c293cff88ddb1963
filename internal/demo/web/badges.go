package web

import (
	"context"
	"slices"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/demo/community"
	fakediscord "herald/internal/demo/fake/discord"
)

// stakerRoleID is the ID of the role of stakers on Discord. The role has the same name as their tag on Telegram.
const stakerRoleID = "840000000000000001"

// botRoleID is the ID of the bot's role on Discord.
const botRoleID = "840000000000000002"

// StakerRoles returns the setting STAKER_ROLES for the page's server on Discord.
func StakerRoles() []chat.Badge { return []chat.Badge{{Community: discordGuild, ID: stakerRoleID}} }

// openGuild makes the server on Discord, with all people. The bot may give members the role of stakers.
func (d *Demo) openGuild() {
	d.Discord.AddGuild(discordGuild, []fakediscord.Role{
		{ID: stakerRoleID, Name: community.Badge, Position: 1},
		{ID: botRoleID, Name: fakediscord.BotName, Position: 2, Permissions: discordgo.PermissionManageRoles},
	}, botRoleID)
	d.Discord.NameGuild(discordGuild, community.GroupTitle)
	for _, p := range d.Community.People {
		d.Discord.Enter(discordGuild, p.DiscordID)
	}
}

// startWatchingBadges starts watchBadges for both sides. It does not block.
func (d *Demo) startWatchingBadges(ctx context.Context) {
	telegram := d.Community.Telegram
	hasTag := func(p community.Person) bool {
		return telegram.Tag(community.GroupID, p.TelegramID) == community.Badge
	}
	go d.watchBadges(ctx, Telegram, hasTag, telegram.Wait)
	hasRole := func(p community.Person) bool { return d.Discord.HasRole(discordGuild, p.DiscordID, stakerRoleID) }
	go d.watchBadges(ctx, Discord, hasRole, d.Discord.Wait)
}

// watchBadges adds an event to the feed at once, and whenever a person is given the badge on a side or loses it.
// hasBadge reports whether a person has the badge. wait is the method Wait of the side's fake. watchBadges blocks until
// ctx is done.
func (d *Demo) watchBadges(
	ctx context.Context, side string,
	hasBadge func(community.Person) bool,
	wait func(ctx context.Context, done func() bool) error,
) {
	holders := []string{} // names
	for {
		d.feed.add(Event{Kind: KindBadges, Side: side, ID: KindBadges, Message: encoded(holders)})
		var current []string
		err := wait(ctx, func() bool {
			current = []string{}
			for _, p := range d.Community.People {
				if hasBadge(p) {
					current = append(current, p.Name)
				}
			}
			return !slices.Equal(current, holders)
		})
		if err != nil {
			return
		}
		holders = current
	}
}
