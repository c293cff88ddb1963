//go:build !race

package bounds

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
)

// burst is small by default, since a busy machine cannot carry more: Discord
// takes a first response for 3 seconds. docs/reliability.md has the figures for
// 5,000.
var burst = flag.Int("bounds.burst", 1000, "how many commands come in one instant")

// mostMemory is what the bot may have resident while 5,000 come at once, in KiB.
const mostMemory = 120 << 10

// TestABurstIsAnsweredWithinItsMemory drives the built binary, whose memory is
// its own. That each of 5,000 is answered in time holds in simulated time, in
// internal/discord, whatever this machine has to do besides.
func TestABurstIsAnsweredWithinItsMemory(t *testing.T) {
	binary := e2etest.BuildBot(t)
	for name, way := range map[string]struct {
		settings func(*discordtest.Server) []string
		// ask posts or pushes all of a burst.
		ask func(t *testing.T, fake *discordtest.Server, url string) []*discordtest.Pending
	}{
		"gateway": {e2etest.Gateway, pushBurst},
		"HTTP":    {e2etest.Interactions, postBurst},
	} {
		for _, price := range []string{"cached", "one call of 300 ms"} {
			t.Run(name+", "+price, func(t *testing.T) {
				world, fake := e2etest.Sandbox(t), e2etest.Discord(t)
				bot := e2etest.StartProcess(t, binary, append(e2etest.Settings(world, "PRICE_TTL=1h"), way.settings(fake)...)...)
				url := bot.URL + e2etest.InteractionsPath
				if price == "cached" {
					askOnce(t, fake, url, name)
				} else {
					world.Price.SetFault(fault.Late(300 * time.Millisecond))
				}
				before := residentMost(t, bot)
				pending := way.ask(t, fake, url)
				var first []time.Duration
				var busy int
				e2etest.Eventually(t, "all of the burst is answered", func() bool {
					first, busy = answered(t, pending)
					return len(first) == *burst
				})
				slices.Sort(first)
				after := residentMost(t, bot)
				t.Logf("%d commands, %d told to wait: first responses after %v (median) to %v, %d MiB resident at most, %d before",
					*burst, busy, first[*burst/2].Round(time.Millisecond), first[*burst-1].Round(time.Millisecond), after>>10, before>>10)
				if *burst <= 5000 && (busy > 0 || after > mostMemory) {
					t.Errorf("%d were told to wait, %d KiB were resident", busy, after)
				}
			})
		}
	}
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
	if way == "HTTP" {
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
	pending := make([]*discordtest.Pending, *burst)
	for i := range pending {
		var err error
		if pending[i], err = fake.Push(price(i)); err != nil {
			t.Fatal(err)
		}
	}
	return pending
}

// postBurst posts on a connection each, so that none waits for another. All is
// signed before, so that this process has little to do meanwhile.
func postBurst(t *testing.T, fake *discordtest.Server, url string) []*discordtest.Pending {
	t.Helper()
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	pending, requests := make([]*discordtest.Pending, *burst), make([][]byte, *burst)
	for i := range requests {
		var body []byte
		pending[i], body = fake.Prepare(price(i))
		r, err := http.NewRequest(http.MethodPost, "/"+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.Header = address, fake.Sign(body, time.Now())
		var raw bytes.Buffer
		if err := r.Write(&raw); err != nil {
			t.Fatal(err)
		}
		requests[i] = raw.Bytes()
	}
	var posts sync.WaitGroup
	for i, p := range pending {
		p.Send()
		posts.Go(func() {
			if err := postRaw(address, requests[i], p); err != nil {
				t.Error(err)
			}
		})
	}
	if posts.Wait(); t.Failed() {
		t.FailNow()
	}
	return pending
}

func postRaw(address string, request []byte, p *discordtest.Pending) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return p.Responded(resp.Body)
}

// answered are the times of the first responses to those that have their answer,
// which must be right, and how many of them were told to wait.
func answered(t *testing.T, pending []*discordtest.Pending) (first []time.Duration, busy int) {
	t.Helper()
	for _, p := range pending {
		a := p.Answer()
		switch {
		case a.Final == 0:
			continue
		case strings.Contains(a.Text(), "Busy"):
			busy++
		case !strings.Contains(a.Text(), e2etest.Price):
			t.Fatalf("answered with %+v", a)
		}
		first = append(first, a.First)
	}
	return first, busy
}
