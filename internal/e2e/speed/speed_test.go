//go:build speed

// Package speed compares the speed of the built bot with that of another bot: the smallest bot of a client
// library, which always gives the same answer (package bare), the bot of an earlier commit, or the same bot
// without Redis. Each way of commands to a bot (e2etest.Way) is measured.
//
//	go test -tags speed -v -timeout 0 ./internal/e2e/speed
//	go test -tags speed -v -timeout 0 ./internal/e2e/speed -speed.against COMMIT
//	go test -tags speed -v -timeout 0 ./internal/e2e/speed -speed.redis
//
// Both bots run in processes of their own and take turns. In a turn, a fake of the platform, in this process,
// sends /price many times. In each round both bots have a turn, and the ratio of their speeds is taken. The test
// prints the median of the ratios. The fakes share the processors with the bots, and cost both the same.
//
// A wrong, doubled or lost answer fails the test. A missed goal is only printed, because on a busy machine every
// goal may be missed.
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
	// warmUp is how many commands are sent before anything is measured.
	warmUp = 2000
	// users is how many people ask in private, each at most once in a turn.
	users     = 20_000
	firstUser = 7_000_000_000
)

// goal limits the ratios of Herald to the other bot.
type goal struct {
	minRate float64 // ratio of the commands a second
	maxCPU  float64 // ratio of the CPU times
}

// ways lists how many commands are in flight at a time, and the goal beside the bare library, by way.
var ways = map[e2etest.Way]struct {
	inFlight int
	goal
}{
	e2etest.TelegramPolling: {200, goal{minRate: 1, maxCPU: 1}},
	e2etest.TelegramWebhook: {100, goal{minRate: 0.95, maxCPU: 1.1}},
	e2etest.DiscordGateway:  {100, goal{minRate: 0.95, maxCPU: 1}},
	e2etest.DiscordHTTP:     {100, goal{minRate: 0.65, maxCPU: 1.25}},
}

var (
	// noSlower is the goal beside an earlier commit.
	noSlower = goal{minRate: 1, maxCPU: 1}
	// withRedis is the goal beside the same bot without Redis. Redis uses the same processors.
	withRedis = goal{minRate: 0.7, maxCPU: 1.6}
)

// settings are the settings of Herald. Rate limits are counted, but too high to be reached.
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

// compare measures Herald and the other bot, and returns a row of the table: Herald's figures, the other's, and
// their ratios with the goals.
func compare(t *testing.T, way e2etest.Way, programs string) string {
	inFlight := ways[way].inFlight
	herald := startHerald(t, way.Open(t), programs)
	other, goal := startOther(t, way.Open(t), programs, herald)
	order := []*contender{herald, other}
	for _, c := range order {
		c.turn(t, warmUp, inFlight)
	}
	for range *rounds {
		for _, c := range order {
			c.measure(t, inFlight)
		}
		t.Logf("%.0f : %.0f commands a second, %.0f : %.0f ms of CPU for 1,000",
			last(herald.rates), last(other.rates), last(herald.cpus), last(other.cpus))
		slices.Reverse(order)
	}
	herald.process.Leave()
	other.process.Leave()
	rate, cpu := ratio(herald.rates, other.rates), ratio(herald.cpus, other.cpus)
	return fmt.Sprintf("| %s | %.0f : %.0f = **%.2f** (≥ %.2f%s) | %.0f : %.0f = **%.2f** (≤ %.2f%s) |\n", way.Name,
		median(herald.rates), median(other.rates), rate, goal.minRate, missed(rate < goal.minRate),
		median(herald.cpus), median(other.cpus), cpu, goal.maxCPU, missed(cpu > goal.maxCPU))
}

// startHerald starts the bot that is measured. If -speed.redis is set, it saves in Redis.
func startHerald(t *testing.T, platform *e2etest.Platform, programs string) *contender {
	t.Helper()
	with := slices.Clone(settings)
	if *redis {
		with = append(with, "REDIS_URL="+redistest.Start(t).URL+"?read_timeout=1s")
	}
	return newContender(platform, platform.Start(filepath.Join(programs, "bot"), fault.Start(t), with...))
}

// startOther starts the bot that Herald is compared with, and returns the goal. The bare bot always gives the answer
// that Herald gives now.
func startOther(t *testing.T, platform *e2etest.Platform, programs string, herald *contender) (*contender, goal) {
	t.Helper()
	other := filepath.Join(programs, "other")
	switch {
	case *redis:
		bot := filepath.Join(programs, "bot")
		return newContender(platform, platform.Start(bot, fault.Start(t), settings...)), withRedis
	case *against != "":
		return newContender(platform, platform.Start(other, fault.Start(t), settings...)), noSlower
	}
	answer, err := herald.load.askOne()
	if err != nil {
		t.Fatal(err)
	}
	process := e2etest.ServeProcess(t, other, append(platform.Settings(), "ANSWER="+answer)...)
	platform.Through(process.URL())
	return newContender(platform, process), ways[platform.Way].goal
}

func last(values []float64) float64 { return values[len(values)-1] }

// missed returns the mark in the table of a goal that is missed, and "" for a goal that is met.
func missed(isMissed bool) string {
	if isMissed {
		return " missed"
	}
	return ""
}

// ratio returns the median of the ratios, round by round.
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

// contender is one of the two bots, and what was measured.
type contender struct {
	process *e2etest.Process
	load    *load
	asked   int       // commands sent so far
	rates   []float64 // commands a second, by round
	cpus    []float64 // ms of CPU for 1,000 commands, by round
}

func newContender(platform *e2etest.Platform, process *e2etest.Process) *contender {
	return &contender{process: process, load: newLoad(platform)}
}

// measure gives the bot its turn in a round.
func (c *contender) measure(t *testing.T, inFlight int) {
	t.Helper()
	took, cpu := c.turn(t, *commands, inFlight)
	c.rates = append(c.rates, float64(*commands)/took.Seconds())
	c.cpus = append(c.cpus, cpu.Seconds()*1e6/float64(*commands))
}

// turn sends n commands, and returns how long the bot took to answer them, and how much CPU time it used.
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

// cpu returns the CPU time that the bot has used so far.
func (c *contender) cpu(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name before the parenthesis may contain anything. utime and stime are fields 14 and 15,
	// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick
}

// answerTime is how long all answers of a turn may take. After that, missing answers count as lost.
const answerTime = time.Minute

// load sends commands to one bot, and checks the answers.
type load struct {
	platform *e2etest.Platform

	mu       sync.Mutex
	answers  map[string]int // how often each command of a turn was answered, by ID
	wrong    error          // every problem so far
	inFlight chan struct{}  // has an element for each command that is not answered
}

// newLoad returns a load that gets the answers that the platform shows from now on. The ID of a command is its chat
// on Telegram, because each user asks in private, and its interaction on Discord.
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

// ask sends n commands, with the users that follow those of the earlier commands. It blocks until all are answered,
// and returns how long that took.
func (l *load) ask(earlier, n, inFlight int) (took time.Duration, err error) {
	l.begin(inFlight)
	began, lost := time.Now(), time.After(answerTime)
	var asked []*e2etest.Asked
	for i := range n + inFlight {
		select {
		case l.inFlight <- struct{}{}:
		case <-lost:
			return 0, l.lostError(n)
		}
		// After the last command, inFlight further elements fit into the channel once all are answered.
		if i < n {
			user := int64(firstUser + (earlier+i)%users)
			asked = append(asked, l.platform.Ask(e2etest.Command{User: user, Name: "price"}))
		}
	}
	return time.Since(began), l.verify(asked)
}

// begin begins a turn in which at most inFlight commands are not answered.
func (l *load) begin(inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = map[string]int{}
	l.inFlight = make(chan struct{}, inFlight)
}

// answered counts an answer to the command with this ID.
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

// lostError returns the error that some of n commands were not answered.
func (l *load) lostError(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := fmt.Errorf("%d of %d commands were not answered within %v", n-len(l.answers), n, answerTime)
	return errors.Join(lost, l.wrong)
}

// verify returns every problem so far, including each command that was not answered exactly once. It makes the
// platform forget the commands.
func (l *load) verify(asked []*e2etest.Asked) error {
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
	return l.wrong
}

// askOne sends one command, and returns the answer as JSON that the bare bot can read.
func (l *load) askOne() (answer string, err error) {
	l.begin(1)
	l.inFlight <- struct{}{}
	asked := l.platform.Ask(e2etest.Command{User: firstUser, Name: "price"})
	asked.Wait()
	var sent any
	if asked.OnDiscord() {
		sent = map[string]any{"type": 4, "data": asked.Pending.Answer().Payload("", "")}
	} else {
		sent = l.platform.Telegram.Calls("sendMessage")[0].Params
	}
	text, err := json.Marshal(sent)
	return string(text), err
}
