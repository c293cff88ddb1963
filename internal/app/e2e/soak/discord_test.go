//go:build soak

package soak

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
)

// discordSide asks in Discord. What is pushed while the gateway breaks may not
// reach the bot, and is not asked then.
type discordSide struct {
	fake     *discordtest.Server
	generate *generator
	tally    *tally
	leaks    *leaks

	mu   sync.Mutex
	open map[*pendingQuestion]bool
	// outages are when pushes may not have arrived; the last may be under way.
	outages []outage
	// pushed counts the questions, unarrived those that did not reach the bot.
	pushed, unarrived, answered int
	// dropped are calls whose answers were scripted to be lost, so that the
	// adapter makes them again; again are the calls made again.
	dropped, again map[discordtest.Route]int
	// scripted is how many calls there were at the last fault.
	scripted map[discordtest.Route]int
}

type outage struct{ from, to time.Time }

// pendingQuestion is a question in Discord.
type pendingQuestion struct {
	*question
	interaction discordtest.Interaction
	pending     *discordtest.Pending
	ended       time.Time
}

func newDiscordSide(fake *discordtest.Server, from *generator, t *tally, l *leaks) *discordSide {
	// Short enough that a silent gateway is noticed soon, and long enough that
	// a busy machine does not look like one.
	fake.Behave(discordtest.Behaviour{Heartbeat: 5 * time.Second})
	return &discordSide{fake: fake, generate: from, tally: t, leaks: l, open: map[*pendingQuestion]bool{},
		dropped: map[discordtest.Route]int{}, again: map[discordtest.Route]int{}, scripted: map[discordtest.Route]int{}}
}

const manageGuild = 1 << 5

func (s *discordSide) ask() {
	q := s.generate.next()
	i := discordtest.Interaction{Command: q.command, UserID: q.asker.uid, Options: map[string]string{}}
	for n, name := range q.names {
		i.Options[name] = q.words[n]
	}
	if q.group {
		i.GuildID, i.ChannelID = e2etest.GuildID, fmt.Sprint(1400000000000000000+s.generate.IntN(groups))
	}
	if q.group && q.moderated && q.asker.moderator {
		i.Permissions = manageGuild
	}
	switch {
	case q.target != "" && q.command == "exists" && s.generate.IntN(2) == 0:
		i.Command, i.Target = "Check registration", q.target
	case q.target != "":
		i.Users = map[string]string{"user": q.target}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out(time.Now()) {
		return
	}
	q.asked = time.Now()
	p, err := s.fake.Push(i)
	if err != nil {
		p.Forget()
		return
	}
	i.ID, i.Token = p.ID, p.Token
	s.open[&pendingQuestion{question: q, interaction: i, pending: p}] = true
	s.pushed++
	s.tally.ask("Discord")
	// Now and then Discord delivers an interaction again.
	if s.generate.IntN(25) == 0 {
		_, _ = s.fake.Push(i)
	}
}

// out reports whether the gateway broke at t, with s.mu held. A push just before
// a break may still be on its way.
func (s *discordSide) out(t time.Time) bool {
	for _, o := range s.outages {
		if t.After(o.from.Add(-200*time.Millisecond)) && (o.to.IsZero() || t.Before(o.to)) {
			return true
		}
	}
	return false
}

// interrupt breaks the gateway's connection and waits for the next. Questions
// go on for a moment, as people cannot know.
func (s *discordSide) interrupt(ctx context.Context, how discordtest.Action) {
	before := s.fake.Connects()
	s.mu.Lock()
	s.outages = append(s.outages, outage{from: time.Now()})
	s.mu.Unlock()
	s.fake.Do(how)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	err := s.fake.Wait(ctx, func() bool { return s.fake.Connects() > before && s.fake.Connected() == 1 })
	if err != nil {
		s.tally.lose("the gateway: no new connection")
	}
	s.mu.Lock()
	s.outages[len(s.outages)-1].to = time.Now()
	s.mu.Unlock()
}

// script makes the next call of a route fail, unless the last fault still
// waits for one: many in a row would be an outage longer than Discord's limits.
func (s *discordSide) script(route discordtest.Route, f discordtest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.fake.Calls(route)
	if last, scripted := s.scripted[route]; scripted && last == calls {
		return
	}
	s.scripted[route] = calls
	s.fake.Script(route, f)
	if f.DropAnswer {
		s.dropped[route]++
	}
}

// Discord takes no first response after 3 s; an answer that was promised comes
// within the command's time and a few retries.
const patienceDiscord = 45 * time.Second

// collect looks at what was answered.
func (s *discordSide) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for u := range s.open {
		a := u.pending.Answer()
		switch {
		case u.ended.IsZero() && a.Final > 0:
			u.ended = time.Now()
			s.answered++
			s.judge(u, a)
		case u.ended.IsZero() && time.Since(u.asked) > patienceDiscord:
			s.miss(u, a)
		case !u.ended.IsZero() && time.Since(u.ended) > afterwards:
			s.close(u, a)
		}
	}
}

// discordMarks are the times and the mentions, which notify nobody, that the bot
// itself writes. In discordCode nothing is markup.
var (
	discordMarks = regexp.MustCompile(`<t:[0-9]+:R>|<[@#][0-9]+>`)
	discordCode  = regexp.MustCompile("`[^`\n]*`")
)

// discordUnescaped is what Discord would take for markup or a mention beside
// those.
var discordUnescaped = regexp.MustCompile("(^|[^\\\\])[<@`|~_\\[]")

func (s *discordSide) judge(u *pendingQuestion, a discordtest.Answer) {
	if u.question.private && !a.Ephemeral {
		s.tally.leak(fmt.Sprintf("%v: the answer is public: %q", u, a.Text()))
	}
	look := a.Content
	for _, e := range a.Embeds {
		look += e.Title + "\n" + e.Description + "\n"
	}
	look = discordMarks.ReplaceAllString(discordCode.ReplaceAllString(strings.ReplaceAll(look, `\\`, ""), ""), "")
	if discordUnescaped.MatchString(look) {
		s.tally.leak(fmt.Sprintf("%v: markup in %q", u, look))
	}
	text := plain(a)
	s.leaks.answer(text, !a.Ephemeral)
	s.leaks.pings(discordMarks.ReplaceAllString(discordCode.ReplaceAllString(text, ""), ""))
	if strings.HasPrefix(strings.TrimSpace(text), "Busy\n") {
		text = "Too many commands\nTry again in 1 second."
	}
	s.tally.answer(u.question, lines(text))
}

// plain is the answer as people see it, without what is bold.
func plain(a discordtest.Answer) string {
	for _, e := range a.Embeds {
		bold := strings.NewReplacer(`\*`, `\*`, "**", "")
		e.Title, e.Description = bold.Replace(e.Title), bold.Replace(e.Description)
	}
	return a.Text()
}

// miss ends a question without an answer.
func (s *discordSide) miss(u *pendingQuestion, a discordtest.Answer) {
	if a.First == 0 && s.out(u.asked) {
		s.unarrived++
	} else {
		s.tally.lose(fmt.Sprintf("%v at %s: deferred %v", u, u.asked.Format(time.TimeOnly), a.Deferred))
	}
	delete(s.open, u)
	u.pending.Forget()
}

// close forgets an answered question, once a second answer would be here.
func (s *discordSide) close(u *pendingQuestion, a discordtest.Answer) {
	edits := 0
	if a.Deferred {
		edits = 1
	}
	if !a.Deferred && a.Edits > 0 {
		s.tally.double(u)
	}
	s.again[discordtest.Callback] += a.Callbacks - 1
	s.again[discordtest.Edit] += a.Edits - edits
	delete(s.open, u)
	u.pending.Forget()
}

func (s *discordSide) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for u := range s.open {
		if u.ended.IsZero() && !(u.pending.Answer().First == 0 && s.out(u.asked)) {
			n++
		}
	}
	return n
}

// left closes everything at the end: what the bot received must be answered,
// and no call made more than once without cause.
func (s *discordSide) left() {
	s.collect()
	s.mu.Lock()
	defer s.mu.Unlock()
	for u := range s.open {
		if a := u.pending.Answer(); u.ended.IsZero() {
			s.miss(u, a)
		} else {
			s.close(u, a)
		}
	}
	for _, route := range []discordtest.Route{discordtest.Callback, discordtest.Edit} {
		if s.again[route] > s.dropped[route] {
			s.tally.double(fmt.Sprintf("%d calls of %s were made again, %d had cause", s.again[route], route, s.dropped[route]))
		}
	}
	for _, p := range s.fake.Problems() {
		s.tally.leak("Discord refuses " + p)
	}
}
