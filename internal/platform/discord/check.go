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

// Check asks Discord for the token's application, its commands, and the servers of StakerRoles and of entries. It
// blocks meanwhile. It returns what `bot check` prints: details, and the result of Rights. The error is a
// *config.WrongError if the application contradicts a setting.
func (a *Adapter) Check(
	ctx context.Context, commands chat.Commands, entries ...platform.Entry,
) (details []string, rights []platform.Right, err error) {
	app, err := a.api.Application(ctx)
	if err != nil {
		return nil, nil, err
	}
	details, appErr := a.checkApplication(app)
	registered, commandsErr := a.checkCommands(ctx, app.ID, commands)
	if commandsErr == nil {
		details = append(details, registered)
	}
	return details, a.Rights(ctx, entries...), cmp.Or(appErr, commandsErr)
}

// checkApplication returns details: the name of app, and how interactions arrive. If app contradicts the PublicKey of
// the settings, it returns only the name, and a *config.WrongError.
func (a *Adapter) checkApplication(app api.Application) (details []string, err error) {
	details = []string{fmt.Sprintf("%s, application %s", chat.NewUntrusted(app.Name, maxName), app.ID)}
	host := chat.NewUntrusted(config.Host(app.Endpoint), 2*maxName) // The path may be a secret.
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
	default:
		return append(details, fmt.Sprintf("interactions come by HTTP, to %s", host)), nil
	}
}

// checkCommands returns a detail: whether Discord has these commands. It blocks for a call, and fails if that fails.
func (a *Adapter) checkCommands(ctx context.Context, app string, commands chat.Commands) (string, error) {
	found, err := a.registered(ctx, app)
	if err != nil {
		return "", err
	}
	return found.compare(definitions(commands)).advice(), nil
}

// advice describes the comparison to an operator.
func (c comparison) advice() string {
	const seeLog = "; if it runs already, its log says why it could not"
	if c.equal() {
		return fmt.Sprintf("its %d commands are registered", c.same)
	}
	if registered := c.same + len(c.different); registered == 0 {
		return "its commands are not registered yet: `bot run` registers them" + seeLog
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
	return "`bot run` replaces the registered commands by its own" + seeLog + "; " + strings.Join(parts, "; ")
}
