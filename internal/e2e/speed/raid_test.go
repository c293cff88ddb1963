//go:build speed

package speed

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

const (
	raid, raidTime = 10_000, time.Minute
	// quiet is how long /price is measured before the raid, pricePause the time between
	// two /price, and maxPrice the bound on their 99th percentile in a raid.
	quiet, pricePause, maxPrice = 15 * time.Second, 100 * time.Millisecond, time.Second
	firstJoining                = 8_000_000_000
)

var raided = faketelegram.Group(-1005)

// TestRaid measures /price before and while people ask to join, by way in and by how long
// the partner takes. All bots run at once.
//
//	go test -tags speed -run '^TestRaid$' -parallel 4 -v ./internal/e2e/speed
func TestRaid(t *testing.T) {
	binary := e2etest.BuildBot(t, t.TempDir())
	var mu sync.Mutex
	var rows []string
	t.Run("bots", func(t *testing.T) {
		for _, way := range e2etest.Ways[:2] {
			for _, takes := range []time.Duration{50 * time.Millisecond, 9 * time.Second} {
				t.Run(fmt.Sprint(way.Name, " ", takes), func(t *testing.T) {
					t.Parallel()
					row := measureRaid(t, way, binary, takes)
					mu.Lock()
					defer mu.Unlock()
					rows = append(rows, row)
				})
			}
		}
	})
	slices.Sort(rows)
	fmt.Print("\n| way in, partner | requests a second | `/price` p50, p99 before | in the raid | ratio | resident at most | calls of the partner |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n" + strings.Join(rows, ""))
}

// measureRaid returns a row of the table. It fails the test if a /price is lost or late, or
// if anybody is let in.
func measureRaid(t *testing.T, way e2etest.Way, binary string, takes time.Duration) string {
	platform, fakes := way.Open(t), fault.Start(t)
	platform.Telegram.GrantInvite(raided.ID, true)
	bot := platform.Start(binary, fakes, fmt.Sprintf("JOIN_CHATS=telegram:%d:registered", raided.ID),
		"UPSTREAM_TIMEOUT=10s", "TELEGRAM_PACING=on", "PRICE_TTL=24h")
	fakes.Partner.SetFault(fault.Late(takes))
	m := &meanwhile{platform: platform, asked: map[int64]time.Time{}}
	platform.Telegram.Watch(m.see)
	before := m.prices(quiet)
	began := time.Now()
	var joining sync.WaitGroup
	joining.Go(func() {
		for i := range raid {
			user := int64(firstJoining + i)
			platform.Deliver(user, 1, func() { platform.Telegram.RequestJoin(raided, faketelegram.Person(user), i%2 == 0) })
			time.Sleep(time.Until(began.Add(time.Duration(i) * raidTime / raid)))
		}
	})
	during := m.prices(raidTime)
	joining.Wait()
	rate := raid / time.Since(began).Seconds()
	for end := time.Now().Add(5 * time.Minute); counted(t, bot.URL()) < raid; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("some requests are not counted")
		}
	}
	for _, j := range platform.Telegram.JoinRequests() {
		if j.State != faketelegram.JoinOpen || len(j.Answers) > 1 || j.QueryID != "" && len(j.Answers) != 1 {
			t.Fatalf("%+v", j)
		}
	}
	if n := len(m.asked); n > 0 || at(during, 99) > maxPrice {
		t.Errorf("%d /price are lost, the 99th percentile is %v", n, at(during, 99))
	}
	return fmt.Sprintf("| %s, %v | %.0f | %v, %v | %v, %v | **%.1f**, **%.1f** | %d MiB | %d |\n", way.Name, takes, rate,
		at(before, 50), at(before, 99), at(during, 50), at(during, 99),
		float64(at(during, 50))/float64(at(before, 50)), float64(at(during, 99))/float64(at(before, 99)),
		bot.Resident(), fakes.Partner.Requests())
}

var joinCount = regexp.MustCompile(`event="join_\w+",platform="telegram"} (\d+)`)

// counted returns how many join requests the bot has counted.
func counted(t *testing.T, url string) (sum int) {
	for _, event := range joinCount.FindAllStringSubmatch(e2etest.Metrics(t, url), -1) {
		n, _ := strconv.Atoi(event[1])
		sum += n
	}
	return sum
}

// meanwhile is the members who ask for the price.
type meanwhile struct {
	platform *e2etest.Platform

	mu    sync.Mutex
	last  int64
	asked map[int64]time.Time // by user, until the answer
	took  []time.Duration
}

func (m *meanwhile) see(e faketelegram.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Message == nil {
		return
	}
	if began, is := m.asked[e.Message.Chat]; is {
		delete(m.asked, e.Message.Chat)
		m.took = append(m.took, time.Since(began))
	}
}

// prices asks for the price for so long, each time as somebody else, and returns how long
// the answers took, in order.
func (m *meanwhile) prices(length time.Duration) []time.Duration {
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(pricePause) {
		m.mu.Lock()
		m.last++
		user := firstUser + m.last
		m.asked[user] = time.Now()
		m.mu.Unlock()
		m.platform.Ask(e2etest.Command{User: user, Name: "price"})
	}
	time.Sleep(2 * maxPrice)
	m.mu.Lock()
	defer m.mu.Unlock()
	took := slices.Sorted(slices.Values(m.took))
	m.took = nil
	return took
}

// at returns a percentile of what is in order, to a tenth of a millisecond.
func at(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[(len(took)-1)*percent/100].Round(100 * time.Microsecond)
}
