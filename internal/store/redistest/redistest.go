// Package redistest starts a real Redis for a test.
package redistest

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const password = "correct-horse-battery"

// Start starts a redis-server that keeps nothing on disk, until the test ends, and
// returns its URL, or "" where redis-server is not installed.
func Start(t *testing.T) (url string) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		return ""
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close() // redis-server cannot choose a port
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--requirepass", password, "--save", "")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const pause = 10 * time.Millisecond
	client := redis.NewClient(&redis.Options{Addr: addr, Password: password, MaxRetries: 1000, MinRetryBackoff: pause, MaxRetryBackoff: pause})
	t.Cleanup(func() {
		client.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return "redis://:" + password + "@" + addr
}
