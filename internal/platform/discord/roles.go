package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
	"herald/internal/ratelimit"
)

// diagnoseEvery is the minimum time between two fetches of one server by diagnose.
const diagnoseEvery = time.Minute

// OneEach implements chat.BadgeGiver. A member of a server may have many roles.
func (a *Adapter) OneEach() bool { return false }

// BadgeName implements chat.BadgeGiver. It returns the role's name when the server was last fetched.
func (a *Adapter) BadgeName(guildID, roleID string) chat.Untrusted {
	for _, r := range a.lastGuild(guildID).Roles {
		if r.ID == roleID {
			return r.shownName()
		}
	}
	return ""
}

// CommunityName implements chat.BadgeGiver. It returns the server's name when the server was last fetched.
func (a *Adapter) CommunityName(guildID string) chat.Untrusted {
	return chat.NewUntrusted(a.lastGuild(guildID).Name, maxGuildName)
}

// codeTwoFactor is the code of a refusal in a server that requires two-factor authentication, if the owner of the bot's
// account has not turned that on.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
const codeTwoFactor = 60003

// errPending means that a member has not accepted the server's rules. A role would let them skip the rules.
var errPending = errors.New("the member has not accepted the server's rules")

// Give implements chat.BadgeGiver. It first asks Discord whether the member has accepted the server's rules. A member
// with a role is no longer asked to accept them.
// https://discord.com/developers/docs/resources/guild#guild-member-object
func (a *Adapter) Give(ctx context.Context, guildID, roleID, user, reason string) error {
	m, err := a.fetchMember(ctx, guildID, user)
	if err != nil {
		return badgeError(fmt.Errorf("ask for a member: %w", err))
	}
	if m.Pending {
		return &chat.BadgeError{Problem: chat.RulesPending, Err: errPending}
	}
	return a.setRole(ctx, api.RoleChange{Guild: guildID, User: user, Role: roleID, Reason: reason})
}

// Remove implements chat.BadgeGiver.
func (a *Adapter) Remove(ctx context.Context, guildID, roleID, user, reason string) error {
	return a.setRole(ctx, api.RoleChange{Guild: guildID, User: user, Role: roleID, Remove: true, Reason: reason})
}

// Worn implements chat.BadgeGiver. It returns all roles of the user except @everyone.
func (a *Adapter) Worn(ctx context.Context, guildID, user string) ([]string, error) {
	m, err := a.fetchMember(ctx, guildID, user)
	if err != nil {
		return nil, badgeError(fmt.Errorf("ask for a member's roles: %w", err))
	}
	return m.Roles, nil
}

// Notify implements chat.BadgeGiver. It does nothing, because the bot does not open private chats, and Discord does not
// say whether the user already has one with it.
func (a *Adapter) Notify(context.Context, string, *chat.Reply) {}

// seeRoles tells the Handler which roles the sender of an interaction has. It does so only if StakerRoles has a role in
// the server, and the sender has accepted the rules there.
func (s *session) seeRoles(i *interaction, req *chat.Request) {
	if i.Member == nil || i.Member.Pending || i.Member.Roles == nil {
		return
	}
	if chat.AnyIn(s.stakerRoles, req.Community) {
		s.work.Handler.Seen(req.From, req.Community, i.Member.Roles)
	}
}

// setRole makes a change, and blocks meanwhile. It fails with a *chat.BadgeError.
func (a *Adapter) setRole(ctx context.Context, change api.RoleChange) error {
	err := a.api.SetRole(ctx, change)
	if err == nil {
		return nil
	}
	failed := badgeError(fmt.Errorf("set a role: %w", err))
	failed.OutcomeUnknown = errors.Is(err, api.ErrOutcomeUnknown)
	if failed.Problem == chat.NotAllowed {
		failed.Problem = a.diagnose(ctx, change.Guild, change.Role)
	}
	return failed
}

// badgeError returns the chat.BadgeError for the error of a call about a server or a member. If Discord refused the
// call without saying what the bot lacks, the Problem is chat.NotAllowed, and diagnose can tell more.
func badgeError(err error) *chat.BadgeError {
	failed := &chat.BadgeError{Problem: chat.BadgeFailed, Err: err}
	refused, isAnswered := errors.AsType[*api.Error](err)
	if !isAnswered {
		return failed
	}
	failed.RetryAfter = refused.RetryAfter
	switch refused.Code {
	case discordgo.ErrCodeUnknownMember, discordgo.ErrCodeUnknownUser:
		failed.Problem = chat.NotAMember
	case discordgo.ErrCodeUnknownRole, discordgo.ErrCodeInvalidRole:
		failed.Problem = chat.BadgeGone
	case discordgo.ErrCodeUnknownGuild:
		failed.Problem = chat.CommunityGone
	case discordgo.ErrCodeMissingAccess:
		failed.Problem = chat.MissingRight
	case discordgo.ErrCodeMissingPermissions:
		failed.Problem = chat.NotAllowed
	case codeTwoFactor:
		failed.Problem = chat.TwoFactor
	}
	return failed
}

// diagnose returns why Discord does not allow the bot to give or remove a role. It judges by the roles of the server,
// which it fetches at most once per diagnoseEvery; it blocks meanwhile. It returns chat.NotAllowed if the roles could
// not be fetched, or show no cause.
func (a *Adapter) diagnose(ctx context.Context, guildID, roleID string) chat.BadgeProblem {
	if a.diagnoses.Allow(ratelimit.Limit{Key: guildID, Burst: 1, Every: diagnoseEvery}) {
		_, _ = a.fetchGuild(ctx, guildID) // A failure shows in fetchedAt.
	}
	g := a.lastGuild(guildID)
	if time.Since(g.fetchedAt) >= diagnoseEvery {
		return chat.NotAllowed
	}
	return cmp.Or(g.standing(roleID).problem, chat.NotAllowed)
}
