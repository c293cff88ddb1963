package commands

import (
	"context"
	"time"

	"herald/internal/chat"
	"herald/internal/members"
)

const detailsName = "details"

// detailsCommand answers the button [Details] under /status. Only moderators of a community may press it, and the
// answer is only about that community. It uses two terms:
//
//   - A user is left out of a group if their join request was not approved. The request stays open.
//   - Badges are held back if too many users of a community would lose one at once: the fuse of package members then
//     removes none.
type detailsCommand inputs

func details(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       detailsName,
		Visibility: chat.Private,
		Forms:      []chat.Form{{Unlisted: true, Moderators: true, Run: detailsCommand{from, options}.run}},
	}
}

// run shows how settings name the community, and counts the join requests and badges that are configured for it. If
// settings name it by an outdated ID, run says what to change. If the badges cannot be counted, it returns the rest and
// a PartialError.
func (c detailsCommand) run(_ context.Context, req *chat.Request) (*chat.Reply, error) {
	if req.Community == "" {
		return chat.OldButton(), nil
	}
	entry := entryOf(req.From.Platform, req.Community)
	reply := &chat.Reply{
		Title: chat.Say("details.title"),
		Notes: []chat.Text{chat.SayWith("details.entry", chat.Values{"entry": chat.Code(entry)})},
	}
	_, hasJoins := c.JoinChats[entry]
	badges := c.Members.ConfiguredBadges(req.From.Platform, req.Community)
	if !hasJoins && len(badges) == 0 {
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
	if hasJoins {
		counts, last := c.Joins.For(req.Community)
		reply.Sections = joinSections(c.Started, counts, last)
	}
	if len(badges) == 0 {
		return reply, nil
	}
	status, err := c.Members.Status(req.From.Platform, req.Community)
	if err != nil {
		reply.Tone = chat.Warning
		reply.Text = chat.Say("details.unread")
		return reply, &chat.PartialError{Err: err}
	}
	isRefused := status.Refused != ""
	if isRefused || status.HeldBack > 0 {
		reply.Tone = chat.Warning
	}
	lines := badgeLines(req.From.Platform, status, c.Members.RecheckEvery(), c.Started)
	reply.Sections = append(reply.Sections, chat.Section{Fields: lines})
	return reply, nil
}

// joinSections returns a line with the counts of join requests since the bot started and, if users were left out, a
// list of the latest of them.
func joinSections(started time.Time, counts chat.JoinCounts, last []chat.LeftOut) []chat.Section {
	total := chat.SayWith("details.door", chat.Values{
		"day":       chat.Day{Time: started},
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
		isUnchecked := why.Key == ""
		if isUnchecked {
			why = chat.Say("details.unchecked")
		}
		line := chat.Parts{chat.Mention{User: l.User}, chat.Moment{Time: l.At}, why}
		people.Fields = append(people.Fields, chat.Field{Value: line})
	}
	return append(sections, people)
}

// badgeLines returns a line for each badge of a community, a line with the badges given and removed since the bot
// started, lines about badges that are held back, and a line for each badge that the platform refuses to give or
// remove.
func badgeLines(p chat.Platform, s members.Status, recheckEvery time.Duration, started time.Time) (lines []chat.Field) {
	var all []members.Badge
	for _, each := range s.Each {
		all = append(all, each.Badge)
		lines = append(lines, textField("details.have", chat.Values{
			"badge":   badgeText([]members.Badge{each.Badge}),
			"have":    chat.Count(each.Have),
			"checked": chat.Count(each.Checked),
			"every":   everyText(recheckEvery),
		}))
	}
	lines = append(lines, textField("details.since", chat.Values{
		"day":     chat.Day{Time: started},
		"given":   chat.Count(s.Gives),
		"removed": chat.Count(s.Removals),
	}))
	if s.HeldBack > 0 {
		held := textField("details.held", chat.Values{
			"badge":   badgeText(all),
			"losing":  chat.Count(s.Losing),
			"have":    chat.Count(s.Have),
			"command": chat.Code("bot members --release"),
		})
		lines = append(lines, held, textField("details.held_back", chat.Values{"users": mentionHeldBack(s)}))
	}
	for _, each := range s.Each {
		if each.Refused != "" {
			lines = append(lines, textField("details.refused", chat.Values{
				"badge": badgeText([]members.Badge{each.Badge}),
				"why":   problemText(p, each.Refused),
			}))
		}
	}
	return lines
}

// mentionHeldBack mentions the first users whose badges are held back, and says how many others there are.
func mentionHeldBack(s members.Status) (users chat.Parts) {
	for _, u := range s.FirstHeldBack {
		users = append(users, chat.Mention{User: u})
	}
	if others := s.HeldBack - len(s.FirstHeldBack); others > 0 {
		users = append(users, chat.SayWith("more", chat.Values{"n": chat.Count(others)}))
	}
	return users
}

// textField returns a message of package words as a line.
func textField(key string, values chat.Values) chat.Field {
	return chat.Field{Value: chat.SayWith(key, values)}
}
