package telegram

import (
	"context"
	"strings"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

const (
	// hintLasts is the longest time for which Telegram may cache any answer to an inline
	// query, and failureLasts that for an answer without some of its results.
	hintLasts    = time.Hour
	failureLasts = 5 * time.Second
)

// inlineResult is the reply to one of the requests that an inline query means.
type inlineResult struct {
	reply   chat.Reply
	article botapi.Article
}

// respondInline answers one inline query with results, or with a button that says why
// there are none.
func (s *session) respondInline(id string, q *inlineQuery) {
	arrived := time.Now()
	requests := parseInline(q.Query, s.tasks.Handler.Commands())
	results := make([]inlineResult, len(requests))
	var handled sync.WaitGroup
	for i, req := range requests {
		req.ID, req.From, req.Locale = id, userOf(q.From.ID), q.From.Language
		// Each letter typed is a query, so queries count against a chat of their own.
		req.Chat, req.Inline = "inline "+req.From.ID, true
		results[i].reply = chat.SomethingWentWrong(id) // This stays after a panic that Handle does not recover.
		handled.Go(func() {
			s.tasks.Recover(id, func() {
				s.tasks.Handle(req, func(r chat.Reply) {
					results[i] = inlineResult{reply: r, article: renderArticle(req.Command, r, s.me.Username)}
				})
			})
		})
	}
	handled.Wait()

	var hint string
	if len(results) == 0 {
		hint = s.inlineHint()
	}
	answer := inlineAnswer(results, hint)
	answer.ID = q.ID
	contents := make([]*botapi.Content, len(answer.Results))
	for i := range contents {
		contents[i] = &answer.Results[i].Content
	}
	s.answerQuery(arrived, "inline_unanswered", func(ctx context.Context) error {
		return s.a.api.AnswerInlineQuery(ctx, answer)
	}, contents...)
}

// inlineAnswer returns the results that anybody may send. If there are none, its button
// shows why: the failure, to the asker alone, or else the reason given.
func inlineAnswer(results []inlineResult, why string) botapi.InlineAnswer {
	answer := botapi.InlineAnswer{Cache: hintLasts}
	for _, r := range results {
		if r.reply.Unanswered() {
			why, answer.Personal = words.Say(r.reply.Language, r.reply.Title), true
			answer.Cache = min(answer.Cache, failureLasts)
			continue
		}
		answer.Results = append(answer.Results, r.article)
		answer.Cache = min(answer.Cache, max(time.Until(r.reply.FreshUntil), 0))
	}
	if len(answer.Results) == 0 {
		answer.Button = &botapi.InlineButton{Text: why, Start: "inline"}
	}
	return answer
}

// inlineHint names the commands that answer inline queries.
func (s *session) inlineHint() string {
	var names []string
	for _, req := range parseInline("", s.tasks.Handler.Commands()) {
		names = append(names, req.Command)
	}
	hint := chat.SayWith("telegram.inline_hint", chat.Values{"commands": chat.Plain(strings.Join(names, ", "))})
	return words.Say(s.tasks.Handler.Language(chat.Request{}, false), hint)
}
