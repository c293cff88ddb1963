package commands

import (
	"context"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// maxLogins bounds the logins of one answer.
	maxLogins = 10
	// maxLoginText bounds a dapp's and a platform's name, in characters.
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

// loginsReply shows one page, the first if page is less. It fails if there are fewer.
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
	turn := func(label string, to int) {
		reply.Actions = append(reply.Actions, chat.Action{
			Label: chat.Say(label), Command: "mylogins", Args: []string{strconv.Itoa(to)}, Edit: true,
		})
	}
	if page > 1 {
		turn("button.newer", page-1)
	}
	if page < len(pages) {
		turn("button.older", page+1)
	}
	return reply, nil
}

// wallets are the platforms on which one logs in with a wallet.
var wallets = []string{core.EVM, "BTC", "TRON", "TON", "SOL"}

// via says how somebody logged in.
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
