package e2e

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// burstSize is small by default: Discord waits 3 seconds for a first response, and a busy machine may not
// answer more commands in that time.
var burstSize = flag.Int("bounds.burst", 100, "how many commands Discord sends at once")

// bursts lists how the commands of a burst reach the bot, and how much memory it may then need. By HTTP it needs
// more, because a command has two goroutines.
var bursts = []struct {
	way       e2etest.Way
	price     time.Duration // how long the price takes; after 1.2 seconds, all commands are deferred
	maxMemory int           // resident, in MiB, if -bounds.burst is 5000
}{
	{way: e2etest.DiscordGateway, price: 300 * time.Millisecond, maxMemory: 110},
	{way: e2etest.DiscordGateway, price: 3 * time.Second, maxMemory: 115},
	{way: e2etest.DiscordHTTP, price: 300 * time.Millisecond, maxMemory: 184},
	{way: e2etest.DiscordHTTP, price: 3 * time.Second, maxMemory: 240},
}

// Many users send /price at once. The bot runs in its own process, whose memory is measured.
func TestABurstIsAnsweredWithinItsMemory(t *testing.T) {
	t.Parallel()
	for _, burst := range bursts {
		t.Run(burst.way.Name+" "+burst.price.String(), func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			platform := burst.way.Open(t)
			fakes.Price.SetFault(fault.Late(burst.price))
			bot := platform.Start(binary(t), fakes, "PRICE_TTL=1h")
			var asked []*e2etest.Asked
			for i := range *burstSize {
				asked = append(asked, platform.Ask(e2etest.Command{User: int64(1000 + i), Name: "price"}))
			}
			for _, a := range asked {
				if got := a.Wait(); !strings.Contains(got.Text, e2etest.Price) {
					t.Fatalf("answered with %+v", got)
				}
			}
			memory := bot.Resident()
			collections := e2etest.Number(e2etest.Metrics(t, bot.URL()), "\ngo_gc_duration_seconds_count")
			t.Logf("%d commands: half answered after %v, at most %d MiB resident, %d collections",
				len(asked), median(asked), memory, collections)
			if memory > burst.maxMemory {
				t.Errorf("%d MiB resident, want at most %d", memory, burst.maxMemory)
			}
			// The bot called once at its start, for the plan, and once for the price.
			if n := fakes.Price.Requests(); n != 2 {
				t.Errorf("%d calls of the price provider, want 2", n)
			}
		})
	}
}

// The partner hangs, and a user floods the bot. Half of the other users' /price commands must be answered
// within 4 seconds, before the partner's time limit of 5 seconds. Once all of them are answered, the partner
// recovers.
func TestAFloodAndAHungPartnerLeaveOthersTheirLatency(t *testing.T) {
	t.Parallel()
	const maxMedian = 4 * time.Second // On an idle machine it is far less.
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			platform := way.Open(t)
			bot := platform.Serve(fakes,
				"RATE_LIMIT_USER=20",
				"UPSTREAM_TIMEOUT=5s",
				"COMMAND_TIMEOUT=5s",
				"LOG_LEVEL=error",
			)
			bot.AwaitProbes()
			recovers := make(chan struct{})
			hung := hangPartner(t, fakes, platform, recovers)
			took := median(askDuringFlood(platform))
			close(recovers)
			if took > maxMedian {
				t.Errorf("the median is %v, want at most %v", took, maxMedian)
			}
			for _, a := range hung {
				a.Wait()
			}
		})
	}
}

// hangPartner makes the partner hang until recovers is closed, and returns a hundred commands that wait for
// it. It returns once 32 of them have called it, the maximum number of calls at once.
func hangPartner(
	t *testing.T, fakes *fault.Fakes, platform *e2etest.Platform, recovers <-chan struct{},
) (hung []*e2etest.Asked) {
	t.Helper()
	const commands, maxCalls = 100, 32
	requestsBefore := fakes.Partner.Requests()
	fakes.Partner.SetFault(fault.LateUntil(recovers))
	for i := range int64(commands) {
		hung = append(hung, platform.Ask(e2etest.Command{User: 3000 + i, Name: "exists"}))
	}
	e2etest.Eventually(t, "the partner hangs", func() bool {
		return fakes.Partner.Requests() >= requestsBefore+maxCalls
	})
	return hung
}

// askDuringFlood sends a /price from each of twelve users, one every 20 ms. Before each, the same other user sends
// ten. It returns the commands of the twelve.
func askDuringFlood(platform *e2etest.Platform) (asked []*e2etest.Asked) {
	const users, flood = 12, 10
	for user := range int64(users) {
		for range flood {
			platform.Ask(e2etest.Command{User: 1, Name: "price"})
		}
		asked = append(asked, platform.Ask(e2etest.Command{User: 1000 + user, Name: "price"}))
		time.Sleep(20 * time.Millisecond)
	}
	return asked
}

// median waits for all answers, and returns how long the median answer took.
func median(asked []*e2etest.Asked) time.Duration {
	var took []time.Duration
	for _, a := range asked {
		took = append(took, a.Wait().After)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
