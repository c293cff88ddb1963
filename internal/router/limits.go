package router

import (
	"cmp"
	"context"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Limits returns the rate limits that count req: the sender's own and the chat's. An anonymous sender counts against
// the chat alone, because many share the name. Handle counts req against them, unless req is Counted.
func (r *Router) Limits(req *chat.Request) []ratelimit.Limit {
	limits := make([]ratelimit.Limit, 0, 2)
	late := ""
	if !req.Asked.IsZero() && time.Since(req.Asked) > time.Minute {
		late = req.Asked.UTC().Format("2006-01-02 15:04")
	}
	if key := senderKey(req); r.UserPerMinute > 0 && key != "" && !req.Inline {
		limits = append(limits, r.perMinute(r.UserPerMinute, req, "user", key, late))
	}
	if r.ChatPerMinute > 0 {
		limits = append(limits, r.perMinute(r.ChatPerMinute, req, "chat", req.Chat, late))
	}
	return limits
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
	wait, _ = r.Limiter.Reserve(ctx, 0, limits...)
	return wait
}

// countForm counts req against the form's own limit, if it has one. The anonymous senders of a chat count as one, and
// inline queries, of which each typed letter is one, do not count. It returns what count returns.
func (r *Router) countForm(ctx context.Context, req *chat.Request, command route, f *chat.Form) (wait time.Duration) {
	own := f.Limit
	isCounted := own.Counts == nil || own.Counts(req)
	if own.Uses == 0 || !isCounted || req.Inline {
		return 0
	}
	who := senderKey(req)
	if who == "" {
		who = "chat " + req.Chat
	}
	key := r.key(req, command.Name, who, req.Args.Value(own.Of))
	wait, _ = r.Limiter.Reserve(ctx, 0, limit(own.Uses, own.Per, key))
	return wait
}

// senderKey returns what names the sender in limits, or "" for an anonymous one.
func senderKey(req *chat.Request) string { return cmp.Or(req.From.ID, req.LimitKey) }

// perMinute returns a limit of count at once, and as many again spread over each minute.
func (r *Router) perMinute(count int, req *chat.Request, kind, key, more string) ratelimit.Limit {
	return limit(count, time.Minute, r.key(req, kind, key, more))
}

// key returns the key of a limit of this bot on the platform of req.
func (r *Router) key(req *chat.Request, kind, key, more string) string {
	return strings.Join([]string{r.Bot, string(req.From.Platform), kind, key, more}, " ")
}

// limit returns a limit of count at once, and as many again spread over each period.
func limit(count int, period time.Duration, key string) ratelimit.Limit {
	return ratelimit.Limit{Key: key, Burst: count, Every: period / time.Duration(count)}
}
