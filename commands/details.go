package commands

import (
	"cmp"
	"context"

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

// run says how the chat's door and badges do, and which entry the settings need for the chat.
func (c detailsCommand) run(_ context.Context, req chat.Request) (chat.Reply, error) {
	if req.Community == "" {
		return chat.OldButton(), nil
	}
	entry := chat.Code(string(req.From.Platform) + ":" + req.Community)
	reply := chat.Reply{Title: chat.Say("details.title"), Notes: []chat.Text{chat.SayWith("details.entry", chat.Values{"entry": entry})}}
	_, door := c.JoinChats[string(entry)]
	if door {
		counts, last := c.Joins.For(req.Community)
		reply.Sections = append(reply.Sections, doorSections(counts, last)...)
	}
	badges := c.Members.Badges(req.From.Platform, req.Community)
	if len(badges) == 0 {
		if !door {
			reply.Text = chat.Say("details.nothing")
		}
		return reply, nil
	}
	s, err := c.Members.Status(req.From.Platform, req.Community)
	if err != nil {
		reply.Tone, reply.Text = chat.Warning, chat.Say("details.unread")
		return reply, &chat.PartialError{Err: err}
	}
	if s.Held || s.Refused != "" {
		reply.Tone = chat.Warning
	}
	reply.Sections = append(reply.Sections, chat.Section{Fields: badgeFields(req.From.Platform, badgeNames(badges), s, c.Members)})
	return reply, nil
}

// whyLeftOut has what moderators read instead of the title that a person was told.
var whyLeftOut = map[string]string{
	"join.no": "details.unregistered", "join.two": "details.asked", "join.wallet": "details.asked", "join.not_yours": "details.not_theirs",
	"join.no_stake": "details.too_little", "join.no_stake.amount": "details.too_little",
}

// doorSections returns what became of requests to join, and who was left outside lately.
func doorSections(counts chat.JoinCounts, last []chat.LeftOut) []chat.Section {
	door := chat.Section{Fields: []chat.Field{{Value: chat.SayWith("details.door", chat.Values{
		"in": chat.Count(counts.LetIn), "open": chat.Count(counts.LeftOpen), "unchecked": chat.Count(counts.Unchecked),
	})}}}
	if len(last) == 0 {
		return []chat.Section{door}
	}
	out := chat.Section{Heading: chat.Say("details.left_out")}
	for _, l := range last {
		why := chat.Say(cmp.Or(whyLeftOut[l.Why.Key], "details.unchecked"))
		out.Fields = append(out.Fields, chat.Field{Value: chat.Parts{chat.Mention{User: l.User}, chat.Moment{Time: l.At}, why}})
	}
	return []chat.Section{door, out}
}

// badgeFields returns the lines about the badges of a community.
func badgeFields(p chat.Platform, badge chat.Value, s members.Status, m Members) (fields []chat.Field) {
	line := func(key string, values chat.Values) {
		values["badge"] = badge
		fields = append(fields, chat.Field{Value: chat.SayWith(key, values)})
	}
	line("details.have", chat.Values{"have": chat.Count(s.Have), "checked": chat.Count(s.Checked), "every": everyText(m.RecheckEvery())})
	line("details.since", chat.Values{"day": chat.Day{Time: s.Since}, "given": chat.Count(s.Gives), "removed": chat.Count(s.Removals)})
	if s.Held {
		line("details.held", chat.Values{"losing": chat.Count(s.Losing), "have": chat.Count(s.Have), "command": chat.Code("bot members --release")})
	}
	if s.Refused != "" {
		line("details.refused", chat.Values{"why": whyNot(p, s.Refused)})
	}
	return fields
}
