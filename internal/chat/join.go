package chat

import (
	"maps"
	"slices"
	"sync"
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
	Say func(AdmissionOutcome) Reply `json:"-"`
}

// AdmissionOutcome is what became of an Admission.
type AdmissionOutcome int

// The outcomes.
const (
	// LetIn: the person is in the group.
	LetIn AdmissionOutcome = iota
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
func (o AdmissionOutcome) Personal() bool {
	return o == InTooManyGroups || o == BannedThere || o == AccountDeleted
}

// Proof returns the argument of req that may prove to a group that the sender can come in: the only
// argument of a command, if its parameter has Proof; or the one word of a JoinCommand that such a
// parameter accepts. It returns "" for any other request.
func (all Commands) Proof(req Request) string {
	if req.Command == JoinCommand {
		return all.proofAmong(req.Args.words)
	}
	command, _ := all.Find(req.Command)
	forms, err := command.bind(&req)
	if err != nil || len(forms[0].Params) != 1 || !forms[0].Params[0].Proof {
		return ""
	}
	return all.proofAmong([]string{req.Args.Value(forms[0].Params[0].Name)})
}

// proofAmong returns the one word that a parameter with Proof accepts, or "".
func (all Commands) proofAmong(words []string) string {
	for _, c := range all {
		for _, p := range c.params {
			if !p.Proof {
				continue
			}
			if meant := Meant(words, p); len(meant) == 1 {
				return meant[0]
			}
		}
	}
	return ""
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
	// Why is the LeftOut of the reply that they got; without a Key they could not be checked.
	Why Text
}

const (
	// maxLeftOut bounds the people whom a JoinLog remembers for a group, and maxOpen the people whose
	// open requests it remembers.
	maxLeftOut = 10
	maxOpen    = 50_000
	// openFor is how long a request counts as open. Platforms do not tell a bot of requests that
	// moderators decline or that people withdraw.
	openFor = 24 * time.Hour
)

// JoinLog remembers what became of requests to join. It must not be logged. The zero value is
// empty; a JoinLog is safe for concurrent use.
type JoinLog struct {
	mu     sync.Mutex
	groups map[string]*joinGroup
	// open holds each person's open requests, oldest first.
	open map[User][]openRequest
}

type openRequest struct {
	group string
	since time.Time
}

type joinGroup struct {
	counts JoinCounts
	last   []LeftOut // oldest first
}

func (r openRequest) isOpen() bool { return time.Since(r.since) < openFor }

// For returns the counts of a group by its ID, and the last ten people who are left out, the
// newest first.
func (l *JoinLog) For(group string) (counts JoinCounts, last []LeftOut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	last = slices.Clone(g.last)
	slices.Reverse(last)
	return g.counts, last
}

// LetIn counts a person who is let into a group, and forgets that they were left out.
func (l *JoinLog) LetIn(group string, user User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	g.counts.LetIn++
	g.forget(user)
	l.close(group, user)
}

// Reopen remembers that a person has an open request for a group, from now on. If the requests of
// maxOpen people are open, it first forgets all of them.
func (l *JoinLog) Reopen(group string, user User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reopen(group, user)
}

func (l *JoinLog) reopen(group string, user User) {
	l.close(group, user)
	if l.open == nil {
		l.open = map[User][]openRequest{}
	}
	if len(l.open) >= maxOpen {
		maps.DeleteFunc(l.open, func(_ User, all []openRequest) bool { return !all[len(all)-1].isOpen() })
	}
	if len(l.open) >= maxOpen {
		clear(l.open)
	}
	l.open[user] = append(l.open[user], openRequest{group: group, since: time.Now()})
}

// Close forgets a person's open request for a group.
func (l *JoinLog) Close(group string, user User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(group, user)
}

func (l *JoinLog) close(group string, user User) {
	left := slices.DeleteFunc(slices.Clone(l.open[user]), func(r openRequest) bool { return r.group == group })
	if len(left) == 0 {
		delete(l.open, user)
		return
	}
	l.open[user] = left
}

// Open returns the groups that a person has asked to join, oldest first. A request that moderators or
// the person have closed may be among them for a day.
func (l *JoinLog) Open(user User) (groups []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.open[user] {
		if r.isOpen() {
			groups = append(groups, r.group)
		}
	}
	return groups
}

// LeaveOut counts and remembers a person who is left out of a group, and that their request is open.
// checked says that they lack what is required.
func (l *JoinLog) LeaveOut(group string, out LeftOut, checked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	if checked {
		g.counts.LeftOpen++
	} else {
		g.counts.Unchecked++
	}
	g.forget(out.User)
	l.reopen(group, out.User)
	g.last = append(g.last[max(0, len(g.last)-maxLeftOut+1):], out)
}

func (l *JoinLog) group(id string) *joinGroup {
	if l.groups == nil {
		l.groups = map[string]*joinGroup{}
	}
	if l.groups[id] == nil {
		l.groups[id] = &joinGroup{}
	}
	return l.groups[id]
}

func (g *joinGroup) forget(user User) {
	g.last = slices.DeleteFunc(g.last, func(out LeftOut) bool { return out.User == user })
}
