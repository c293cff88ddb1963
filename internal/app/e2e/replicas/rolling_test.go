package replicas

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

const (
	// typed commands and presses come from Telegram, used from Discord. floods
	// come from one person on Discord.
	typed, presses, used, floods = 240, 60, 400, 80
	// userLimit is how many of the floods may be answered.
	userLimit = 20
	// claim is how long what a killed replica has in hand stays its own:
	// COMMAND_TIMEOUT.
	claim = 4 * time.Second
	// mostASecond is how many messages Telegram lets a bot send,
	// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
	mostASecond = 30
	// ratedOver is the time over which that is held: a busy machine delays
	// messages, and then lets some through at once.
	ratedOver = 5
)

// load is what is asked while replicas come and go.
type load struct {
	*testing.T
	telegram *telegram
	discord  *discord
	balancer *balancer
	pressed  []string // IDs of the presses
	floods   []*discordtest.Pending
}

// Two replicas take webhooks under load. One is killed and replaced; then both
// are told to leave, one after the other, and replaced.
func TestReplicasComeAndGoUnderLoad(t *testing.T) {
	redis := startRedis(t)
	world := e2etest.Sandbox(t)
	l := &load{T: t, telegram: newTelegram(t), discord: &discord{Server: e2etest.Discord(t)}}
	binary := e2etest.BuildBot(t)
	settings := slices.Concat(e2etest.Settings(world), e2etest.Webhook(l.telegram.Server), e2etest.Interactions(l.discord.Server), []string{
		redis.url(redis.addr, patience), "TELEGRAM_PACING=on", "COMMAND_TIMEOUT=" + claim.String(),
		"RATE_LIMIT_USER=" + strconv.Itoa(userLimit), "RATE_LIMIT_CHAT=0",
	})
	start := func() *e2etest.Process { return e2etest.StartProcess(t, binary, settings...) }
	first, second := start(), start()
	l.balancer = startBalancer(t, first, second)
	l.telegram.hook = l.balancer.URL + e2etest.WebhookPath
	l.discord.endpoint = l.balancer.URL + e2etest.InteractionsPath

	ctx, cancel := context.WithTimeout(t.Context(), 3*e2etest.Patience)
	defer cancel()
	toPress := l.showButtons(ctx)
	shown := len(l.telegram.Sent())
	world.Chain.SetFault(fault.Late(150 * time.Millisecond))
	l.begin(ctx, toPress)

	answered := func(n int) {
		t.Helper()
		if got := len(l.telegram.WaitSent(shown+n, e2etest.Patience)) - shown; got < n {
			t.Fatalf("only %d are answered", got)
		}
	}
	answered(typed / 4)
	ofFirst := func(id string) bool { return l.balancer.handedTo(first, id) }
	mayBeTwice, mayBeLost := l.telegram.unacknowledged(ofFirst), l.discord.unanswered(ofFirst)
	if len(mayBeTwice) < typed/20 {
		t.Errorf("the replica to be killed has only %d updates in hand", len(mayBeTwice))
	}
	first.Kill()
	// What it was handed between the two.
	maps.Copy(mayBeTwice, l.telegram.unacknowledged(ofFirst))
	maps.Copy(mayBeLost, l.discord.unanswered(ofFirst))
	third := start()
	l.balancer.replace(first, third)

	answered(typed / 2)
	second.Leave()
	fourth := start()
	l.balancer.replace(second, fourth)

	answered(typed * 3 / 4)
	third.Leave()
	l.balancer.replace(third, start())

	l.telegram.all.Wait()
	l.discord.all.Wait()
	if left := l.telegram.unacknowledged(func(string) bool { return true }); len(left) > 0 {
		t.Errorf("%d updates were never acknowledged", len(left))
	}
	twice := l.judgeTelegram(mayBeTwice)
	lost := l.judgeDiscord(mayBeLost)
	t.Logf("Telegram: %d commands and %d presses, %d in hand of the killed replica, %d answered twice; Discord: %d interactions, %d in hand of the killed replica, %d lost",
		typed, presses, len(mayBeTwice), twice, used+floods, len(mayBeLost), lost)
}

// wallet is one that nobody else asks about, and that stakes nothing.
func wallet(i int) string { return fmt.Sprintf("0x%040x", 0xabc000+i) }

// typist is who types the command of this number, and presser who presses.
func typist(i int) int64  { return int64(10_000 + i) }
func presser(i int) int64 { return int64(50_000 + i) }

// showButtons has the pressers ask for something with a button, and returns
// what they press, by the messages' owners.
func (l *load) showButtons(ctx context.Context) []telegramtest.Sent {
	l.Helper()
	for i := range presses {
		m := telegramtest.Text(telegramtest.Private(presser(i)), telegramtest.Person(presser(i)), "/price")
		l.telegram.deliver(ctx, fmt.Sprint("show ", i), l.telegram.Update(m))
	}
	l.telegram.all.Wait()
	sent := l.telegram.Sent()
	if len(sent) != presses {
		l.Fatalf("%d of %d are shown a button", len(sent), presses)
	}
	return sent
}

// begin asks everything, Telegram's at once and Discord's over some seconds.
func (l *load) begin(ctx context.Context, toPress []telegramtest.Sent) {
	l.Helper()
	for i := range typed {
		m := telegramtest.Text(telegramtest.Private(typist(i)), telegramtest.Person(typist(i)), "/staked "+wallet(i))
		l.telegram.deliver(ctx, fmt.Sprint("typed ", i), l.telegram.Update(m))
		if i%(typed/presses) == 0 && len(l.pressed) < presses {
			m := toPress[len(l.pressed)]
			id := l.telegram.Press(m.Chat, telegramtest.Private(m.Chat), m.ID, m.Markup.Rows[0][0].Data)
			l.pressed = append(l.pressed, id)
			l.telegram.deliver(ctx, id, l.telegram.Dequeue()[0])
		}
	}
	l.discord.all.Go(func() {
		// The sleeps spread the load; no event is waited for.
		for i := range used {
			l.discord.ask(ctx, discordtest.Interaction{
				Command: "staked", UserID: strconv.Itoa(20_000 + i), GuildID: e2etest.GuildID,
				Options: map[string]string{"wallet": wallet(100_000 + i)},
			})
			if i%(used/floods) == 0 {
				l.floods = append(l.floods, l.discord.ask(ctx, discordtest.Interaction{Command: "help", UserID: "7", GuildID: e2etest.GuildID}))
			}
			time.Sleep(25 * time.Millisecond)
		}
	})
}

// judgeTelegram demands that each update is answered once; those that may be
// twice, once or twice. It returns how many are.
func (l *load) judgeTelegram(mayBeTwice map[string]bool) (twice int) {
	l.Helper()
	answers := map[int64]int{}
	var sent []time.Time
	for _, m := range l.telegram.Sent() {
		sent = append(sent, m.At)
		switch {
		case m.Chat < presser(0) && !strings.Contains(m.Text, "Not staked"):
			l.Errorf("answered %q", m.Text)
		case m.Chat < presser(0):
			answers[m.Chat]++
		}
	}
	told := map[string]int{}
	for _, n := range l.telegram.Notices() {
		told[n.CallbackID]++
	}
	judge := func(id string, n int) {
		switch {
		case n == 2 && mayBeTwice[id]:
			twice++
		case n != 1:
			l.Errorf("%s is answered %d times", id, n)
		}
	}
	for i := range typed {
		judge(fmt.Sprint("typed ", i), answers[typist(i)])
	}
	for _, id := range l.pressed {
		judge(id, told[id])
	}
	if n := most(sent, ratedOver*time.Second); n > ratedOver*mostASecond {
		l.Errorf("%d messages are sent in %d s", n, ratedOver)
	}
	return twice
}

// judgeDiscord demands that each interaction is answered, but for those that may
// be lost, and returns how many are. Discord refuses a second answer by itself.
func (l *load) judgeDiscord(mayBeLost map[string]bool) (lost int) {
	l.Helper()
	for _, p := range l.discord.asked {
		switch text := p.Answer().Text(); {
		case text == "" && mayBeLost[p.ID]:
			lost++
		case text == "":
			l.Errorf("interaction %s is not answered: %+v", p.ID, p.Answer())
		case !strings.Contains(text, "Not staked") && !slices.Contains(l.floods, p):
			l.Errorf("interaction %s is answered %q", p.ID, text)
		}
	}
	allowed := 0
	for _, p := range l.floods {
		if text := p.Answer().Text(); text != "" && !strings.Contains(text, "Too many commands") {
			allowed++
		}
	}
	if allowed > userLimit || allowed < userLimit-lost {
		l.Errorf("%d commands of one person are answered, of %d a minute", allowed, userLimit)
	}
	if problems := l.discord.Problems(); len(problems) > 0 {
		l.Errorf("Discord refuses %v", problems)
	}
	return lost
}

// most is how many of the times are within one span at most.
func most(times []time.Time, span time.Duration) (n int) {
	for i, from := range times {
		within := 0
		for _, at := range times[i:] {
			if at.Sub(from) < span {
				within++
			}
		}
		n = max(n, within)
	}
	return n
}
