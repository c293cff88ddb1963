//go:build speed

// Package speed measures the built bot beside the bare client libraries with a
// constant answer: Telegram by polling and by webhook, Discord by gateway and by
// HTTP.
//
//	go test -tags speed -v -timeout 0 ./internal/app/e2e/speed
//
// Both bots of a way run in processes of their own, are asked /price by fakes
// of their platform in this process, and take turns. Ratios are of two turns
// that follow each other, and the one printed is the median of all rounds. The
// fakes share the processors with the bots, and take the same from both. Every
// answer is looked at: a wrong, doubled or lost one fails the test, and a goal
// that is missed is only printed, since another machine may be busy.
package speed

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox"
)

var (
	rounds   = flag.Int("speed.rounds", 7, "how often each bot has its turn")
	commands = flag.Int("speed.commands", 10_000, "commands in a turn")
)

const (
	// warmUp is how many commands are asked before anything is measured.
	warmUp = 2000
	// users ask in so many chats.
	users = 5000
	chats = 1000
)

// way is one by which commands come in, and what the ratios to the bare library
// should be: the rate at least, the CPU at most.
type way struct {
	name      string
	inFlight  int // commands at a time
	rate, cpu float64
	platform  func() (platform, error)
}

var ways = []way{
	{"Telegram polling", 200, 0.8, 1.25, func() (platform, error) { return newTelegram(false) }},
	{"Telegram webhook", deliversAtMost, 0.9, 1.2, func() (platform, error) { return newTelegram(true) }},
	{"Discord gateway", 100, 0.9, 1.2, func() (platform, error) { return newDiscord(false) }},
	{"Discord HTTP", interactionConns, 0.85, 1.25, func() (platform, error) { return newDiscord(true) }},
}

func TestSpeed(t *testing.T) {
	programs := t.TempDir()
	e2etest.BuildBot(t, programs)
	bare := exec.Command("go", "build", "-tags", "speed", "-o", programs+"/", "herald/internal/app/e2e/speed/bare")
	if out, err := bare.CombinedOutput(); err != nil {
		t.Fatalf("build the bare bot: %v\n%s", err, out)
	}
	table := "\n| way in | commands a second | CPU for 1,000, ms |\n| --- | --- | --- |\n"
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { table += w.compare(t, programs) })
	}
	fmt.Print(table)
}

// compare measures Herald and the bare library in turn, and returns a row of
// the table: Herald's figures, the library's, and their ratios with the goals.
func (w way) compare(t *testing.T, programs string) string {
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	// Rate limits are counted, and are too high to be reached.
	herald := w.contender(t, filepath.Join(programs, "bot"), append(app.DemoSettings(world), "PRICE_TTL=24h", "RATE_LIMIT_USER=10000", "RATE_LIMIT_CHAT=10000"))
	herald.turn(t, 1, 1) // its answer is what the bare bot says
	library := w.contender(t, filepath.Join(programs, "bare"), []string{"ANSWER=" + herald.platform.answer()})
	order := []*contender{herald, library}
	for _, c := range order {
		c.turn(t, warmUp, w.inFlight)
	}
	for range *rounds {
		for _, c := range order {
			took, cpu := c.turn(t, *commands, w.inFlight)
			c.rates = append(c.rates, float64(*commands)/took.Seconds())
			c.cpus = append(c.cpus, cpu.Seconds()*1e6/float64(*commands))
			t.Logf("%s: %.0f a second, %.0f ms of CPU for 1,000", filepath.Base(c.program), c.rates[len(c.rates)-1], c.cpus[len(c.cpus)-1])
		}
		slices.Reverse(order)
	}
	rate, cpu := ratio(herald.rates, library.rates), ratio(herald.cpus, library.cpus)
	return fmt.Sprintf("| %s | %.0f : %.0f = **%.2f** (≥ %.2f%s) | %.0f : %.0f = **%.2f** (≤ %.2f%s) |\n", w.name,
		median(herald.rates), median(library.rates), rate, w.rate, missed(rate < w.rate),
		median(herald.cpus), median(library.cpus), cpu, w.cpu, missed(cpu > w.cpu))
}

func missed(is bool) string {
	if is {
		return " missed"
	}
	return ""
}

// ratio is the median of the ratios, round by round.
func ratio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return median(ratios)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// contender is a bot, the platform that it is on, and what was measured.
type contender struct {
	program     string
	platform    platform
	process     *e2etest.Process
	next        int64 // the number of the next command
	rates, cpus []float64
}

func (w way) contender(t *testing.T, program string, settings []string) *contender {
	p, err := w.platform()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	process := e2etest.StartProcess(t, program, append(settings, p.settings()...)...)
	t.Cleanup(process.Leave)
	p.meet(strings.TrimPrefix(process.URL, "http://"))
	return &contender{program: program, platform: p, process: process, next: 1}
}

// turn asks the bot for n answers, and returns how long that took, and how much
// CPU of the bot's.
func (c *contender) turn(t *testing.T, n, inFlight int) (took, cpu time.Duration) {
	t.Helper()
	l := newLoad(c.next, n, inFlight)
	c.next += int64(n)
	if err := c.platform.begin(l); err != nil {
		t.Fatal(err)
	}
	defer c.platform.end()
	before := c.cpu(t)
	took, err := l.ask(c.platform.ask)
	if err != nil {
		log := c.process.Log()
		t.Fatalf("%s: %v\n%s", c.program, err, log[max(0, len(log)-1000):])
	}
	return took, c.cpu(t) - before
}

// clockTick is the unit of times in /proc; Linux has no other.
const clockTick = 10 * time.Millisecond

// cpu is the processor time that the bot has taken so far.
func (c *contender) cpu(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.process.PID()))
	if err != nil {
		t.Fatal(err)
	}
	// The name before the parenthesis may hold anything. utime and stime are
	// fields 14 and 15, https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick
}
