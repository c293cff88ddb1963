//go:build soak

package soak

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// redisServer is a redis-server that speaks TLS and keeps nothing on disk.
type redisServer struct {
	t    *testing.T
	args []string
	run  *exec.Cmd
	URL  string
	// killed and paused are how often it was.
	killed, paused int
}

// startRedis starts one until the test ends, with a certificate that this process
// trusts alone; it must not have verified another one before.
func startRedis(t *testing.T) *redisServer {
	const password = "correct-horse-battery"
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here; Debian's package is redis-server")
	}
	certified := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	certified.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close() // redis-server cannot choose a port
	_, port, _ := net.SplitHostPort(free.Addr().String())
	key, err := x509.MarshalPKCS8PrivateKey(certified.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(kind string, der []byte) string {
		path := filepath.Join(dir, kind)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate := file("CERTIFICATE", certified.Certificate().Raw)
	t.Setenv("SSL_CERT_FILE", certificate)
	s := &redisServer{
		t: t, URL: "rediss://:" + password + "@" + free.Addr().String() + "/0?read_timeout=100ms",
		args: []string{"--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--requirepass", password,
			"--tls-cert-file", certificate, "--tls-key-file", file("PRIVATE KEY", key), "--tls-ca-cert-file", certificate,
			"--tls-auth-clients", "no", "--save", "", "--appendonly", "no", "--dir", dir},
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *redisServer) start() {
	s.run = exec.Command("redis-server", s.args...)
	if err := s.run.Start(); err != nil {
		s.t.Error(err)
	}
}

func (s *redisServer) kill() {
	_ = s.run.Process.Kill()
	_ = s.run.Wait() // its state tells
}

// fail kills and pauses the server at times until ctx is done. It runs at the end.
func (s *redisServer) fail(ctx context.Context, r *rand.Rand) {
	for wait(ctx, between(r, 2*time.Second, 12*time.Second)) {
		if r.IntN(2) == 0 {
			s.paused++
			_ = s.run.Process.Signal(syscall.SIGSTOP)
			wait(ctx, between(r, 50*time.Millisecond, 3*time.Second))
			_ = s.run.Process.Signal(syscall.SIGCONT)
			continue
		}
		s.killed++
		s.kill()
		wait(ctx, between(r, time.Millisecond, 3*time.Second))
		s.start()
	}
}
