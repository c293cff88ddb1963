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
	// raid is how many people ask to join within raidTime.
	raid         = 10_000
	raidTime     = time.Minute
	firstJoining = 8_000_000_000
	// quiet is how long /price is measured before the raid.
	quiet = 15 * time.Second
	// pricePause is the time between two /price.
	pricePause = 100 * time.Millisecond
	// maxPrice is the maximum of their 99th percentile in a raid.
	maxPrice = time.Second
)

var raided = faketelegram.Group(-1005)

// TestRaid measures /price before and while people ask to join, by way in and by how long the partner
// takes. All bots run at once.
//
//	go test -tags speed -run '^TestRaid$' -parallel 4 -v ./internal/e2e/speed
func TestRaid(t *testing.T) {
	binary := e2etest.BuildBot(t, t.TempDir())
	var mu sync.Mutex
	var rows []string
	t.Run("bots", func(t *testing.T) {
		for _, way := range e2etest.TelegramWays {
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
	fmt.Print("\n| way in, partner | requests a second | `/price` p50, p99 before | in the raid | ratio |" +
		" resident at most | calls of the partner |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n" +
		strings.Join(rows, ""))
}

// measureRaid returns a row of the table. It fails the test if a /price is lost or late, or if anybody
// is approved.
func measureRaid(t *testing.T, way e2etest.Way, binary string, takes time.Duration) string {
	platform, fakes := way.Open(t), fault.Start(t)
	platform.Telegram.GrantInvite(raided.ID, true)
	bot := platform.Start(binary, fakes, fmt.Sprintf("JOIN_CHATS=telegram:%d:registered", raided.ID),
		"UPSTREAM_TIMEOUT=10s", "TELEGRAM_PACING=on", "PRICE_TTL=24h")
	fakes.Partner.SetFault(fault.Late(takes))
	p := &prices{platform: platform, asked: map[int64]time.Time{}}
	platform.Telegram.Watch(p.see)
	before := p.measure(quiet)
	began := time.Now()
	var joining sync.WaitGroup
	joining.Go(func() { requestJoins(platform) })
	during := p.measure(raidTime)
	joining.Wait()
	rate := raid / time.Since(began).Seconds()
	awaitCounted(t, bot)
	checkNobodyApproved(t, platform)
	medianBefore, slowBefore := percentile(before, 50), percentile(before, 99)
	medianDuring, slowDuring := percentile(during, 50), percentile(during, 99)
	if n := len(p.asked); n > 0 || slowDuring > maxPrice {
		t.Errorf("%d /price are lost, the 99th percentile is %v, want at most %v", n, slowDuring, maxPrice)
	}
	return fmt.Sprintf("| %s, %v | %.0f | %v, %v | %v, %v | **%.1f**, **%.1f** | %d MiB | %d |\n",
		way.Name, takes,
		rate,
		medianBefore, slowBefore,
		medianDuring, slowDuring,
		medianDuring.Seconds()/medianBefore.Seconds(), slowDuring.Seconds()/slowBefore.Seconds(),
		bot.Resident(),
		fakes.Partner.Requests(),
	)
}

// requestJoins makes raid people ask to join within raidTime, half of them guarded.
func requestJoins(platform *e2etest.Platform) {
	began := time.Now()
	for i := range raid {
		user := int64(firstJoining + i)
		platform.Deliver(user, 1, func() {
			platform.Telegram.RequestJoin(raided, faketelegram.Person(user), i%2 == 0)
		})
		time.Sleep(time.Until(began.Add(time.Duration(i) * raidTime / raid)))
	}
}

// awaitCounted waits until the bot has counted every join request.
func awaitCounted(t *testing.T, bot *e2etest.Process) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); counted(t, bot.URL()) < raid; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("some requests are not counted")
		}
	}
}

// checkNobodyApproved fails the test unless every join request is still open, and has at most one
// answer: a guarded one exactly one.
func checkNobodyApproved(t *testing.T, platform *e2etest.Platform) {
	t.Helper()
	for _, j := range platform.Telegram.JoinRequests() {
		guarded := j.QueryID != ""
		if j.State != faketelegram.JoinOpen || len(j.Answers) > 1 || guarded && len(j.Answers) != 1 {
			t.Fatalf("%+v", j)
		}
	}
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

// prices measures how long the answers to /price take.
type prices struct {
	platform *e2etest.Platform

	mu    sync.Mutex
	users int64               // that have asked so far
	asked map[int64]time.Time // when a user asked, until the answer
	took  []time.Duration
}

// see notes an answer.
func (p *prices) see(e faketelegram.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Message == nil {
		return
	}
	began, waiting := p.asked[e.Message.Chat]
	if waiting {
		delete(p.asked, e.Message.Chat)
		p.took = append(p.took, time.Since(began))
	}
}

// begin notes that the next user asks, and returns the user.
func (p *prices) begin() (user int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	user = firstUser + p.users
	p.asked[user] = time.Now()
	return user
}

// measure asks for the price for a time, each time as another user. It returns how long the answers
// took, sorted.
func (p *prices) measure(length time.Duration) []time.Duration {
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(pricePause) {
		p.platform.Ask(e2etest.Command{User: p.begin(), Name: "price"})
	}
	time.Sleep(2 * maxPrice)
	p.mu.Lock()
	defer p.mu.Unlock()
	took := slices.Sorted(slices.Values(p.took))
	p.took = nil
	return took
}

// percentile returns a percentile of sorted durations, to a tenth of a millisecond.
func percentile(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[(len(took)-1)*percent/100].Round(100 * time.Microsecond)
}
