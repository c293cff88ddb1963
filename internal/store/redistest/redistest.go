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
	var err error
	for range 5 {
		if url, err = start(t); err == nil {
			return url
		}
	}
	t.Fatal(err)
	return ""
}

// start fails if another process took the port before redis-server did, which cannot
// choose one itself.
func start(t *testing.T) (url string, _ error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	free.Close()
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--requirepass", password, "--save", "")
	if err := cmd.Start(); err != nil {
		return "", err
	}
	const pause = 10 * time.Millisecond
	client := redis.NewClient(&redis.Options{Addr: addr, Password: password, MaxRetries: 1000, MinRetryBackoff: pause, MaxRetryBackoff: pause})
	t.Cleanup(func() {
		client.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "redis://:" + password + "@" + addr, client.Ping(t.Context()).Err()
}
