package telegram

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
	"herald/internal/words"
)

const (
	// inlineLasts is how long an inline query may wait for its answer. Telegram
	// publishes no limit; this is below where answers are refused.
	inlineLasts = 10 * time.Second
	// hintLasts is how long Telegram gives the answer to a query that means
	// nothing, and failureLasts that to one that failed.
	hintLasts    = time.Hour
	failureLasts = 5 * time.Second
)

// maxDescription of a result is in characters: about what apps show of it.
const maxDescription = 150

// parseInline finds the commands that an inline query means: the public ones that
// begin like it, or the one for which it is the argument. A query comes with every
// letter that is typed, so that an argument counts only once it is as long as its
// example.
func parseInline(query string, commands chat.Commands) (found []chat.Request) {
	written := strings.Fields(query)
	for _, c := range commands {
		for _, f := range c.Forms {
			if args, meant := inlineArgs(c, f, written); meant {
				found = append(found, chat.Request{Command: c.Name, Args: chat.Typed(args...)})
			}
		}
	}
	return found
}

// inlineArgs are the arguments of one form, if the words mean it.
func inlineArgs(c chat.Command, f chat.Form, written []string) (args []string, meant bool) {
	name := ""
	if len(written) > 0 {
		name = strings.ToLower(strings.TrimPrefix(written[0], "/"))
	}
	switch {
	case !f.Inline:
		return nil, false
	case len(f.Params) == 0:
		return nil, len(written) < 2 && strings.HasPrefix(c.Name, name)
	case name == c.Name:
		written = written[1:]
	}
	return written, len(written) == 1 && len(written[0]) == len(f.Params[0].Example)
}

// answerInline answers one inline query with what was found, or with a button that
// says why that is nothing. It has to be in time, or else is of no use.
func (s *session) answerInline(id string, q *inlineQuery) {
	until := time.Now().Add(inlineLasts)
	requests := parseInline(q.Query, s.work.Handler.Commands())
	replies, articles := make([]chat.Reply, len(requests)), make([]botapi.Article, len(requests))
	var answered sync.WaitGroup
	for i, req := range requests {
		req.ID, req.From, req.Locale = id, userOf(q.From.ID), q.From.Language
		// Nobody shares this chat, nor its rate limit, which alone counts letters.
		req.Chat, req.Inline = "inline "+req.From.ID, true
		answered.Go(func() {
			s.work.Handle(req, func(r chat.Reply) { replies[i], articles[i] = r, s.article(req.Command, r) })
		})
	}
	answered.Wait()

	answer := botapi.InlineAnswer{ID: q.ID, Cache: hintLasts}
	why := s.inlineHint()
	if len(requests) > 0 {
		answer.Cache = math.MaxInt64
	}
	for i, r := range replies {
		if r.Unanswered() {
			why, answer.Personal = words.Say(r.Language, r.Title), true
			answer.Cache = min(answer.Cache, failureLasts)
			continue
		}
		answer.Results = append(answer.Results, articles[i])
		answer.Cache = min(answer.Cache, max(time.Until(r.FreshUntil), 0))
	}
	if len(answer.Results) == 0 {
		answer.Button = &botapi.InlineButton{Text: why, Start: "inline"}
	}
	contents := make([]*botapi.Content, len(answer.Results))
	for i := range answer.Results {
		contents[i] = &answer.Results[i].Content
	}
	s.answerQuery(until, "inline_unanswered", contents, func(ctx context.Context) error {
		return s.api.AnswerInlineQuery(ctx, answer)
	})
}

// article is a reply as a result: what is sent by choosing it, under its first
// line. Its buttons are those that ask nothing of the bot.
func (s *session) article(id string, r chat.Reply) botapi.Article {
	r.Ask = nil
	r.Actions = slices.DeleteFunc(slices.Clone(r.Actions), func(a chat.Action) bool { return a.Command != "" })
	content := s.render(r, destination{group: true}).Content
	title, rest, _ := strings.Cut(content.Text, "\n")
	lines := strings.FieldsFunc(rest, func(c rune) bool { return c == '\n' })
	return botapi.Article{ID: id, Title: title, Description: cut(strings.Join(lines, " · "), maxDescription), Content: content}
}

// inlineHint says what may be queried.
func (s *session) inlineHint() string {
	var names []string
	for _, req := range parseInline("", s.work.Handler.Commands()) {
		names = append(names, req.Command)
	}
	hint := chat.SayWith("telegram.inline_hint", chat.Values{"commands": chat.Plain(strings.Join(names, ", "))})
	return words.Say(s.work.Handler.Language(chat.Request{}, false), hint)
}

// answerQuery makes the call that answers an inline query or the query of a press,
// and counts the event unanswered if that fails. It is repeated only if it
// certainly was not taken, or with contents made plain.
func (s *session) answerQuery(until time.Time, unanswered string, contents []*botapi.Content, call func(context.Context) error) {
	again := func(err error) (bool, time.Duration) {
		e := botapi.ErrorOf(err)
		return certainlyNotOut(e.Kind) || makePlain(e, contents...), e.RetryAfter
	}
	err := transport.Policy{Backoff: backoff, Until: until, Again: again}.Do(s.work.Sends, call)
	if err != nil && !s.tokenRefused(err) {
		s.Count(unanswered)
		s.Log.LogAttrs(s.work.Sends, slog.LevelDebug, "telegram: a query was not answered", slog.Any("err", err))
	}
}
