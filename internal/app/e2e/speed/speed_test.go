//go:build speed

// Package speed measures the built bot beside the bare client libraries with a
// constant answer: Telegram by polling and by webhook, Discord by gateway and by
// HTTP.
//
//	go test -tags speed -run '^TestSpeed$' -v -timeout 0 ./internal/app/e2e/speed
//
// Both bots of a way run in processes of their own, are asked /price by fakes
// of their platform in this process, and take turns. Ratios are of two turns
// that follow each other, and the one printed is the median of all rounds. The
// fakes share the processors with the bots, and take the same from both. Every
// answer is looked at: a wrong, doubled or lost one fails the test, and a goal
// that is missed is only printed, since another machine may be busy.
package speed

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox"
)

var (
	rounds   = flag.Int("speed.rounds", 7, "how often each bot has its turn")
	commands = flag.Int("speed.commands", 10_000, "commands in a turn at full speed")
	paced    = flag.Duration("speed.paced", 3*time.Second, "how long a turn at 500 commands a second lasts")
	profiles = flag.String("speed.profile", "", "absolute path of a folder for a CPU profile of each bot")
)

const (
	// pace is the rate at which latency is measured, in commands a second.
	pace = 500
	// warmUp is how many commands are asked before anything is measured.
	warmUp = 2000
	// users ask in so many chats.
	users = 5000
	chats = 1000
)

// way is one by which commands come in.
type way struct {
	name     string
	inFlight int // commands at a time at full speed
	goal     goal
	platform func(address string) (platform, error)
}

var ways = []way{
	{"Telegram polling", 200, goal{rate: 0.8, cpu: 1.25, median: 1.5},
		func(address string) (platform, error) { return newTelegram(address, false) }},
	{"Telegram webhook", deliversAtMost, goal{rate: 0.9, cpu: 1.2},
		func(address string) (platform, error) { return newTelegram(address, true) }},
	{"Discord gateway", 100, goal{rate: 0.9, cpu: 1.2},
		func(address string) (platform, error) { return newDiscord(address, false) }},
	{"Discord HTTP", interactionConns, goal{rate: 0.85, cpu: 1.25},
		func(address string) (platform, error) { return newDiscord(address, true) }},
}

func TestSpeed(t *testing.T) {
	programs := t.TempDir()
	build(t, programs, "herald/cmd/bot")
	build(t, programs, "herald/internal/app/e2e/speed/bare")
	if *profiles != "" {
		if err := os.MkdirAll(*profiles, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var results []result
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { results = append(results, w.compare(t, programs)) })
	}
	fmt.Print(table(results), machineCost(results), callCost(t))
	if *profiles != "" {
		fmt.Print(shares(t, results))
	}
}

func build(t *testing.T, folder, pkg string) {
	t.Helper()
	out, err := exec.Command("go", "build", "-tags", "speed", "-o", folder+string(filepath.Separator), pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
}

// compare measures Herald and the bare library in turn.
func (w way) compare(t *testing.T, programs string) result {
	herald := w.herald(t, filepath.Join(programs, "bot"))
	herald.turn(t, 1, 1, 0) // its answer is what the bare bot says
	bare := w.bare(t, filepath.Join(programs, "bare"), herald)
	contenders := []*contender{herald, bare}
	for _, c := range contenders {
		c.turn(t, warmUp, w.inFlight, 0)
	}
	for range *rounds {
		for _, c := range contenders {
			c.round(t, w.inFlight)
		}
		slices.Reverse(contenders)
	}
	for _, c := range contenders {
		var err error
		if c.memory, err = c.process.peakMemory(); err != nil {
			t.Fatal(err)
		}
	}
	return result{w, *herald, *bare}
}

// contender is a bot, the platform that it is on, and what was measured.
type contender struct {
	name     string
	platform platform
	process  *process
	next     int64 // the number of the next command
	figures  []figures
	memory   int64 // resident in bytes at most
}

// herald starts the built bot with default settings, except that pacing is off
// and the rate limits, though counted, are too high to be reached.
func (w way) herald(t *testing.T, program string) *contender {
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	settings := append(app.DemoSettings(world), "LOG_LEVEL=info", "PRICE_TTL=24h", "RATE_LIMIT_USER=10000", "RATE_LIMIT_CHAT=10000")
	if *profiles != "" {
		program = os.Args[0]
		settings = append(settings, profileFile+"="+w.profile("herald"))
	}
	return w.contender(t, "Herald", program, settings)
}

// bare starts the bare library's bot, which says what Herald said.
func (w way) bare(t *testing.T, program string, herald *contender) *contender {
	settings := []string{"ANSWER=" + herald.platform.answer()}
	if *profiles != "" {
		settings = append(settings, "CPU_PROFILE="+w.profile("bare"))
	}
	return w.contender(t, "library", program, settings)
}

func (w way) contender(t *testing.T, name, program string, settings []string) *contender {
	address := e2etest.FreeAddr(t)
	p, err := w.platform(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return &contender{name: name, platform: p, process: start(t, program, address, append(settings, p.settings()...)...), next: 1}
}

// round is one turn at full speed and one at the fixed pace.
func (c *contender) round(t *testing.T, inFlight int) {
	t.Helper()
	fast := c.turn(t, *commands, inFlight, 0)
	slow := c.turn(t, max(1, int(paced.Seconds()*pace)), 0, time.Second/pace)
	f := figures{
		rate:     float64(*commands) / fast.took.Seconds(),
		cpu:      fast.for1000(fast.cpu),
		own:      fast.for1000(fast.own),
		pacedCPU: slow.for1000(slow.cpu),
		median:   slow.quantile(0.5),
		p99:      slow.quantile(0.99),
	}
	c.figures = append(c.figures, f)
	t.Logf("%-8s %v", c.name, f)
}

// turn is what one turn came to.
type turn struct {
	*load
	took time.Duration
	cpu  time.Duration // of the bot
	own  time.Duration // CPU of this process
}

// turn asks the bot for n answers and measures them.
func (c *contender) turn(t *testing.T, n, inFlight int, gap time.Duration) turn {
	t.Helper()
	l := newLoad(c.next, n, inFlight)
	c.next += int64(n)
	if err := c.platform.begin(l); err != nil {
		t.Fatal(err)
	}
	defer c.platform.end()
	botBefore, ownBefore := c.cpu(t)
	took, err := l.ask(gap, c.platform.ask)
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.name, err, c.process.lastLog())
	}
	botAfter, ownAfter := c.cpu(t)
	return turn{l, took, botAfter - botBefore, ownAfter - ownBefore}
}

// cpu is the processor time taken so far by the bot and by this process.
func (c *contender) cpu(t *testing.T) (bot, own time.Duration) {
	t.Helper()
	bot, botErr := c.process.cpu()
	own, ownErr := ownCPU()
	if err := errors.Join(botErr, ownErr); err != nil {
		t.Fatal(err)
	}
	return bot, own
}

// for1000 is the processor time for 1,000 commands.
func (u turn) for1000(cpu time.Duration) time.Duration {
	return cpu * 1000 / time.Duration(len(u.asked))
}
