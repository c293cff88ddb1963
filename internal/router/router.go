// Package router is the one way from a chat.Request to a chat.Reply. A request passes through it from top to bottom:
//
//	router.go   Handle: time limit, panics, the command, its form, rights, one log line
//	limits.go   the rate limits that count a request
//	rights.go   who may use moderators' forms
//	bind.go     which form takes the arguments
//	replies.go  what the sender is told if there is no answer
//	check.go    which tables of commands are refused at the start
package router

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
	"herald/internal/secret"
)

// Outcome is how a command ended, for logs and metrics.
type Outcome string

// The outcomes.
const (
	OK          Outcome = "ok"
	Partial     Outcome = "partial"   // a Reply beside a chat.PartialError
	Stale       Outcome = "stale"     // an old answer stands in for a service that fails
	Unknown     Outcome = "unknown"   // no such command
	BadInput    Outcome = "bad_input" // the arguments are wrong
	Forbidden   Outcome = "forbidden" // the sender may not use a moderators' form
	RateLimited Outcome = "rate_limited"
	Unavailable Outcome = "unavailable" // a service could not answer
	TimedOut    Outcome = "timed_out"
	Panicked    Outcome = "panicked"
)

// EveryChat in Config.ModeratorChats allows every Community that the bot is in.
const EveryChat = "*"

// Config configures a Router. Operators, ModeratorChats, Roles, ChatLanguages and Observe are optional.
type Config struct {
	Commands chat.Commands
	// Operators may use moderators' forms everywhere.
	Operators []chat.User
	// ModeratorChats are the Communities in which moderators may use moderators' forms, such as
	// "telegram:-1001234567890", or EveryChat.
	ModeratorChats []string
	// Timeout limits one command.
	Timeout time.Duration
	// Limiter allows UserPerMinute commands of a user and ChatPerMinute commands in a chat. If a number is 0, there is no
	// such limit.
	Limiter                      ratelimit.Limiter
	UserPerMinute, ChatPerMinute int
	// Bot separates this bot's limits from those of other bots in the same Limiter.
	Bot string
	// Roles has the function that asks a platform for a role that a Request does not name: see chat.UnknownRole.
	Roles map[chat.Platform]AskRole
	// Language is the language of public answers in Communities that ChatLanguages does not list.
	Language chat.Language
	// ChatLanguages has the language of public answers by Community, such as "telegram:-1001234567890".
	ChatLanguages map[string]chat.Language
	// Nearest returns the known command that a mistyped name probably means, or "".
	Nearest func(name string, known []string) string
	// Explain tells the sender why a command failed. The text has no address, no secret and nothing that they typed.
	Explain func(error) chat.Text
	// Observe is called for every command that ended.
	Observe func(platform chat.Platform, command string, outcome Outcome, took time.Duration)
	Log     *slog.Logger
}

// AskRole asks a platform for a user's role in a Community. It may block until ctx is done.
type AskRole func(ctx context.Context, user chat.User, community string) (chat.Role, error)

// Router answers requests. It is safe for concurrent use.
type Router struct {
	Config
	// salt gives a user another pseudonym in each run.
	salt []byte
	// routes has all commands.
	routes []route
	// listed has the commands of menus: those with at least one form that is not Unlisted.
	listed chat.Commands
}

// route is a command and its parameters. The zero route stands for an unknown command.
type route struct {
	chat.Command
	params []chat.Param // what Command.Params returns
}

// isKnown reports whether c is not the zero route.
func (c route) isKnown() bool { return c.Forms != nil }

// New returns a Router. It fails if an answer of a command could reach the wrong people, or if the fields of a form
// contradict each other.
func New(c Config) (*Router, error) {
	r := &Router{Config: c, salt: []byte(rand.Text())}
	for _, command := range c.Commands {
		if err := check(&command); err != nil {
			return nil, err
		}
		params, _ := command.Params()
		r.routes = append(r.routes, route{Command: command, params: params})
		isListed := func(f chat.Form) bool { return !f.Unlisted }
		if slices.ContainsFunc(command.Forms, isListed) {
			r.listed = append(r.listed, command)
		}
	}
	return r, nil
}

// Handle answers one request. It blocks until the command has run: for at most Config.Timeout, and at most until the
// Deadline of the request. A panic of the command becomes a Reply. Handle does not change asked.
func (r *Router) Handle(ctx context.Context, asked *chat.Request) *chat.Reply {
	start := time.Now()
	copied := *asked // The Router sets some of its fields.
	req := &copied
	ctx, cancel := context.WithDeadline(ctx, r.deadline(req, start))
	defer cancel()

	command := r.find(req.Command)
	req.Language = r.Language(req, command.Visibility)
	r.setRights(req)
	res := r.answer(ctx, req, command)
	res.reply.Language = req.Language
	if res.reply.ForSender() && req.CanReplyEphemerally {
		res.reply.Language = r.Language(req, chat.Private)
	}
	r.record(ctx, req, cmp.Or(command.Name, "unknown"), res, time.Since(start))
	return res.reply
}

// deadline returns when a command that began at start must have ended.
func (r *Router) deadline(req *chat.Request, start time.Time) time.Time {
	latest := start.Add(r.Timeout)
	if !req.Deadline.IsZero() && req.Deadline.Before(latest) {
		return req.Deadline
	}
	return latest
}

// result is how a command ended.
type result struct {
	reply   *chat.Reply
	outcome Outcome
	err     error // for the log: why the answer is missing or incomplete; or nil
}

// answer counts req against the rate limits, finds the form that takes its arguments, checks the sender's rights, and
// runs the form. It returns a panic as a result.
func (r *Router) answer(ctx context.Context, req *chat.Request, command route) (res result) {
	defer func() {
		if v := recover(); v != nil {
			res = result{reply: chat.SomethingWentWrong(req.ID), outcome: Panicked, err: secret.PanicError(v)}
		}
	}()
	if wait := r.count(ctx, req); wait > 0 {
		return result{reply: r.rateLimitedReply(ctx, req, wait), outcome: RateLimited}
	}
	if !command.isKnown() {
		return result{reply: r.unknownReply(req.Command), outcome: Unknown}
	}
	forms, wrongInput := command.bind(req)
	isModeratorsForm := len(forms) == 1 && forms[0].Moderators
	if isModeratorsForm {
		refused := r.checkModerator(ctx, req, &forms[0])
		if refused != nil {
			return *refused
		}
	}
	if wrongInput != nil {
		return r.badInputResult(ctx, req, command, forms, wrongInput)
	}
	return r.run(ctx, req, command, &forms[0])
}

// run runs a form, unless the form's own rate limit is exceeded.
func (r *Router) run(ctx context.Context, req *chat.Request, command route, f *chat.Form) result {
	if wait := r.countForm(ctx, req, command, f); wait > 0 {
		return result{reply: r.rateLimitedReply(ctx, req, wait), outcome: RateLimited}
	}
	if f.NeedsRole {
		r.tryResolveRole(ctx, req)
	}
	reply, err := f.Run(ctx, req)
	input, isWrong := errors.AsType[*chat.InputError](err)
	_, isPartial := errors.AsType[*chat.PartialError](err)
	switch {
	case isWrong:
		return r.badInputResult(ctx, req, command, []chat.Form{*f}, input)
	case err == nil && reply.Source.Stale:
		return result{reply: reply, outcome: Stale}
	case err == nil:
		return result{reply: reply, outcome: OK}
	case isPartial && reply != nil:
		return result{reply: reply, outcome: Partial, err: err}
	}
	return result{reply: r.failedReply(req, command, f, reply, err), outcome: outcomeOf(err), err: err}
}

// outcomeOf returns the Outcome of a command that failed with err: TimedOut or Unavailable.
func outcomeOf(err error) Outcome {
	if errors.Is(err, context.DeadlineExceeded) {
		return TimedOut
	}
	return Unavailable
}

// record logs a command that ended and reports it to Observe. Only a panic is logged as an error, because it is a fault
// of this program. Package query logs the failures of services.
func (r *Router) record(ctx context.Context, req *chat.Request, command string, res result, took time.Duration) {
	level := slog.LevelInfo
	if res.outcome == Panicked {
		level = slog.LevelError
	}
	attrs := append(make([]slog.Attr, 0, 7),
		slog.String("id", req.ID),
		slog.String("platform", string(req.From.Platform)),
		slog.String("command", command),
		slog.String("user", r.pseudonym(req.From)),
		slog.String("outcome", string(res.outcome)),
		slog.Duration("took", took),
	)
	if res.err != nil {
		attrs = append(attrs, slog.Any("err", res.err))
	}
	r.Log.LogAttrs(ctx, level, "command", attrs...)
	if r.Observe != nil {
		r.Observe(req.From.Platform, command, res.outcome, took)
	}
}

// pseudonym returns a name for a user in the log: a salted hash, which is the same in all log lines of one run and does
// not identify the user. For a user without an ID, it returns "anonymous".
func (r *Router) pseudonym(u chat.User) string {
	if u.ID == "" {
		return "anonymous"
	}
	named := append(make([]byte, 0, 64), r.salt...)
	named = append(named, u.Platform...)
	named = append(named, 0)
	named = append(named, u.ID...)
	sum := sha256.Sum256(named)
	return hex.EncodeToString(sum[:6])
}

// find returns the route of a command by its name or alias. If there is no such command, it returns the zero route.
func (r *Router) find(name string) route {
	for _, found := range r.routes {
		if _, isAlias := found.Aliases[name]; isAlias || found.Name == name {
			return found
		}
	}
	return route{}
}

// Commands returns the commands with at least one form that is not Unlisted, in the order of menus.
func (r *Router) Commands() chat.Commands { return r.listed }

// Visibility returns who may read the answer to a command, by its name or alias. For an unknown command, it returns 0,
// so that the answer does not replace a public message.
func (r *Router) Visibility(name string) chat.Visibility { return r.find(name).Visibility }

// Language returns the language of an answer to req. If only the sender can read the answer, it is the sender's
// language, if the bot speaks it. Otherwise it is the language of the Community in ChatLanguages, or else
// Config.Language. Language reads only the Locale, From.Platform, Community and Direct of req.
func (r *Router) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	own, spoken := chat.LanguageOf(req.Locale)
	if spoken && (visibility == chat.Private || req.Direct) {
		return own
	}
	if configured, has := r.ChatLanguages[communityEntry(req)]; has {
		return configured
	}
	return r.Config.Language
}
