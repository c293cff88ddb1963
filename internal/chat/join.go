package chat

import (
	"time"

	"github.com/shopspring/decimal"
)

// JoinCommand is the name of the command that checks whether its sender may join a group. Its arguments are the group's
// ID and perhaps a wallet. An adapter runs it for each join request. Buttons and links run it, too.
const JoinCommand = "join"

// HelloCommand is the name of the command that an adapter runs, without a sender, after the bot was added to a
// Community.
const HelloCommand = "hello"

// Requirement is what a person has to prove to join a group. The zero value requires an account with the service.
type Requirement struct {
	// Staker also requires a wallet that the person registered with the service, and that stakes.
	Staker bool
	// Amount is the minimum stake in tokens; 0 is any stake.
	Amount decimal.Decimal
}

// Admission is in the Reply to a person who may join a group. The adapter then approves the person's own open request.
type Admission struct {
	// Group is the group's ID.
	Group string
	// Say returns the reply to the person for an outcome. It does not block.
	Say func(ApprovalResult) *Reply `json:"-"`
}

// ApprovalResult is how an approval ended.
type ApprovalResult int

// The outcomes.
const (
	// LetIn: the person is in the group.
	LetIn ApprovalResult = iota
	// NotRequested: the person has no open request to join.
	NotRequested
	// MayNotApprove: the bot lacks the right to approve people there.
	MayNotApprove
	// ApprovalTimedOut: the platform did not carry out the approval in time.
	ApprovalTimedOut
	// ApprovalFailed: the platform refused the approval for another reason.
	ApprovalFailed
	// InTooManyGroups: the person is in as many groups as the platform allows.
	InTooManyGroups
	// BannedThere: the group's moderators have banned the person.
	BannedThere
	// AccountDeleted: the person has deleted their account, so there is nobody to tell.
	AccountDeleted
)

// Personal reports whether the person was not let in for a reason of their own, which is not the bot's or the
// platform's.
func (o ApprovalResult) Personal() bool {
	return o == InTooManyGroups || o == BannedThere || o == AccountDeleted
}

// JoinCounts counts requests to join a group.
type JoinCounts struct {
	// LetIn counts the requests of people who were let in.
	LetIn int
	// LeftOpen counts the requests of people who do not meet the requirement, or who are asked for a wallet first. Such
	// a request may later count in LetIn, too.
	LeftOpen int
	// Unchecked counts the requests that could not be checked or approved.
	Unchecked int
}

// LeftOut is a person whose request to join a group stays open.
type LeftOut struct {
	User User
	At   time.Time
	// Why is Join.WhyLeftOut of the reply that they got. If it has no Key, they could not be checked.
	Why Text
}
