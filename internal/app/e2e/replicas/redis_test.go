// Package replicas is two processes of the built bot that take webhooks behind
// a load balancer and share a real redis-server: what they keep to when
// processes are killed and replaced, and what a Redis that is slow or gone
// costs.
//
// Its tests are skipped where there is no redis-server.
package replicas

import (
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/app/e2e/e2etest"
)

const redisPassword = "correct-horse-battery"

// redisServer is a redis-server that keeps nothing on disk.
type redisServer struct {
	*testing.T
	addr   string
	cmd    *exec.Cmd
	client *redis.Client
}

// startRedis starts it until the test ends.
func startRedis(t *testing.T) *redisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here; Debian's package is redis-server")
	}
	r := &redisServer{T: t, addr: e2etest.FreeAddr(t)}
	r.client = redis.NewClient(&redis.Options{Addr: r.addr, Password: redisPassword, ReadTimeout: time.Minute})
	t.Cleanup(func() {
		r.client.Close()
		r.kill()
	})
	r.start()
	return r
}

// start starts it on the same address, with no data.
func (r *redisServer) start() {
	r.Helper()
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		r.Fatal(err)
	}
	r.cmd = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--requirepass", redisPassword,
		"--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--dir", r.TempDir())
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	e2etest.Eventually(r.T, "redis-server answers", func() bool { return r.client.Ping(r.Context()).Err() == nil })
}

// kill ends it as a machine that fails does.
func (r *redisServer) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func (r *redisServer) signal(s syscall.Signal) {
	r.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.Error(err)
	}
}

// do runs a command that may take its time.
func (r *redisServer) do(args ...any) {
	r.Helper()
	if err := r.client.Do(r.Context(), args...).Err(); err != nil {
		r.Errorf("%v: %v", args, err)
	}
}

// url is REDIS_URL for the server, or for what stands before it at addr.
// Options may follow.
func (r *redisServer) url(addr, options string) string {
	return "REDIS_URL=redis://:" + redisPassword + "@" + addr + "/0" + options
}

// patience has a bot wait for Redis as long as a busy machine may need.
const patience = "?read_timeout=20s"
