package router

import (
	"cmp"
	"context"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Limits returns the rate limits that count req: one of the sender and one of the chat. Handle counts req against them,
// unless the adapter has done so, and set Counted.
//
// Two kinds of requests count only against the chat: those of anonymous administrators, because all of a chat share one
// name, and inline queries, because every typed letter sends one.
func (r *Router) Limits(req *chat.Request) []ratelimit.Limit {
	limits := make([]ratelimit.Limit, 0, 2)
	minute := lateMinute(req)
	sender := senderKey(req)
	if r.UserPerMinute > 0 && sender != "" && !req.Inline {
		limits = append(limits, r.perMinute(r.UserPerMinute, req, "user", sender, minute))
	}
	if r.ChatPerMinute > 0 {
		limits = append(limits, r.perMinute(r.ChatPerMinute, req, "chat", req.Chat, minute))
	}
	return limits
}

// lateMinute returns the minute in which req was asked, such as "2026-11-23 12:00", if that was over a minute ago, and
// otherwise "". As a part of a limit's key, it gives each past minute a limit of its own. After an outage, requests
// that were asked in different minutes arrive together, and so count as if they had arrived in time.
func lateMinute(req *chat.Request) string {
	if req.Asked.IsZero() || time.Since(req.Asked) <= time.Minute {
		return ""
	}
	return req.Asked.UTC().Format("2006-01-02 15:04")
}

// count counts req against its Limits, unless the adapter has done so. It returns how long the sender has to wait, or 0
// if the limits allow req.
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

// takeNow takes a slot from each limit if all have one now. Otherwise, it takes none, and returns how long to wait
// until all have one. It does not take a later slot, because a command is never delayed: its sender has to try again.
func (r *Router) takeNow(ctx context.Context, limits ...ratelimit.Limit) (wait time.Duration) {
	wait, _ = r.Limiter.Reserve(ctx, 0, limits...)
	return wait
}

// countForm counts req against the form's own limit, if it has one. It returns how long the sender has to wait, or 0 if
// the limit allows req. All anonymous administrators of a chat count as one sender. Inline queries do not count.
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

// perMinute returns a limit of count requests at once, and as many again spread over each minute. key explains the
// other parameters.
func (r *Router) perMinute(count int, req *chat.Request, kind, id, part string) ratelimit.Limit {
	return limit(count, time.Minute, r.key(req, kind, id, part))
}

// key returns the key of a limit. Requests with the same key count together: those to this bot, on the platform of req,
// with the same kind, id and part.
//
//   - kind is what is counted: "user", "chat", "refusal" or the name of a command.
//   - id is the user, channel or chat whose requests are counted.
//   - part limits the key to some of these requests, or is empty: those of a past minute, such as "2026-11-23 12:00",
//     those in one chat, or those with one argument, such as "0x5290…".
func (r *Router) key(req *chat.Request, kind, id, part string) string {
	return strings.Join([]string{r.Bot, string(req.From.Platform), kind, id, part}, " ")
}

// limit returns a limit of count requests at once, and as many again spread over each period.
func limit(count int, period time.Duration, key string) ratelimit.Limit {
	return ratelimit.Limit{Key: key, Burst: count, Every: period / time.Duration(count)}
}
