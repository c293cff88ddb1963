package botapi

import (
	"context"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// AnswerCallbackQuery ends the spinner of a pressed button. Each press takes one answer,
// and none once it is old. The Text has at most 200 characters, and the URL may only be
// t.me/<the bot>?start=…
func (c *Client) AnswerCallbackQuery(ctx context.Context, a *bot.AnswerCallbackQueryParams) error {
	return c.do(ctx, "answerCallbackQuery", a)
}

// Article is one result of an inline query.
type Article struct {
	ID          string  `json:"id"` // 1 to 64 bytes, unlike the others'
	Title       string  `json:"title"`
	Description string  `json:"description,omitempty"`
	Content     Content `json:"-"` // what the user sends by choosing it
}

// InlineButton is shown above the results and opens the private chat with the bot.
type InlineButton struct {
	Text string `json:"text"`
	// Start is the parameter of the /start it sends; 1 to 64 of A-Za-z0-9_-.
	Start string `json:"start_parameter"`
}

// InlineAnswer is the answer to an inline query.
type InlineAnswer struct {
	ID      string    `json:"inline_query_id"`
	Results []Article `json:"-"` // at most 50
	// Cache is how long Telegram may give the same answer to the same query: to anybody,
	// or to the same user if Personal. It is sent in whole seconds.
	Cache    time.Duration `json:"-"`
	Personal bool          `json:"is_personal,omitempty"`
	Button   *InlineButton `json:"button,omitempty"` // or nil
}

// AnswerInlineQuery answers an inline query.
func (c *Client) AnswerInlineQuery(ctx context.Context, a InlineAnswer) error {
	type content struct {
		Text     string                    `json:"message_text"`
		Entities []Entity                  `json:"entities,omitempty"`
		Preview  models.LinkPreviewOptions `json:"link_preview_options"`
	}
	type article struct {
		Type string `json:"type"`
		Article
		Content content            `json:"input_message_content"`
		Markup  models.ReplyMarkup `json:"reply_markup,omitempty"`
	}
	results := make([]article, 0, len(a.Results))
	for _, r := range a.Results {
		said := content{Text: r.Content.Text, Entities: r.Content.Entities, Preview: noPreview}
		results = append(results, article{Type: "article", Article: r, Content: said, Markup: r.Content.Markup})
	}
	return c.do(ctx, "answerInlineQuery", &struct {
		InlineAnswer
		Results []article `json:"results"`
		Cache   int       `json:"cache_time"`
	}{InlineAnswer: a, Results: results, Cache: int(a.Cache.Seconds())})
}
