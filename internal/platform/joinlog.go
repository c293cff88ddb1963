package platform

import (
	"maps"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
)

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
	open map[chat.User][]openRequest
}

type openRequest struct {
	group string
	since time.Time
}

type joinGroup struct {
	counts chat.JoinCounts
	last   []chat.LeftOut // oldest first
}

func (r openRequest) isOpen() bool { return time.Since(r.since) < openFor }

// For returns the counts of a group by its ID, and the last ten people who are left out, the
// newest first.
func (l *JoinLog) For(group string) (counts chat.JoinCounts, last []chat.LeftOut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	last = slices.Clone(g.last)
	slices.Reverse(last)
	return g.counts, last
}

// LetIn counts a person who is let into a group, and forgets that they were left out.
func (l *JoinLog) LetIn(group string, user chat.User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.group(group)
	g.counts.LetIn++
	g.forget(user)
	l.close(group, user)
}

// Reopen remembers that a person has an open request for a group, from now on. If the requests of
// maxOpen people are open, it first forgets all of them.
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
		maps.DeleteFunc(l.open, func(_ chat.User, all []openRequest) bool { return !all[len(all)-1].isOpen() })
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
	left := slices.DeleteFunc(slices.Clone(l.open[user]), func(r openRequest) bool { return r.group == group })
	if len(left) == 0 {
		delete(l.open, user)
		return
	}
	l.open[user] = left
}

// Open returns the groups that a person has asked to join, oldest first. A request that moderators or
// the person have closed may be among them for a day.
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

// LeaveOut counts and remembers a person who is left out of a group, and that their request is open.
// checked says that they lack what is required.
func (l *JoinLog) LeaveOut(group string, out chat.LeftOut, checked bool) {
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

func (g *joinGroup) forget(user chat.User) {
	g.last = slices.DeleteFunc(g.last, func(out chat.LeftOut) bool { return out.User == user })
}
