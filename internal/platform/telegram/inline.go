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

// respondInline answers one inline query with what was found, or with a button that
// says why nothing was.
func (s *session) respondInline(id string, q *inlineQuery) {
	arrived := time.Now()
	requests := parseInline(q.Query, s.tasks.Handler.Commands())
	replies, articles := make([]chat.Reply, len(requests)), make([]botapi.Article, len(requests))
	var answered sync.WaitGroup
	for i, req := range requests {
		req.ID, req.From, req.Locale = id, userOf(q.From.ID), q.From.Language
		// Nobody shares this chat, nor its rate limit, which alone counts letters.
		req.Chat, req.Inline = "inline "+req.From.ID, true
		answered.Go(func() {
			s.tasks.Handle(req, func(r chat.Reply) { replies[i], articles[i] = r, renderArticle(req.Command, r, s.me.Username) })
		})
	}
	answered.Wait()

	answer := botapi.InlineAnswer{ID: q.ID, Cache: hintLasts}
	var why string
	for i, r := range replies {
		if r.Unanswered() {
			why, answer.Personal = words.Say(r.Language, r.Title), true
			answer.Cache = min(answer.Cache, failureLasts)
			continue
		}
		answer.Results = append(answer.Results, articles[i])
		answer.Cache = min(answer.Cache, max(time.Until(r.FreshUntil), 0))
	}
	if len(requests) == 0 {
		var names []string
		for _, req := range parseInline("", s.tasks.Handler.Commands()) {
			names = append(names, req.Command)
		}
		hint := chat.SayWith("telegram.inline_hint", chat.Values{"commands": chat.Plain(strings.Join(names, ", "))})
		why = words.Say(s.tasks.Handler.Language(chat.Request{}, false), hint)
	}
	if len(answer.Results) == 0 {
		answer.Button = &botapi.InlineButton{Text: why, Start: "inline"}
	}
	var contents []*botapi.Content
	for i := range answer.Results {
		contents = append(contents, &answer.Results[i].Content)
	}
	s.answerQuery(arrived, "inline_unanswered", func(ctx context.Context) error {
		return s.api.AnswerInlineQuery(ctx, answer)
	}, contents...)
}
