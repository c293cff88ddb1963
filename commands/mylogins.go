package commands

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// loginsOnPage bounds the logins of one answer.
	loginsOnPage = 10
	// loginTextLength bounds a dapp's and a platform's name in characters.
	loginTextLength = 60
)

func myLogins(accounts core.Source[core.Identity, core.Account], logins core.Source[string, []core.Login], look Options) chat.Command {
	page := chat.Param{Name: "page", Check: chat.Say("check.page")}
	run := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		n, err := strconv.Atoi(cmp.Or(req.Args.Value(page.Name), "1"))
		if err != nil || n < 1 {
			return chat.Reply{}, &chat.InputError{Title: page.Check, Problem: chat.Say("logins.no_page")}
		}
		self, err := sender(req)
		if err != nil {
			return chat.Reply{}, err
		}
		account, err := accounts.Get(ctx, self)
		if err != nil {
			return chat.Reply{}, err
		}
		if !account.Value.Registered() {
			return chat.Reply{Tone: chat.Negative, Title: chat.Say("exists.no"),
				Text: chat.SayWith("logins.unregistered", chat.Values{"platform": chat.Plain(self.Platform), "service": look.service()})}, nil
		}
		history, err := logins.Get(ctx, account.Value.DID)
		if err != nil {
			return chat.Reply{}, err
		}
		return loginsReply(history.Value, n), nil
	}
	return chat.Command{
		Name:       "mylogins",
		Summary:    chat.Say("command.mylogins"),
		Visibility: chat.Private,
		Forms:      []chat.Form{{Run: run}, {Params: []chat.Param{page}, Unlisted: true, Run: run}},
	}
}

// loginsReply shows one page, the last one if there are fewer.
func loginsReply(logins []core.Login, page int) chat.Reply {
	if len(logins) == 0 {
		return chat.Reply{Title: chat.Say("logins.none"), Text: chat.Say("logins.none_text")}
	}
	pages := (len(logins) + loginsOnPage - 1) / loginsOnPage
	page = min(page, pages)
	first := (page - 1) * loginsOnPage
	shown := logins[first:min(first+loginsOnPage, len(logins))]

	reply := chat.Reply{
		Title: chat.Say("logins.title"),
		Text:  chat.SayWith("logins.count", chat.Values{"n": chat.Count(len(logins))}),
	}
	fields := make([]chat.Field, len(shown))
	for i, l := range shown {
		fields[i] = chat.Field{
			Name: loginText(l.Dapp),
			Value: chat.SayWith("logins.login", chat.Values{
				"platform": loginPlatform(l.Platform), "when": chat.Moment{Time: l.At},
			}),
		}
	}
	reply.Sections = []chat.Section{{Fields: fields}}
	if pages == 1 {
		return reply
	}
	reply.Notes = []chat.Text{chat.SayWith("logins.page", chat.Values{"page": chat.Count(page), "pages": chat.Count(pages)})}
	turn := func(label string, to int) {
		if to >= 1 && to <= pages {
			reply.Actions = append(reply.Actions, chat.Action{
				Label: chat.Say(label), Command: "mylogins", Args: []string{strconv.Itoa(to)}, Edit: true,
			})
		}
	}
	turn("button.newer", page-1)
	turn("button.older", page+1)
	return reply
}

// loginPlatform is a platform as the service named it: one of its own, or
// anything else.
func loginPlatform(name string) chat.Value {
	if slices.Contains(core.Platforms(), name) {
		return chat.Plain(name)
	}
	return loginText(name)
}

func loginText(name string) chat.Value {
	if shown := chat.NewUntrusted(name, loginTextLength); shown != "" {
		return shown
	}
	return chat.Say("logins.unnamed")
}
