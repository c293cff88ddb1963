package chat

import (
	"context"
	"time"
)

// KeepCommand is the name of the command that keeps a wallet of its sender. Buttons alone ask
// it, so it is not among Handler.Commands. Its answer is private.
const KeepCommand = "keep"

// Badges are what proven stakers wear on one platform, in the communities that the settings
// name: a role on Discord, a tag on Telegram. An adapter implements it. The platform alone
// knows who wears a badge; nobody else remembers that.
type Badges interface {
	// Communities returns the IDs of the communities with a badge, in a fixed order.
	Communities() []string
	// BadgeName returns how members see the badge of a community, such as "@Staker". It returns
	// "" if the community has none, or its name is not known yet. It does not block.
	BadgeName(community string) Untrusted
	// Give has a user wear the badge of a community, and Take has them wear it no more. Each
	// succeeds if that was so before. They block for a call, or a few if that fails, and fail
	// with a *BadgeError. The reason is at most 400 characters of ASCII, names nobody, and is
	// shown to moderators where the platform has an audit log.
	Give(ctx context.Context, community, user, reason string) error
	Take(ctx context.Context, community, user, reason string) error
	// Wearers returns how many users wear the badge of a community. It fails if the platform
	// does not tell, and blocks for a call.
	Wearers(ctx context.Context, community string) (int, error)
	// Notify sends a reply to a user's private chat with the bot, if there is one, and nothing
	// otherwise. It blocks until the message is out or cannot be sent.
	Notify(ctx context.Context, user string, reply Reply)
}

// BadgeProblem is why a badge could not be given or taken.
type BadgeProblem string

// The problems.
const (
	// NotAMember: the user is not in the community, or is a bot.
	NotAMember BadgeProblem = "not_member"
	// CannotWear: the platform allows this user no badge, as Telegram an administrator.
	CannotWear BadgeProblem = "cannot_wear"
	// MissingRight: the bot lacks the right to give the badge, or is not in the community.
	MissingRight BadgeProblem = "missing_right"
	// RoleAbove: the role stands above the bot's own.
	RoleAbove BadgeProblem = "role_above"
	// NotAllowed: MissingRight or RoleAbove; the platform does not tell which.
	NotAllowed BadgeProblem = "not_allowed"
	// BadgeGone: the badge is deleted, or nobody may give it any more.
	BadgeGone BadgeProblem = "gone"
	// BadgeFailed: a rate limit, a fault of the platform, or no answer. A later call may
	// succeed, and this one may have.
	BadgeFailed BadgeProblem = "failed"
)

// BadgeError is the error of Badges.Give and Badges.Take.
type BadgeError struct {
	Problem BadgeProblem
	// RetryAfter is the least wait before the next call; 0: the platform names none.
	RetryAfter time.Duration
	Err        error
}

func (e *BadgeError) Error() string { return string(e.Problem) + ": " + e.Err.Error() }

func (e *BadgeError) Unwrap() error { return e.Err }
