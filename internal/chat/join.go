package chat

import "sync/atomic"

// JoinCommand is the name of the command that checks whether its sender may join a group.
// Its arguments are the group's ID and perhaps a wallet. An adapter asks it for a request to
// join; buttons and links ask it too.
const JoinCommand = "join"

// Requirement is what a person has to prove to join a group.
type Requirement string

// The requirements.
const (
	// Registered is an account with the service.
	Registered Requirement = "registered"
	// Staker is a wallet that the person registered with the service, and that stakes.
	Staker Requirement = "staker"
)

// JoinCounts counts the requests to join since the start of this process.
type JoinCounts struct {
	// Approved counts the people let in. LeftOpen counts the requests of those who lack what
	// is required, or are asked for a wallet first. Unknown counts those that could not be
	// checked or approved. A request may count in LeftOpen, and later in Approved.
	Approved, LeftOpen, Unknown atomic.Int64
}

// Group is a group that somebody asks to join.
type Group struct {
	ID string
	// Name is the group's own. It is untrusted, and may be empty.
	Name string
}

// maxGroupName bounds the shown name of a group, in characters.
const maxGroupName = 64

// Shown returns the name of the group, or its ID without one.
func (g Group) Shown() Value {
	if name := NewUntrusted(g.Name, maxGroupName); name != "" {
		return name
	}
	return Code(g.ID)
}

// Joining returns the reply to a person who is about to be let in.
func (g Group) Joining() Reply {
	return Reply{Tone: Positive, Title: SayWith("join.joining", Values{"group": g.Shown()})}
}

// Joined returns the reply to a person who is let in.
func (g Group) Joined() Reply {
	return Reply{Tone: Positive, Title: SayWith("join.in", Values{"group": g.Shown()}), Admit: &g}
}

// NotRequested returns the reply to a person who may be let in, but has no open request.
func (g Group) NotRequested() Reply {
	reply := warning("join.gone")
	reply.Text.Args = Values{"group": g.Shown()}
	return reply
}

// Unchecked returns the reply to a person whose request could not be checked, for the reason
// why.
func (g Group) Unchecked(why Text) Reply {
	return Reply{
		Tone: Warning, Title: Say("join.unknown"), Text: why, Notes: []Text{StaysOpen()},
		Actions: []Action{g.Again("button.again", true)},
	}
}

// NotApproved returns the reply to a person whose request was checked and could not be
// approved, for the reason why.
func (g Group) NotApproved(why Text) Reply {
	reply := g.Unchecked(why)
	reply.Title = Say("join.failed")
	return reply
}

// StaysOpen says that moderators can still let the person in.
func StaysOpen() Text { return Say("join.open") }

// Again returns a button that checks whether the person who presses may join the group. With
// edit the answer replaces the message.
func (g Group) Again(label string, edit bool) Action {
	return Action{Label: Say(label), Command: JoinCommand, Args: []string{g.ID}, Edit: edit, NextStep: true}
}
