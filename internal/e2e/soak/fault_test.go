//go:build soak

package soak

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
	"herald/internal/transport"
)

// injectFaults begins a loop for each thing that can fail. Each loop makes it fail and work in turn until
// the phase ends, and leaves it working.
func (s *soak) injectFaults(begin func(stream uint64, loop func(context.Context, *rand.Rand))) {
	for i, target := range fault.Targets {
		begin(100+uint64(i), func(ctx context.Context, r *rand.Rand) { s.failService(ctx, target, r) })
	}
	begin(200, s.failTelegram)
	begin(201, s.failDiscord)
	begin(202, s.failRedis)
}

// between returns a random duration, which is at least shortest and less than longest.
func between(r *rand.Rand, shortest, longest time.Duration) time.Duration {
	return shortest + time.Duration(r.Int64N(int64(longest-shortest)))
}

// failService makes a service fail for up to 5 s at a time, until ctx is done.
func (s *soak) failService(ctx context.Context, target fault.Target, r *rand.Rand) {
	service := s.fakes.At(target)
	// After a fault with a long Wait, the bot would not call the service for up to 5 minutes.
	faults := slices.DeleteFunc(fault.Of(target), func(f fault.Fault) bool { return f.Wait >= time.Minute })
	for transport.Sleep(ctx, between(r, 500*time.Millisecond, 6*time.Second)) {
		service.SetFault(faults[r.IntN(len(faults))])
		transport.Sleep(ctx, between(r, 200*time.Millisecond, 5*time.Second))
		service.SetFault(fault.Fault{})
	}
}

// Methods of the Bot API, by what the bot calls them for.
var (
	listening = []string{"getUpdates", "getWebhookInfo", "setWebhook"}         // to get updates
	showing   = []string{"sendMessage", "editMessageText", "editMessageMedia"} // to show a message
	answering = []string{"answerCallbackQuery", "answerInlineQuery"}           // to answer a press or an inline query
)

// failTelegram makes calls of the Bot API fail at times until ctx is done.
func (s *soak) failTelegram(ctx context.Context, r *rand.Rand) {
	fake := s.telegram.Telegram
	// In four of six cases, the method is sendMessage.
	methods := append(slices.Repeat(showing[:1], 3), showing...)
	// After each failure in a row, the bot waits longer until it polls again. So polls fail again only once the
	// bot has made minPolls of them, and the last one has succeeded.
	minPolls := int64(0)
	for transport.Sleep(ctx, between(r, time.Second, 5*time.Second)) {
		n := 1 + r.IntN(5)
		method := methods[r.IntN(len(methods))]
		switch r.IntN(7) {
		case 0: // Some messages may or may not be shown.
			for range n {
				fake.Fail(method, unclearFault(r))
			}
		case 1: // Presses or inline queries get no answer at first.
			fake.Fail(answering[r.IntN(2)], telegramtest.TooMany(time.Second), unclearFault(r))
		case 2: // The bot gets no updates for a while.
			if *soakPoll && s.polls.Load() < minPolls {
				continue
			}
			faults := []telegramtest.Fault{telegramtest.TooMany(time.Second), unclearFault(r)}
			minPolls = s.polls.Load() + int64(len(faults)) + 1
			for _, method := range listening {
				fake.Heal(method) // By webhook, the bot hardly calls these methods, so faults would accumulate.
				fake.Fail(method, faults...)
			}
		default: // Some messages are refused because they come too soon.
			fake.Fail(method, slices.Repeat([]telegramtest.Fault{telegramtest.TooMany(time.Second)}, n)...)
		}
	}
	for _, method := range slices.Concat(listening, showing, answering) {
		fake.Heal(method)
	}
}

// unclearFault returns a fault after which the bot cannot know whether Telegram carried out the call. In
// half of the cases, Telegram did.
func unclearFault(r *rand.Rand) telegramtest.Fault {
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

// failDiscord makes calls of Discord's API fail at times until ctx is done, so briefly that the bot can
// still respond within Discord's 3 seconds.
func (s *soak) failDiscord(ctx context.Context, r *rand.Rand) {
	callsBefore := map[fakediscord.Route]int{} // when the last fault of a route was set
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
		calls := s.discord.Discord.Calls(route)
		before, hadFault := callsBefore[route]
		if hadFault && before == calls {
			continue // No call has met the last fault yet. Two in a row would make responses late.
		}
		callsBefore[route] = calls
		f := faults[r.IntN(len(faults))]
		s.discord.Discord.Script(route, f)
		if f.DropAnswer {
			s.count(lostResponses, 1)
		}
	}
}

// failRedis kills or pauses Redis, for up to 3 s at a time, until ctx is done.
func (s *soak) failRedis(ctx context.Context, r *rand.Rand) {
	for transport.Sleep(ctx, between(r, 2*time.Second, 12*time.Second)) {
		if r.IntN(2) == 0 {
			s.count(redisPauses, 1)
			s.redis.Signal(syscall.SIGSTOP)
			transport.Sleep(ctx, between(r, 50*time.Millisecond, 3*time.Second))
			s.redis.Signal(syscall.SIGCONT)
			continue
		}
		s.count(redisKills, 1)
		s.redis.Kill()
		transport.Sleep(ctx, between(r, time.Millisecond, 3*time.Second))
		if err := s.redis.Run(); err != nil {
			s.Error(err)
		}
	}
}
