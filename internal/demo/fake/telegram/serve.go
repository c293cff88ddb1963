package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// refusal is an answer with ok false.
type refusal struct {
	code       int
	text       string
	retryAfter int
	movedTo    int64
}

// Refuse writes an answer with ok false, a status as its error code, and a 429's time to
// wait.
func Refuse(w http.ResponseWriter, status int, description string, retryAfter time.Duration) {
	refuse(w, refusal{code: status, text: description, retryAfter: int(retryAfter.Seconds())})
}

func refuse(w http.ResponseWriter, r refusal) {
	answer := map[string]any{"ok": false, "error_code": r.code, "description": r.text}
	switch {
	case r.retryAfter > 0:
		answer["parameters"] = map[string]any{"retry_after": r.retryAfter}
	case r.movedTo != 0:
		answer["parameters"] = map[string]any{"migrate_to_chat_id": r.movedTo}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.code)
	json.NewEncoder(w).Encode(answer)
}

func accept(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func bad(text string) *refusal {
	return &refusal{code: http.StatusBadRequest, text: "Bad Request: " + text}
}

// Interceptor handles a call instead of the server. carryOut carries the call out, and
// returns the function that writes its response.
type Interceptor func(w http.ResponseWriter, r *http.Request, method string, params map[string]json.RawMessage,
	carryOut func() (respond func()))

// Intercept has f called with every call that fits the description. It must be called
// before the first call.
func (s *Server) Intercept(f Interceptor) { s.intercept = f }

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // It broke off, and so never came.
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != Token || locked(s, func() bool { return s.revoked }) {
		refuse(w, refusal{code: http.StatusUnauthorized, text: "Unauthorized"})
		return
	}
	p, files, err := read(r, method)
	if err != nil {
		s.Change(func() { s.violations = append(s.violations, err.Error()) })
		code := http.StatusBadRequest
		if botAPI()[method] == nil {
			code = http.StatusNotFound
		}
		refuse(w, refusal{code: code, text: err.Error()})
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	r = r.WithContext(ctx)
	carryOut := func() (respond func()) {
		result, no := s.call(r, method, p, files)
		if no != nil {
			return func() { refuse(w, *no) }
		}
		return func() { accept(w, result) }
	}
	if s.intercept != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.intercept(w, r, method, p, carryOut)
		return
	}
	carryOut()()
}

// params are the parameters of a call.
type params map[string]json.RawMessage

// arg reads one parameter that check has found fit; absent is zero.
func arg[T any](p params, name string) (value T) {
	if raw := p[name]; raw != nil {
		_ = json.Unmarshal(raw, &value) // check has read it
	}
	return value
}

func (s *Server) call(r *http.Request, method string, p params, files map[string][]byte) (result any, no *refusal) {
	if method == "getUpdates" {
		return s.getUpdates(r, p)
	}
	s.Change(func() { result, no = s.carryOut(method, p, files) })
	return result, no
}

// carryOut makes any call but getUpdates, under the lock.
func (s *Server) carryOut(method string, p params, files map[string][]byte) (result any, no *refusal) {
	switch method {
	case "getMe":
		return map[string]any{
			"id":              BotID,
			"is_bot":          true,
			"first_name":      "Herald",
			"username":        s.name,
			"can_join_groups": true,
		}, nil
	case "sendMessage", "sendPhoto":
		return s.send(method, p, files)
	case "editMessageText", "editMessageMedia":
		return s.edit(method, p, files)
	case "deleteMessage":
		return s.deleteMessage(p)
	case "answerCallbackQuery":
		return s.answerCallbackQuery(p)
	case "answerInlineQuery":
		return s.answerInlineQuery(p)
	case "sendChatAction":
		chat := arg[int64](p, "chat_id")
		if no := s.reachable(chat); no != nil {
			return nil, no
		}
		if s.directMessages[chat] {
			return nil, bad("chat actions are not for the direct messages of a channel")
		}
		s.watch(Event{Typing: true, Chat: chat})
		return true, nil
	case "getChatMember":
		return s.getChatMember(p)
	case "getChat":
		return s.getChat(p)
	case "setChatMemberTag":
		return s.setChatMemberTag(p)
	case "approveChatJoinRequest":
		return s.approveChatJoinRequest(p)
	case "answerChatJoinRequestQuery":
		return s.answerChatJoinRequestQuery(p)
	case "setMyCommands":
		return s.setMyCommands(p)
	case "getMyCommands":
		key, no := s.menuKey(p)
		return append([]Command{}, s.menus[key]...), no
	case "setMyDescription":
		return s.describe("description", p)
	case "setMyShortDescription":
		return s.describe("short_description", p)
	case "getMyDescription":
		return s.descriptionOf("description", p), nil
	case "getMyShortDescription":
		return s.descriptionOf("short_description", p), nil
	case "setWebhook":
		hook := Webhook{
			URL:            arg[string](p, "url"),
			Secret:         arg[string](p, "secret_token"),
			AllowedUpdates: arg[[]string](p, "allowed_updates"),
		}
		if !strings.HasPrefix(hook.URL, "https://") && hook.URL != "" {
			return nil, bad("bad webhook: An HTTPS URL must be provided for webhook")
		}
		s.webhook = hook
		return true, nil
	case "deleteWebhook":
		s.webhook = Webhook{}
		return true, nil
	case "getWebhookInfo":
		info := map[string]any{"url": s.webhook.URL, "has_custom_certificate": false, "pending_update_count": len(s.queue)}
		if !s.failedAt.IsZero() {
			info["last_error_date"] = s.failedAt.Unix()
			info["last_error_message"] = s.failure
		}
		return info, nil
	}
	return nil, bad("this fake does not serve " + method)
}

// samePoll is how soon after another a poll from the same offset gets one update alone
// (process_get_updates_query in tdlib/telegram-bot-api, Client.cpp).
const samePoll = 500 * time.Millisecond

// getUpdates acknowledges the updates below the offset and returns those that are queued.
// It waits for the first one for as long as the parameter timeout says. A later getUpdates
// ends an earlier one.
func (s *Server) getUpdates(r *http.Request, p params) (any, *refusal) {
	poller, limit := s.startPoll(p)
	over := time.After(time.Duration(arg[int](p, "timeout")) * time.Second)
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
		case <-over:
		case <-r.Context().Done():
		}
		return batch, nil
	}
}

// startPoll ends the poll before, and acknowledges the updates below the offset. It returns the
// poll's number, and how many updates it may return.
func (s *Server) startPoll(p params) (poller int64, limit int) {
	offset, kinds := arg[int64](p, "offset"), arg[[]string](p, "allowed_updates")
	limit = arg[int](p, "limit")
	if limit <= 0 || limit > 100 {
		limit = 100
	}
	s.Change(func() {
		s.poller++
		poller = s.poller
		if offset == s.lastOffset && time.Since(s.lastPoll) < samePoll {
			limit = 1
		}
		s.lastOffset = offset
		s.lastPoll = time.Now()
		if kinds != nil {
			s.allowed = kinds
		}
		if offset < 0 { // counts from the end, and drops the updates before
			s.queue = s.queue[max(0, len(s.queue)+int(offset)):]
		}
		for offset > 0 && len(s.queue) > 0 && s.queue[0].id < offset && s.webhook.URL == "" {
			s.queue = s.queue[1:]
		}
	})
	return poller, limit
}

// poll returns up to limit updates of the queue, and a channel that is closed at the next
// change. It refuses while there is a webhook, and a poll that a later one has ended.
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

// allows reports whether updates of a kind were asked for. No list is the usual
// kinds, and "" is a kind that Telegram may add.
func allows(allowed []string, kind string) bool {
	return kind == "" || len(allowed) == 0 || slices.Contains(allowed, kind)
}

// hasMoved returns the refusal of a call about a group that has another ID, under the lock.
func (s *Server) hasMoved(chat int64) *refusal {
	if to, moved := s.moved[chat]; moved {
		return &refusal{
			code:    http.StatusBadRequest,
			text:    "Bad Request: group chat was upgraded to a supergroup chat",
			movedTo: to,
		}
	}
	return nil
}

// reachable returns why the bot is not in a chat, or cannot write to it, under the lock.
func (s *Server) reachable(chat int64) *refusal {
	if no := s.hasMoved(chat); no != nil {
		return no
	}
	if s.chats[chat].Unknown {
		return bad("chat not found")
	}
	if status := s.status[[2]int64{chat, BotID}]; status == "left" || status == "kicked" {
		return &refusal{code: http.StatusForbidden, text: "Forbidden: bot was kicked from the supergroup chat"}
	}
	if chat > 0 && !s.started[chat] && !s.joins.contactable(chat) {
		return &refusal{code: http.StatusForbidden, text: "Forbidden: bot can't initiate conversation with a user"}
	}
	return nil
}
