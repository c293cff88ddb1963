package chat

import (
	"time"

	"github.com/shopspring/decimal"
)

// JoinCommand is the name of the command that checks whether its sender may join a group. Its arguments are the group's
// ID and perhaps a wallet. An adapter runs it for each request to join, and so do buttons and links.
const JoinCommand = "join"

// HelloCommand is the name of the command that an adapter runs, without a sender, after the bot was added to a
// Community.
const HelloCommand = "hello"

// Requirement is what a person has to prove to join a group. The zero value requires an account with the service.
type Requirement struct {
	// Staker also requires a wallet that the person registered with the service, and that stakes.
	Staker bool
	// Amount is the minimum stake in tokens. If it is 0, any stake suffices.
	Amount decimal.Decimal
}

// Admission in a Reply says that the sender may join a group. The adapter then approves the sender's open request.
type Admission struct {
	// Group is the group's ID.
	Group string
	// Say returns what to tell the sender about the result of the approval. It does not block.
	Say func(ApprovalResult) *Reply `json:"-"`
}

// ApprovalResult is the result of approving a person's request to join a group.
type ApprovalResult int

// The results.
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

// Personal reports whether the person could not be let in because of themselves, and not because of the bot or the
// platform.
func (o ApprovalResult) Personal() bool {
	return o == InTooManyGroups || o == BannedThere || o == AccountDeleted
}

// JoinCounts counts requests to join a group.
type JoinCounts struct {
	// LetIn counts the requests of people who were let in.
	LetIn int
	// LeftOpen counts the requests of people who do not meet the requirement, or who are first asked for a wallet. If
	// such a person is let in later, their request counts in LetIn, too.
	LeftOpen int
	// Unchecked counts the requests that could not be checked or approved.
	Unchecked int
}

// LeftOut is a person whose request to join a group stays open.
type LeftOut struct {
	User User
	At   time.Time
	// Why says why the request stays open. It is the Join.WhyLeftOut of the reply to the person. If it has no Key, the
	// person could not be checked.
	Why Text
}
