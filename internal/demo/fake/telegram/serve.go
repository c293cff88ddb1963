package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

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
	isRevoked := locked(s, func() bool { return s.revoked })
	if !ok || token != Token || isRevoked {
		refuse(w, refusal{code: http.StatusUnauthorized, text: "Unauthorized"})
		return
	}
	p, files, err := readCall(r, method)
	if err != nil {
		s.Change(func() { s.violations = append(s.violations, err.Error()) })
		code := http.StatusBadRequest
		isUnknownMethod := botAPI()[method] == nil
		if isUnknownMethod {
			code = http.StatusNotFound
		}
		refuse(w, refusal{code: code, text: err.Error()})
		return
	}
	// A call ends when the client disconnects or the server is closed.
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
		r.Body = io.NopCloser(bytes.NewReader(body)) // readCall has read it.
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

// refusal is the error response to a call. A refused call has no effect.
type refusal struct {
	code       int // the HTTP status and the error_code
	text       string
	retryAfter int   // seconds, or 0
	movedTo    int64 // the ID of the supergroup that a group has become, or 0
}

// Refuse writes the response of a refused call. If retryAfter is not 0, the response tells the bot to wait that long,
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

// bad returns the refusal of a call that Telegram calls a bad request.
func bad(text string) *refusal {
	return &refusal{code: http.StatusBadRequest, text: "Bad Request: " + text}
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
