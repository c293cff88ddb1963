package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// burstSize is small by default, since a busy machine cannot carry more: Discord
// takes a first response for 3 seconds. docs/reliability.md has the figures for
// 5,000.
var burstSize = flag.Int("bounds.burst", 100, "how many commands come to Discord in one instant")

// mostMemory is what the bot may have resident while 5,000 come at once, in KiB.
const mostMemory = 120 << 10

// TestABurstIsAnsweredWithinItsMemory drives the built binary, whose memory is
// its own, while the price takes 300 ms.
func TestABurstIsAnsweredWithinItsMemory(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways[2:] {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			world, door := e2etest.Sandbox(t), way.Open(t)
			world.Price.SetFault(fault.Late(300 * time.Millisecond))
			bot := door.Start(binary(t), world, "PRICE_TTL=1h")
			var asked []*e2etest.Asked
			for i := range *burstSize {
				asked = append(asked, door.Ask(e2etest.Command{User: int64(1000 + i), Name: "price"}))
			}
			var took []time.Duration
			for _, a := range asked {
				got := a.Wait()
				if !strings.Contains(got.Text, e2etest.Price) {
					t.Fatalf("answered with %+v", got)
				}
				took = append(took, got.After)
			}
			slices.Sort(took)
			resident := residentMost(t, bot)
			t.Logf("%d commands: answered after %v (median) to %v, %d MiB resident at most",
				len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), resident>>10)
			if n := world.Price.Requests(); n != 1 || resident > mostMemory {
				t.Errorf("%d calls for the price, %d KiB resident", n, resident)
			}
		})
	}
}

// binary is the built bot, which is built once.
func binary(t *testing.T) string {
	t.Helper()
	built.Do(func() { built.dir, built.err = os.MkdirTemp("", "herald") })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return e2etest.BuildBot(t, built.dir)
}

var built struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait most of the time.
	_ = flag.Set("test.parallel", "8")
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// residentMost is the most memory that the process has had resident, in KiB.
func residentMost(t *testing.T, bot *e2etest.Process) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", bot.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib
		}
	}
	t.Fatal("the memory is not told")
	return 0
}

const (
	// others ask one after the other, each in a private chat of their own, of
	// either bot that is compared.
	others   = 12
	othersAt = 20 * time.Millisecond
	flooder  = 1
	// floodEvery is the time between two commands of one user.
	floodEvery = 3 * time.Millisecond
	// floor is what a busy machine may take, and less than what a command may.
	floor = 3 * time.Second
)

// TestAFloodAndAHungPartnerLeaveOthersTheirLatency demands that others wait for
// a price, in the median, at most twice as long as with a bot that has nothing
// else to do. They ask both in turn, so that whatever else this machine has to
// do slows both.
func TestAFloodAndAHungPartnerLeaveOthersTheirLatency(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			settings := []string{"RATE_LIMIT_USER=20", "UPSTREAM_TIMEOUT=5s", "COMMAND_TIMEOUT=5s", "LOG_LEVEL=error"}
			world, calm, busy := e2etest.Sandbox(t), way.Open(t), way.Open(t)
			calm.Serve(e2etest.Sandbox(t), settings...)
			busy.Serve(world, settings...)
			hanging := hang(t, world, busy)
			end := flood(busy)
			var ofCalm, ofBusy []*e2etest.Asked
			tick := time.NewTicker(othersAt)
			defer tick.Stop()
			for user := range int64(others) {
				ofCalm = append(ofCalm, calm.Ask(e2etest.Command{User: 1000 + user, Name: "price"}))
				<-tick.C
				ofBusy = append(ofBusy, busy.Ask(e2etest.Command{User: 1000 + user, Name: "price"}))
				<-tick.C
			}
			was, is := median(ofCalm), median(ofBusy)
			if limit := max(2*was, floor); is > limit {
				t.Errorf("the median is %v, want at most %v", is, limit)
			}
			end()
			median(hanging)
		})
	}
}

// flood has one user give commands faster than anybody may, until end.
func flood(door *e2etest.Door) (end func()) {
	stop := make(chan struct{})
	var flooding sync.WaitGroup
	flooding.Go(func() {
		tick := time.NewTicker(floodEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				door.Ask(e2etest.Command{User: flooder, Name: "price"})
			}
		}
	})
	return func() {
		close(stop)
		flooding.Wait()
	}
}

// hang has more commands wait for the partner than may call it at a time.
func hang(t *testing.T, world *fault.Fakes, door *e2etest.Door) (asked []*e2etest.Asked) {
	const waiting, atOnce = 60, 32
	world.Partner.SetFault(fault.Hang())
	for i := range int64(waiting) {
		asked = append(asked, door.Ask(e2etest.Command{User: 3000 + i, Name: "exists"}))
	}
	e2etest.Eventually(t, "the partner hangs", func() bool { return world.Partner.Requests() >= atOnce })
	return asked
}

// median waits for all answers and returns how long half of them took at most.
func median(asked []*e2etest.Asked) time.Duration {
	var took []time.Duration
	for _, a := range asked {
		took = append(took, a.Wait().After)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
