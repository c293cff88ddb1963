// Package platformtest is shared by the tests of all adapters. It has the contract of platform.Adapter as a suite, a
// reply with all fields set, and a handler with public and private commands.
package platformtest

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
	"herald/internal/router"
)

// FullReply returns a Reply in which every text and value is a marker of its own, and the
// list of the markers. A renderer that shows them all has forgotten no field. The Reply has
// a button for a command and one for a page. It has no picture, since a platform may show
// less beside one.
func FullReply() (*chat.Reply, []string) {
	var reply chat.Reply
	var markers []string
	fill(reflect.ValueOf(&reply).Elem(), &markers)
	reply.Audience = chat.SenderAlone // Platforms may leave out a repeated reply.
	return &reply, markers
}

func fill(v reflect.Value, markers *[]string) {
	mark := func() string {
		*markers = append(*markers, fmt.Sprintf("marker%dq", len(*markers)))
		return (*markers)[len(*markers)-1]
	}
	switch v.Interface().(type) {
	case chat.Text:
		// A key without a message is shown itself.
		v.Set(reflect.ValueOf(chat.Say(mark())))
		return
	case []chat.Action:
		v.Set(reflect.ValueOf([]chat.Action{
			{Label: chat.Say(mark()), Command: "price", Edit: true},
			{Label: chat.Say(mark()), URL: "https://example.org/"},
		}))
		return
	case chat.Language, time.Time, *chat.Image, *chat.Ask, *chat.Rendered, string:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			needNotBeShown := name == "Folded" || name == "Source" || name == "Join"
			if !needNotBeShown {
				fill(v.Field(i), markers)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), markers)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(chat.Plain(mark())))
	case reflect.Int:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("platformtest: a Reply now holds a " + v.Kind().String() + ", which FullReply cannot fill")
	}
}

// Handler answers every request by Reply, and remembers the requests.
type Handler struct {
	// Reply makes the answer; nil answers with the command's name as title.
	Reply func(context.Context, *chat.Request) *chat.Reply
	// OnSeen is called by Seen; nil: nothing is.
	OnSeen func(user chat.User, community string, badges []string)

	mu       sync.Mutex
	requests []chat.Request
}

// Commands returns the public commands "price", "staked <wallet>" and "help", the private
// "mylogins", and the private "exists" with the moderators' forms "exists <user>" and
// "exists <platform> <uid>".
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

// Handle remembers req and answers it.
func (h *Handler) Handle(ctx context.Context, req *chat.Request) *chat.Reply {
	h.mu.Lock()
	h.requests = append(h.requests, *req)
	h.mu.Unlock()
	if h.Reply == nil {
		return &chat.Reply{Title: chat.Say(req.Command)}
	}
	return h.Reply(ctx, req)
}

// Seen implements platform.Handler.
func (h *Handler) Seen(user chat.User, community string, badges []string) {
	if h.OnSeen != nil {
		h.OnSeen(user, community, badges)
	}
}

// Routed is a Router as a platform.Handler. It is told of badges in vain.
type Routed struct{ *router.Router }

// Seen implements platform.Handler.
func (Routed) Seen(chat.User, string, []string) {}

// Limits implements platform.Handler: there are none.
func (h *Handler) Limits(*chat.Request) []ratelimit.Limit { return nil }

// Language implements platform.Handler: English.
func (h *Handler) Language(*chat.Request, chat.Visibility) chat.Language { return chat.English }

// Proof implements platform.Handler: the word that looks like a wallet.
func (h *Handler) Proof(req *chat.Request) string {
	for _, word := range req.Args.Words() {
		if strings.HasPrefix(word, "0x") {
			return word
		}
	}
	return ""
}

// unlisted are the private commands that only buttons ask.
var unlisted = []string{chat.JoinCommand, "save", "details"}

// Visibility implements platform.Handler. It knows Commands and the private commands that only
// buttons ask.
func (h *Handler) Visibility(name string) chat.Visibility {
	if slices.Contains(unlisted, name) {
		return chat.Private
	}
	command, _ := h.Commands().Find(name)
	return command.Visibility
}

// Requests returns the requests handled so far.
func (h *Handler) Requests() []chat.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Events counts what an adapter counts. The zero value is ready for use.
type Events struct {
	mu sync.Mutex
	n  map[string]int
}

// Add counts an event.
func (e *Events) Add(event string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n == nil {
		e.n = map[string]int{}
	}
	e.n[event]++
	if e.n[event] > 100_000 {
		// Simulated time would never advance.
		panic("a loop without a pause: " + event)
	}
}

// Of returns how often an event was counted.
func (e *Events) Of(event string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n[event]
}

func (e *Events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint(e.n)
}
