package discord

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
)

// Check fetches the token's application, its commands, and the servers of StakerRoles and of entries from Discord. It
// blocks meanwhile. It returns what `bot check` prints: details and the bot's rights. The error is a
// *config.WrongError if Discord contradicts a setting.
func (a *Adapter) Check(
	ctx context.Context, commands chat.Commands, entries ...platform.Entry,
) (details []string, rights []platform.Right, err error) {
	app, err := a.api.Application(ctx)
	if err != nil {
		return nil, nil, err
	}
	details, err = a.checkApplication(app)
	found, unknown := a.checkCommands(ctx, app.ID, commands)
	if unknown == nil {
		details = append(details, found)
	}
	return details, a.Rights(ctx, entries...), cmp.Or(err, unknown)
}

// checkApplication returns the name of app, and how interactions arrive. If app contradicts PublicKey, it returns only
// the name and a *config.WrongError.
func (a *Adapter) checkApplication(app api.Application) (details []string, err error) {
	details = []string{fmt.Sprintf("%s, application %s", chat.NewUntrusted(app.Name, maxName), app.ID)}
	host := chat.NewUntrusted(config.Host(app.Endpoint), 2*maxName) // without the path, which may be a secret
	contradiction := func(problem string) error {
		return &config.WrongError{Settings: "DISCORD_PUBLIC_KEY", Problem: problem}
	}
	switch {
	case a.PublicKey == nil && app.Endpoint != "":
		return details, contradiction(fmt.Sprintf("the application has an interactions endpoint URL, at %s, "+
			"so nothing comes over the gateway: remove that URL in the Developer Portal, "+
			"or take interactions by HTTP", host))
	case a.PublicKey == nil:
		return append(details, "interactions come over the gateway"), nil
	case app.VerifyKey != "" && app.VerifyKey != hex.EncodeToString(a.PublicKey):
		return details, contradiction("the application has another public key than the one that is set")
	case app.Endpoint == "":
		return append(details, "it has no interactions endpoint URL yet: while the bot runs, enter "+
			"https://<your host>/discord/interactions in the Developer Portal"), nil
	}
	return append(details, fmt.Sprintf("interactions come by HTTP, to %s", host)), nil
}

// checkCommands returns a line for `bot check`: whether Discord has these commands. It fails if Discord does
// not say.
func (a *Adapter) checkCommands(ctx context.Context, app string, commands chat.Commands) (string, error) {
	found, err := a.registered(ctx, app)
	if err != nil {
		return "", err
	}
	return found.compare(definitions(commands)).advice(), nil
}

// advice returns a sentence for an operator.
func (c comparison) advice() string {
	const later = "; if it runs already, its log says why it could not"
	switch {
	case c.equal():
		return fmt.Sprintf("its %d commands are registered", c.same)
	case c.same+len(c.different) == 0:
		return "its commands are not registered yet: `bot run` registers them" + later
	}
	var parts []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	add("missing:", c.missing)
	add("of another form:", c.different)
	add("not the bot's:", c.surplus)
	return "`bot run` replaces the registered commands by its own" + later + "; " + strings.Join(parts, "; ")
}
