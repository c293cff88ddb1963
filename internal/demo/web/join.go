package web

import (
	"fmt"

	"herald/internal/demo/community"
	faketelegram "herald/internal/demo/fake/telegram"
)

// requestJoin has a person ask to join the group that requires this.
func (d *Demo) requestJoin(required string, by community.Person, language string) error {
	group, ok := community.JoinGroupFor(required)
	if !ok {
		return errNotThere
	}
	d.Community.RequestJoin(by, language, group)
	return nil
}

// seeJoin adds a join request to the feed.
func (d *Demo) seeJoin(r *faketelegram.JoinRequest) {
	e := Event{Kind: KindJoin, Side: Telegram, From: d.nameOnTelegram(r.From.ID)}
	if group, ok := community.JoinGroupOf(r); ok {
		e.ID = fmt.Sprintf("join-%s-%s", group.Required, e.From)
		e.Message = encoded(map[string]any{"required": group.Required, "state": r.State})
	}
	d.feed.add(e)
}
