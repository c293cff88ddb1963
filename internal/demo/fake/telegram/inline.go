package telegram

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// inlineLimit is how long an inline query can be answered. Telegram does not publish the time.
const inlineLimit = 15 * time.Second

// startParameter matches the parameter of a link that starts the bot.
var startParameter = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// InlineResult is one result of an inline query.
type InlineResult struct {
	ID          string          `json:"id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Markup      json.RawMessage `json:"reply_markup"`
	Content     struct {
		Text     string   `json:"message_text"`
		Entities []Entity `json:"entities"`
	} `json:"input_message_content"`
}

// InlineAnswer has the parameters of a call of answerInlineQuery, and the user that made the query.
type InlineAnswer struct {
	QueryID   string
	User      int64
	Results   []InlineResult
	CacheTime int // seconds
	Personal  bool
	// Button is the label of the button above the results, or "" if there is none. Start is its start parameter.
	Button, Start string
}

// inlineQuery is a query that the bot may answer.
type inlineQuery struct {
	user     int64
	at       time.Time
	answered bool
}

// InlineAnswers returns the answers to inline queries so far, in order.
func (s *Server) InlineAnswers() []InlineAnswer { return list(s, &s.inlineAnswers) }

// Inline queues an inline query, and returns its ID. The offset is "", or an offset from an earlier answer.
func (s *Server) Inline(user int64, query, offset string) (queryID string) {
	s.Change(func() {
		s.nextQuery++
		queryID = fmt.Sprint(s.nextQuery)
		s.queries[queryID] = &inlineQuery{user: user, at: time.Now()}
		s.push("inline_query", map[string]any{
			"id":        queryID,
			"from":      s.person(user),
			"query":     query,
			"offset":    offset,
			"chat_type": "supergroup",
		})
	})
	return queryID
}

// Choose sends a result of an inline query to a chat in the name of the user that made the query, and returns the
// message. It returns false if there is no such result.
func (s *Server) Choose(queryID, resultID string, chat Chat) (m Sent, found bool) {
	s.Lock()
	defer s.Unlock()
	for _, a := range s.inlineAnswers {
		for _, r := range a.Results {
			if a.QueryID != queryID || r.ID != resultID {
				continue
			}
			m := &Sent{Chat: chat.ID, At: time.Now(), Text: r.Content.Text, Entities: r.Content.Entities}
			m.Markup, _ = readMarkup(r.Markup) // checked by answerInlineQuery
			s.show(m)
			return *m, true
		}
	}
	return Sent{}, false
}

func (s *Server) answerInlineQuery(p params) (result any, refused *refusal) {
	button := arg[struct {
		Text  string `json:"text"`
		Start string `json:"start_parameter"`
	}](p, "button")
	a := InlineAnswer{
		QueryID:   arg[string](p, "inline_query_id"),
		Results:   arg[[]InlineResult](p, "results"),
		CacheTime: 300,
		Personal:  arg[bool](p, "is_personal"),
		Button:    button.Text,
		Start:     button.Start,
	}
	if p["cache_time"] != nil {
		a.CacheTime = arg[int](p, "cache_time")
	}
	q := s.queries[a.QueryID]
	switch {
	case q == nil || q.answered || time.Since(q.at) > inlineLimit:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case p["button"] != nil && a.Start == "" || !startParameter.MatchString(a.Start):
		return nil, bad("START_PARAM_INVALID")
	}
	if refused := checkResults(a.Results); refused != nil {
		return nil, refused
	}
	q.answered = true
	a.User = q.user
	s.inlineAnswers = append(s.inlineAnswers, a)
	s.watch(Event{Inline: &a})
	return true, nil
}

func checkResults(results []InlineResult) *refusal {
	ids := map[string]bool{}
	for _, r := range results {
		if ids[r.ID] {
			return bad("RESULT_ID_DUPLICATE")
		}
		ids[r.ID] = true
		if _, refused := readMarkup(r.Markup); refused != nil {
			return refused
		}
		if refused := checkText(r.Content.Text, r.Content.Entities); refused != nil {
			return refused
		}
	}
	return nil
}
