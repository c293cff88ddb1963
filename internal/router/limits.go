package router

import (
	"cmp"
	"context"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Limits returns the rate limits that count req: the sender's own and the chat's. An anonymous administrator counts
// only against the chat, because many share the name. An inline query counts only against the chat. Handle counts req
// against its Limits, unless req is Counted.
func (r *Router) Limits(req *chat.Request) []ratelimit.Limit {
	limits := make([]ratelimit.Limit, 0, 2)
	late := lateMinute(req)
	sender := senderKey(req)
	if r.UserPerMinute > 0 && sender != "" && !req.Inline {
		limits = append(limits, r.perMinute(r.UserPerMinute, req, "user", sender, late))
	}
	if r.ChatPerMinute > 0 {
		limits = append(limits, r.perMinute(r.ChatPerMinute, req, "chat", req.Chat, late))
	}
	return limits
}

// lateMinute returns the minute in which req was asked if that was over a minute ago, and "" otherwise. The minute is
// part of a limit's key. Each past minute so has a limit of its own: the requests of an outage, which arrive together
// after it, count as if they had arrived in time.
func lateMinute(req *chat.Request) string {
	if req.Asked.IsZero() || time.Since(req.Asked) <= time.Minute {
		return ""
	}
	return req.Asked.UTC().Format("2006-01-02 15:04")
}

// count counts req against its Limits, unless it is Counted. It returns how long the sender has to wait; 0: not at all.
func (r *Router) count(ctx context.Context, req *chat.Request) (wait time.Duration) {
	if req.Counted {
		return req.Wait
	}
	limits := r.Limits(req)
	if len(limits) == 0 {
		return 0
	}
	return r.takeNow(ctx, limits...)
}

// takeNow takes a slot from each limit if all slots are due now. Otherwise, it takes none and returns how long to wait
// until they are due. A command is never delayed: its sender has to try again.
func (r *Router) takeNow(ctx context.Context, limits ...ratelimit.Limit) (wait time.Duration) {
	wait, _ = r.Limiter.Reserve(ctx, 0, limits...)
	return wait
}

// countForm counts req against the form's own limit, if it has one. It returns how long the sender has to wait; 0: not
// at all. All anonymous administrators of a chat count as one. An inline query does not count, because every typed
// letter sends one.
func (r *Router) countForm(ctx context.Context, req *chat.Request, command route, f *chat.Form) (wait time.Duration) {
	own := f.Limit
	if own.Uses == 0 || req.Inline {
		return 0
	}
	if own.Counts != nil && !own.Counts(req) {
		return 0
	}
	sender := senderKey(req)
	if sender == "" {
		sender = "chat " + req.Chat
	}
	key := r.key(req, command.Name, sender, req.Args.Value(own.Of))
	return r.takeNow(ctx, limit(own.Uses, own.Per, key))
}

// senderKey returns the ID of the user or the channel that sent req, or "" for an anonymous administrator.
func senderKey(req *chat.Request) string { return cmp.Or(req.From.ID, req.LimitKey) }

// perMinute returns a limit of count requests at once, and as many again spread over each minute. Its key is that of
// Router.key.
func (r *Router) perMinute(count int, req *chat.Request, kind, id, part string) ratelimit.Limit {
	return limit(count, time.Minute, r.key(req, kind, id, part))
}

// key returns the key of a limit of this bot on the platform of req. kind is what the limit counts, and id is whom or
// where it counts. If part is not empty, the limit counts only that part of the requests: those of a past minute, such
// as "2026-11-23 12:00", or those with one argument, such as "0x5290…".
func (r *Router) key(req *chat.Request, kind, id, part string) string {
	return strings.Join([]string{r.Bot, string(req.From.Platform), kind, id, part}, " ")
}

// limit returns a limit of count requests at once, and as many again spread over each period.
func limit(count int, period time.Duration, key string) ratelimit.Limit {
	return ratelimit.Limit{Key: key, Burst: count, Every: period / time.Duration(count)}
}
