package chat

import (
	"context"
	"time"

	"github.com/shopspring/decimal"
)

// KeepCommand is the name of the command that keeps a wallet of its sender. Buttons alone ask
// it, so it is not among Handler.Commands. Its answer is private.
const KeepCommand = "keep"

// Badge is a role of a Discord server, or a tag of a Telegram group, that comes with a stake.
type Badge struct {
	Community string // the ID of the server or group
	ID        string // the role's ID, or the tag
	// Amount is the least stake in tokens; 0 is any stake.
	Amount decimal.Decimal
}

// Badges gives and removes the badges of one platform. An adapter implements it.
type Badges interface {
	// OneEach reports whether a member has one badge of a community at a time, so that giving
	// one replaces another.
	OneEach() bool
	// BadgeName returns how members see a badge, such as "@Staker". It returns "" while the
	// name is not known, and does not block.
	BadgeName(community, id string) Untrusted
	// CommunityName returns the name of a server or group, or "" while it is not known. It
	// does not block.
	CommunityName(community string) Untrusted
	// Give gives a user a badge, and Remove removes it. Each succeeds if that was so before.
	// The settings need not name the badge any more. They block for a call, or a few if that
	// fails, and fail with a *BadgeError. The reason is at most 400 characters of ASCII, names
	// nobody, and is shown to moderators where the platform has an audit log.
	Give(ctx context.Context, community, id, user, reason string) error
	Remove(ctx context.Context, community, id, user, reason string) error
	// Has returns the IDs of the badges that a user has in a community now, and perhaps of
	// other roles. It blocks for a call, and fails with a *BadgeError.
	Has(ctx context.Context, community, user string) ([]string, error)
	// Notify sends a reply to a user's private chat with the bot, if there is one, and nothing
	// otherwise. It blocks until the message is out or cannot be sent.
	Notify(ctx context.Context, user string, reply Reply)
}

// BadgeProblem is why a badge could not be given or removed.
type BadgeProblem string

// The problems.
const (
	// NotAMember: the user is not in the community, or is a bot.
	NotAMember BadgeProblem = "not_member"
	// CannotHave: the platform allows this user no badge, as Telegram an administrator.
	CannotHave BadgeProblem = "cannot_have"
	// MissingRight: the bot lacks the right to give the badge, or is not in the community.
	MissingRight BadgeProblem = "missing_right"
	// RoleAbove: the role stands above the bot's own.
	RoleAbove BadgeProblem = "role_above"
	// NotAllowed: MissingRight or RoleAbove; the platform does not tell which.
	NotAllowed BadgeProblem = "not_allowed"
	// BadgeGone: the badge is deleted, or nobody may give it any more.
	BadgeGone BadgeProblem = "gone"
	// CommunityGone: the server or group does not exist any more.
	CommunityGone BadgeProblem = "community_gone"
	// BadgeFailed: a rate limit, a fault of the platform, or no answer. A later call may
	// succeed.
	BadgeFailed BadgeProblem = "failed"
)

// BadgeError is the error of Badges.Give, Remove and Has.
type BadgeError struct {
	Problem BadgeProblem
	// OutcomeUnknown says that the call may have been carried out.
	OutcomeUnknown bool
	// RetryAfter is the least wait before the next call; 0: the platform names none.
	RetryAfter time.Duration
	Err        error
}

func (e *BadgeError) Error() string { return string(e.Problem) + ": " + e.Err.Error() }

func (e *BadgeError) Unwrap() error { return e.Err }
