package commands

import (
	"context"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// maxLogins is the number of logins on a page.
	maxLogins = 10
	// maxLoginText bounds the name of a dapp and of a platform, in characters.
	maxLoginText = 60
)

func myLogins(accounts core.Source[core.Identity, core.Account], logins core.Source[string, []core.Login], options Options) chat.Command {
	page := chat.Param{Name: "page"}
	run := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
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
				Text:    chat.SayWith("logins.unregistered", chat.Values{"platform": chat.Plain(self.Platform), "service": options.service()}),
				Actions: link("button.register", options.RegisterURL)}, nil
		}
		history, err := logins.Get(ctx, account.Value.DID)
		if err != nil {
			return chat.Reply{}, err
		}
		n, _ := strconv.Atoi(req.Args.Value(page.Name)) // 0 if no page was given
		return loginsReply(history.Value, n)
	}
	return chat.Command{
		Name:       "mylogins",
		Summary:    chat.Say("command.mylogins"),
		Visibility: chat.Private,
		Forms:      []chat.Form{{Run: run}, {Params: []chat.Param{page}, Unlisted: true, Run: run}},
	}
}

// loginsReply shows a page, counted from 1; a smaller number is the first. It returns an
// InputError if there are fewer pages.
func loginsReply(logins []core.Login, page int) (chat.Reply, error) {
	if len(logins) == 0 {
		return chat.Reply{Title: chat.Say("logins.none"), Text: chat.Say("logins.none_text")}, nil
	}
	pages := slices.Collect(slices.Chunk(logins, maxLogins))
	if page = max(1, page); page > len(pages) {
		return chat.Reply{}, &chat.InputError{Problem: chat.SayWith("logins.pages", chat.Values{"n": chat.Count(len(pages))})}
	}
	var fields []chat.Field
	for _, l := range pages[page-1] {
		fields = append(fields, chat.Field{Value: chat.Parts{loginText(l.Dapp), via(l.Platform), chat.Moment{Time: l.At}}})
	}
	reply := chat.Reply{
		Title:    chat.SayWith("logins.count", chat.Values{"n": chat.Count(len(logins))}),
		Sections: []chat.Section{{Fields: fields}},
	}
	if len(pages) > 1 {
		reply.Footer = chat.Parts{chat.SayWith("logins.page", chat.Values{"page": chat.Count(page), "pages": chat.Count(len(pages))})}
	}
	if page > 1 {
		reply.Actions = append(reply.Actions, pageButton("button.newer", page-1))
	}
	if page < len(pages) {
		reply.Actions = append(reply.Actions, pageButton("button.older", page+1))
	}
	return reply, nil
}

func pageButton(label string, page int) chat.Action {
	return chat.Action{Label: chat.Say(label), Command: "mylogins", Args: []string{strconv.Itoa(page)}, Edit: true}
}

// wallets are the platforms on which people log in with a wallet.
var wallets = []string{core.EVM, "BTC", "TRON", "TON", "SOL"}

// via says on which platform somebody logged in.
func via(platform string) chat.Value {
	key := "logins.via"
	switch {
	case !slices.Contains(core.Platforms(), platform):
		return loginText(platform)
	case slices.Contains(wallets, platform):
		key = "logins.via_wallet"
	}
	return chat.SayWith(key, chat.Values{"platform": chat.Plain(platform)})
}

func loginText(name string) chat.Value {
	if shown := chat.NewUntrusted(name, maxLoginText); shown != "" {
		return shown
	}
	return chat.Say("logins.unnamed")
}
