package commands

import (
	"context"
	"time"

	"herald/internal/chat"
	"herald/internal/members"
)

const detailsName = "details"

// detailsCommand answers the button under /status, to moderators of the chat and about that
// chat alone.
type detailsCommand inputs

func details(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       detailsName,
		Visibility: chat.Private,
		Forms:      []chat.Form{{Unlisted: true, Moderators: true, Run: detailsCommand{from, options}.run}},
	}
}

// run returns counts of the requests to join the chat and of the chat's badges, as far as the
// settings ask for them, and the name by which settings know the chat. If they know it by an outdated
// ID, run says what to change.
func (c detailsCommand) run(_ context.Context, req *chat.Request) (*chat.Reply, error) {
	if req.Community == "" {
		return chat.OldButton(), nil
	}
	entry := string(req.From.Platform) + ":" + req.Community
	reply := &chat.Reply{
		Title: chat.Say("details.title"),
		Notes: []chat.Text{chat.SayWith("details.entry", chat.Values{"entry": chat.Code(entry)})},
	}
	_, asksToJoin := c.JoinChats[entry]
	badges := c.Members.Badges(req.From.Platform, req.Community)
	if !asksToJoin && len(badges) == 0 {
		reply.Text = chat.Say("details.nothing")
	}
	if move, moved := c.Moves.To(entry); moved {
		reply.Tone = chat.Warning
		reply.Text = chat.SayWith("details.moved", chat.Values{
			"settings": chat.Plain(move.Settings),
			"from":     chat.Code(move.From),
			"to":       chat.Code(move.To),
		})
	}
	if asksToJoin {
		counts, last := c.Joins.For(req.Community)
		reply.Sections = joinSections(c.Started, counts, last)
	}
	if len(badges) == 0 {
		return reply, nil
	}
	status, err := c.Members.Status(req.From.Platform, req.Community)
	if err != nil {
		reply.Tone, reply.Text = chat.Warning, chat.Say("details.unread")
		return reply, &chat.PartialError{Err: err}
	}
	if status.Held > 0 || status.Refused != "" {
		reply.Tone = chat.Warning
	}
	lines := badgeLines(req.From.Platform, status, c.Members.RecheckEvery(), c.Started)
	reply.Sections = append(reply.Sections, chat.Section{Fields: lines})
	return reply, nil
}

// mentionHeld mentions the first users whom the fuse holds, and counts the others.
func mentionHeld(s members.Status) (named chat.Parts) {
	for _, u := range s.FirstHeld {
		named = append(named, chat.Mention{User: u})
	}
	if left := s.Held - len(s.FirstHeld); left > 0 {
		named = append(named, chat.SayWith("more", chat.Values{"n": chat.Count(left)}))
	}
	return named
}

// joinSections returns the counts of requests to join since a time, and the people who were left out
// lately.
func joinSections(since time.Time, counts chat.JoinCounts, last []chat.LeftOut) []chat.Section {
	total := chat.SayWith("details.door", chat.Values{
		"day":       chat.Day{Time: since},
		"in":        chat.Count(counts.LetIn),
		"open":      chat.Count(counts.LeftOpen),
		"unchecked": chat.Count(counts.Unchecked),
	})
	sections := []chat.Section{{Fields: []chat.Field{{Value: total}}}}
	if len(last) == 0 {
		return sections
	}
	people := chat.Section{Heading: chat.Say("details.left_out")}
	for _, l := range last {
		why := l.Why
		if why.Key == "" {
			why = chat.Say("details.unchecked")
		}
		line := chat.Parts{chat.Mention{User: l.User}, chat.Moment{Time: l.At}, why}
		people.Fields = append(people.Fields, chat.Field{Value: line})
	}
	return append(sections, people)
}

// badgeLines returns one line for each badge of a community, then lines about all of them. since is
// when the counts of s began.
func badgeLines(p chat.Platform, s members.Status, recheckEvery time.Duration, since time.Time) (lines []chat.Field) {
	var all []members.Badge
	for _, each := range s.Each {
		all = append(all, each.Badge)
	}
	add := func(key string, values chat.Values, badges ...members.Badge) {
		values["badge"] = badgeNames(badges)
		lines = append(lines, chat.Field{Value: chat.SayWith(key, values)})
	}
	for _, each := range s.Each {
		add("details.have", chat.Values{
			"have":    chat.Count(each.Have),
			"checked": chat.Count(each.Checked),
			"every":   everyText(recheckEvery),
		}, each.Badge)
	}
	add("details.since", chat.Values{
		"day":     chat.Day{Time: since},
		"given":   chat.Count(s.Gives),
		"removed": chat.Count(s.Removals),
	})
	if s.Held > 0 {
		add("details.held", chat.Values{
			"losing":  chat.Count(s.Losing),
			"have":    chat.Count(s.Have),
			"command": chat.Code("bot members --release"),
		}, all...)
		add("details.held_back", chat.Values{"users": mentionHeld(s)})
	}
	for _, each := range s.Each {
		if each.Refused != "" {
			add("details.refused", chat.Values{"why": whyNot(p, each.Refused)}, each.Badge)
		}
	}
	return lines
}
