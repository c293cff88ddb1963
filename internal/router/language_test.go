package router_test

import (
	"context"
	"io"
	"testing"

	"herald/internal/chat"
	"herald/internal/router"
)

// languageCase is a request of ann, unless it has another sender, and the language of its answer.
type languageCase struct {
	name string
	req  chat.Request
	want chat.Language
}

// checkLanguages handles requests to "exists", which is private, and to "price", which is public. Some communities have
// a language of their own, and the bot answers in Spanish elsewhere.
func checkLanguages(t *testing.T, cases []languageCase) {
	t.Helper()
	var ranIn chat.Language // the language of a picture; empty if no form ran
	run := func(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
		ranIn = req.Language
		return ran(ctx, req)
	}
	r := newRouter(t, io.Discard, func(c *router.Config) {
		c.Language = chat.Spanish
		c.ChatLanguages = map[string]chat.Language{
			"telegram:-5": chat.Turkish,
			"telegram:-6": chat.English,
			"discord:7":   chat.Russian,
		}
		c.Commands = append(c.Commands, chat.Command{
			Name:       "price",
			Summary:    chat.Say("price"),
			Visibility: chat.Public,
			Forms:      []chat.Form{{Run: run}},
		})
	})
	for _, c := range cases {
		if c.req.From == (chat.User{}) {
			c.req.From = ann
		}
		ranIn = ""
		if got := r.Handle(t.Context(), &c.req).Language; got != c.want {
			t.Errorf("%s: answered in %q, want %q", c.name, got, c.want)
		}
		if ranIn != "" && ranIn != c.want {
			t.Errorf("%s: a picture would be in %q, want %q", c.name, ranIn, c.want)
		}
	}
}

func TestAPublicAnswerIsInTheLanguageOfItsCommunity(t *testing.T) {
	onDiscord := chat.User{Platform: "discord", ID: "1"}
	checkLanguages(t, []languageCase{
		{
			name: "configured",
			req:  chat.Request{Command: "price", Locale: "vi", Community: "-5"},
			want: chat.Turkish,
		},
		{
			name: "configured, asked by somebody anonymous",
			req:  chat.Request{Command: "price", Community: "-5", From: anonymous},
			want: chat.Turkish,
		},
		{
			name: "another one configured",
			req:  chat.Request{Command: "price", Locale: "vi", Community: "-6"},
			want: chat.English,
		},
		{
			name: "not configured",
			req:  chat.Request{Command: "price", Locale: "vi", Community: "-7"},
			want: chat.Spanish,
		},
		{
			name: "not configured, where answers can be ephemeral",
			req:  chat.Request{Command: "price", Locale: "vi", Community: "-7", CanReplyEphemerally: true},
			want: chat.Spanish,
		},
		{
			name: "configured on another platform",
			req:  chat.Request{Command: "price", Locale: "vi", Community: "7"},
			want: chat.Spanish,
		},
		{
			name: "configured on Discord",
			req:  chat.Request{Command: "price", Community: "7", From: onDiscord},
			want: chat.Russian,
		},
		{
			name: "the same chat, without a community",
			req:  chat.Request{Command: "price", Locale: "vi", Chat: "-5"},
			want: chat.Spanish,
		},
		{
			name: "inline",
			req:  chat.Request{Command: "price", Locale: "vi", Chat: "inline 1", Inline: true},
			want: chat.Spanish,
		},
	})
}

func TestAPrivateAnswerIsInTheLanguageOfTheSender(t *testing.T) {
	checkLanguages(t, []languageCase{
		{
			name: "a private command",
			req:  chat.Request{Command: "exists", Locale: "vi", Community: "-5"},
			want: chat.Vietnamese,
		},
		{
			name: "a private command without a community",
			req:  chat.Request{Command: "exists", Locale: "ru"},
			want: chat.Russian,
		},
		{
			name: "a private command, in a language that the bot does not speak",
			req:  chat.Request{Command: "exists", Locale: "de", Community: "-5"},
			want: chat.Turkish,
		},
		{
			name: "a private chat",
			req:  chat.Request{Command: "price", Locale: "vi", Direct: true},
			want: chat.Vietnamese,
		},
		{
			name: "a private chat, in a language that the bot does not speak",
			req:  chat.Request{Command: "price", Locale: "de", Direct: true},
			want: chat.Spanish,
		},
	})
}

func TestARefusalIsInTheLanguageOfThoseWhoSeeIt(t *testing.T) {
	tooMuch := chat.Typed("x")
	checkLanguages(t, []languageCase{
		{
			name: "everybody",
			req:  chat.Request{Command: "price", Locale: "vi", Community: "-5", Args: tooMuch},
			want: chat.Turkish,
		},
		{
			name: "only the sender",
			req: chat.Request{
				Command:             "price",
				Locale:              "es-419",
				Community:           "-5",
				Args:                tooMuch,
				CanReplyEphemerally: true,
			},
			want: chat.Spanish,
		},
		{
			name: "everybody, of an unknown command",
			req:  chat.Request{Command: "moon", Locale: "vi", Community: "-5"},
			want: chat.Turkish,
		},
	})
}
