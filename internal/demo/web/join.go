package web

import (
	"fmt"

	"herald/internal/demo/community"
	faketelegram "herald/internal/demo/fake/telegram"
)

// requestJoin makes a person's request to join the group with this requirement.
func (d *Demo) requestJoin(required string, by community.Person, language string) error {
	group, found := community.JoinGroupFor(required)
	if !found {
		return errNotThere
	}
	d.Community.RequestJoin(by, language, group)
	return nil
}

// addJoin adds a new state of a join request to the feed.
func (d *Demo) addJoin(r *faketelegram.JoinRequest) {
	e := Event{Kind: KindJoin, Side: Telegram, From: d.nameOnTelegram(r.From.ID)}
	if group, found := community.JoinGroupOf(r); found {
		e.ID = fmt.Sprintf("join-%s-%s", group.Required, e.From)
		e.Message = encoded(map[string]any{"required": group.Required, "state": r.State})
	}
	d.feed.add(e)
}
