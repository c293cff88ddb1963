//go:build !race

package bounds

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
)

const (
	// burst is how many commands come in one instant, of which each must be
	// answered within burstTime.
	burst     = 5000
	burstTime = 3 * time.Second
	// mostMemory is what the bot may have resident meanwhile, in KiB.
	mostMemory = 120 << 10
)

// TestABurstIsAnsweredWithinItsMemory drives the built binary, whose memory is
// its own.
func TestABurstIsAnsweredWithinItsMemory(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", binary, "herald/cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, way := range map[string]struct {
		settings func(*discordtest.Server) []string
		// ask posts or pushes all of a burst.
		ask func(t *testing.T, fake *discordtest.Server, url string) []*discordtest.Pending
	}{
		"gateway": {e2etest.Gateway, pushBurst},
		"http":    {e2etest.Interactions, postBurst},
	} {
		for _, price := range []string{"cached", "one call of 300 ms"} {
			t.Run(name+", "+price, func(t *testing.T) {
				world, fake := e2etest.Sandbox(t), e2etest.Discord(t)
				ttl := "PRICE_TTL=1h"
				if price != "cached" {
					world.Price.SetFault(fault.Late(300 * time.Millisecond))
				}
				bot, url := startBinary(t, binary, append(e2etest.Settings(world, ttl), way.settings(fake)...))
				if price == "cached" {
					askOnce(t, fake, url, name)
				}
				before := residentMost(t, bot)
				asked := time.Now()
				pending := way.ask(t, fake, url)
				var first []time.Duration
				e2etest.Eventually(t, "the burst is over", func() bool {
					first = answered(t, pending)
					return len(first) == burst || time.Since(asked) > 2*burstTime
				})
				if len(first) < burst {
					t.Fatalf("%d of %d are answered", len(first), burst)
				}
				slices.Sort(first)
				after := residentMost(t, bot)
				t.Logf("%d commands: answered after %v (median) to %v; resident at most %d MiB, before %d", burst,
					first[burst/2].Round(time.Millisecond), first[burst-1].Round(time.Millisecond), after>>10, before>>10)
				if after > mostMemory {
					t.Errorf("%d KiB were resident", after)
				}
			})
		}
	}
}

// startBinary runs the bot until the test ends, and waits until it is ready.
func startBinary(t *testing.T, binary string, settings []string) (bot *exec.Cmd, url string) {
	t.Helper()
	addr := e2etest.FreeAddr(t)
	bot = exec.Command(binary, "run")
	bot.Env = append(settings, "HTTP_ADDR="+addr)
	log := &e2etest.Buffer{}
	bot.Stderr = log
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bot.Process.Kill()
		_ = bot.Wait()
		if t.Failed() {
			t.Logf("log:\n%.2000s", log)
		}
	})
	e2etest.Eventually(t, "the bot is ready", func() bool {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return bot, "http://" + addr + e2etest.InteractionsPath
}

// residentMost is the most memory that the process has had resident, in KiB.
func residentMost(t *testing.T, bot *exec.Cmd) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", bot.Process.Pid))
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

func price(user int) discordtest.Interaction {
	return discordtest.Interaction{Command: "price", UserID: fmt.Sprint(1000 + user), ChannelID: fmt.Sprint(1000 + user)}
}

// askOnce gets the price into the bot's cache.
func askOnce(t *testing.T, fake *discordtest.Server, url, way string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	var pending *discordtest.Pending
	var err error
	if way == "http" {
		pending, _, err = fake.Post(ctx, url, price(0))
	} else {
		pending, err = fake.Push(price(0))
	}
	if err == nil {
		_, err = pending.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func pushBurst(t *testing.T, fake *discordtest.Server, _ string) []*discordtest.Pending {
	t.Helper()
	fake.Break(discordtest.Callback, discordtest.Fault{Latency: 50 * time.Millisecond})
	pending := make([]*discordtest.Pending, burst)
	for i := range pending {
		var err error
		if pending[i], err = fake.Push(price(i)); err != nil {
			t.Fatal(err)
		}
	}
	return pending
}

// postBurst posts on a connection each, so that none waits for another.
func postBurst(t *testing.T, fake *discordtest.Server, url string) []*discordtest.Pending {
	t.Helper()
	fake.Client = &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: burst}}
	t.Cleanup(fake.Client.CloseIdleConnections)
	pending := make([]*discordtest.Pending, burst)
	var posts sync.WaitGroup
	for i := range pending {
		posts.Go(func() {
			var status int
			var err error
			pending[i], status, err = fake.Post(t.Context(), url, price(i))
			if err != nil || status != http.StatusOK {
				t.Errorf("status %d, %v", status, err)
			}
		})
	}
	if posts.Wait(); t.Failed() {
		t.FailNow()
	}
	return pending
}

// answered are the times of the answers so far, which must be right.
func answered(t *testing.T, pending []*discordtest.Pending) (first []time.Duration) {
	t.Helper()
	for _, p := range pending {
		a := p.Answer()
		if a.Final == 0 {
			continue
		}
		if a.Deferred || !strings.Contains(a.Text(), e2etest.Price) {
			t.Fatalf("answered with %+v", a)
		}
		first = append(first, a.First)
	}
	return first
}
