package router

import (
	"context"
	"fmt"
	"slices"

	"herald/internal/chat"
)

// setRights sets the UnlistedChat and the MayModerate of req. Operators may use moderators' forms everywhere.
// Moderators may use them in the chats of ModeratorChats, if they are not anonymous. An UnknownRole gives no rights.
func (r *Router) setRights(req *chat.Request) {
	req.UnlistedChat = r.unlistedChat(req)
	isListedModerator := req.Role == chat.Moderator && req.UnlistedChat == "" && !isAnonymous(req)
	isOperator := slices.Contains(r.Operators, req.From)
	req.MayModerate = isOperator || isListedModerator
}

// unlistedChat returns the entry that ModeratorChats lacks for the Community of req, for the refusal. It returns "" if
// ModeratorChats has the entry or EveryChat, or if req has no Community.
func (r *Router) unlistedChat(req *chat.Request) string {
	if req.Community == "" || slices.Contains(r.ModeratorChats, EveryChat) {
		return ""
	}
	entry := communityEntry(req)
	if slices.Contains(r.ModeratorChats, entry) {
		return ""
	}
	return entry
}

// isAnonymous reports whether the platform hides who sent req, as Telegram does for anonymous administrators.
func isAnonymous(req *chat.Request) bool { return req.From.ID == "" }

// communityEntry returns the Community of req in the form of settings, such as "telegram:-1001234567890".
func communityEntry(req *chat.Request) string { return string(req.From.Platform) + ":" + req.Community }

// resolveRole replaces an UnknownRole: it asks the platform for the sender's role, and sets the rights of req again. It
// does not ask about operators, who may moderate anyway. If the platform fails, the sender counts as a Member for the
// rest of this request, and resolveRole returns the error.
func (r *Router) resolveRole(ctx context.Context, req *chat.Request) error {
	if req.Role != chat.UnknownRole || req.MayModerate {
		return nil
	}
	role, err := r.Roles[req.From.Platform](ctx, req.From, req.Community)
	if err != nil {
		role = chat.Member
	}
	req.Role = role
	r.setRights(req)
	return err
}

// tryResolveRole resolves the sender's role if that could give the sender rights. It ignores an error, because the role
// then decides only what the sender is shown. checkModerator decides what the sender may do.
func (r *Router) tryResolveRole(ctx context.Context, req *chat.Request) {
	if req.MightModerate() {
		_ = r.resolveRole(ctx, req)
	}
}

// checkModerator returns nil if the sender may use the moderators' form f, and otherwise the result that refuses it.
func (r *Router) checkModerator(ctx context.Context, req *chat.Request, f *chat.Form) *result {
	if err := r.resolveRole(ctx, req); err != nil {
		return &result{
			reply:   unavailableReply(req, "role", f, chat.Say("role.unknown")),
			outcome: outcomeOf(err),
			err:     fmt.Errorf("ask for the sender's role: %w", err),
		}
	}
	if !req.MayModerate {
		return &result{reply: forbiddenReply(req), outcome: Forbidden}
	}
	return nil
}

// forbiddenReply says why a sender whose role is known may not use moderators' forms in this chat.
func forbiddenReply(req *chat.Request) *chat.Reply {
	switch {
	case req.Role == chat.Moderator && req.UnlistedChat != "":
		reply := chat.Refusal("unlisted.title", "unlisted.text")
		whatToAdd := chat.SayWith("unlisted.entry", chat.Values{"entry": chat.Code(req.UnlistedChat)})
		reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: whatToAdd}}}}
		return reply
	case req.Role == chat.Moderator && isAnonymous(req):
		return chat.Refusal("anonymous.title", "anonymous.text")
	case req.Direct:
		return chat.Refusal("forbidden.title", "forbidden.direct")
	}
	return chat.Refusal("forbidden.title", "forbidden.text")
}
