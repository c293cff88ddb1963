package e2etest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
)

// Way is a way for commands to reach a bot.
type Way struct {
	Name      string
	OnDiscord bool // on Discord; otherwise on Telegram
	ByHTTP    bool // the platform calls the bot; otherwise the bot connects to the platform
}

var (
	TelegramPolling = Way{Name: "telegram polling"}
	TelegramWebhook = Way{Name: "telegram webhook", ByHTTP: true}
	DiscordGateway  = Way{Name: "discord gateway", OnDiscord: true}
	DiscordHTTP     = Way{Name: "discord over http", OnDiscord: true, ByHTTP: true}
)

var (
	// Ways has every way.
	Ways = []Way{TelegramPolling, TelegramWebhook, DiscordGateway, DiscordHTTP}
	// TelegramWays has the ways on Telegram.
	TelegramWays = []Way{TelegramPolling, TelegramWebhook}
)

// Platform is a fake of Telegram or Discord that sends commands to a bot in one way.
type Platform struct {
	Way
	Telegram *telegramtest.Server // nil on Discord
	Discord  *discordtest.Server  // nil on Telegram

	t      testing.TB
	client *http.Client // calls the bot, if the way is by HTTP

	mu     sync.Mutex
	urls   []string                // of the HTTP servers of the bot's replicas
	queues map[int64]chan struct{} // locks, one for each queue of a webhook; see Deliver
	held   time.Duration           // how long the slowest delivery took
}

// Open starts a platform that is closed when the test ends.
func (w Way) Open(t testing.TB) *Platform {
	// Platforms keep their connections open for a while. Telegram makes at most 100:
	// https://core.telegram.org/bots/api#setwebhook
	conns := &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 3 * time.Second}
	p := &Platform{Way: w, t: t, client: &http.Client{Transport: conns}, queues: map[int64]chan struct{}{}}
	t.Cleanup(p.client.CloseIdleConnections)
	if w.OnDiscord {
		p.Discord = discordtest.New()
		p.Discord.Client = p.client
		// A busy machine needs longer than Discord waits. The bot assumes that a later response is lost.
		p.Discord.FirstResponse *= 2
		t.Cleanup(p.Discord.Close)
	} else {
		conns.MaxConnsPerHost = 100
		p.Telegram = telegramtest.New(t)
	}
	return p
}

// Settings returns the settings of a bot on the platform. Telegram's pacing is off.
func (p *Platform) Settings() []string {
	if p.OnDiscord {
		settings := []string{"DISCORD_BOT_TOKEN=" + p.Discord.Token, "DISCORD_API_URL=" + p.Discord.URL()}
		if p.ByHTTP {
			settings = append(settings, "DISCORD_PUBLIC_KEY="+hex.EncodeToString(p.Discord.PublicKey))
		}
		return settings
	}
	settings := Polling(p.Telegram)
	if p.ByHTTP {
		settings = append(settings, "TELEGRAM_WEBHOOK_URL=https://bot.example"+WebhookPath,
			"TELEGRAM_WEBHOOK_SECRET="+WebhookSecret)
	}
	return settings
}

// Serve runs a bot on the platform and on these services, and waits until it is ready.
func (p *Platform) Serve(fakes *fault.Fakes, settings ...string) *Bot {
	p.t.Helper()
	bot := ServeReady(p.t, fakes, append(p.Settings(), settings...)...)
	p.Through(bot.URL)
	return bot
}

// Start is like Serve, but runs the built program in its own process.
func (p *Platform) Start(binary string, fakes *fault.Fakes, settings ...string) *Process {
	p.t.Helper()
	process := ServeProcess(p.t, binary, append(Settings(fakes, p.Settings()...), settings...)...)
	p.Through(process.URL())
	return process
}

// Through makes the platform call the bot at these URLs, which may be a proxy's. An update that is delivered
// several times goes to each URL in turn.
func (p *Platform) Through(urls ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urls = urls
}

// User returns a person's ID on the platform.
func (w Way) User(p services.Person) int64 {
	uid := p.UID("Telegram")
	if w.OnDiscord {
		uid = p.UID("Discord")
	}
	id, err := strconv.ParseInt(uid, 10, 64)
	if err != nil {
		panic(err)
	}
	return id
}

// Command is a command that a user sends.
type Command struct {
	User  int64
	Group bool // in a group or a server; otherwise in private
	// Ephemeral is whether the user is the only one who sees the command, in a group of Telegram.
	Ephemeral bool
	Name      string
	Argument  string // on Discord, the wallet
	// Times is how often the platform delivers the command; 0 means once. A poll delivers it only once.
	Times int
	// Alter changes Telegram's message before it is delivered, for example to another group. It may be nil.
	Alter func(faketelegram.Message)
	// Guild is the server of Discord, if Group is set; "" means GuildID.
	Guild string
}

// Asked is a command that was sent, or a press of a button. A press has the button's state as its Name.
type Asked struct {
	Command
	At       time.Time
	Message  int64                // the ID of the command's message on Telegram, or its ephemeral ID
	Pending  *fakediscord.Pending // the interaction on Discord; nil on Telegram
	platform *Platform
	pressID  string // the ID of a press on Telegram; "" for a command
}

// OnDiscord reports whether the command was sent on Discord.
func (a *Asked) OnDiscord() bool { return a.Pending != nil }

// Answer is a message or a notice that answers a command or a press.
type Answer struct {
	Text    string
	Private bool          // only the user can read it, although the command was sent in a group
	After   time.Duration // since the command was sent; 0 for a notice
}

// Ask makes the platform deliver a command. It does not wait for the answer.
func (p *Platform) Ask(c Command) *Asked {
	p.t.Helper()
	a := &Asked{Command: c, At: time.Now(), platform: p}
	if p.OnDiscord {
		p.interact(a, interaction(c))
	} else {
		p.send(a)
	}
	return a
}

// interaction returns a command as an interaction of Discord.
func interaction(c Command) fakediscord.Interaction {
	i := fakediscord.Interaction{Command: c.Name, UserID: strconv.FormatInt(c.User, 10)}
	if c.Group {
		i.GuildID = cmp.Or(c.Guild, GuildID)
	}
	if c.Argument != "" {
		i.Options = map[string]string{"wallet": c.Argument}
	}
	return i
}

// interact delivers an interaction of Discord a.Times times, and sets a.Pending.
func (p *Platform) interact(a *Asked, i fakediscord.Interaction) {
	p.t.Helper()
	for nth := range max(1, a.Times) {
		var err error
		a.Pending, err = p.deliverInteraction(i, nth)
		if err != nil {
			p.t.Error(err)
			return
		}
		i.ID, i.Token = a.Pending.ID, a.Pending.Token // A further delivery has the same ID and token.
	}
}

// deliverInteraction delivers an interaction for the nth time, from 0. It does not wait for the answer.
func (p *Platform) deliverInteraction(i fakediscord.Interaction, nth int) (*fakediscord.Pending, error) {
	if !p.ByHTTP {
		return p.Discord.Push(i)
	}
	pending, body := p.Discord.Prepare(i)
	go func() {
		// The fake records an invalid response as one of its Problems.
		_, _ = p.Discord.Post(p.t.Context(), p.at(InteractionsPath, nth), pending, body)
	}()
	return pending, nil
}

// message returns a command as a message of Telegram.
func message(c Command) faketelegram.Message {
	text, chat := "/"+c.Name, faketelegram.Private(c.User)
	if c.Group {
		chat = faketelegram.Group(GroupID)
		text += "@" + strings.ToUpper(faketelegram.Username)
	}
	m := faketelegram.Text(chat, faketelegram.Person(c.User), strings.TrimSpace(text+" "+c.Argument))
	if c.Alter != nil {
		c.Alter(m)
	}
	return m
}

// send delivers a command on Telegram.
func (p *Platform) send(a *Asked) {
	m := message(a.Command)
	queue := m["chat"].(faketelegram.Chat).ID
	switch {
	case a.Ephemeral:
		p.Deliver(queue, a.Times, func() { _, a.Message = p.Telegram.PushEphemeral(m) })
	case p.ByHTTP:
		update := p.Telegram.Update(m)
		a.Message = m["message_id"].(int64)
		go p.deliverInTurn(queue, a.Times, update)
	default:
		_, a.Message = p.Telegram.Push(m)
	}
}

// Deliver makes Telegram deliver the updates that push creates, each this many times; 0 means once.
//
// A webhook gets the updates of one queue one after another, and those of different queues at once. A queue
// is the ID of a chat or, for presses and inline queries, of a user (tdlib/telegram-bot-api, Client.cpp).
func (p *Platform) Deliver(queue int64, times int, push func()) {
	push()
	if !p.ByHTTP {
		return
	}
	for _, update := range p.Telegram.Dequeue() {
		go p.deliverInTurn(queue, times, update)
	}
}

// redeliverAfter is how long the fake of Telegram waits before it delivers an update again. Telegram
// waits longer.
const redeliverAfter = 20 * time.Millisecond

// deliverInTurn waits for its turn in a queue, and delivers an update until the response is 200. If times is
// more than 1, it first delivers the update times-1 times as if the responses were lost: it ignores them, and
// waits at most redeliverAfter for each.
func (p *Platform) deliverInTurn(queue int64, times int, update []byte) {
	lock := p.lockOf(queue)
	lock <- struct{}{}
	for nth := range times - 1 {
		ctx, cancel := context.WithTimeout(p.t.Context(), redeliverAfter)
		p.deliverOnce(ctx, update, nth)
		cancel()
	}
	last := max(0, times-1)
	for p.t.Context().Err() == nil && p.deliverOnce(p.t.Context(), update, last) != http.StatusOK {
		<-time.After(redeliverAfter)
	}
	<-lock
}

// lockOf returns the lock of a queue, a channel that is full while an update is delivered.
func (p *Platform) lockOf(queue int64) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues[queue] == nil {
		p.queues[queue] = make(chan struct{}, 1)
	}
	return p.queues[queue]
}

// deliverOnce delivers an update for the nth time, from 0. It returns the status of the response, or 0 if there
// is none.
func (p *Platform) deliverOnce(ctx context.Context, update []byte, nth int) (status int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at(WebhookPath, nth), bytes.NewReader(update))
	if err != nil {
		return 0
	}
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", WebhookSecret)
	began := time.Now()
	resp, err := p.client.Do(req)
	p.mu.Lock()
	p.held = max(p.held, time.Since(began))
	p.mu.Unlock()
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Held returns how long the slowest delivery of an update took, including the wait for one of
// Telegram's 100 connections.
func (p *Platform) Held() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// at returns the URL of a path for the platform's nth call to the bot.
func (p *Platform) at(path string, nth int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.urls[nth%len(p.urls)] + path
}

// Press makes a user press a button with this state below the answer. The answer need not have such a button:
// then the press is forged. Press does not wait for an answer.
func (a *Asked) Press(user int64, state string) *Asked {
	p := a.platform
	p.t.Helper()
	press := &Asked{
		Command:  Command{User: user, Group: a.Group, Name: state},
		At:       time.Now(),
		platform: p,
	}
	if p.OnDiscord {
		p.interact(press, a.Pending.Press(strconv.FormatInt(user, 10), state))
		return press
	}
	card := a.sent()[0]
	p.Deliver(user, 1, func() {
		press.pressID = p.Telegram.Press(user, faketelegram.ChatOf(card.Chat), card.ID, state)
	})
	return press
}

// States returns the states of the buttons below the answer.
func (a *Asked) States() (all []string) {
	if a.OnDiscord() {
		for _, b := range slices.Concat(a.Pending.Answer().Buttons...) {
			all = append(all, b.CustomID)
		}
	} else {
		for _, b := range slices.Concat(a.sent()[0].Markup.Rows...) {
			all = append(all, b.Data)
		}
	}
	return slices.DeleteFunc(all, func(state string) bool { return state == "" })
}

// Answers returns the messages that answer the command so far, or the notice that answers a press on
// Telegram. If the bot answers a command in a group of Telegram in private, a message in the group follows. On
// Discord, each first response and each follow-up counts as a message, and all have the same text.
func (a *Asked) Answers() (all []Answer) {
	if a.OnDiscord() {
		answer := a.Pending.Answer()
		if answer.Final == 0 {
			return nil
		}
		for range answer.Callbacks + len(answer.Followups) {
			all = append(all, Answer{Text: answer.Text(), Private: answer.Ephemeral, After: answer.Final})
		}
		return all
	}
	for _, m := range a.sent() {
		all = append(all, Answer{Text: m.Text, Private: m.Chat == a.User && a.Group, After: m.At.Sub(a.At)})
	}
	for _, n := range a.platform.Telegram.Notices() {
		if n.ID == a.pressID {
			all = append(all, Answer{Text: n.Text, Private: true})
		}
	}
	return all
}

// sent returns the messages that answer a command on Telegram. It returns none for a press.
func (a *Asked) sent() []faketelegram.Sent {
	if a.pressID != "" {
		return nil
	}
	return a.platform.Telegram.SentIf(func(m *faketelegram.Sent) bool {
		return !m.At.Before(a.At) && (m.Chat == a.User || m.ReplyTo == a.Message)
	})
}

// Wait blocks until the first answer is there, and returns it.
func (a *Asked) Wait() Answer {
	a.platform.t.Helper()
	Eventually(a.platform.t, "/"+a.Name+" "+a.Argument+" is answered", func() bool { return len(a.Answers()) > 0 })
	return a.Answers()[0]
}
