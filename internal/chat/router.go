package chat

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"herald/internal/secret"
)

// Outcome is how a command ended, for logs and metrics.
type Outcome string

// The outcomes.
const (
	OK          Outcome = "ok"
	Partial     Outcome = "partial"   // a Reply beside a PartialError
	Stale       Outcome = "stale"     // an old answer stands in for a service that fails
	Unknown     Outcome = "unknown"   // no such command
	BadInput    Outcome = "bad_input" // the arguments are wrong
	Forbidden   Outcome = "forbidden" // a moderators' form
	RateLimited Outcome = "rate_limited"
	Unavailable Outcome = "unavailable" // a service could not answer
	TimedOut    Outcome = "timed_out"
	Panicked    Outcome = "panicked"
)

// EveryChat in Config.ModeratorChats stands for every Community that the bot is in.
const EveryChat = "*"

// Config is what a Router works with. All fields but Operators, ModeratorChats,
// Roles and Observe are required.
type Config struct {
	Commands Commands
	// Operators may use moderators' forms everywhere.
	Operators []User
	// ModeratorChats are the Communities whose moderators may use moderators'
	// forms there, as in "telegram:-1001234567890". EveryChat stands for all.
	ModeratorChats []string
	// Timeout bounds one command.
	Timeout time.Duration
	// Limiter counts commands. A user may give UserPerMinute in any minute, and a
	// chat ChatPerMinute; 0 is no limit. A user is told once a minute in a chat that
	// there were too many. Further refusals are marked Repeated.
	Limiter                      Limiter
	UserPerMinute, ChatPerMinute int
	// Bot separates this bot's limits from other bots' in the same Limiter.
	Bot string
	// Roles ask a platform for a user's role in a Community. Every platform
	// with Requests of UnknownRole has one; it may block until ctx is done.
	Roles map[Platform]func(ctx context.Context, user User, community string) (Role, error)
	// Language is the language of public answers.
	Language Language
	// Nearest returns which of the known names a mistyped one is meant for, or "".
	Nearest func(name string, known []string) string
	// Explain words an error of a command for the sender, without anything that
	// they typed, an address or a secret.
	Explain func(error) Text
	// Observe is called for every command that ended.
	Observe func(platform Platform, command string, outcome Outcome, took time.Duration)
	Log     *slog.Logger
}

// Router is the one way from Request to Reply. It keeps rate limits, finds the
// command, binds its arguments, checks rights, bounds the time, words errors,
// catches panics and writes one log line.
type Router struct {
	Config
	salt []byte
}

// NewRouter makes a Router. It fails if the table of commands has a mistake.
func NewRouter(c Config) (*Router, error) {
	for _, command := range c.Commands {
		if err := command.check(); err != nil {
			return nil, err
		}
	}
	return &Router{Config: c, salt: []byte(rand.Text())}, nil
}

// Commands implements Handler.
func (r *Router) Commands() Commands { return r.Config.Commands }

// Language implements Handler. A private answer is in the sender's language if the
// bot speaks it, and any other in the Config's.
func (r *Router) Language(req Request, private bool) Language {
	if own, spoken := LanguageOf(req.Locale); spoken && (private || req.Direct) {
		return own
	}
	return r.Config.Language
}

// Handle implements Handler.
func (r *Router) Handle(ctx context.Context, req Request) Reply {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	command, known := r.Commands().Find(req.Command)
	if !known {
		command.Name = "unknown"
	} else if req.Args.Len() == 0 {
		req.Args = Typed(command.Aliases[req.Command]...)
	}
	req.Language = r.Language(req, command.Visibility == Private)
	entry := string(req.From.Platform) + ":" + req.Community
	if !slices.Contains(r.ModeratorChats, EveryChat) && !slices.Contains(r.ModeratorChats, entry) {
		req.Unlisted = entry
	}
	req.MayModerate = slices.Contains(r.Operators, req.From) || req.Role != Member && req.Unlisted == ""
	reply, outcome, err := r.handle(ctx, req, command)
	reply.Language = req.Language
	if reply.Ephemeral && req.CanReplyEphemerally {
		reply.Language = r.Language(req, true)
	}
	r.ended(ctx, req.ID, req.From, command.Name, outcome, time.Since(start), err)
	return reply
}

// ended logs and counts a command that ended.
func (r *Router) ended(ctx context.Context, id string, from User, command string, outcome Outcome, took time.Duration, err error) {
	level, attrs := slog.LevelInfo, append(make([]slog.Attr, 0, 7),
		slog.String("id", id),
		slog.String("platform", string(from.Platform)),
		slog.String("command", command),
		slog.String("user", r.pseudonym(from)),
		slog.String("outcome", string(outcome)),
		slog.Duration("took", took),
	)
	if err != nil {
		level, attrs = slog.LevelWarn, append(attrs, slog.Any("err", err))
	}
	r.Log.LogAttrs(ctx, level, "command", attrs...)
	if r.Observe != nil {
		r.Observe(from.Platform, command, outcome, took)
	}
}

// handle returns the reply and how the command ended.
func (r *Router) handle(ctx context.Context, req Request, command Command) (reply Reply, outcome Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			reply, outcome, err = SomethingWentWrong(req.ID), Panicked, secret.PanicError(v)
		}
	}()
	if wait := r.limited(ctx, req); wait > 0 {
		return r.tooMany(ctx, req, wait), RateLimited, nil
	}
	if command.Forms == nil {
		return r.unknown(req.Command), Unknown, nil
	}
	forms, err := command.bind(&req)
	if len(forms) == 1 && forms[0].Moderators {
		why, err := r.mayModerate(ctx, req)
		if err != nil {
			err = fmt.Errorf("ask for the sender's role: %w", err)
			return couldNotBeChecked(req, "role", forms[0], Say("role.unknown")), outcomeOf(err), err
		}
		if why != nil {
			return *why, Forbidden, nil
		}
	}
	if err == nil {
		reply, err = forms[0].Run(ctx, req)
	}
	if err == nil {
		if reply.Stale {
			return reply, Stale, nil
		}
		return reply, OK, nil
	}
	if _, partial := errors.AsType[*PartialError](err); partial {
		return reply, Partial, err
	}
	if input, wrong := errors.AsType[*InputError](err); wrong {
		return badInput(input, command, forms, req), BadInput, nil
	}
	failed := couldNotBeChecked(req, command.Name, forms[0], r.Explain(err))
	failed.About = reply.About
	return failed, outcomeOf(err), err
}

// unknown says which command may be meant.
func (r *Router) unknown(name string) Reply {
	reply := warning("unknown")
	var known []string
	for _, c := range r.Commands() {
		known = append(known, append(slices.Sorted(maps.Keys(c.Aliases)), c.Name)...)
	}
	if meant := r.Nearest(name, known); meant != "" {
		reply.Text = SayWith("unknown.nearest", Values{"command": CommandLink("/" + meant)})
	}
	return reply
}

// mayModerate returns nil if the sender may use moderators' forms in this chat, and
// otherwise says why they may not.
func (r *Router) mayModerate(ctx context.Context, req Request) (refusal *Reply, err error) {
	if slices.Contains(r.Operators, req.From) {
		return nil, nil
	}
	role := req.Role
	if role == UnknownRole {
		if role, err = r.Roles[req.From.Platform](ctx, req.From, req.Community); err != nil {
			return nil, err
		}
	}
	var refused Reply
	switch {
	case role != Moderator && req.Direct:
		refused = warning("forbidden")
		refused.Text = Say("forbidden.direct")
	case role != Moderator:
		refused = warning("forbidden")
	case req.Unlisted != "":
		refused = warning("unlisted") // It may be read in another chat.
		add := SayWith("unlisted.entry", Values{"entry": Code(req.Unlisted)})
		refused.Sections = []Section{{Fields: []Field{{Value: add}}}}
	case req.From.ID == "":
		refused = warning("anonymous")
	default:
		return nil, nil
	}
	return &refused, nil
}

// tooMany says how long the sender has to wait.
func (r *Router) tooMany(ctx context.Context, req Request, wait time.Duration) Reply {
	reply := warning("limit")
	reply.Text.Args = Values{"n": Count(math.Ceil(wait.Seconds()))}
	_, first := r.Limiter.Reserve(ctx, 0, r.perMinute(1, req, "refusal", limitKey(req), req.Chat))
	reply.Repeated = !first
	return reply
}

// limited returns how long the sender has to wait, by their own limit or by the
// chat's. Anonymous senders are limited by the chat alone: many share the name.
func (r *Router) limited(ctx context.Context, req Request) time.Duration {
	var limits []Limit
	late := ""
	if !req.Asked.IsZero() && time.Since(req.Asked) > time.Minute {
		late = req.Asked.UTC().Format("2006-01-02 15:04")
	}
	if key := limitKey(req); r.UserPerMinute > 0 && key != "" && !req.Inline {
		limits = append(limits, r.perMinute(r.UserPerMinute, req, "user", key, late))
	}
	if r.ChatPerMinute > 0 {
		limits = append(limits, r.perMinute(r.ChatPerMinute, req, "chat", req.Chat, late))
	}
	if len(limits) == 0 {
		return 0
	}
	wait, _ := r.Limiter.Reserve(ctx, 0, limits...)
	return wait
}

// limitKey names the sender among all senders; it is empty for an anonymous one.
func limitKey(req Request) string { return cmp.Or(req.From.ID, req.LimitKey) }

func (r *Router) perMinute(count int, req Request, key ...string) Limit {
	key = append([]string{r.Bot, string(req.From.Platform)}, key...)
	return Limit{Key: strings.Join(key, " "), Count: count, Window: time.Minute}
}

func outcomeOf(err error) Outcome {
	if errors.Is(err, context.DeadlineExceeded) {
		return TimedOut
	}
	return Unavailable
}

// pseudonym is the same in all log lines of one run about a user, and does not
// name them.
func (r *Router) pseudonym(u User) string {
	if u.ID == "" {
		return "anonymous"
	}
	sum := sha256.Sum256(slices.Concat(r.salt, []byte(u.Platform), []byte{0}, []byte(u.ID)))
	return hex.EncodeToString(sum[:6])
}
