package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"herald/internal/chat"
	"herald/internal/config"
)

// maxName bounds the name that Discord gives the bot, in characters.
const maxName = 40

// Check asks Discord who owns the token, and whether interactions come the way
// that the settings say. It returns sentences for an operator. Its error is a
// *config.WrongError where settings contradict what Discord says.
func (a *Adapter) Check(ctx context.Context) (learned []string, err error) {
	app, err := a.api.Application(ctx)
	if err != nil {
		return nil, err
	}
	wrong := func(settings, problem string) ([]string, error) {
		return learned, &config.WrongError{Problem: problem, Settings: settings}
	}
	learned = []string{fmt.Sprintf("%s, application %s", chat.NewUntrusted(app.Name, maxName), app.ID)}
	if a.ApplicationID != "" && a.ApplicationID != app.ID {
		return wrong("DISCORD_APPLICATION_ID and DISCORD_BOT_TOKEN",
			"the token belongs to this application, and not to the one that is set")
	}
	if a.PublicKey == nil && app.Endpoint == "" {
		return append(learned, "interactions come over the gateway"), nil
	}
	if a.PublicKey == nil {
		return wrong("DISCORD_PUBLIC_KEY", fmt.Sprintf("the application has an interactions endpoint URL, at %s, so nothing comes over "+
			"the gateway: remove that URL in the Developer Portal, or take interactions by HTTP", host(app.Endpoint)))
	}
	key, err := hex.DecodeString(app.VerifyKey)
	if err == nil && len(key) == ed25519.PublicKeySize && !a.PublicKey.Equal(ed25519.PublicKey(key)) {
		return wrong("DISCORD_PUBLIC_KEY", "the application has another public key than the one that is set")
	}
	if app.Endpoint == "" {
		return append(learned, "it has no interactions endpoint URL yet: while the bot runs, enter "+
			"https://<your host>/discord/interactions in the Developer Portal"), nil
	}
	return append(learned, fmt.Sprintf("interactions come by HTTP, to %s", host(app.Endpoint))), nil
}

// host returns the host of a URL. The path may be a secret.
func host(rawURL string) chat.Untrusted { return chat.NewUntrusted(config.Host(rawURL), 2*maxName) }
