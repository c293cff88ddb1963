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

// replicated is a bot in two processes, behind a load balancer, on one real Redis. Both platforms call it.
type replicated struct {
	t                 *testing.T
	balancer          *balancer
	settings          []string
	telegram, discord *e2etest.Platform
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	r := &replicated{
		t:        t,
		balancer: newBalancer(),
		telegram: e2etest.TelegramWebhook.Open(t),
		discord:  e2etest.DiscordHTTP.Open(t),
	}
	redis := redistest.Start(t)
	fakes := fault.Start(t)
	fakes.Chain.SetFault(fault.Late(150 * time.Millisecond))
	r.settings = slices.Concat(
		e2etest.Settings(fakes),
		r.telegram.Settings(),
		r.discord.Settings(),
		[]string{"REDIS_URL=" + redis.URL + "?read_timeout=1s", "TELEGRAM_PACING=on"},
	)
	r.telegram.Through(r.balancer.listen(t))
	r.discord.Through(r.balancer.listen(t))
	return r
}

// start starts a replica.
func (r *replicated) start() *e2etest.Process {
	r.t.Helper()
	p := e2etest.ServeProcess(r.t, binary(r.t), r.settings...)
	r.balancer.add(p)
	return p
}

// askTelegram sends n commands at once.
func (r *replicated) askTelegram(n int) (asked []*e2etest.Asked) {
	for i := range n {
		c := e2etest.Command{User: int64(10_000 + i), Name: "staked", Argument: wallet(i)}
		asked = append(asked, r.telegram.Ask(c))
	}
	return asked
}

// askDiscord sends a command every 50 ms until end is called. end returns the commands.
func (r *replicated) askDiscord() (end func() []*e2etest.Asked) {
	var asked []*e2etest.Asked
	stop := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			c := e2etest.Command{User: int64(20_000 + i), Group: true, Name: "staked", Argument: wallet(1000 + i)}
			asked = append(asked, r.discord.Ask(c))
		}
	})
	return func() []*e2etest.Asked {
		close(stop)
		asking.Wait()
		return asked
	}
}

// awaitAnswered waits until Telegram has n answers.
func (r *replicated) awaitAnswered(n int) {
	r.t.Helper()
	if got := len(r.telegram.Telegram.WaitSent(n, e2etest.Patience)); got < n {
		r.t.Fatalf("only %d commands are answered, want %d", got, n)
	}
}

// checkAnswered fails the test unless each command is answered once. Only a command that the killed replica
// had in flight may have another number of answers. If it came from Discord, or from Telegram and was
// acknowledged, it is not delivered again and may have none. Otherwise it is delivered again and may have
// two. checkAnswered returns how many have none.
func (r *replicated) checkAnswered(asked []*e2etest.Asked, killed *e2etest.Process) (lost int) {
	r.t.Helper()
	for _, a := range asked {
		acknowledged, inFlight := r.balancer.taken[killed][a.Argument]
		mayBeLost := inFlight && (acknowledged || a.OnDiscord())
		if mayBeLost && len(a.Answers()) == 0 {
			lost++
			continue
		}
		maxAnswers := 1
		if inFlight && !mayBeLost {
			maxAnswers = 2
		}
		a.Wait()
		answers := a.Answers()
		if len(answers) > maxAnswers || !strings.Contains(answers[0].Text, "Not staked") {
			r.t.Errorf("%s is answered %d times, want at most %d: %+v", a.Argument, len(answers), maxAnswers, answers)
		}
	}
	return lost
}

// One replica is killed and replaced, then the other gets SIGTERM.
//
// The test is not parallel. On a busy machine, the balancer could take longer than a second, and hand a request
// to a replica that has ended.
func TestReplicasComeAndGoUnderLoad(t *testing.T) {
	const commands = 40
	r := newReplicated(t)
	first, second := r.start(), r.start()
	asked := r.askTelegram(commands)
	endDiscord := r.askDiscord()

	r.awaitAnswered(commands / 4)
	first.Kill()
	r.start()
	r.awaitAnswered(commands / 2)
	second.Leave()
	asked = append(asked, endDiscord()...)

	lost := r.checkAnswered(asked, first)
	if problems := r.discord.Discord.Problems(); len(problems) > 0 {
		t.Errorf("Discord refuses %v", problems)
	}
	t.Logf("of %d commands %d were lost with the killed replica", len(asked), lost)
}

// balancer hands requests to the replicas in turn, as Caddy does with deploy/Caddyfile. It passes over
// those that are not healthy. If a replica refuses a request, with a 503 or because it does not listen,
// the next one gets it. If the connection breaks, the response is a 502.
type balancer struct {
	mu       sync.Mutex
	replicas []*e2etest.Process
	turn     int
	// taken lists the requests that a replica has not refused, by their wallets, and whether the
	// replica has responded.
	taken map[*e2etest.Process]map[string]bool
}

func newBalancer() *balancer { return &balancer{taken: map[*e2etest.Process]map[string]bool{}} }

// listen returns a URL at which the balancer takes requests until the test ends.
func (b *balancer) listen(t *testing.T) string {
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {},
		Transport: b,
		ErrorLog:  log.New(io.Discard, "", 0),
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func (b *balancer) add(p *e2etest.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = append(b.replicas, p)
	b.taken[p] = map[string]bool{}
}

// next returns all replicas, beginning with the one whose turn it is.
func (b *balancer) next() []*e2etest.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	first := b.turn % len(b.replicas)
	return slices.Concat(b.replicas[first:], b.replicas[:first])
}

var (
	// noKeepAlive opens a connection for each request. A connection that was idle when its replica died
	// would break a request that the replica never got.
	noKeepAlive = &http.Transport{DisableKeepAlives: true}
	anyWallet   = regexp.MustCompile(`0x[0-9a-f]{40}`)
)

// RoundTrip tries the replicas every 50 ms, the lb_try_interval of deploy/Caddyfile. It tries for
// longer than lb_try_duration, because a busy machine can spend that on one attempt. For the same reason it
// asks for /healthz before each attempt, and not every health_interval.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	const tryInterval = 50 * time.Millisecond
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(e2etest.Patience); time.Now().Before(until); <-time.After(tryInterval) {
		for _, replica := range b.next() {
			if replica.Healthz() != http.StatusOK {
				continue
			}
			resp, err := b.hand(replica, r, body)
			if !refused(resp, err) {
				return resp, err
			}
		}
	}
	return nil, errors.New("every replica refuses the request")
}

// hand hands a request to one replica, and notes in taken whether the replica took it.
func (b *balancer) hand(p *e2etest.Process, r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme = "http"
	out.URL.Host = strings.TrimPrefix(p.URL(), "http://")
	out.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := noKeepAlive.RoundTrip(out)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !refused(resp, err):
		responded := err == nil
		b.taken[p][anyWallet.FindString(string(body))] = responded
	case err == nil:
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
