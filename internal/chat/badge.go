package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Badge is a role of a Discord server, or a tag of a Telegram group, that comes with a stake.
type Badge struct {
	Community string // the ID of the server or group
	ID        string // the role's ID, or the tag
	// Amount is the minimum stake in tokens. If it is 0, any stake suffices.
	Amount decimal.Decimal
}

// Compare orders badges by community, then by amount, then by ID.
func (b Badge) Compare(other Badge) int {
	return cmp.Or(strings.Compare(b.Community, other.Community), b.Amount.Cmp(other.Amount),
		strings.Compare(b.ID, other.ID))
}

// AnyIn reports whether any of badges is in a community.
func AnyIn(badges []Badge, community string) bool {
	return slices.ContainsFunc(badges, func(b Badge) bool { return b.Community == community })
}

// BadgeGiver gives and removes the badges of one platform. Adapters implement it. It does not store who has a badge;
// only the platform knows.
type BadgeGiver interface {
	// OneEach reports whether a member has at most one badge of a community at a time, so that giving a badge replaces
	// another one.
	OneEach() bool
	// BadgeName returns a badge as members see it, such as "@Staker" on Discord or "Staker" on
	// Telegram. It returns "" while the name is not known. It does not block.
	BadgeName(community, id string) Untrusted
	// CommunityName returns the name of a server or group, or "" while it is not known. It does
	// not block.
	CommunityName(community string) Untrusted
	// Give gives a user a badge. It succeeds if they have the badge already. It fails with RulesPending if they have not
	// accepted the community's rules.
	//
	// Give and Remove block for two calls, or for a few more if a call fails. They fail with a *BadgeError. If the
	// platform has an audit log, it shows reason to moderators. reason has at most 400 characters of ASCII, and names
	// nobody.
	Give(ctx context.Context, community, id, user, reason string) error
	// Remove removes a badge from a user, even a badge that the settings do not have. It does not change other badges. It
	// succeeds if the user does not have the badge.
	Remove(ctx context.Context, community, id, user, reason string) error
	// Worn returns the IDs of the badges that a user has in a community now: all roles, or the tag if there is one. It
	// blocks for one call. It fails with a *BadgeError, so that the caller learns of NotAMember and CannotHave before it
	// promises a badge.
	Worn(ctx context.Context, community, user string) ([]string, error)
	// Notify sends a reply to a user's private chat with the bot. If there is no such chat, it does nothing. It blocks
	// until the message is delivered or cannot be sent.
	Notify(ctx context.Context, user string, reply *Reply)
}

// BadgeProblem is why a badge could not be given, removed or read.
type BadgeProblem string

// The problems.
const (
	// NotAMember: the user is not in the community, or is a bot.
	NotAMember BadgeProblem = "not_member"
	// CannotHave: the platform does not allow this user a badge. Telegram, for example, does not allow an administrator
	// a tag.
	CannotHave BadgeProblem = "cannot_have"
	// RulesPending: the user is a member, and has not accepted the community's rules yet. A badge would
	// let them skip the rules.
	RulesPending BadgeProblem = "rules_pending"
	// MissingRight: the bot lacks the right to give the badge, or was removed from the
	// community.
	MissingRight BadgeProblem = "missing_right"
	// RoleAbove: the role stands above the bot's own.
	RoleAbove BadgeProblem = "role_above"
	// NotAllowed: MissingRight or RoleAbove. The platform does not tell which.
	NotAllowed BadgeProblem = "not_allowed"
	// TwoFactor: the community requires two-factor authentication, and the owner of the bot's account has not turned
	// it on.
	TwoFactor BadgeProblem = "two_factor"
	// BadgeGone: the badge was deleted, or the platform does not let anybody give it.
	BadgeGone BadgeProblem = "gone"
	// CommunityGone: the platform does not know the community, or it has another ID now. Discord may also report this
	// for a server that removed the bot.
	CommunityGone BadgeProblem = "community_gone"
	// BadgeFailed: a rate limit, a fault of the platform, or no answer. A later call may succeed.
	BadgeFailed BadgeProblem = "failed"
)

// BadgeError is returned by BadgeGiver.Give, Remove and Worn.
type BadgeError struct {
	Problem BadgeProblem
	// OutcomeUnknown is true if the badge may have been given or removed: the platform had a
	// fault, or the connection broke after the call was sent.
	OutcomeUnknown bool
	// RetryAfter is the minimum wait before the next call, or 0 if the platform does not name one.
	RetryAfter time.Duration
	// Err is the cause. It is nil if there is nothing to add to Problem.
	Err error
}

func (e *BadgeError) Error() string {
	if e.Err == nil {
		return string(e.Problem)
	}
	return string(e.Problem) + ": " + e.Err.Error()
}

func (e *BadgeError) Unwrap() error { return e.Err }
