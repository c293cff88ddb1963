package e2etest

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
)

// Way is one way in which commands reach a bot.
type Way struct {
	Name      string
	OnDiscord bool // else on Telegram
	ByHTTP    bool // the platform calls the bot
}

// Ways are all of them.
var Ways = []Way{
	{Name: "telegram polling"},
	{Name: "telegram webhook", ByHTTP: true},
	{Name: "discord gateway", OnDiscord: true},
	{Name: "discord over http", OnDiscord: true, ByHTTP: true},
}

// Door is a way in, with a platform in front of it and a bot behind it.
type Door struct {
	Way
	Telegram *telegramtest.Server // nil on Discord
	Discord  *discordtest.Server  // nil on Telegram

	t      testing.TB
	client *http.Client
	mu     sync.Mutex
	url    string                  // of the bot's HTTP server
	queues map[int64]chan struct{} // by chat, held by the delivery that is made
	held   time.Duration
}

// Held is how long a delivery of Telegram's has taken at most, with the wait for one
// of its 100 connections.
func (d *Door) Held() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held
}

// Open starts the platform until the test ends.
func (w Way) Open(t testing.TB) *Door {
	// Platforms keep their connections open for a while. Telegram makes at most 100:
	// https://core.telegram.org/bots/api#setwebhook
	conns := &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 3 * time.Second}
	d := &Door{Way: w, t: t, client: &http.Client{Transport: conns}, queues: map[int64]chan struct{}{}}
	t.Cleanup(d.client.CloseIdleConnections)
	if w.OnDiscord {
		d.Discord = Discord(t)
	} else {
		conns.MaxConnsPerHost = 100
		d.Telegram = telegramtest.New(t)
	}
	return d
}

// Settings lead a bot to the door's platform, without Telegram's pacing.
func (d *Door) Settings() []string {
	switch {
	case d.OnDiscord && d.ByHTTP:
		return Interactions(d.Discord)
	case d.OnDiscord:
		return Gateway(d.Discord)
	case d.ByHTTP:
		return Webhook(d.Telegram)
	}
	return Polling(d.Telegram)
}

// Serve runs a bot on these services behind the door, and waits until it is ready.
func (d *Door) Serve(world *fault.Fakes, settings ...string) *Bot {
	d.t.Helper()
	bot := ServeReady(d.t, world, append(d.Settings(), settings...)...)
	d.Through(bot.URL)
	return bot
}

// Start is Serve of the built program in a process of its own.
func (d *Door) Start(binary string, world *fault.Fakes, settings ...string) *Process {
	d.t.Helper()
	p := ServeProcess(d.t, binary, append(Settings(world, d.Settings()...), settings...)...)
	d.Through(p.URL())
	return p
}

// Through has the platform call the bot by another URL, as through a proxy.
func (d *Door) Through(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.url = url
}

// Command is what somebody types.
type Command struct {
	User  int64
	Group bool // in a group or a server, else in private
	// Ephemeral is a command in a group of Telegram that its user alone sees.
	Ephemeral bool
	Name      string
	Argument  string // the wallet
	// Times is how often the platform delivers it; 0 means once. Polling has no way
	// to deliver twice.
	Times int
	// Alter changes Telegram's message before it is delivered, as to stand in another
	// group; nil changes nothing.
	Alter func(faketelegram.Message)
}

// Asked is a command that was asked.
type Asked struct {
	Command
	At time.Time
	// Message is Telegram's ID of it, which is another kind of ID for an ephemeral
	// one; Pending is its interaction on Discord.
	Message int64
	Pending *fakediscord.Pending
	door    *Door
}

// OnDiscord reports whether the command was asked there.
func (a *Asked) OnDiscord() bool { return a.Pending != nil }

// Answer is a message that answers a command. Private means that others in the
// chat cannot read it.
type Answer struct {
	Text    string
	Private bool
	After   time.Duration
}

// redeliverAfter is how long the stand-in of Telegram waits before it delivers an
// update again; the real one takes longer.
const redeliverAfter = 20 * time.Millisecond

// Ask has the platform deliver a command, and does not wait for the answer.
func (d *Door) Ask(c Command) *Asked {
	d.t.Helper()
	a := &Asked{Command: c, At: time.Now(), door: d}
	if d.OnDiscord {
		d.interact(a)
		return a
	}
	text, chat := "/"+c.Name, faketelegram.Private(c.User)
	if c.Group {
		chat = faketelegram.Group(GroupID)
		text += "@" + strings.ToUpper(faketelegram.Username)
	}
	m := faketelegram.Text(chat, faketelegram.Person(c.User), strings.TrimSpace(text+" "+c.Argument))
	if c.Alter != nil {
		c.Alter(m)
	}
	queue := m["chat"].(faketelegram.Chat).ID
	switch {
	case c.Ephemeral:
		d.Deliver(queue, c.Times, func() { _, a.Message = d.Telegram.PushEphemeral(m) })
	case d.ByHTTP:
		update := d.Telegram.Update(m)
		a.Message = m["message_id"].(int64)
		go d.deliverInTurn(queue, c.Times, update)
	default:
		_, a.Message = d.Telegram.Push(m)
	}
	return a
}

// Deliver has Telegram deliver what push queues, as often as times says; 0 means
// once. A webhook gets the updates of one queue one after another: those of a chat,
// and the presses and the inline queries of a user
// (tdlib/telegram-bot-api, Client.cpp).
func (d *Door) Deliver(queue int64, times int, push func()) {
	push()
	if !d.ByHTTP {
		return
	}
	for _, update := range d.Telegram.Dequeue() {
		go d.deliverInTurn(queue, times, update)
	}
}

// deliverInTurn delivers an update until the response is 200.
func (d *Door) deliverInTurn(key int64, times int, update []byte) {
	queue := d.queue(key)
	queue <- struct{}{}
	for range times - 1 { // The response is lost, or the connection breaks before it.
		ctx, cancel := context.WithTimeout(d.t.Context(), redeliverAfter)
		d.deliverOnce(ctx, update)
		cancel()
	}
	for d.t.Context().Err() == nil && d.deliverOnce(d.t.Context(), update) != http.StatusOK {
		<-time.After(redeliverAfter)
	}
	<-queue
}

// queue is held while a delivery is made: Telegram makes one at a time for each
// chat (tdlib/telegram-bot-api, Client.cpp: the chat's ID is the webhook's queue).
func (d *Door) queue(chat int64) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queues[chat] == nil {
		d.queues[chat] = make(chan struct{}, 1)
	}
	return d.queues[chat]
}

// deliverOnce returns the status, 0 if there is no response.
func (d *Door) deliverOnce(ctx context.Context, update []byte) (status int) {
	began := time.Now()
	resp, err := d.call(ctx, WebhookPath, http.Header{"X-Telegram-Bot-Api-Secret-Token": {WebhookSecret}}, update)
	d.mu.Lock()
	d.held = max(d.held, time.Since(began))
	d.mu.Unlock()
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// call posts to the bot that is behind the door now.
func (d *Door) call(ctx context.Context, path string, header http.Header, body []byte) (*http.Response, error) {
	d.mu.Lock()
	url := d.url + path
	d.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	return d.client.Do(req)
}

func (d *Door) interact(a *Asked) {
	d.t.Helper()
	i := fakediscord.Interaction{Command: a.Name, UserID: strconv.FormatInt(a.User, 10)}
	if a.Group {
		i.GuildID = GuildID
	}
	if a.Argument != "" {
		i.Options = map[string]string{"wallet": a.Argument}
	}
	for range max(1, a.Times) {
		var body []byte
		var err error
		if d.ByHTTP {
			a.Pending, body = d.Discord.Prepare(i)
			go d.post(a.Pending, body)
		} else if a.Pending, err = d.Discord.Push(i); err != nil {
			d.t.Error(err)
			return
		}
		i.ID, i.Token = a.Pending.ID, a.Pending.Token
	}
}

// post makes one post of an interaction. The stand-in notes what it refuses.
func (d *Door) post(p *fakediscord.Pending, body []byte) {
	resp, err := d.call(d.t.Context(), InteractionsPath, d.Discord.Sign(body, time.Now()), body)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		_ = p.Responded(resp.Body)
	}
}

// Answers are the messages that answer the command so far. Behind the answer to a
// private command in a group of Telegram comes the pointer to it.
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
	for _, m := range a.door.Telegram.Sent() {
		private := m.Chat == a.User
		if !m.At.Before(a.At) && (private || m.ReplyTo == a.Message) {
			all = append(all, Answer{Text: m.Text, Private: private && a.Group, After: m.At.Sub(a.At)})
		}
	}
	return all
}

// Wait waits for the first answer.
func (a *Asked) Wait() Answer {
	a.door.t.Helper()
	Eventually(a.door.t, "/"+a.Name+" "+a.Argument+" is answered", func() bool { return len(a.Answers()) > 0 })
	return a.Answers()[0]
}
