package telegram

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// repeatedPoll is the maximum time between two polls with the same offset after which the second one returns only one
// update (process_get_updates_query in tdlib/telegram-bot-api, Client.cpp).
const repeatedPoll = 500 * time.Millisecond

// getUpdates acknowledges the updates with IDs below the parameter offset, and returns the other queued updates. If
// there are none, it waits for one, at most for the parameter timeout in seconds. The next getUpdates ends the wait.
func (s *Server) getUpdates(r *http.Request, p params) (any, *refusal) {
	poller, limit := s.startPoll(p)
	timeout := time.After(time.Duration(arg[int](p, "timeout")) * time.Second)
	for {
		batch, changed, refused := s.poll(poller, limit)
		if refused != nil {
			return nil, refused
		}
		if len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-changed:
			continue
		case <-timeout:
		case <-r.Context().Done():
		}
		return batch, nil
	}
}

// startPoll ends the previous poll, and acknowledges the updates below the offset. It returns the number of the new
// poll, and the maximum number of updates that the poll may return.
func (s *Server) startPoll(p params) (poller int64, limit int) {
	offset := arg[int64](p, "offset")
	kinds := arg[[]string](p, "allowed_updates")
	limit = arg[int](p, "limit")
	if limit <= 0 || limit > 100 {
		limit = 100
	}
	s.Change(func() {
		s.poller++
		poller = s.poller
		if offset == s.lastOffset && time.Since(s.lastPoll) < repeatedPoll {
			limit = 1
		}
		s.lastOffset = offset
		s.lastPoll = time.Now()
		if kinds != nil {
			s.allowed = kinds
		}
		if offset < 0 { // A negative offset counts from the end of the queue.
			s.queue = s.queue[max(0, len(s.queue)+int(offset)):]
		}
		for offset > 0 && len(s.queue) > 0 && s.queue[0].id < offset && s.webhook.URL == "" {
			s.queue = s.queue[1:]
		}
	})
	return poller, limit
}

// poll returns at most limit queued updates, and a channel that the next change closes. It refuses if a webhook is set,
// or if a later poll has started.
func (s *Server) poll(
	poller int64, limit int,
) (batch []json.RawMessage, changed <-chan struct{}, refused *refusal) {
	s.Lock()
	defer s.Unlock()
	s.queue = slices.DeleteFunc(s.queue, func(q queued) bool { return !allows(s.allowed, q.kind) })
	switch {
	case s.webhook.URL != "":
		return nil, nil, &refusal{
			code: http.StatusConflict,
			text: "Conflict: can't use getUpdates method while webhook is active; " +
				"use deleteWebhook to delete the webhook first",
		}
	case s.poller != poller:
		return nil, nil, &refusal{
			code: http.StatusConflict,
			text: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
		}
	}
	batch = []json.RawMessage{}
	for _, q := range s.queue[:min(limit, len(s.queue))] {
		batch = append(batch, q.raw)
	}
	return batch, s.Changed(), nil
}

// allows reports whether a bot that asked for the kinds in allowed gets updates of this kind. If allowed is empty,
// it gets all kinds of the fake. Updates of PushRaw have the kind "", and every bot gets them.
func allows(allowed []string, kind string) bool {
	return kind == "" || len(allowed) == 0 || slices.Contains(allowed, kind)
}

func (s *Server) setWebhook(p params) (result any, refused *refusal) {
	hook := Webhook{
		URL:            arg[string](p, "url"),
		Secret:         arg[string](p, "secret_token"),
		AllowedUpdates: arg[[]string](p, "allowed_updates"),
	}
	if hook.URL != "" && !strings.HasPrefix(hook.URL, "https://") {
		return nil, bad("bad webhook: An HTTPS URL must be provided for webhook")
	}
	s.webhook = hook
	return true, nil
}

func (s *Server) deleteWebhook(params) (result any, refused *refusal) {
	s.webhook = Webhook{}
	return true, nil
}

func (s *Server) getWebhookInfo(params) (result any, refused *refusal) {
	info := map[string]any{"url": s.webhook.URL, "has_custom_certificate": false, "pending_update_count": len(s.queue)}
	if !s.failedAt.IsZero() {
		info["last_error_date"] = s.failedAt.Unix()
		info["last_error_message"] = s.failure
	}
	return info, nil
}
