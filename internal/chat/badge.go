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
	// Amount is the least stake in tokens; 0 is any stake.
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

// BadgeGiver gives and removes the badges of one platform. An adapter implements it. It remembers
// nobody: the platform alone knows who has a badge.
type BadgeGiver interface {
	// OneEach reports whether a member has one badge of a community at a time: giving one
	// replaces another.
	OneEach() bool
	// BadgeName returns a badge as members see it, such as "@Staker" on Discord or "Staker" on
	// Telegram. It returns "" while the name is not known. It does not block.
	BadgeName(community, id string) Untrusted
	// CommunityName returns the name of a server or group, or "" while it is not known. It does
	// not block.
	CommunityName(community string) Untrusted
	// Give gives a user a badge, unless they have not accepted the rules. Remove removes it, also one
	// that the settings no longer name, and leaves any other badge alone. Each succeeds if that was so
	// before. They block for two calls, or a few if one fails, and fail with a *BadgeError. The reason
	// is at most 400 characters of ASCII, names nobody, and is shown to moderators where the platform
	// has an audit log.
	Give(ctx context.Context, community, id, user, reason string) error
	Remove(ctx context.Context, community, id, user, reason string) error
	// Worn returns the IDs of the badges that a user has in a community now: all roles, or the
	// tag if there is one. It blocks for a call, and fails with a *BadgeError: NotAMember and
	// CannotHave are known before a badge is promised.
	Worn(ctx context.Context, community, user string) ([]string, error)
	// Notify sends a reply to a user's private chat with the bot, if there is one, and nothing
	// otherwise. It blocks until the message is out or cannot be sent.
	Notify(ctx context.Context, user string, reply *Reply)
}

// BadgeProblem is why a badge could not be given, removed or read.
type BadgeProblem string

// The problems.
const (
	// NotAMember: the user is not in the community, or is a bot.
	NotAMember BadgeProblem = "not_member"
	// CannotHave: the platform allows this user no badge, as Telegram an administrator.
	CannotHave BadgeProblem = "cannot_have"
	// RulesPending: the user is a member, and has not accepted the community's rules yet. A badge would
	// let them skip the rules.
	RulesPending BadgeProblem = "rules_pending"
	// MissingRight: the bot lacks the right to give the badge, or was removed from the
	// community.
	MissingRight BadgeProblem = "missing_right"
	// RoleAbove: the role stands above the bot's own.
	RoleAbove BadgeProblem = "role_above"
	// NotAllowed: MissingRight or RoleAbove; the platform does not tell which.
	NotAllowed BadgeProblem = "not_allowed"
	// TwoFactor: the community requires two-factor authentication, and the owner of the bot's account has not turned
	// it on.
	TwoFactor BadgeProblem = "two_factor"
	// BadgeGone: the badge is deleted, or nobody may give it any more.
	BadgeGone BadgeProblem = "gone"
	// CommunityGone: the platform knows no such community, or it has another ID now. Discord may
	// say so of a server that removed the bot.
	CommunityGone BadgeProblem = "community_gone"
	// BadgeFailed: a rate limit, a fault of the platform, or no answer. A later call may succeed.
	BadgeFailed BadgeProblem = "failed"
)

// BadgeError is the error of BadgeGiver.Give, Remove and Worn.
type BadgeError struct {
	Problem BadgeProblem
	// OutcomeUnknown is true if the badge may have been given or removed: the platform had a
	// fault, or the connection broke after the call was sent.
	OutcomeUnknown bool
	// RetryAfter is the least wait before the next call; 0: the platform names none.
	RetryAfter time.Duration
	Err        error
}

func (e *BadgeError) Error() string { return string(e.Problem) + ": " + e.Err.Error() }

func (e *BadgeError) Unwrap() error { return e.Err }
