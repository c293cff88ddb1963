package chat

import (
	"time"

	"github.com/shopspring/decimal"
)

// JoinCommand is the name of the command that checks whether its sender may join a group.
// Its arguments are the group's ID and perhaps a wallet. An adapter asks it for a request to
// join; buttons and links ask it too.
const JoinCommand = "join"

// HelloCommand is the name of the command that an adapter asks, with no sender, once the bot was
// added to a Community.
const HelloCommand = "hello"

// Requirement is what a person has to prove to join a group. The zero value is an account with
// the service.
type Requirement struct {
	// Staker adds a wallet that the person registered with the service, and that stakes.
	Staker bool
	// Amount is the least stake in tokens; 0 is any stake.
	Amount decimal.Decimal
}

// Admission is in the Reply to a person who may join a group. It has the adapter approve the
// person's own open request.
type Admission struct {
	// Group is the group's ID.
	Group string
	// Say returns the reply to the person for an outcome. It does not block.
	Say func(ApprovalResult) *Reply `json:"-"`
}

// ApprovalResult is what became of an Admission.
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

// Personal reports whether the person, and not the bot or the platform, is the reason that they
// were not let in.
func (o ApprovalResult) Personal() bool {
	return o == InTooManyGroups || o == BannedThere || o == AccountDeleted
}

// JoinCounts counts requests to join a group.
type JoinCounts struct {
	// LetIn counts the people let in. LeftOpen counts the requests of those who lack what is
	// required, or are asked for a wallet first. Unchecked counts those that could not be
	// checked or approved. A request may count in LeftOpen, and later in LetIn.
	LetIn, LeftOpen, Unchecked int
}

// LeftOut is a person whose request to join a group stays open.
type LeftOut struct {
	User User
	At   time.Time
	// Why is the WhyLeftOut of the reply that they got; without a Key they could not be checked.
	Why Text
}
