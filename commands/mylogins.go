package commands

import (
	"context"
	"slices"
	"strconv"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// loginsPerPage is the maximum number of logins on a page.
	loginsPerPage = 10
	// maxLoginName is the maximum length of a dapp's or a platform's name as it is shown, in characters.
	maxLoginName = 60
)

// pageParam is the number of a page. The first page is 1. Only buttons have this argument.
var pageParam = chat.Param{Name: "page"}

// myLoginsCommand answers /mylogins: when the sender logged in to which dapp, by which of their accounts or wallets.
type myLoginsCommand inputs

func myLogins(from Sources, options Options) chat.Command {
	c := myLoginsCommand{from, options}
	return chat.Command{
		Name:       "mylogins",
		Summary:    chat.Say("command.mylogins"),
		Visibility: chat.Private,
		Asks:       []string{"partner"},
		Forms: []chat.Form{
			{Run: c.run},
			{Params: []chat.Param{pageParam}, Unlisted: true, Run: c.run}, // for the buttons that turn the page
		},
	}
}

// run returns a page of the sender's logins: the page in the arguments, or else the first one. If the sender is not
// registered, it says so.
func (c myLoginsCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	self, err := sender(req)
	if err != nil {
		return nil, err
	}
	account, err := c.Accounts.Get(ctx, self)
	if err != nil {
		return nil, err
	}
	if !account.Value.Registered() {
		return c.unregistered(self), nil
	}
	logins, err := c.Logins.Get(ctx, account.Value.DID)
	if err != nil {
		return nil, err
	}
	page := 1
	if arg := req.Args.Value(pageParam.Name); arg != "" {
		page, _ = strconv.Atoi(arg) // If arg is not a number, page is 0, which does not exist.
	}
	return loginsReply(logins.Value, page)
}

// unregistered says that the sender has no account, and how to get one. id is the sender's.
func (c myLoginsCommand) unregistered(id core.Identity) *chat.Reply {
	return &chat.Reply{
		Tone:  chat.Negative,
		Title: chat.Say("exists.no"),
		Text: chat.SayWith("logins.unregistered", chat.Values{
			"platform": chat.Plain(id.Platform),
			"service":  c.service(),
		}),
		Actions: nextStep("button.register", c.RegisterURL),
	}
}

// loginsReply returns a page of the logins. If there is no such page, the error is an InputError.
func loginsReply(logins []core.Login, page int) (*chat.Reply, error) {
	if len(logins) == 0 {
		return &chat.Reply{Title: chat.Say("logins.none"), Text: chat.Say("logins.none_text")}, nil
	}
	pages := slices.Collect(slices.Chunk(logins, loginsPerPage))
	if page < 1 || page > len(pages) {
		return nil, &chat.InputError{Problem: chat.SayWith("logins.pages", chat.Values{"n": chat.Count(len(pages))})}
	}
	var fields []chat.Field
	for _, l := range pages[page-1] {
		login := chat.Parts{loginName(l.Dapp), loginPlatform(l.Platform), chat.Moment{Time: l.At}}
		fields = append(fields, chat.Field{Value: login})
	}
	reply := &chat.Reply{
		Title:    chat.SayWith("logins.count", chat.Values{"n": chat.Count(len(logins))}),
		Sections: []chat.Section{{Fields: fields}},
	}
	if len(pages) > 1 {
		reply.Footer = chat.Parts{chat.SayWith("logins.page", chat.Values{
			"page":  chat.Count(page),
			"pages": chat.Count(len(pages)),
		})}
	}
	if page > 1 {
		reply.Actions = append(reply.Actions, pageButton("button.newer", page-1))
	}
	if page < len(pages) {
		reply.Actions = append(reply.Actions, pageButton("button.older", page+1))
	}
	return reply, nil
}

// pageButton returns a button that replaces the page by another one. labelKey is the message on the button.
func pageButton(labelKey string, page int) chat.Action {
	return chat.Action{Label: chat.Say(labelKey), Command: "mylogins", Args: []string{strconv.Itoa(page)}, Edit: true}
}

// walletPlatforms are the platforms in core.Platforms where an account is a wallet.
var walletPlatforms = []string{core.EVM, "BTC", "TRON", "TON", "SOL"}

// loginPlatform returns words such as "via Telegram" or "via EVM wallet". If the platform is not in core.Platforms, it
// returns only its name.
func loginPlatform(platform string) chat.Value {
	via := chat.Values{"platform": chat.Plain(platform)}
	switch {
	case slices.Contains(walletPlatforms, platform):
		return chat.SayWith("logins.via_wallet", via)
	case slices.Contains(core.Platforms(), platform):
		return chat.SayWith("logins.via", via)
	}
	return loginName(platform)
}

// loginName returns the name of a dapp or a platform. If no character of the name can be shown, it returns "unnamed".
func loginName(name string) chat.Value {
	if shown := chat.NewUntrusted(name, maxLoginName); shown != "" {
		return shown
	}
	return chat.Say("logins.unnamed")
}
