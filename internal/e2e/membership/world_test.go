package membership

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bwmarrin/discordgo"
	"github.com/ethereum/go-ethereum/common"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/faketest"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/fake/telegramtest"
)

// The communities: two servers, and two groups.
const (
	serverA = "910000000000000001"
	serverB = "910000000000000002"
	groupA  = "-1009100000001"
	groupB  = "-1009100000002"
)

var communities = []string{serverA, serverB, groupA, groupB}

// isGroup reports whether a community is a group of Telegram.
func isGroup(community string) bool { return strings.HasPrefix(community, "-") }

// badges that communities give: the IDs of roles, which are the same in both servers, and the texts of tags.
var (
	roles = []string{"920000000000000001", "920000000000000002", "920000000000000003", "920000000000000004"}
	tags  = []string{"Staker", "Whale", "Holder", "Big fish"}
)

// botRole is the ID of the bot's own role.
const botRole = "920000000000000009"

// maxProcesses is how many processes a world on Redis can have.
const maxProcesses = 16

// world is everything that a tape needs: the processes of the bot, and all that is outside of them.
type world struct {
	*testing.T
	name     string // the domain of its hosts
	rand     *rand.Rand
	begun    time.Time
	network  *faketest.Network // on which serve answers the calls of processes
	fakes    *services.Fakes
	discord  *discordtest.Server
	telegram *telegramtest.Server
	dir      string               // of the bot's files
	redis    *miniredis.Miniredis // nil if the bot saves in files
	gates    []*gate              // to redis, one for each process
	people   []*person
	judge    judge
	settings settings

	failures []string // what should not have happened
	events   []string // everything that happened, to explain a failure

	pressing sync.Mutex // held while a press on Telegram is queued and taken

	mu        sync.Mutex
	processes []*process
	stakes    map[common.Address][]stake // oldest first
	faults    map[string]fault           // by service or community
	hadFaults map[communityFault]bool    // the faults that communities ever had
	// wasLimited and wasRefused are whether any community ever limited or refused calls.
	wasLimited, wasRefused bool
	// alwaysBroken is the community whose fault nothing ends, or "".
	alwaysBroken string
}

// stake is what a wallet stakes since a time, in thousandths of a token.
type stake struct {
	since  time.Time
	amount int64
}

// communityFault is a fault of a community.
type communityFault struct {
	community string
	fault     fault
}

// worldCount is how many worlds there have been. It makes their names unique.
var worldCount atomic.Int64

// play runs a script in a new world, in simulated time. It fails the test if the world has failures at the
// end, and then prints all events.
func play(t *testing.T, seed uint64, options options, script func(w *world)) {
	t.Helper()
	dir := t.TempDir()
	var redis *miniredis.Miniredis
	var gates []*gate
	if options.redis {
		redis = miniredis.RunT(t)
		for range maxProcesses {
			gates = append(gates, newGate(t, redis))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed, options, dir)
		w.redis = redis
		w.gates = gates
		if w.redis != nil {
			w.keepRedisTime()
		}
		script(w)
		w.stopAll()
		w.checkLogs()
		if testing.Verbose() {
			t.Log("\n" + strings.Join(w.events, "\n"))
		}
		if len(w.failures) > 0 {
			failures, events := strings.Join(w.failures, "\n"), strings.Join(w.events, "\n")
			t.Errorf("seed %d:\n%s\nevents:\n%s", seed, failures, events)
		}
	})
}

// newWorld returns a world without a process. Everybody is in both communities of their platform.
func newWorld(t *testing.T, seed uint64, o options, dir string) *world {
	w := &world{
		T:         t,
		name:      fmt.Sprintf("world%d.test", worldCount.Add(1)),
		rand:      rand.New(rand.NewPCG(seed, 1)),
		begun:     time.Now(),
		network:   faketest.NewNetwork(),
		fakes:     services.New(),
		telegram:  telegramtest.NewInMemory(t),
		discord:   discordtest.NewOn(faketest.NewNetwork()),
		dir:       dir,
		stakes:    map[common.Address][]stake{},
		faults:    map[string]fault{},
		hadFaults: map[communityFault]bool{},
	}
	worlds.Store(w.name, w)
	t.Cleanup(func() { worlds.Delete(w.name) })
	t.Cleanup(w.discord.Close)
	t.Cleanup(serveIn(w.network, http.HandlerFunc(w.serve)))
	for _, server := range []string{serverA, serverB} {
		w.addServer(server)
	}
	for _, group := range []string{groupA, groupB} {
		w.telegram.GrantTags(number(group), true)
	}
	w.serveStakes()
	for i := range max(o.people, 2) {
		w.addPerson(i)
	}
	w.settings = w.firstSettings(o)
	return w
}

// addServer adds a server in which the bot can give every role.
func (w *world) addServer(id string) {
	list := []fakediscord.Role{
		{ID: botRole, Name: "Herald", Position: 9, Permissions: discordgo.PermissionManageRoles},
	}
	for i, role := range roles {
		list = append(list, fakediscord.Role{ID: role, Name: tags[i], Position: i + 1})
	}
	w.discord.AddGuild(id, list, botRole)
}

// keepRedisTime makes Redis follow simulated time until the test ends.
func (w *world) keepRedisTime() {
	const tick = 5 * time.Second
	ticker := time.NewTicker(tick)
	stop, ended := make(chan struct{}), make(chan struct{})
	w.redis.SetTime(time.Now())
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				w.redis.SetTime(time.Now())
				w.redis.FastForward(tick)
			case <-stop:
				return
			}
		}
	}()
	w.Cleanup(func() {
		close(stop)
		<-ended
		ticker.Stop()
	})
}

// serve answers a call of any process to any service. The call may kill the process, which then gets no
// answer.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	service, label, _ := splitHost(r.Host)
	p := w.process(label)
	if p.dead.Load() {
		panic(http.ErrAbortHandler)
	}
	if p.isKilledByCall() {
		if p.lastCallCarriedOut.Load() {
			w.answer(httptest.NewRecorder(), r, service)
		}
		p.die()
		panic(http.ErrAbortHandler)
	}
	w.answer(rw, r, service)
}

// answer answers a call to a service, with the fault of the service or community if it has one.
func (w *world) answer(rw http.ResponseWriter, r *http.Request, service string) {
	switch service {
	case "telegram":
		w.answerPlatform(rw, r, w.telegram)
	case "discord":
		w.answerPlatform(rw, r, w.discord)
	case "partner":
		w.answerPartner(rw, r)
	case "chain":
		w.answerChain(rw, r)
	default:
		http.Error(rw, "Service Unavailable", http.StatusServiceUnavailable)
	}
}

// note adds a line to the events.
func (w *world) note(format string, args ...any) {
	line := w.timed(format, args...)
	w.locked(func() { w.events = append(w.events, line) })
}

// fail adds a failure, up to a limit, and notes it among the events.
func (w *world) fail(format string, args ...any) {
	const maxFailures = 20
	line := w.timed(format, args...)
	w.locked(func() {
		if len(w.failures) < maxFailures {
			w.failures = append(w.failures, line)
		}
		w.events = append(w.events, "FAILED "+line)
	})
}

// timed returns a line that begins with the time since the world began.
func (w *world) timed(format string, args ...any) string {
	age := time.Since(w.begun).Truncate(time.Second)
	return fmt.Sprintf("%10s  ", age) + fmt.Sprintf(format, args...)
}

// locked calls f with mu held.
func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// wait lets simulated time pass, until everything that happens in it has happened.
func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// setStake sets what a wallet stakes from now on, in thousandths of a token.
func (w *world) setStake(wallet common.Address, amount int64) {
	w.locked(func() { w.stakes[wallet] = append(w.stakes[wallet], stake{since: time.Now(), amount: amount}) })
}

// stakeAt returns what a wallet stakes at a time.
func (w *world) stakeAt(wallet common.Address, at time.Time) (amount int64) {
	w.locked(func() {
		for _, s := range w.stakes[wallet] {
			if !s.since.After(at) {
				amount = s.amount
			}
		}
	})
	return amount
}

// maybeBase64 matches what may be a value in Base64.
var maybeBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{24,}={0,2}`)

// storeContent returns everything that the store holds, as text.
func (w *world) storeContent() string {
	var all strings.Builder
	if w.redis != nil {
		for _, key := range w.redis.Keys() {
			value, _ := w.redis.Get(key)
			fmt.Fprintln(&all, key, value)
			fields, _ := w.redis.HKeys(key)
			for _, field := range fields {
				fmt.Fprintln(&all, field, w.redis.HGet(key, field))
			}
		}
		return all.String()
	}
	_ = filepath.WalkDir(filepath.Join(w.dir, "data"), func(file string, _ os.DirEntry, _ error) error {
		content, _ := os.ReadFile(file) // It fails for a folder, which has no content.
		all.Write(content)
		for _, text := range maybeBase64.FindAll(content, -1) {
			value, _ := base64.StdEncoding.DecodeString(string(text))
			all.Write(value)
		}
		return nil
	})
	return all.String()
}
