package telegram

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
)

// Rights reports for each group in JoinChats and StakerTags whether the bot has the rights that the setting needs, and
// for each group in entries whether the bot is a member. It also stores the groups' names. It makes two calls for each
// group, and one more if Run does not run.
func (a *Adapter) Rights(ctx context.Context, entries ...platform.Entry) []platform.Right {
	if len(a.Settings.JoinChats)+len(a.Settings.StakerTags)+len(entries) == 0 {
		return nil
	}
	s := a.current.Load()
	if s != nil {
		return a.rightsOf(ctx, s.me().ID, entries)
	}
	me, err := a.api.GetMe(ctx)
	if err != nil {
		return []platform.Right{{Setting: TokenSetting, Problem: err.Error(), Temporary: true}}
	}
	return a.rightsOf(ctx, me.ID, entries)
}

// rightsOf is Rights for the bot with the ID self.
func (a *Adapter) rightsOf(ctx context.Context, self int64, entries []platform.Entry) (all []platform.Right) {
	for _, group := range slices.Sorted(maps.Keys(a.Settings.JoinChats)) {
		r := platform.Right{Setting: "JOIN_CHATS", Name: chat.NewUntrusted(fmt.Sprint(group), maxTitle)}
		all = append(all, a.right(ctx, r, group, self, judgeLettingIn))
	}
	for i, tag := range a.Settings.StakerTags {
		isSameGroup := i > 0 && tag.Community == a.Settings.StakerTags[i-1].Community
		if isSameGroup { // StakerTags is sorted by group.
			continue
		}
		r := platform.Right{Setting: "STAKER_TAGS", Name: a.BadgeName(tag.Community, tag.ID)}
		all = append(all, a.right(ctx, r, idOf(tag.Community), self, judgeTags))
	}
	for _, e := range entries {
		r := platform.Right{Setting: e.Setting, Name: chat.NewUntrusted(e.ID, maxTitle)}
		all = append(all, a.right(ctx, r, idOf(e.ID), self, judgePresence))
	}
	return all
}

// right asks Telegram about a group and the bot's membership there, and passes both to judge, which completes r. If a
// call fails, right sets r.Problem instead.
func (a *Adapter) right(
	ctx context.Context, r platform.Right, group, self int64,
	judge func(*platform.Right, botapi.ChatInfo, *models.ChatMember),
) platform.Right {
	r.Entry = fmt.Sprintf("group %d", group)
	info, err := a.api.GetChat(ctx, group)
	var own *models.ChatMember
	if err == nil {
		a.seeGroup(models.Chat{ID: group, Title: info.Title, Username: info.Username})
		r.Community = chat.NewUntrusted(info.Title, maxTitle)
		own, err = a.chatMember(ctx, group, self)
	}
	if e := botapi.ErrorOf(err); e.Kind == botapi.Migrated {
		_, _ = a.rememberMove(group, e.NewChat)
		r.Problem = fmt.Sprintf("the group has become a supergroup with another ID: write %d in the entry instead of %d",
			e.NewChat, group)
		return r
	}
	if err != nil {
		e := botapi.ErrorOf(err)
		r.Problem = err.Error()
		r.Temporary = e.Temporary() || e.Kind == botapi.Unauthorized
		if !r.Temporary {
			r.Problem += ": is the ID right, and the bot in the group?"
		}
		return r
	}
	judge(&r, info, own)
	return r
}

// judgePresence sets whether the bot is in a group. getChat does not show that: it succeeds for every public group.
func judgePresence(r *platform.Right, _ botapi.ChatInfo, own *models.ChatMember) {
	if isAbsent(own) {
		r.Problem = "the bot is not in the group: add it, or take the entry out"
		return
	}
	r.May = "the bot is there"
}

// judgeLettingIn sets whether the bot may let people into a group.
func judgeLettingIn(r *platform.Right, info botapi.ChatInfo, own *models.ChatMember) {
	if !mayInvite(own) {
		r.Problem = "the bot may not let people in: make it an administrator there, with the right to invite users via link"
		return
	}
	r.May = "the bot may let people in"
	if !info.JoinByRequest {
		r.Advice = append(r.Advice,
			"only those ask to join who come by an invite link with admin approval: make such a link, or switch on "+
				"Approve New Members")
	}
	if info.GuardBot != nil && info.GuardBot.ID != own.Administrator.User.ID {
		r.Advice = append(r.Advice, "another bot is asked about join requests first: make this one process them instead")
	}
}

// judgeTags sets whether the bot may set tags in a group, and members may not set their own.
func judgeTags(r *platform.Right, info botapi.ChatInfo, own *models.ChatMember) {
	switch {
	case !mayTag(own):
		r.Problem = "the bot may not set tags: make it an administrator there, with the right to manage member tags"
	case info.MembersEditTags():
		r.Problem = "members may edit their own tags, so that anybody could write this one: " +
			"switch off Edit Own Tags in the group's permissions"
	default:
		r.May = "the bot may set tags"
	}
}
