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
	// In a raid, raidSize people ask to join a group within raidTime.
	raidSize    = 10_000
	raidTime    = time.Minute
	firstRaider = 8_000_000_000
	// quietTime is how long /price is measured before the raid.
	quietTime = 15 * time.Second
	// pricePause is the time between one /price and the next.
	pricePause = 100 * time.Millisecond
	// maxPrice is the maximum of the 99th percentile of how long the answers take in a raid.
	maxPrice = time.Second
)

// raided is the group that people ask to join.
var raided = faketelegram.Group(-1005)

// TestRaid measures how long answers to /price take before and in a raid. It runs one bot for each way on Telegram
// and each time that the partner may take, all at once, and prints a row for each.
//
//	go test -tags speed -run '^TestRaid$' -parallel 4 -v ./internal/e2e/speed
func TestRaid(t *testing.T) {
	binary := e2etest.BuildBot(t, t.TempDir())
	var mu sync.Mutex
	var rows []string
	t.Run("bots", func(t *testing.T) {
		for _, way := range e2etest.TelegramWays {
			for _, partnerTime := range []time.Duration{50 * time.Millisecond, 9 * time.Second} {
				t.Run(fmt.Sprint(way.Name, " ", partnerTime), func(t *testing.T) {
					t.Parallel()
					row := measureRaid(t, way, binary, partnerTime)
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

// measureRaid runs a bot whose partner takes partnerTime, and returns a row of the table. It fails the test if the
// answers to /price are lost or late, or if a join request is approved.
func measureRaid(t *testing.T, way e2etest.Way, binary string, partnerTime time.Duration) string {
	platform, fakes := way.Open(t), fault.Start(t)
	platform.Telegram.GrantInvite(raided.ID, true)
	bot := platform.Start(binary, fakes, fmt.Sprintf("JOIN_CHATS=telegram:%d:registered", raided.ID),
		"UPSTREAM_TIMEOUT=10s", "TELEGRAM_PACING=on", "PRICE_TTL=24h")
	fakes.Partner.SetFault(fault.Late(partnerTime))
	p := &prices{platform: platform, asked: map[int64]time.Time{}}
	platform.Telegram.Watch(p.see)
	before := p.measure(quietTime)
	began := time.Now()
	var joining sync.WaitGroup
	joining.Go(func() { requestJoins(platform) })
	during := p.measure(raidTime)
	joining.Wait()
	rate := raidSize / time.Since(began).Seconds()
	awaitCounted(t, bot)
	checkNobodyApproved(t, platform)
	medianBefore, slowBefore := percentile(before, 50), percentile(before, 99)
	medianDuring, slowDuring := percentile(during, 50), percentile(during, 99)
	if n := len(p.asked); n > 0 || slowDuring > maxPrice {
		t.Errorf("%d /price are lost, the 99th percentile is %v, want at most %v", n, slowDuring, maxPrice)
	}
	return fmt.Sprintf("| %s, %v | %.0f | %v, %v | %v, %v | **%.1f**, **%.1f** | %d MiB | %d |\n",
		way.Name, partnerTime,
		rate,
		medianBefore, slowBefore,
		medianDuring, slowDuring,
		medianDuring.Seconds()/medianBefore.Seconds(), slowDuring.Seconds()/slowBefore.Seconds(),
		bot.Resident(),
		fakes.Partner.Requests(),
	)
}

// requestJoins makes raidSize people ask to join within raidTime. For half of them, Telegram waits for the bot's
// answer before it shows the request to administrators: these requests are guarded.
func requestJoins(platform *e2etest.Platform) {
	began := time.Now()
	for i := range raidSize {
		user := int64(firstRaider + i)
		platform.Deliver(user, 1, func() {
			isGuarded := i%2 == 0
			platform.Telegram.RequestJoin(raided, faketelegram.Person(user), isGuarded)
		})
		time.Sleep(time.Until(began.Add(time.Duration(i) * raidTime / raidSize)))
	}
}

// awaitCounted waits until the bot has counted every join request.
func awaitCounted(t *testing.T, bot *e2etest.Process) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); counted(t, bot.URL()) < raidSize; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("some requests are not counted")
		}
	}
}

// checkNobodyApproved fails the test unless every join request is still open. A guarded request must have one
// answer, and the others at most one.
func checkNobodyApproved(t *testing.T, platform *e2etest.Platform) {
	t.Helper()
	for _, j := range platform.Telegram.JoinRequests() {
		isGuarded := j.QueryID != ""
		isAnswered := len(j.Answers) > 0
		if j.State != faketelegram.JoinOpen || len(j.Answers) > 1 || isGuarded && !isAnswered {
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
	users int64               // how many users have asked so far
	asked map[int64]time.Time // when a user asked who has no answer yet
	took  []time.Duration     // how long each answer took
}

// measure sends a /price from another user each pricePause, for the given time. It returns how long the answers
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

// see notes how long an answer took.
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

// begin notes that the next user asks now, and returns the user.
func (p *prices) begin() (user int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	user = firstUser + p.users
	p.asked[user] = time.Now()
	return user
}

// percentile returns a percentile of sorted durations, to a tenth of a millisecond.
func percentile(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[(len(took)-1)*percent/100].Round(100 * time.Microsecond)
}
