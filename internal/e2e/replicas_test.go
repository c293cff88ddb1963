package e2e

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/store/redistest"
)

// Two processes of the built bot take webhooks of both platforms under load, behind a load
// balancer and on one real Redis. One is killed and replaced, then the other gets SIGTERM.
// Every command is answered once, except those that the killed process had in flight. It
// loses an acknowledged one. Telegram delivers the others again, so two answers may come.
//
// The test is not parallel: a balancer that takes longer than a second would hand a request
// to a replica that has left.
func TestReplicasComeAndGoUnderLoad(t *testing.T) {
	const onceOnTelegram = 40
	redis := redistest.Start(t)
	fakes, telegram, discord, program := fault.Start(t), e2etest.Ways[1].Open(t), e2etest.Ways[3].Open(t), binary(t)
	settings := slices.Concat(e2etest.Settings(fakes), telegram.Settings(), discord.Settings(), []string{
		"REDIS_URL=" + redis.URL + "?read_timeout=1s", "TELEGRAM_PACING=on",
	})
	b := newBalancer()
	start := func() *e2etest.Process {
		p := e2etest.ServeProcess(t, program, settings...)
		b.add(p)
		return p
	}
	first, second := start(), start()
	telegram.Through(b.listen(t))
	discord.Through(b.listen(t))
	fakes.Chain.SetFault(fault.Late(150 * time.Millisecond))

	var onTelegram, onDiscord []*e2etest.Asked
	for i := range onceOnTelegram {
		onTelegram = append(onTelegram, telegram.Ask(e2etest.Command{User: int64(10_000 + i), Name: "staked", Argument: wallet(i)}))
	}
	end := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		pace := time.NewTicker(50 * time.Millisecond)
		defer pace.Stop()
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			case <-pace.C:
			}
			c := e2etest.Command{User: int64(20_000 + i), Group: true, Name: "staked", Argument: wallet(1000 + i)}
			onDiscord = append(onDiscord, discord.Ask(c))
		}
	})
	answered := func(n int) {
		t.Helper()
		if got := len(telegram.Telegram.WaitSent(n, e2etest.Patience)); got < n {
			t.Fatalf("only %d are answered", got)
		}
	}
	answered(onceOnTelegram / 4)
	first.Kill()
	start()
	answered(onceOnTelegram / 2)
	second.Leave()
	close(end)
	asking.Wait()

	lost := 0
	for _, a := range slices.Concat(onTelegram, onDiscord) {
		responded, taken := b.taken[first][a.Argument]
		if taken && (responded || a.OnDiscord()) && len(a.Answers()) == 0 {
			lost++
			continue
		}
		a.Wait()
		got := a.Answers()
		mayBeTwice := taken && !responded && !a.OnDiscord()
		if !strings.Contains(got[0].Text, "Not staked") || len(got) > 1 && !(len(got) == 2 && mayBeTwice) {
			t.Errorf("%s is answered %d times: %+v", a.Argument, len(got), got)
		}
	}
	if problems := discord.Discord.Problems(); len(problems) > 0 {
		t.Errorf("Discord refuses %v", problems)
	}
	t.Logf("of %d commands %d were lost with the killed replica", len(onTelegram)+len(onDiscord), lost)
}

// balancer hands requests to the replicas in turn, as deploy/Caddyfile has Caddy do. A
// request that one refuses, by a 503 or because nobody listens, goes to the next. The
// proxy answers a request whose connection breaks with 502.
type balancer struct {
	mu       sync.Mutex
	replicas []*e2etest.Process
	turn     int
	// taken holds the requests that a replica has not refused, by their wallets. A value
	// says whether the replica has responded.
	taken map[*e2etest.Process]map[string]bool
}

func newBalancer() *balancer { return &balancer{taken: map[*e2etest.Process]map[string]bool{}} }

// listen returns a URL at which the balancer takes requests until the test ends.
func (b *balancer) listen(t *testing.T) string {
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: b, ErrorLog: log.New(io.Discard, "", 0)})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func (b *balancer) add(p *e2etest.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = append(b.replicas, p)
	b.taken[p] = map[string]bool{}
}

// next returns the replicas in the order in which to try them.
func (b *balancer) next() []*e2etest.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	first := b.turn % len(b.replicas)
	return slices.Concat(b.replicas[first:], b.replicas[:first])
}

var (
	// noKeepAlive has a connection for each request: one that was idle when its
	// replica died would break what the replica never had.
	noKeepAlive = &http.Transport{DisableKeepAlives: true}
	anyWallet   = regexp.MustCompile(`0x[0-9a-f]{40}`)
)

// RoundTrip tries every lb_try_interval of deploy/Caddyfile. It tries for longer than
// lb_try_duration, which a busy machine can spend on a single try.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	const tryEvery = 50 * time.Millisecond
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(e2etest.Patience); time.Now().Before(until); <-time.After(tryEvery) {
		for _, replica := range b.next() {
			if resp, err := b.hand(replica, r, body); !refused(resp, err) {
				return resp, err
			}
		}
	}
	return nil, errors.New("every replica refuses it")
}

// hand hands a request to one replica, and notes in taken whether the replica took it.
func (b *balancer) hand(p *e2etest.Process, r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(p.URL(), "http://")
	out.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := noKeepAlive.RoundTrip(out)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !refused(resp, err) {
		b.taken[p][anyWallet.FindString(string(body))] = err == nil
	} else if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

// refused reports whether a replica has certainly not taken a request.
func refused(resp *http.Response, err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "dial"
	}
	return err == nil && resp.StatusCode == http.StatusServiceUnavailable
}
