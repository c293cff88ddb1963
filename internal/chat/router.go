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

	"herald/internal/ratelimit"
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

// EveryChat in Config.ModeratorChats allows every Community that the bot is in.
const EveryChat = "*"

// Config configures a Router. All fields but Operators, ModeratorChats, Roles and
// Observe are required.
type Config struct {
	Commands Commands
	// Operators may use moderators' forms everywhere.
	Operators []User
	// ModeratorChats are the Communities in which moderators may use moderators'
	// forms, such as "telegram:-1001234567890", or EveryChat.
	ModeratorChats []string
	// Timeout bounds one command.
	Timeout time.Duration
	// Limiter counts commands, at most UserPerMinute of a user and ChatPerMinute in a
	// chat; 0 is no limit. A user's second refusal within a minute in one chat, and all
	// after it, are marked Repeated.
	Limiter                      ratelimit.Limiter
	UserPerMinute, ChatPerMinute int
	// Bot separates this bot's limits from those of other bots in the same Limiter.
	Bot string
	// Roles ask a platform for a user's role in a Community, and may block until ctx is
	// done. A platform with Requests of UnknownRole must have one.
	Roles map[Platform]func(ctx context.Context, user User, community string) (Role, error)
	// Language is the language of public answers.
	Language Language
	// Nearest returns the known name that a mistyped one is meant for, or "".
	Nearest func(name string, known []string) string
	// Explain words an error of a command for the sender, without anything that
	// they typed, an address or a secret.
	Explain func(error) Text
	// Observe is called for every command that ended.
	Observe func(platform Platform, command string, outcome Outcome, took time.Duration)
	Log     *slog.Logger
}

// Router is the one way from Request to Reply. It finds the command, counts it against
// the rate limits, binds its arguments, checks rights, bounds the time, words errors,
// recovers panics and writes one log line. It is safe for concurrent use.
type Router struct {
	Config
	salt   []byte
	listed Commands
}

// NewRouter returns a Router. It fails for a command that Add refuses.
func NewRouter(c Config) (*Router, error) {
	r := &Router{Config: c, salt: []byte(rand.Text())}
	r.Config.Commands = nil // Add fills it.
	return r, r.Add(c.Commands...)
}

// Add adds commands, and must be called before the first request. It refuses a command whose
// answer could reach the wrong people, or which has a form that cannot be used.
func (r *Router) Add(commands ...Command) error {
	for _, c := range commands {
		if err := c.check(); err != nil {
			return err
		}
		c.params, _ = c.Params()
		r.Config.Commands = append(r.Config.Commands, c)
		if len(c.listed()) > 0 {
			r.listed = append(r.listed, c)
		}
	}
	return nil
}

// Commands implements Handler.
func (r *Router) Commands() Commands { return r.listed }

// Visibility implements Handler.
func (r *Router) Visibility(name string) Visibility {
	command, _ := r.Config.Commands.Find(name)
	return command.Visibility
}

// Language implements Handler. It returns the sender's language if they alone read the
// answer and the bot speaks it, and otherwise Config.Language.
func (r *Router) Language(req Request, visibility Visibility) Language {
	if own, spoken := LanguageOf(req.Locale); spoken && (visibility == Private || req.Direct) {
		return own
	}
	return r.Config.Language
}

// Handle implements Handler.
func (r *Router) Handle(ctx context.Context, req Request) Reply {
	start := time.Now()
	deadline := start.Add(r.Timeout)
	if !req.Deadline.IsZero() && req.Deadline.Before(deadline) {
		deadline = req.Deadline
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	command, _ := r.Config.Commands.Find(req.Command)
	req.Language = r.Language(req, command.Visibility)
	entry := string(req.From.Platform) + ":" + req.Community
	if req.Community != "" && !slices.Contains(r.ModeratorChats, EveryChat) && !slices.Contains(r.ModeratorChats, entry) {
		req.UnlistedChat = entry
	}
	r.setMayModerate(&req)
	res := result{command: cmp.Or(command.Name, "unknown")}
	r.handle(ctx, &req, command, &res)
	res.reply.Language = req.Language
	if res.reply.Ephemeral && req.CanReplyEphemerally {
		res.reply.Language = r.Language(req, Private)
	}
	res.took = time.Since(start)
	r.record(ctx, &req, &res)
	return res.reply
}

func (r *Router) setMayModerate(req *Request) {
	moderator := req.Role == Moderator && req.UnlistedChat == "" && req.From.ID != ""
	req.MayModerate = moderator || slices.Contains(r.Operators, req.From)
}

// resolveRole asks for the sender's role if that is an UnknownRole which decides anything. If
// that fails, the sender is a Member.
func (r *Router) resolveRole(ctx context.Context, req *Request) error {
	if req.Role != UnknownRole || req.MayModerate {
		return nil
	}
	role, err := r.Roles[req.From.Platform](ctx, req.From, req.Community)
	if err != nil {
		role = Member
	}
	req.Role = role
	r.setMayModerate(req)
	return err
}

// settleRole asks for an UnknownRole that may decide what the sender is shown. If that fails, the
// sender is a Member.
func (r *Router) settleRole(ctx context.Context, req *Request) {
	if req.MightModerate() {
		_ = r.resolveRole(ctx, req)
	}
}

// result is how a command ended.
type result struct {
	reply   Reply
	outcome Outcome
	err     error // why there is no answer, or not the whole one; for the log

	command string
	took    time.Duration
}

// record logs and counts a command that ended. A panic is a fault in this program, and
// alone is logged as an error: what a service does wrong is logged by package core.
func (r *Router) record(ctx context.Context, req *Request, res *result) {
	level, attrs := slog.LevelInfo, append(make([]slog.Attr, 0, 7),
		slog.String("id", req.ID),
		slog.String("platform", string(req.From.Platform)),
		slog.String("command", res.command),
		slog.String("user", r.pseudonym(req.From)),
		slog.String("outcome", string(res.outcome)),
		slog.Duration("took", res.took),
	)
	if res.err != nil {
		attrs = append(attrs, slog.Any("err", res.err))
	}
	if res.outcome == Panicked {
		level = slog.LevelError
	}
	r.Log.LogAttrs(ctx, level, "command", attrs...)
	if r.Observe != nil {
		r.Observe(req.From.Platform, res.command, res.outcome, res.took)
	}
}

// handle counts req against the limits, binds its arguments, checks rights, runs the
// command, and sets res. A panic becomes SomethingWentWrong.
func (r *Router) handle(ctx context.Context, req *Request, command *Command, res *result) {
	defer func() {
		if v := recover(); v != nil {
			res.reply = SomethingWentWrong(req.ID)
			res.outcome = Panicked
			res.err = secret.PanicError(v)
		}
	}()
	if wait := r.limited(ctx, req); wait > 0 {
		res.reply = r.tooMany(ctx, req, wait)
		res.outcome = RateLimited
		return
	}
	if command.Forms == nil {
		res.reply = r.unknown(req.Command)
		res.outcome = Unknown
		return
	}
	forms, err := command.bind(req)
	if len(forms) == 1 && forms[0].Moderators && !r.permit(ctx, req, forms[0], res) {
		return
	}
	if err == nil {
		if wait := r.formLimited(ctx, req, command, forms[0]); wait > 0 {
			res.reply = r.tooMany(ctx, req, wait)
			res.outcome = RateLimited
			return
		}
		if forms[0].NeedsRole {
			r.settleRole(ctx, req)
		}
		res.reply, err = forms[0].Run(ctx, *req)
	}
	if input, wrong := errors.AsType[*InputError](err); wrong {
		if slices.ContainsFunc(forms, func(f Form) bool { return f.Moderators }) {
			r.settleRole(ctx, req)
		}
		res.reply = badInput(input, command, forms, req)
		res.outcome = BadInput
		return
	}
	r.complete(req, forms[0], res, err)
}

// permit reports whether the sender may use a moderators' form. If not, it sets res.
func (r *Router) permit(ctx context.Context, req *Request, f Form, res *result) (ok bool) {
	if err := r.resolveRole(ctx, req); err != nil {
		res.err = fmt.Errorf("ask for the sender's role: %w", err)
		res.reply = unavailable(req, "role", f, Say("role.unknown"))
		res.outcome = outcomeOf(err)
		return false
	}
	if !req.MayModerate {
		res.reply = forbidden(req)
		res.outcome = Forbidden
	}
	return req.MayModerate
}

// forbidden says why a sender whose role is known may not use moderators' forms in this chat.
func forbidden(req *Request) Reply {
	switch {
	case req.Role == Moderator && req.UnlistedChat != "":
		reply := warning("unlisted.title", "unlisted.text")
		add := SayWith("unlisted.entry", Values{"entry": Code(req.UnlistedChat)})
		reply.Sections = []Section{{Fields: []Field{{Value: add}}}}
		return reply
	case req.Role == Moderator:
		return warning("anonymous.title", "anonymous.text")
	case req.Direct:
		return warning("forbidden.title", "forbidden.direct")
	}
	return warning("forbidden.title", "forbidden.text")
}

// complete sets the outcome of a form that returned res.reply and err. Without an answer the
// reply says why.
func (r *Router) complete(req *Request, f Form, res *result, err error) {
	_, partial := errors.AsType[*PartialError](err)
	res.err = err
	switch {
	case err == nil && res.reply.Stale:
		res.outcome = Stale
	case err == nil:
		res.outcome = OK
	case partial:
		res.outcome = Partial
	default:
		given := res.reply
		res.reply = unavailable(req, res.command, f, r.Explain(err))
		res.outcome = outcomeOf(err)
		res.reply.About = given.About
		if given.Actions != nil {
			res.reply.Actions = given.Actions
		}
	}
}

// unknown says that there is no such command, and which one may be meant.
func (r *Router) unknown(name string) Reply {
	reply := warning("unknown.title", "unknown.text")
	var known []string
	for _, c := range r.Commands() {
		known = append(known, append(slices.Sorted(maps.Keys(c.Aliases)), c.Name)...)
	}
	if meant := r.Nearest(name, known); meant != "" {
		reply.Text = SayWith("unknown.nearest", Values{"command": CommandLink("/" + meant)})
	}
	return reply
}

// tooMany says how long the sender has to wait.
func (r *Router) tooMany(ctx context.Context, req *Request, wait time.Duration) Reply {
	reply := warning("limit.title", "limit.text")
	reply.Text.Args = Values{"n": Count(math.Ceil(wait.Seconds()))}
	_, first := r.Limiter.Reserve(ctx, 0, r.perMinute(1, req, "refusal", limitKey(req), req.Chat))
	reply.Repeated = !first
	return reply
}

// Limits implements Handler. It returns the sender's own limit and the chat's. An anonymous
// sender counts against the chat alone, because many share the name.
func (r *Router) Limits(req Request) (limits []ratelimit.Limit) {
	late := ""
	if !req.Asked.IsZero() && time.Since(req.Asked) > time.Minute {
		late = req.Asked.UTC().Format("2006-01-02 15:04")
	}
	if key := limitKey(&req); r.UserPerMinute > 0 && key != "" && !req.Inline {
		limits = append(limits, r.perMinute(r.UserPerMinute, &req, "user", key, late))
	}
	if r.ChatPerMinute > 0 {
		limits = append(limits, r.perMinute(r.ChatPerMinute, &req, "chat", req.Chat, late))
	}
	return limits
}

// limited returns how long the sender has to wait; 0 if the command was counted.
func (r *Router) limited(ctx context.Context, req *Request) time.Duration {
	if req.counted {
		return req.limited
	}
	limits := r.Limits(*req)
	if len(limits) == 0 {
		return 0
	}
	wait, _ := r.Limiter.Reserve(ctx, 0, limits...)
	return wait
}

// formLimited returns how long the sender has to wait for the form's own limit; 0 if the
// request was counted, or there is no limit.
func (r *Router) formLimited(ctx context.Context, req *Request, command *Command, f Form) time.Duration {
	if f.PerMinute == nil {
		return 0
	}
	count := f.PerMinute(*req)
	if count == 0 {
		return 0
	}
	limit := r.perMinute(count, req, command.Name, limitKey(req), req.Args.Value(f.PerMinuteOf))
	wait, _ := r.Limiter.Reserve(ctx, 0, limit)
	return wait
}

// limitKey returns what names the sender in limits, or "" for an anonymous one.
func limitKey(req *Request) string { return cmp.Or(req.From.ID, req.LimitKey) }

// perMinute returns a limit of count at once, and as many again spread over each minute.
func (r *Router) perMinute(count int, req *Request, kind, key, more string) ratelimit.Limit {
	parts := []string{r.Bot, string(req.From.Platform), kind, key, more}
	return ratelimit.Limit{Key: strings.Join(parts, " "), Burst: count, Every: time.Minute / time.Duration(count)}
}

func outcomeOf(err error) Outcome {
	if errors.Is(err, context.DeadlineExceeded) {
		return TimedOut
	}
	return Unavailable
}

// pseudonym returns the same for a user in all log lines of one run, and does not name
// them.
func (r *Router) pseudonym(u User) string {
	if u.ID == "" {
		return "anonymous"
	}
	sum := sha256.Sum256(slices.Concat(r.salt, []byte(u.Platform), []byte{0}, []byte(u.ID)))
	return hex.EncodeToString(sum[:6])
}
