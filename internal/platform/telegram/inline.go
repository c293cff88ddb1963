package telegram

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/words"
)

const (
	// maxCache limits how long Telegram may cache an answer to an inline query.
	maxCache = time.Hour
	// failureCache limits how long Telegram may cache an answer that lacks a result because of a failure.
	failureCache = 5 * time.Second
)

// respondInline answers one inline query with results, or with a button that says why there are none.
func (s *session) respondInline(requestID string, q *models.InlineQuery) {
	arrived := time.Now()
	results := s.inlineResults(requestID, q)
	var hint string
	if len(results) == 0 {
		hint = s.inlineHint()
	}
	answer := newInlineAnswer(results, hint)
	// answerQuery may make the contents plainer and call again, so each call builds its params.
	contents := make([]*outbox.Content, len(answer.articles))
	for i := range contents {
		contents[i] = &answer.articles[i].content
	}
	s.answerQuery(arrived, "inline_unanswered", func(ctx context.Context) error {
		params := &bot.AnswerInlineQueryParams{
			InlineQueryID: q.ID,
			CacheTime:     int(answer.cache.Seconds()),
			IsPersonal:    answer.personal,
		}
		for _, a := range answer.articles {
			params.Results = append(params.Results, a.result())
		}
		return s.adapter.api.AnswerInlineQuery(ctx, params, answer.button)
	}, contents...)
}

// inlineResult is the reply to one of the requests that an inline query may mean.
type inlineResult struct {
	reply   *chat.Reply
	article article
}

// inlineResults handles the requests that an inline query may mean, at the same time, and returns their results. It
// blocks until each has one.
func (s *session) inlineResults(requestID string, q *models.InlineQuery) []inlineResult {
	requests := parseInline(q.Query, s.work.Handler.Commands())
	results := make([]inlineResult, len(requests))
	var handled sync.WaitGroup
	for i := range requests {
		req := &requests[i]
		req.ID = requestID
		req.From = userOf(q.From.ID)
		req.Locale = q.From.LanguageCode
		req.Inline = true
		// Each letter typed is a query. So a user's queries count against the limit of a chat that does not exist.
		req.Chat = "inline " + req.From.ID
		results[i].reply = chat.SomethingWentWrong(requestID) // It stays only if Answer panics.
		handled.Go(func() {
			s.work.Recover(requestID, func() {
				s.work.Answer(req, func(r *chat.Reply) {
					results[i] = inlineResult{reply: r, article: renderArticle(req.Command, r, s.me().Username)}
				})
			})
		})
	}
	handled.Wait()
	return results
}

// inlineAnswer is the answer to an inline query.
type inlineAnswer struct {
	articles []article // at most 50
	// cache is how long Telegram may give the same answer to the same query. It is sent in whole seconds.
	cache time.Duration
	// personal is set if Telegram may give the answer only to the same user, and not to everybody.
	personal bool
	button   *botapi.InlineButton // or nil
}

// newInlineAnswer returns an answer with the results that did not fail. It may be cached until the first of them is no
// longer fresh. If one failed, the answer is personal, and cached for a short time. If there is nothing to show, the
// button shows the last failure, or the hint if nothing failed.
func newInlineAnswer(results []inlineResult, hint string) inlineAnswer {
	answer := inlineAnswer{cache: maxCache}
	buttonText := hint
	for _, r := range results {
		if r.reply.Unanswered() {
			buttonText = words.Say(r.reply.Language, r.reply.Title)
			answer.personal = true
			answer.cache = min(answer.cache, failureCache)
			continue
		}
		answer.articles = append(answer.articles, r.article)
		answer.cache = min(answer.cache, max(time.Until(r.reply.Source.FreshUntil), 0))
	}
	if len(answer.articles) == 0 {
		answer.button = &botapi.InlineButton{Text: buttonText, Start: "inline"}
	}
	return answer
}

// inlineHint returns a text that lists what to type in an inline query: the commands that answer one and, if a command
// takes it, the address of a wallet.
func (s *session) inlineHint() string {
	commands := s.work.Handler.Commands()
	var names []string
	for _, req := range parseInline("", commands) { // An empty query means all commands.
		names = append(names, req.Command)
	}
	hint := chat.Say("unknown.text")
	if len(names) > 0 {
		key := "telegram.inline_hint.commands"
		if takesWalletInline(commands) {
			key = "telegram.inline_hint"
		}
		hint = chat.SayWith(key, chat.Values{"commands": chat.Plain(strings.Join(names, ", "))})
	}
	return words.Say(s.work.Handler.Language(&chat.Request{}, chat.Public), hint)
}

// takesWalletInline reports whether a command answers inline queries with the address of a wallet.
func takesWalletInline(commands chat.Commands) bool {
	isWallet := func(p chat.Param) bool { return p.Proof } // The only proof is a wallet.
	for _, c := range commands {
		for _, form := range c.Forms {
			if form.Inline && slices.ContainsFunc(form.Params, isWallet) {
				return true
			}
		}
	}
	return false
}

// parseInline returns a request for each Inline form that a query means:
//
//   - a form without parameters, if the query is the beginning of the command's name,
//   - a form with a parameter, if the query has its argument, with or without the command's name before it.
//
// Telegram sends a query after each letter typed, so an argument counts only once it is as long as its example.
func parseInline(query string, commands chat.Commands) (found []chat.Request) {
	written := strings.Fields(query)
	name := ""
	if len(written) > 0 {
		name = strings.ToLower(strings.TrimPrefix(written[0], "/"))
	}
	named, known := commands.Find(name)
	for _, c := range commands {
		isNamed := known && c.Name == named.Name
		namesAnother := known && !isNamed
		isBegun := len(written) < 2 && (isNamed || strings.HasPrefix(c.Name, name))
		args := written
		if isNamed {
			args = written[1:]
		}
		for _, f := range c.Forms {
			switch {
			case !f.Inline: // It does not answer inline queries.
			case len(f.Params) == 0 && isBegun:
				found = append(found, chat.Request{Command: c.Name, Args: chat.Typed()})
			case len(f.Params) > 0 && !namesAnother:
				found = append(found, withArgument(c.Name, f, args)...)
			}
		}
	}
	return found
}

// withArgument returns a request for a form with one parameter if one of the words is its argument, as long as its
// example. Otherwise it returns nil.
func withArgument(command string, f chat.Form, words []string) []chat.Request {
	args := chat.Meant(words, f.Params...)
	if len(args) != 1 || len(args[0]) != len(f.Params[0].Example) {
		return nil
	}
	return []chat.Request{{Command: command, Args: chat.Typed(args...)}}
}
