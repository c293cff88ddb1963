package platform

import (
	"maps"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
)

const (
	// maxLeftOut is the maximum number of people that a JoinLog lists as left out of one group.
	maxLeftOut = 10
	// maxOpen is the maximum number of people whose open requests a JoinLog remembers.
	maxOpen = 50_000
	// openFor is how long a request counts as open. It has a limit because platforms do not tell a bot that moderators
	// declined a request, or that the person withdrew it.
	openFor = 24 * time.Hour
)

// JoinLog remembers the outcomes of join requests. The bot either lets a person in, or leaves them out: it then does
// not decline the request, which stays open until moderators decide. A JoinLog must not be logged, because it names
// people. The zero value is empty. A JoinLog is safe for concurrent use.
type JoinLog struct {
	mu     sync.Mutex
	groups map[string]*joinGroup
	// open holds each person's requests that were left open, oldest first. There is no empty list.
	open map[chat.User][]openRequest
}

type joinGroup struct {
	counts  chat.JoinCounts
	leftOut []chat.LeftOut // the last people who were left out, oldest first
}

type openRequest struct {
	group string
	since time.Time
}

// LetIn counts a person who was let into a group. It forgets their open request, and that they were left out before.
func (l *JoinLog) LetIn(group string, user chat.User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	g.counts.LetIn++
	g.forget(user)
	l.close(group, user)
}

// LeaveOut counts and remembers a person who was left out of a group, and remembers their request as open. wasChecked
// is true if they were found to lack what the group requires, and false if they could not be checked.
func (l *JoinLog) LeaveOut(group string, out chat.LeftOut, wasChecked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	if wasChecked {
		g.counts.LeftOpen++
	} else {
		g.counts.Unchecked++
	}
	g.forget(out.User)
	l.reopen(group, out.User)
	g.leftOut = append(g.leftOut, out)
	if len(g.leftOut) > maxLeftOut {
		g.leftOut = slices.Delete(g.leftOut, 0, len(g.leftOut)-maxLeftOut)
	}
}

// For returns a group's counts and the last people who were left out, newest first. It returns at most maxLeftOut
// people.
func (l *JoinLog) For(group string) (counts chat.JoinCounts, last []chat.LeftOut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	last = slices.Clone(g.leftOut)
	slices.Reverse(last)
	return g.counts, last
}

// Reopen remembers that a person's request for a group is open, from now on. If the JoinLog already remembers open
// requests of maxOpen people, Reopen first forgets all of them.
func (l *JoinLog) Reopen(group string, user chat.User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reopen(group, user)
}

func (l *JoinLog) reopen(group string, user chat.User) {
	l.close(group, user)
	if l.open == nil {
		l.open = map[chat.User][]openRequest{}
	}
	if len(l.open) >= maxOpen {
		maps.DeleteFunc(l.open, func(_ chat.User, requests []openRequest) bool {
			newest := requests[len(requests)-1]
			return !newest.isOpen()
		})
	}
	if len(l.open) >= maxOpen {
		clear(l.open)
	}
	l.open[user] = append(l.open[user], openRequest{group: group, since: time.Now()})
}

// Close forgets a person's open request for a group.
func (l *JoinLog) Close(group string, user chat.User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(group, user)
}

func (l *JoinLog) close(group string, user chat.User) {
	others := slices.DeleteFunc(slices.Clone(l.open[user]), func(r openRequest) bool { return r.group == group })
	if len(others) == 0 {
		delete(l.open, user)
		return
	}
	l.open[user] = others
}

// Open returns the groups of a person's open requests, oldest request first. For up to openFor, it may include a
// request that moderators have declined or the person has withdrawn.
func (l *JoinLog) Open(user chat.User) (groups []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.open[user] {
		if r.isOpen() {
			groups = append(groups, r.group)
		}
	}
	return groups
}

func (r openRequest) isOpen() bool { return time.Since(r.since) < openFor }

// group returns the group with this ID, which it adds if it is new.
func (l *JoinLog) group(id string) *joinGroup {
	if l.groups == nil {
		l.groups = map[string]*joinGroup{}
	}
	if l.groups[id] == nil {
		l.groups[id] = &joinGroup{}
	}
	return l.groups[id]
}

// forget removes a person from the list of those left out.
func (g *joinGroup) forget(user chat.User) {
	g.leftOut = slices.DeleteFunc(g.leftOut, func(out chat.LeftOut) bool { return out.User == user })
}
