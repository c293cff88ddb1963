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

// refusal is the response to a call that has no effect.
type refusal struct {
	code       int // the HTTP status and the error_code
	text       string
	retryAfter int   // seconds, or 0
	movedTo    int64 // the ID of the supergroup that a group has become, or 0
}

// Refuse responds that a call has no effect. If retryAfter is not 0, the response tells the bot to wait for that time,
// in whole seconds.
func Refuse(w http.ResponseWriter, status int, description string, retryAfter time.Duration) {
	refuse(w, refusal{code: status, text: description, retryAfter: int(retryAfter.Seconds())})
}

// refuse writes the response of a refusal.
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

// accept writes the response of a successful call.
func accept(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

// bad returns the refusal of an invalid call.
func bad(text string) *refusal {
	return &refusal{code: http.StatusBadRequest, text: "Bad Request: " + text}
}

// Interceptor decides how a call is answered. handle handles the call, and returns the function that writes the
// response to w. An Interceptor may call neither, only handle, or both.
type Interceptor func(w http.ResponseWriter, r *http.Request, method string, params map[string]json.RawMessage,
	handle func() (respond func()))

// Intercept makes the server pass each call to f, unless the call violates the description. Call Intercept before the
// first call.
func (s *Server) Intercept(f Interceptor) { s.intercept = f }

// ServeHTTP answers one call. A call of getUpdates may block for as long as its parameter timeout says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // The connection ended, so the call is ignored.
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != Token || locked(s, func() bool { return s.revoked }) {
		refuse(w, refusal{code: http.StatusUnauthorized, text: "Unauthorized"})
		return
	}
	p, files, err := readCall(r, method)
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
	handle := func() (respond func()) {
		result, refused := s.call(r, method, p, files)
		if refused != nil {
			return func() { refuse(w, *refused) }
		}
		return func() { accept(w, result) }
	}
	if s.intercept != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.intercept(w, r, method, p, handle)
		return
	}
	respond := handle()
	respond()
}

// params are the parameters of a call by name. readCall has checked them.
type params map[string]json.RawMessage

// arg returns a parameter of a call, or the zero value if it is missing.
func arg[T any](p params, name string) (value T) {
	if raw := p[name]; raw != nil {
		_ = json.Unmarshal(raw, &value) // cannot fail: T is the type in the description
	}
	return value
}

// call handles a call. Only getUpdates blocks.
func (s *Server) call(
	r *http.Request, method string, p params, files map[string][]byte,
) (result any, refused *refusal) {
	if method == "getUpdates" {
		return s.getUpdates(r, p)
	}
	s.Change(func() { result, refused = s.carryOut(method, p, files) })
	return result, refused
}

// handlers maps methods to their handlers, except the methods with files and getUpdates. The server's lock is held
// while a handler runs.
var handlers = map[string]func(*Server, params) (result any, refused *refusal){
	"getMe":                      (*Server).getMe,
	"deleteMessage":              (*Server).deleteMessage,
	"answerCallbackQuery":        (*Server).answerCallbackQuery,
	"answerInlineQuery":          (*Server).answerInlineQuery,
	"sendChatAction":             (*Server).sendChatAction,
	"getChatMember":              (*Server).getChatMember,
	"getChat":                    (*Server).getChat,
	"setChatMemberTag":           (*Server).setChatMemberTag,
	"approveChatJoinRequest":     (*Server).approveChatJoinRequest,
	"answerChatJoinRequestQuery": (*Server).answerChatJoinRequestQuery,
	"setMyCommands":              (*Server).setMyCommands,
	"getMyCommands":              (*Server).getMyCommands,
	"setMyDescription":           (*Server).setMyDescription,
	"getMyDescription":           (*Server).getMyDescription,
	"setMyShortDescription":      (*Server).setMyShortDescription,
	"getMyShortDescription":      (*Server).getMyShortDescription,
	"setWebhook":                 (*Server).setWebhook,
	"deleteWebhook":              (*Server).deleteWebhook,
	"getWebhookInfo":             (*Server).getWebhookInfo,
}

// carryOut handles a call of any method except getUpdates. The caller must hold the lock.
func (s *Server) carryOut(method string, p params, files map[string][]byte) (result any, refused *refusal) {
	switch method {
	case "sendMessage", "sendPhoto":
		return s.send(method, p, files)
	case "editMessageText", "editMessageMedia":
		return s.edit(method, p, files)
	}
	handle, found := handlers[method]
	if !found {
		return nil, bad("this fake does not serve " + method)
	}
	return handle(s, p)
}

func (s *Server) getMe(params) (result any, refused *refusal) {
	return map[string]any{
		"id":              BotID,
		"is_bot":          true,
		"first_name":      "Herald",
		"username":        s.name,
		"can_join_groups": true,
	}, nil
}

func (s *Server) sendChatAction(p params) (result any, refused *refusal) {
	chat := arg[int64](p, "chat_id")
	if refused := s.reachable(chat); refused != nil {
		return nil, refused
	}
	if s.directMessages[chat] {
		return nil, bad("chat actions are not for the direct messages of a channel")
	}
	s.watch(Event{Typing: true, Chat: chat})
	return true, nil
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

// repeatedPoll is the maximum time between two polls with the same offset after which the second one returns only one
// update (process_get_updates_query in tdlib/telegram-bot-api, Client.cpp).
const repeatedPoll = 500 * time.Millisecond

// getUpdates acknowledges the updates below the offset, and returns the other queued ones. If there are none, it waits
// for one for as long as the parameter timeout says, in seconds. The next getUpdates ends it.
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

// hasMoved refuses a call about a group that has become a supergroup. The caller must hold the lock.
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

// reachable refuses a call about a chat if the bot is not in it or cannot write to it. The caller must hold the lock.
func (s *Server) reachable(chat int64) *refusal {
	if refused := s.hasMoved(chat); refused != nil {
		return refused
	}
	if s.chats[chat].Unknown {
		return bad("chat not found")
	}
	status := s.status[inChat{chat, BotID}]
	if status == "left" || status == "kicked" {
		return &refusal{code: http.StatusForbidden, text: "Forbidden: bot was kicked from the supergroup chat"}
	}
	if chat > 0 && !s.started[chat] && !s.joins.contactable(chat) {
		return &refusal{code: http.StatusForbidden, text: "Forbidden: bot can't initiate conversation with a user"}
	}
	return nil
}
