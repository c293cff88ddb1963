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

// EveryChat in Config.ModeratorChats is every Community that the bot is in.
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
	// Language is that of public answers.
	Language Language
	// Explain words an error of a command for the asker. It never holds what
	// the asker typed, an address or a secret.
	Explain func(error) Text
	// Observe is called for every command that ended.
	Observe func(platform Platform, command string, outcome Outcome, took time.Duration)
	Log     *slog.Logger
}

// Router is the one way from Request to Reply: it finds the command, binds its
// arguments, holds rate limits, rights and the time limit, and words errors.
type Router struct {
	Config
	salt []byte
}

// NewRouter fails if there is a mistake in the table of commands.
func NewRouter(c Config) (*Router, error) {
	taken := map[string]bool{}
	for _, cmd := range c.Commands {
		if err := cmd.check(); err != nil {
			return nil, err
		}
		for _, name := range append([]string{cmd.Name}, cmd.Aliases...) {
			if taken[name] {
				return nil, fmt.Errorf("two commands are named %q", name)
			}
			taken[name] = true
		}
	}
	return &Router{Config: c, salt: []byte(rand.Text())}, nil
}

// Commands is the table as given.
func (r *Router) Commands() Commands { return r.Config.Commands }

// Language implements Handler: a private answer is in the asker's language if the
// bot speaks it, any other in that of the Config.
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

	reply, outcome, about, err := r.answer(ctx, req)

	name := req.Command
	command, known := r.Commands().Find(name)
	if !known {
		name = "unknown"
	}
	reply.Language = r.Language(req, command.Visibility == Private || reply.Ephemeral && req.CanReplyEphemerally)
	took := time.Since(start)
	attrs := []slog.Attr{
		slog.String("id", req.ID),
		slog.String("platform", string(req.From.Platform)),
		slog.String("command", name),
		slog.String("user", r.pseudonym(req.From)),
		slog.String("outcome", string(outcome)),
		slog.Duration("took", took),
	}
	if about != nil {
		where := User{req.From.Platform, req.Chat}
		attrs = append(attrs, slog.String("about", r.pseudonym(*about)), slog.String("chat", r.pseudonym(where)))
	}
	level := slog.LevelInfo
	if err != nil {
		attrs = append(attrs, slog.Any("err", err))
		level = slog.LevelWarn
	}
	r.Log.LogAttrs(ctx, level, "command", attrs...)
	if r.Observe != nil {
		r.Observe(req.From.Platform, name, outcome, took)
	}
	return reply
}

// answer is the reply and how the command ended. about is whom a moderator asked
// about, nil if that was nobody else.
func (r *Router) answer(ctx context.Context, req Request) (reply Reply, outcome Outcome, about *User, err error) {
	defer func() {
		if v := recover(); v != nil {
			reply, outcome, err = SomethingWentWrong(req.ID), Panicked, secret.PanicError(v)
		}
	}()
	if wait := r.limited(ctx, req); wait > 0 {
		return r.refuse(ctx, req, wait), RateLimited, nil, nil
	}
	command, known := r.Commands().Find(req.Command)
	if !known {
		return unknownCommand(), Unknown, nil, nil
	}
	req.Language = r.Language(req, command.Visibility == Private)
	operator := slices.Contains(r.Operators, req.From)
	req.MayModerate = operator || req.Role == Moderator && r.listed(req)
	forms, err := command.bind(&req)
	if err != nil {
		reply, outcome, err = r.explain(req, command, forms, err)
		return reply, outcome, nil, err
	}
	if forms[0].Moderators {
		about = subject(req)
	}
	if forms[0].Moderators && !operator {
		role, err := r.role(ctx, req)
		switch {
		case err != nil:
			return couldNotBeChecked(req.ID, Say("role.unknown")), outcomeOf(err), about, err
		case role != Moderator:
			return moderatorsOnly(req.Direct), Forbidden, about, nil
		case !r.listed(req):
			return chatNotListed(communityEntry(req)), Forbidden, about, nil
		}
	}
	if forms[0].Moderators && req.From.ID == "" {
		return anonymous(), Forbidden, about, nil
	}
	reply, err = forms[0].Run(ctx, req)
	var partial *PartialError
	switch {
	case errors.As(err, &partial):
		return reply, Partial, about, err
	case err != nil:
		reply, outcome, err = r.explain(req, command, forms, err)
		return reply, outcome, about, err
	case reply.Stale:
		return reply, Stale, about, nil
	}
	return reply, OK, about, nil
}

// subject is whom a moderator asks about: the Target, else the account that the
// arguments name.
func subject(req Request) *User {
	if req.Target != nil {
		return req.Target
	}
	return &User{Platform: Platform(strings.ToLower(req.Args.Value("platform"))), ID: req.Args.Value("uid")}
}

// explain puts an error into words for the asker.
func (r *Router) explain(req Request, c Command, forms []Form, err error) (Reply, Outcome, error) {
	input, is := errors.AsType[*InputError](err)
	if !is {
		return couldNotBeChecked(req.ID, r.Explain(err)), outcomeOf(err), err
	}
	reply := badInput(input, c, forms)
	if req.Target != nil {
		// Whoever answered the question would no longer point at anybody.
		reply.Ask = nil
	} else if input == errMissing && reply.Ask != nil {
		reply = missing(*reply.Ask)
	}
	return reply, BadInput, nil
}

// limited is how long the sender has to wait, by their own limit or the chat's.
func (r *Router) limited(ctx context.Context, req Request) time.Duration {
	var limits []Limit
	// An anonymous sender is limited by the chat alone: many share the name.
	if sender := cmp.Or(req.From.ID, req.SenderChat); r.UserPerMinute > 0 && sender != "" {
		limits = append(limits, r.perMinute(r.UserPerMinute, req, "user", sender))
	}
	if r.ChatPerMinute > 0 {
		limits = append(limits, r.perMinute(r.ChatPerMinute, req, "chat", req.Chat))
	}
	if len(limits) == 0 {
		return 0
	}
	wait, _ := r.Limiter.Reserve(ctx, 0, limits...)
	return wait
}

// refuse tells the sender how long to wait.
func (r *Router) refuse(ctx context.Context, req Request, wait time.Duration) Reply {
	reply := tooManyCommands(wait)
	_, first := r.Limiter.Reserve(ctx, 0, r.perMinute(1, req, "refusal", req.From.ID, req.Chat))
	reply.Repeated = !first
	return reply
}

func (r *Router) perMinute(count int, req Request, key ...string) Limit {
	key = append([]string{r.Bot, string(req.From.Platform)}, key...)
	return Limit{Key: strings.Join(key, " "), Count: count, Window: time.Minute}
}

// role is the sender's, asked from the platform if the request does not show
// it.
func (r *Router) role(ctx context.Context, req Request) (Role, error) {
	if req.Role != UnknownRole {
		return req.Role, nil
	}
	role, err := r.Roles[req.From.Platform](ctx, req.From, req.Community)
	if err != nil {
		return Member, fmt.Errorf("ask for the sender's role: %w", err)
	}
	return role, nil
}

// listed reports whether moderators of the request's Community may use
// moderators' forms.
func (r *Router) listed(req Request) bool {
	return slices.Contains(r.ModeratorChats, EveryChat) || slices.Contains(r.ModeratorChats, communityEntry(req))
}

// communityEntry is the request's Community as ModeratorChats lists it.
func communityEntry(req Request) string { return string(req.From.Platform) + ":" + req.Community }

func outcomeOf(err error) Outcome {
	if errors.Is(err, context.DeadlineExceeded) {
		return TimedOut
	}
	return Unavailable
}

// pseudonym joins one user's log lines of one run without naming them.
func (r *Router) pseudonym(u User) string {
	if u.ID == "" {
		return "anonymous"
	}
	sum := sha256.Sum256(slices.Concat(r.salt, []byte(u.Platform), []byte{0}, []byte(u.ID)))
	return hex.EncodeToString(sum[:6])
}
