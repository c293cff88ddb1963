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

// Way is one way in which commands reach a bot.
type Way struct {
	Name      string
	OnDiscord bool // on Discord, not on Telegram
	ByHTTP    bool // the platform calls the bot
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

// Platform is a fake of Telegram or Discord. It calls the bot if its way is by HTTP.
type Platform struct {
	Way
	Telegram *telegramtest.Server // nil on Discord
	Discord  *discordtest.Server  // nil on Telegram

	t      testing.TB
	client *http.Client
	mu     sync.Mutex
	urls   []string                // of the HTTP servers of the bot's replicas
	queues map[int64]chan struct{} // by chat: full while a delivery is made
	held   time.Duration           // how long the slowest delivery took
}

// Held returns how long the slowest delivery of an update took, including the wait for one of
// Telegram's 100 connections.
func (p *Platform) Held() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
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

// Settings returns the settings of a bot on the platform, without Telegram's pacing.
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

// Through makes the platform call the bot at these URLs, such as a proxy's. An update that is delivered
// several times goes to one URL after another.
func (p *Platform) Through(urls ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urls = urls
}

// Command is a command that somebody sends.
type Command struct {
	User  int64
	Group bool // in a group or a server, not in private
	// Ephemeral is whether only the user sees the command, in a group of Telegram.
	Ephemeral bool
	Name      string
	Argument  string // the wallet
	// Times is how often the platform delivers the command; 0: once. A poll cannot deliver twice.
	Times int
	// Alter changes Telegram's message before it is delivered, for example to another group. It may be nil.
	Alter func(faketelegram.Message)
	// Guild is the server of Discord, if Group is set; "" means GuildID.
	Guild string
}

// Asked is a command or a press that was sent.
type Asked struct {
	Command
	At       time.Time
	Message  int64                // the message's ID on Telegram, or its ephemeral ID
	Pending  *fakediscord.Pending // the interaction on Discord
	platform *Platform
	pressID  string // the ID of a press on Telegram
}

// OnDiscord reports whether the command was sent there.
func (a *Asked) OnDiscord() bool { return a.Pending != nil }

// Answer is a message that answers a command.
type Answer struct {
	Text    string
	Private bool          // others in the chat cannot read it
	After   time.Duration // since the command was sent
}

// redeliverAfter is how long the fake of Telegram waits before it delivers an update again. Telegram
// waits longer.
const redeliverAfter = 20 * time.Millisecond

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

// Deliver makes Telegram deliver the updates that push queues, each this many times; 0: once. A webhook
// gets the updates of one queue one after another. A queue is a chat, or a user for presses and inline
// queries (tdlib/telegram-bot-api, Client.cpp).
func (p *Platform) Deliver(queue int64, times int, push func()) {
	push()
	if !p.ByHTTP {
		return
	}
	for _, update := range p.Telegram.Dequeue() {
		go p.deliverInTurn(queue, times, update)
	}
}

// deliverInTurn waits for its queue, and delivers an update until the response is 200. If times is more
// than 1, the earlier responses are lost, or their connections break.
func (p *Platform) deliverInTurn(key int64, times int, update []byte) {
	queue := p.queue(key)
	queue <- struct{}{}
	for nth := range times - 1 {
		ctx, cancel := context.WithTimeout(p.t.Context(), redeliverAfter)
		p.deliverOnce(ctx, update, nth)
		cancel()
	}
	for p.t.Context().Err() == nil && p.deliverOnce(p.t.Context(), update, max(0, times-1)) != http.StatusOK {
		<-time.After(redeliverAfter)
	}
	<-queue
}

// queue returns the lock of a chat's deliveries: Telegram makes one at a time
// (tdlib/telegram-bot-api, Client.cpp: the chat's ID is the webhook's queue).
func (p *Platform) queue(chat int64) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues[chat] == nil {
		p.queues[chat] = make(chan struct{}, 1)
	}
	return p.queues[chat]
}

// deliverOnce delivers an update, and returns the status of the response, or 0 if there is none.
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

// at returns the URL of a path for the platform's nth call to the bot.
func (p *Platform) at(path string, nth int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.urls[nth%len(p.urls)] + path
}

// Press makes somebody press a button with this state below the answer. The answer may lack that
// button. Press does not wait for an answer.
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

// interact delivers an interaction on Discord.
func (p *Platform) interact(a *Asked, i fakediscord.Interaction) {
	p.t.Helper()
	for nth := range max(1, a.Times) {
		var body []byte
		var err error
		if p.ByHTTP {
			a.Pending, body = p.Discord.Prepare(i)
			go func(pending *fakediscord.Pending) {
				// The fake notes what Discord would refuse.
				_, _ = p.Discord.Post(p.t.Context(), p.at(InteractionsPath, nth), pending, body)
			}(a.Pending)
		} else if a.Pending, err = p.Discord.Push(i); err != nil {
			p.t.Error(err)
			return
		}
		i.ID, i.Token = a.Pending.ID, a.Pending.Token
	}
}

// Answers returns the messages that answer the command so far, or the notice that answers a press on
// Telegram. In a group of Telegram, a private answer is followed by a message in the group.
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

// sent returns the messages that answer a command on Telegram.
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
