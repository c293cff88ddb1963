//go:build speed

// Package speed measures the built bot beside another one: the bare client library
// with a constant answer, the bot of an earlier commit, or itself without Redis. Telegram is
// measured by polling and by webhook, Discord by gateway and by HTTP.
//
//	go test -tags speed -v -timeout 0 ./internal/e2e/speed
//	go test -tags speed -v -timeout 0 ./internal/e2e/speed -speed.against COMMIT
//	go test -tags speed -v -timeout 0 ./internal/e2e/speed -speed.redis
//
// Both bots of a way run in processes of their own and take turns. Fakes of their
// platform in this process ask them /price. A ratio is of two turns that follow
// each other, and the one printed is the median of all rounds. The fakes share the
// processors with the bots, and take the same from both. A wrong, doubled or lost
// answer fails the test. A missed goal is only printed, because a busy machine
// misses any.
package speed

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/store/redistest"
)

var (
	rounds   = flag.Int("speed.rounds", 7, "how often each bot has its turn")
	commands = flag.Int("speed.commands", 10_000, "commands in a turn")
	against  = flag.String("speed.against", "", "measure beside the bot of this `commit`, instead of the bare library")
	redis    = flag.Bool("speed.redis", false, "measure with a Redis, beside the same bot without one")
)

const (
	// warmUp is how many commands are asked before anything is measured.
	warmUp = 2000
	// users ask in private, each at most once in a turn.
	users, firstUser = 20_000, 7_000_000_000
)

// goal bounds the ratios of a way in: of the rate from below, of the CPU from above.
type goal struct{ rate, cpu float64 }

// ways are the goals beside the bare library, by way in, and how many commands are
// in flight at a time.
var ways = map[string]struct {
	inFlight int
	goal
}{
	"telegram polling":  {200, goal{1, 1}},
	"telegram webhook":  {100, goal{0.95, 1.1}},
	"discord gateway":   {100, goal{0.95, 1}},
	"discord over http": {100, goal{0.65, 1.25}},
}

// noSlower is the goal beside an earlier commit, and withRedis that beside the bot without
// Redis, which takes its share of the same processors.
var noSlower, withRedis = goal{1, 1}, goal{0.7, 1.6}

// settings of Herald: rate limits are counted, and are too high to be reached.
var settings = []string{"PRICE_TTL=24h", "RATE_LIMIT_USER=10000", "RATE_LIMIT_CHAT=10000"}

func TestSpeed(t *testing.T) {
	programs := t.TempDir()
	e2etest.BuildBot(t, programs)
	other := filepath.Join(programs, "other")
	switch {
	case *redis:
	case *against != "":
		buildCommit(t, *against, other)
	default:
		run(t, "", "go", "build", "-tags", "speed", "-o", other, "herald/internal/e2e/speed/bare")
	}
	table := "\n| way in | commands a second | CPU for 1,000, ms |\n| --- | --- | --- |\n"
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) { table += compare(t, way, programs) })
	}
	fmt.Print(table)
}

// buildCommit builds the bot of a commit of this repository.
func buildCommit(t *testing.T, commit, binary string) {
	tree := t.TempDir()
	archive := filepath.Join(tree, "tree.tar")
	run(t, "../../..", "git", "archive", "--output", archive, commit)
	run(t, tree, "tar", "-xf", archive)
	run(t, tree, "go", "build", "-o", binary, "./cmd/bot")
}

// run runs a command in a folder, and fails the test if the command fails.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// compare measures Herald and the other bot in turn, and returns a row of the
// table: Herald's figures, the other's, and their ratios with the goals.
func compare(t *testing.T, way e2etest.Way, programs string) string {
	platforms, inFlight, goal := []*e2etest.Platform{way.Open(t), way.Open(t)}, ways[way.Name].inFlight, ways[way.Name].goal
	bot := filepath.Join(programs, "bot")
	heralds := slices.Clone(settings)
	if *redis {
		heralds = append(heralds, "REDIS_URL="+redistest.Start(t).URL+"?read_timeout=1s")
	}
	herald := newContender(platforms[0], platforms[0].Start(bot, fault.Start(t), heralds...))
	answer, err := herald.load.askOne()
	if err != nil {
		t.Fatal(err)
	}
	var process *e2etest.Process
	switch binary := filepath.Join(programs, "other"); {
	case *redis:
		goal = withRedis
		process = platforms[1].Start(bot, fault.Start(t), settings...)
	case *against != "":
		goal = noSlower
		process = platforms[1].Start(binary, fault.Start(t), settings...)
	default:
		process = e2etest.ServeProcess(t, binary, append(platforms[1].Settings(), "ANSWER="+answer)...)
		platforms[1].Through(process.URL())
	}
	other := newContender(platforms[1], process)
	order := []*contender{herald, other}
	for _, c := range order {
		c.turn(t, warmUp, inFlight)
	}
	for range *rounds {
		for _, c := range order {
			took, cpu := c.turn(t, *commands, inFlight)
			c.rates = append(c.rates, float64(*commands)/took.Seconds())
			c.cpus = append(c.cpus, cpu.Seconds()*1e6/float64(*commands))
		}
		t.Logf("%.0f : %.0f commands a second, %.0f : %.0f ms of CPU for 1,000",
			herald.rates[len(herald.rates)-1], other.rates[len(other.rates)-1], herald.cpus[len(herald.cpus)-1], other.cpus[len(other.cpus)-1])
		slices.Reverse(order)
	}
	herald.process.Leave()
	other.process.Leave()
	rate, cpu := ratio(herald.rates, other.rates), ratio(herald.cpus, other.cpus)
	return fmt.Sprintf("| %s | %.0f : %.0f = **%.2f** (≥ %.2f%s) | %.0f : %.0f = **%.2f** (≤ %.2f%s) |\n", way.Name,
		median(herald.rates), median(other.rates), rate, goal.rate, missed(rate < goal.rate),
		median(herald.cpus), median(other.cpus), cpu, goal.cpu, missed(cpu > goal.cpu))
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

// contender is a bot, what it is asked, and what was measured.
type contender struct {
	process     *e2etest.Process
	load        *load
	asked       int
	rates, cpus []float64
}

func newContender(platform *e2etest.Platform, process *e2etest.Process) *contender {
	return &contender{process: process, load: newLoad(platform)}
}

// turn asks the bot for n answers, and returns how long that took, and how much
// CPU of the bot's.
func (c *contender) turn(t *testing.T, n, inFlight int) (took, cpu time.Duration) {
	t.Helper()
	before := c.cpu(t)
	took, err := c.load.ask(c.asked, n, inFlight)
	if err != nil {
		log := c.process.Log.String()
		t.Fatalf("%v\n%s", err, log[max(0, len(log)-1000):])
	}
	c.asked += n
	return took, c.cpu(t) - before
}

// clockTick is the unit of times in /proc; Linux has no other.
const clockTick = 10 * time.Millisecond

// cpu is the processor time that the bot has taken so far.
func (c *contender) cpu(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.process.Process.Pid))
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

// answerTime is how long all answers to a load may take before those that are
// missing count as lost.
const answerTime = time.Minute

// load is the commands that are asked of one bot, and their answers.
type load struct {
	platform *e2etest.Platform

	mu       sync.Mutex
	answers  map[string]int // by the chat in Telegram, the interaction in Discord
	wrong    error          // the first problem
	inFlight chan struct{}  // holds a token for each command asked and not answered
}

// newLoad takes the answers that the platform shows from now on.
func newLoad(platform *e2etest.Platform) *load {
	l := &load{platform: platform}
	if platform.OnDiscord {
		platform.Discord.Watch(func(s fakediscord.Shown) { l.answered(s.Interaction.ID, s.Message.Text()) })
		return l
	}
	platform.Telegram.Watch(func(e faketelegram.Event) {
		if e.Message != nil {
			l.answered(strconv.FormatInt(e.Message.Chat, 10), e.Message.Text)
		}
	})
	return l
}

// answered takes an answer to the command with this ID.
func (l *load) answered(id, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[id]++
	switch {
	case !strings.Contains(text, e2etest.Price):
		l.wrong = errors.Join(l.wrong, fmt.Errorf("command %s is answered with %.300q", id, text))
	case l.answers[id] > 1:
		l.wrong = errors.Join(l.wrong, fmt.Errorf("command %s is answered twice", id))
		return
	}
	<-l.inFlight
}

// ask asks n commands after the first ones, and returns once all are answered, with
// the time that took.
func (l *load) ask(first, n, inFlight int) (took time.Duration, err error) {
	l.mu.Lock()
	l.answers, l.inFlight = map[string]int{}, make(chan struct{}, inFlight)
	l.mu.Unlock()
	began, lost := time.Now(), time.After(answerTime)
	var asked []*e2etest.Asked
	for i := range n + inFlight {
		select {
		case l.inFlight <- struct{}{}:
		case <-lost:
			l.mu.Lock()
			defer l.mu.Unlock()
			return 0, errors.Join(fmt.Errorf("%d of %d commands were not answered within %v", n-len(l.answers), n, answerTime), l.wrong)
		}
		if i < n { // the others only wait
			asked = append(asked, l.platform.Ask(e2etest.Command{User: int64(firstUser + (first+i)%users), Name: "price"}))
		}
	}
	took = time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asked {
		id := strconv.FormatInt(a.User, 10)
		if a.OnDiscord() {
			id = a.Pending.ID
			a.Pending.Forget()
		}
		if l.answers[id] != 1 {
			l.wrong = errors.Join(l.wrong, fmt.Errorf("command %s is answered %d times", id, l.answers[id]))
		}
	}
	if !l.platform.OnDiscord {
		l.platform.Telegram.Take(0)
	}
	return took, l.wrong
}

// askOne returns what the bot says, as JSON that the bare bot can read.
func (l *load) askOne() (answer string, err error) {
	l.mu.Lock()
	l.answers, l.inFlight = map[string]int{}, make(chan struct{}, 1)
	l.mu.Unlock()
	l.inFlight <- struct{}{}
	asked := l.platform.Ask(e2etest.Command{User: firstUser, Name: "price"})
	asked.Wait()
	said := any(nil)
	if asked.OnDiscord() {
		said = map[string]any{"type": 4, "data": asked.Pending.Answer().Payload("", "")}
	} else {
		said = l.platform.Telegram.Calls("sendMessage")[0].Params
	}
	text, err := json.Marshal(said)
	return string(text), err
}
