package platformtest

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"herald/internal/chat"
	"herald/internal/ratelimit"
	"herald/internal/router"
)

// Handler is a platform.Handler that answers every request by Reply, and remembers the requests.
type Handler struct {
	// Reply returns the reply to a request. If it is nil, the reply is a title: the command's name.
	Reply func(context.Context, *chat.Request) *chat.Reply
	// OnSeen is called by Seen unless it is nil.
	OnSeen func(user chat.User, community string, badges []string)

	mu       sync.Mutex
	requests []chat.Request
}

// Handle implements platform.Handler. It remembers req and answers it.
func (h *Handler) Handle(ctx context.Context, req *chat.Request) *chat.Reply {
	h.mu.Lock()
	h.requests = append(h.requests, *req)
	h.mu.Unlock()
	if h.Reply == nil {
		return &chat.Reply{Title: chat.Say(req.Command)}
	}
	return h.Reply(ctx, req)
}

// Requests returns the requests handled so far.
func (h *Handler) Requests() []chat.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Commands implements platform.Handler. It returns
//   - the public commands "price", "staked <wallet>" and "help";
//   - the private command "mylogins";
//   - the private command "exists", and its forms for moderators: "exists <user>" and "exists <platform> <uid>".
func (h *Handler) Commands() chat.Commands {
	run := func(context.Context, *chat.Request) (*chat.Reply, error) { return nil, nil }
	user := chat.Param{Name: "user", Summary: chat.Say("Whom to ask about"), Example: "123456789", Person: true}
	platform := chat.Param{
		Name:    "platform",
		Summary: chat.Say("Where they have the account"),
		Example: "Telegram",
		Choices: []string{"Telegram", "Discord", "EVM"},
	}
	uid := chat.Param{Name: "uid", Summary: chat.Say("Their ID there"), Example: "123456789"}
	wallet := chat.Param{
		Name:     "wallet",
		Summary:  chat.Say("The wallet's address"),
		Question: chat.Say("Which wallet?"),
		Like:     regexp.MustCompile(`(?i)\b0x|^So1`),
		Example:  "0x52908400098527886E0F7030069857D2E4169EE7",
	}
	plain := []chat.Form{{Run: run}}
	return chat.Commands{
		{
			Name:       "price",
			Summary:    chat.Say("The price"),
			Visibility: chat.Public,
			Forms:      []chat.Form{{Inline: true, Run: run}},
		},
		{
			Name:       "staked",
			Summary:    chat.Say("Whether a wallet stakes"),
			Visibility: chat.Public,
			Forms:      []chat.Form{{Params: []chat.Param{wallet}, Inline: true, Run: run}},
		},
		{Name: "mylogins", Summary: chat.Say("Your logins"), Visibility: chat.Private, Forms: plain},
		{
			Name:       "exists",
			Summary:    chat.Say("Whether you are registered"),
			PersonMenu: chat.Say("Check registration"),
			Visibility: chat.Private,
			Forms: []chat.Form{
				{Run: run},
				{Params: []chat.Param{user}, Moderators: true, Run: run},
				{Params: []chat.Param{platform, uid}, Moderators: true, Run: run},
			},
		},
		{
			Name:       "help",
			Aliases:    map[string][]string{"start": nil},
			Summary:    chat.Say("What I can do"),
			Visibility: chat.Public,
			Forms:      plain,
		},
	}
}

// Visibility implements platform.Handler. It knows Commands and unlistedPrivate.
func (h *Handler) Visibility(name string) chat.Visibility {
	if slices.Contains(unlistedPrivate, name) {
		return chat.Private
	}
	command, _ := h.Commands().Find(name)
	return command.Visibility
}

// unlistedPrivate holds the private commands that are sent only by buttons.
var unlistedPrivate = []string{chat.JoinCommand, "save", "details"}

// Language implements platform.Handler. It returns English.
func (h *Handler) Language(*chat.Request, chat.Visibility) chat.Language { return chat.English }

// Limits implements platform.Handler. It returns no limits.
func (h *Handler) Limits(*chat.Request) []ratelimit.Limit { return nil }

// Proof implements platform.Handler. It returns the first argument that looks like a wallet.
func (h *Handler) Proof(req *chat.Request) string {
	for _, word := range req.Args.Words() {
		if strings.HasPrefix(word, "0x") {
			return word
		}
	}
	return ""
}

// Seen implements platform.Handler. It calls OnSeen.
func (h *Handler) Seen(user chat.User, community string, badges []string) {
	if h.OnSeen != nil {
		h.OnSeen(user, community, badges)
	}
}

// Routed makes a platform.Handler of a Router.
type Routed struct{ *router.Router }

// Seen implements platform.Handler. It does nothing.
func (Routed) Seen(chat.User, string, []string) {}
