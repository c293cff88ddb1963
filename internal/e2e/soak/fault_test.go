//go:build soak

package soak

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
	"herald/internal/transport"
)

// between returns a random duration, at least least and below most.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// injectFaults begins loops that make everything fail at times. When they end, nothing fails.
func (s *soak) injectFaults(begin func(stream uint64, loop func(context.Context, *rand.Rand))) {
	for i, target := range fault.Targets {
		begin(100+uint64(i), func(ctx context.Context, r *rand.Rand) { s.failService(ctx, target, r) })
	}
	begin(200, s.failTelegram)
	begin(201, s.failDiscord)
	begin(202, s.failRedis)
}

// failService makes a service fail at times until ctx is done.
func (s *soak) failService(ctx context.Context, target fault.Target, r *rand.Rand) {
	service := s.fakes.At(target)
	faults := slices.DeleteFunc(fault.Of(target), func(f fault.Fault) bool {
		// With these the service asks the bot to wait, for up to 5 minutes.
		return strings.Contains(f.Name, "9999") || strings.Contains(f.Name, "error code 10")
	})
	for transport.Sleep(ctx, between(r, 500*time.Millisecond, 6*time.Second)) {
		service.SetFault(faults[r.IntN(len(faults))])
		transport.Sleep(ctx, between(r, 200*time.Millisecond, 5*time.Second))
		service.SetFault(fault.Fault{})
	}
}

// Methods of the Bot API.
var (
	listening = []string{"getUpdates", "getWebhookInfo", "setWebhook"}         // that get updates
	showing   = []string{"sendMessage", "editMessageText", "editMessageMedia"} // that show a message
	answering = []string{"answerCallbackQuery", "answerInlineQuery"}           // of a press or an inline query
)

// unknownOutcome returns a fault after which the bot cannot know whether Telegram carried out the call.
// Telegram did so for half of them.
func unknownOutcome(r *rand.Rand) telegramtest.Fault {
	all := []telegramtest.Fault{
		telegramtest.ResetBefore(),
		telegramtest.Status(500),
		telegramtest.Status(503),
		telegramtest.Page(502),
	}
	f := all[r.IntN(len(all))]
	f.Landed = r.IntN(2) == 0
	return f
}

// failTelegram makes calls of the Bot API fail at times until ctx is done. After each failure in a row
// the bot waits longer until it polls again. So polls fail again only after one succeeded: anything
// else is an outage.
func (s *soak) failTelegram(ctx context.Context, r *rand.Rand) {
	fake := s.telegram.Telegram
	polled := int64(0)
	for transport.Sleep(ctx, between(r, time.Second, 5*time.Second)) {
		n := 1 + r.IntN(5)
		show := showing[max(0, r.IntN(6)-3)]
		switch r.IntN(7) {
		case 0:
			for range n {
				fake.Fail(show, unknownOutcome(r))
			}
		case 1:
			fake.Fail(answering[r.IntN(2)], telegramtest.TooMany(time.Second), unknownOutcome(r))
		case 2:
			if *soakPoll && s.polls.Load() < polled {
				continue
			}
			faults := []telegramtest.Fault{telegramtest.TooMany(time.Second), unknownOutcome(r)}
			polled = s.polls.Load() + int64(len(faults)) + 1
			for _, method := range listening {
				fake.Heal(method) // Faults of a webhook must not queue up.
				fake.Fail(method, faults...)
			}
		default:
			fake.Fail(show, slices.Repeat([]telegramtest.Fault{telegramtest.TooMany(time.Second)}, n)...)
		}
	}
	for _, method := range slices.Concat(listening, showing, answering) {
		fake.Heal(method)
	}
}

// failDiscord makes calls of Discord's API fail at times until ctx is done, so briefly that the bot can
// still respond within Discord's 3 seconds.
func (s *soak) failDiscord(ctx context.Context, r *rand.Rand) {
	calls := map[fakediscord.Route]int{}
	for transport.Sleep(ctx, between(r, 500*time.Millisecond, 4*time.Second)) {
		pause := time.Duration(r.IntN(300)) * time.Millisecond
		faults := []discordtest.Fault{
			{Status: http.StatusTooManyRequests, RetryAfter: pause},
			{Status: http.StatusTooManyRequests, Code: 20028, RetryAfter: pause},
			{Status: http.StatusBadGateway},
			{Status: http.StatusServiceUnavailable},
			{Drop: true},
			{DropAnswer: true},
			{Latency: pause},
		}
		route := []fakediscord.Route{fakediscord.Edit, fakediscord.Callback, fakediscord.Callback}[r.IntN(3)]
		// If the last fault still waits for a call, another one after it would make an outage that is
		// longer than Discord's limits.
		n := s.discord.Discord.Calls(route)
		if last, scripted := calls[route]; scripted && last == n {
			continue
		}
		calls[route] = n
		f := faults[r.IntN(len(faults))]
		s.discord.Discord.Script(route, f)
		if f.DropAnswer {
			s.count("calls with cause to be repeated", 1)
		}
	}
}

// failRedis kills and pauses the server at times until ctx is done, and leaves it running.
func (s *soak) failRedis(ctx context.Context, r *rand.Rand) {
	for transport.Sleep(ctx, between(r, 2*time.Second, 12*time.Second)) {
		if r.IntN(2) == 0 {
			s.count("redis paused", 1)
			s.redis.Signal(syscall.SIGSTOP)
			transport.Sleep(ctx, between(r, 50*time.Millisecond, 3*time.Second))
			s.redis.Signal(syscall.SIGCONT)
			continue
		}
		s.count("redis killed", 1)
		s.redis.Kill()
		transport.Sleep(ctx, between(r, time.Millisecond, 3*time.Second))
		if err := s.redis.Run(); err != nil {
			s.Error(err)
		}
	}
}
