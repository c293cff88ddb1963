package membership

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/e2e/e2etest"
)

// answerTime is how long people wait for an answer.
const answerTime = 40 * time.Second

// client returns an HTTP client whose requests go to a random process that is alive, or nil if none is.
func (w *world) client() *http.Client {
	list := w.alive()
	if len(list) == 0 {
		return nil
	}
	var p *process
	w.locked(func() { p = list[w.rand.IntN(len(list))] })
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return p.network.Dial(ctx, network, address)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// interact sends an interaction to a process. It blocks until the answer is complete, for at most answerTime.
func (w *world) interact(i fakediscord.Interaction) (pending *fakediscord.Pending, answered bool) {
	pending, body := w.discord.Prepare(i)
	client := w.client()
	if client == nil {
		return pending, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	const endpoint = "http://bot" + e2etest.InteractionsPath
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	r.Header = w.discord.Sign(body, time.Now())
	resp, err := client.Do(r)
	if err != nil {
		return pending, false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || pending.Responded(resp.Body) != nil {
		return pending, false
	}
	_, err = pending.Wait(ctx)
	return pending, err == nil
}

// commandOnDiscord makes a person send a command in a server, or in private if server is "", and returns the
// answer. It blocks as interact does.
func (w *world) commandOnDiscord(p *person, server, name string, options map[string]string) (*card, bool) {
	pending, answered := w.interact(fakediscord.Interaction{
		Command: name,
		Options: options,
		UserID:  p.id,
		GuildID: server,
	})
	return discordCard(pending), answered
}

// pressOnDiscord makes a person press the button of a card with this state, and returns the answer. It blocks
// as interact does.
func (w *world) pressOnDiscord(p *person, c *card, state string) (*card, bool) {
	pending, answered := w.interact(c.pending.Press(p.id, state))
	return discordCard(pending), answered
}

// card is an answer on Discord or Telegram.
type card struct {
	pending *fakediscord.Pending // the answered interaction, on Discord
	message int64                // the message's ID, on Telegram
	text    string
	states  []string // of the buttons
}

// discordCard returns the answer of an interaction.
func discordCard(p *fakediscord.Pending) *card {
	m := p.Answer().Message
	c := &card{pending: p, text: m.Text()}
	for _, b := range slices.Concat(m.Buttons...) {
		c.states = append(c.states, b.CustomID)
	}
	return c
}

// button returns the state of the button for a command with these arguments, or "".
func (c *card) button(command string, args ...string) string {
	for _, state := range c.states {
		press, err := chat.ParseState(state)
		if err == nil && press.Command == command && slices.EqualFunc(press.Args, args, strings.EqualFold) {
			return state
		}
	}
	return ""
}
