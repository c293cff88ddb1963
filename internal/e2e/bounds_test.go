package e2e

import (
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// burstSize is small by default, because Discord waits 3 seconds for a first response, and a
// busy machine cannot answer more in that time.
var burstSize = flag.Int("bounds.burst", 100, "how many commands come to Discord in one instant")

// bursts bound the memory that 5,000 commands at once may take. By HTTP a command has two
// goroutines.
var bursts = []struct {
	way    e2etest.Way
	price  time.Duration // how long the price takes; after 1.2 seconds, all are deferred
	memory int           // the most that is resident, in MiB
}{
	{e2etest.Ways[2], 300 * time.Millisecond, 110},
	{e2etest.Ways[2], 3 * time.Second, 115},
	{e2etest.Ways[3], 300 * time.Millisecond, 184},
	{e2etest.Ways[3], 3 * time.Second, 240},
}

// The bot runs in a process of its own, which is measured.
func TestABurstIsAnsweredWithinItsMemory(t *testing.T) {
	t.Parallel()
	for _, burst := range bursts {
		t.Run(burst.way.Name+" "+burst.price.String(), func(t *testing.T) {
			t.Parallel()
			fakes, platform := fault.Start(t), burst.way.Open(t)
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
			memory, collections := bot.Resident(), e2etest.Number(e2etest.Metrics(t, bot.URL()), "\ngo_gc_duration_seconds_count")
			t.Logf("%d commands: half answered after %v, %d MiB resident at most, %d collections", len(asked), median(asked), memory, collections)
			if memory > burst.memory {
				t.Errorf("want at most %d MiB", burst.memory)
			}
			if n := fakes.Price.Requests(); n != 2 { // The start asks what is left of the plan.
				t.Errorf("%d calls for the price", n-1)
			}
		})
	}
}

// binary returns the path of the bot, which is built once.
func binary(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return e2etest.BuildBot(t, dir)
}

var programs = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "herald-e2e") })

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait most of the time.
	_ = flag.Set("test.parallel", "8")
	code := m.Run()
	if dir, err := programs(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// The partner hangs for 5 seconds, and the median answer to /price takes less.
func TestAFloodAndAHungPartnerLeaveOthersTheirLatency(t *testing.T) {
	t.Parallel()
	const (
		others, othersAt = 12, 20 * time.Millisecond
		flood            = 10              // commands of one user before each of the others
		hanging, atOnce  = 100, 32         // commands that ask the partner, and calls to it at a time
		limit            = 4 * time.Second // what a busy machine may take
	)
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			settings := []string{"RATE_LIMIT_USER=20", "UPSTREAM_TIMEOUT=5s", "COMMAND_TIMEOUT=5s", "LOG_LEVEL=error"}
			fakes, busy := fault.Start(t), way.Open(t)
			busy.Serve(fakes, settings...).AwaitProbes()
			probes := fakes.Partner.Requests()
			fakes.Partner.SetFault(fault.Hang())
			var hung, asked []*e2etest.Asked
			for i := range int64(hanging) {
				hung = append(hung, busy.Ask(e2etest.Command{User: 3000 + i, Name: "exists"}))
			}
			e2etest.Eventually(t, "the partner hangs", func() bool { return fakes.Partner.Requests() >= probes+atOnce })
			for user := range int64(others) {
				for range flood {
					busy.Ask(e2etest.Command{User: 1, Name: "price"})
				}
				asked = append(asked, busy.Ask(e2etest.Command{User: 1000 + user, Name: "price"}))
				<-time.After(othersAt)
			}
			if took := median(asked); took > limit {
				t.Errorf("the median is %v, want at most %v", took, limit)
			}
			median(hung)
		})
	}
}

// median waits for all answers, and returns how long the median one took.
func median(asked []*e2etest.Asked) time.Duration {
	var took []time.Duration
	for _, a := range asked {
		took = append(took, a.Wait().After)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
