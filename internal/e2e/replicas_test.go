package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

const (
	// typedOnTelegram and typedOnDiscord are commands, each of somebody else.
	typedOnTelegram, typedOnDiscord = 40, 80
	// claim is how long what a killed replica has in flight stays its own:
	// COMMAND_TIMEOUT.
	claim = 3 * time.Second
)

// Two processes of the built bot take webhooks of both platforms under load,
// behind a load balancer and on one real Redis. One is killed and replaced, then
// the other is told to leave. Every command is answered, and once. Only those
// that the killed one had in flight may be lost, or answered twice on Telegram, which
// delivers again what was not acknowledged.
func TestReplicasComeAndGoUnderLoad(t *testing.T) {
	t.Parallel()
	redisURL := startRedis(t)
	world, telegram, discord, program := e2etest.Sandbox(t), e2etest.Ways[1].Open(t), e2etest.Ways[3].Open(t), binary(t)
	settings := slices.Concat(e2etest.Settings(world), telegram.Settings(), discord.Settings(), []string{
		"REDIS_URL=" + redisURL + "?read_timeout=1s", "TELEGRAM_PACING=on", "COMMAND_TIMEOUT=" + claim.String(),
	})
	start := func() *e2etest.Process { return e2etest.StartProcess(t, program, settings...) }
	first, second := start(), start()
	b := startBalancer(t, first, second)
	telegram.Through(b.URL)
	discord.Through(b.URL)
	world.Chain.SetFault(fault.Late(150 * time.Millisecond))

	var onTelegram, onDiscord []*e2etest.Asked
	for i := range typedOnTelegram {
		onTelegram = append(onTelegram, telegram.Ask(e2etest.Command{User: int64(10_000 + i), Name: "staked", Argument: wallet(i)}))
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		// The pauses spread the load; no event is waited for.
		pause := time.NewTicker(25 * time.Millisecond)
		defer pause.Stop()
		for i := range typedOnDiscord {
			a := discord.Ask(e2etest.Command{User: int64(20_000 + i), Group: true, Name: "staked", Argument: wallet(1000 + i)})
			b.mu.Lock()
			onDiscord = append(onDiscord, a)
			b.mu.Unlock()
			<-pause.C
		}
	})
	answered := func(n int) {
		t.Helper()
		if got := len(telegram.Telegram.WaitSent(n, e2etest.Patience)); got < n {
			t.Fatalf("only %d are answered", got)
		}
	}
	answered(typedOnTelegram / 4)
	first.Kill()
	mayBeLost := unanswered(b, &onDiscord, first)
	maps.Copy(mayBeLost, unanswered(b, &onTelegram, first))
	b.replace(first, start())
	answered(typedOnTelegram / 2)
	second.Leave()
	asking.Wait()

	twice, lost := 0, 0
	for _, a := range onTelegram {
		if !mayBeLost[a] {
			a.Wait()
		}
	}
	for _, a := range onTelegram {
		switch n := len(a.Answers()); {
		case n == 0 && mayBeLost[a]:
			lost++
		case n == 2 && b.handed[first][a.Argument]:
			twice++
		case n != 1 || !strings.Contains(a.Answers()[0].Text, "Not staked"):
			t.Errorf("%s is answered %d times: %+v", a.Argument, n, a.Answers())
		}
	}
	for _, a := range onDiscord {
		if mayBeLost[a] && len(a.Answers()) == 0 {
			lost++
		} else if got := a.Wait(); !strings.Contains(got.Text, "Not staked") {
			t.Errorf("%s is answered %+v", a.Argument, got)
		}
	}
	if problems := discord.Discord.Problems(); len(problems) > 0 {
		t.Errorf("Discord refuses %v", problems)
	}
	t.Logf("%d on Telegram, %d answered twice; %d on Discord, %d in flight of the killed replica, %d lost",
		len(onTelegram), twice, len(onDiscord), len(mayBeLost), lost)
}

// unanswered are those that a replica was handed and that have no answer yet.
func unanswered(b *balancer, asked *[]*e2etest.Asked, by *e2etest.Process) map[*e2etest.Asked]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	picked := map[*e2etest.Asked]bool{}
	for _, a := range *asked {
		if b.handed[by][a.Argument] && len(a.Answers()) == 0 {
			picked[a] = true
		}
	}
	return picked
}

// startRedis starts a redis-server that keeps nothing on disk, until the test
// ends, and returns its URL.
func startRedis(t *testing.T) (url string) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here; Debian's package is redis-server")
	}
	const password = "correct-horse-battery"
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close() // redis-server cannot choose a port
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--requirepass", password,
		"--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: addr, Password: password})
	t.Cleanup(func() {
		client.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	e2etest.Eventually(t, "redis-server answers", func() bool { return client.Ping(t.Context()).Err() == nil })
	return "redis://:" + password + "@" + addr + "/0"
}

// balancer hands requests to the replicas in turn, as deploy/Caddyfile has Caddy
// do. What one answers with 503, or cannot be connected to for, goes to the next.
// A request whose connection breaks is answered with 502. One that is found not
// to be ready is asked last: the system breaks connections that come in the
// instant in which a process ends.
type balancer struct {
	URL string

	mu       sync.Mutex
	replicas []*e2etest.Process
	turn     int
	unready  map[*e2etest.Process]bool
	// handed are the requests, by their wallets, that a replica was handed.
	handed map[*e2etest.Process]map[string]bool
}

func startBalancer(t *testing.T, replicas ...*e2etest.Process) *balancer {
	t.Helper()
	b := &balancer{replicas: replicas, unready: map[*e2etest.Process]bool{}, handed: map[*e2etest.Process]map[string]bool{}}
	for _, p := range replicas {
		b.handed[p] = map[string]bool{}
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     b,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(proxy.Close)
	b.URL = proxy.URL
	go b.watch(t.Context())
	return b
}

// watch asks the replicas whether they are ready until ctx is done.
func (b *balancer) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, replica := range b.next() {
			resp, err := http.Get(replica.URL + "/readyz")
			if err == nil {
				resp.Body.Close()
			}
			b.mu.Lock()
			b.unready[replica] = err != nil || resp.StatusCode != http.StatusOK
			b.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// replace puts one replica in another's place.
func (b *balancer) replace(old, with *e2etest.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas[slices.Index(b.replicas, old)] = with
	b.handed[with] = map[string]bool{}
}

// next are the replicas, in the order in which they are asked.
func (b *balancer) next() []*e2etest.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	first := b.turn % len(b.replicas)
	order := slices.Concat(b.replicas[first:], b.replicas[:first])
	slices.SortStableFunc(order, func(x, y *e2etest.Process) int {
		switch {
		case b.unready[x] == b.unready[y]:
			return 0
		case b.unready[y]:
			return -1
		}
		return 1
	})
	return order
}

// For tryFor a request is handed on while no replica takes it, again every
// tryEvery: lb_try_duration and lb_try_interval in deploy/Caddyfile. What a killed
// replica had in flight is refused for longer, and delivered again.
const tryFor, tryEvery = 2 * time.Second, 50 * time.Millisecond

// noKeepAlive has a connection for each request: one that was idle when its
// replica died would break what the replica never had.
var noKeepAlive = &http.Transport{DisableKeepAlives: true}

var anyWallet = regexp.MustCompile(`0x[0-9a-f]{40}`)

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	wallet := anyWallet.FindString(string(body))
	// While none takes it, those that are there by then are tried: replicas may be
	// replaced, and leave, while it is handed on.
	for until := time.Now().Add(tryFor); ; {
		for _, replica := range b.next() {
			if resp, err = b.hand(replica, r, body, wallet); !refused(err) {
				return resp, err
			}
		}
		if time.Now().After(until) {
			return nil, err
		}
		<-time.After(tryEvery)
	}
}

var errUnavailable = errors.New("503")

// hand hands a request to one replica.
func (b *balancer) hand(p *e2etest.Process, r *http.Request, body []byte, wallet string) (*http.Response, error) {
	b.mu.Lock()
	b.handed[p][wallet] = true
	b.mu.Unlock()
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.URL+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header
	resp, err := noKeepAlive.RoundTrip(out)
	if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
		resp.Body.Close()
		return nil, errUnavailable
	}
	return resp, err
}

// refused reports whether a replica has certainly not taken a request.
func refused(err error) bool {
	var network *net.OpError
	return errors.Is(err, errUnavailable) || errors.As(err, &network) && network.Op == "dial"
}
