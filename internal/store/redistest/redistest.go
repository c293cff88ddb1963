// Package redistest starts a real Redis for a test.
package redistest

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const password = "correct-horse-battery"

// Server is a redis-server. It writes nothing to disk, unless its options say so.
type Server struct {
	URL string

	args    []string
	process *exec.Cmd
}

// Start starts a Server with these options. The Server runs until the test ends. If redis-server is not installed,
// Start skips the test.
func Start(t *testing.T, options ...string) *Server {
	t.Helper()
	return launch(t, "redis", append(options, "--port")...)
}

// StartTLS is like Start, but the Server uses TLS, with the only certificate that this process then
// trusts. Call it before the process first verifies a certificate.
func StartTLS(t *testing.T) *Server {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	certified.Close()
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
	return launch(t, "rediss", "--tls-cert-file", certificate, "--tls-key-file", file("PRIVATE KEY", key),
		"--tls-ca-cert-file", certificate, "--tls-auth-clients", "no", "--port", "0", "--tls-port")
}

// launch starts a Server with args, after which it appends the port. It tries several ports.
func launch(t *testing.T, scheme string, args ...string) (s *Server) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here; Debian's package is redis-server")
	}
	var err error
	for range 5 {
		if s, err = start(t, scheme, args); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// start starts a Server on a port that is free now. It fails if another process takes the port before redis-server
// does, which cannot choose a free port itself.
func start(t *testing.T, scheme string, args []string) (*Server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	free.Close()
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	s := &Server{
		URL:  scheme + "://:" + password + "@" + addr,
		args: slices.Concat([]string{"--bind", "127.0.0.1", "--requirepass", password, "--save", ""}, args, []string{port}),
	}
	if err := s.Run(); err != nil {
		return nil, err
	}
	t.Cleanup(s.Kill)
	for range 1000 {
		var conn redis.Conn
		if conn, err = redis.DialURL(s.URL); err == nil {
			return s, conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, err
}

// Admin returns a connection that has all rights. It is closed when the test ends.
func (s *Server) Admin(t *testing.T) redis.Conn {
	t.Helper()
	conn, err := redis.DialURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Run starts the process again after Kill.
func (s *Server) Run() error {
	s.process = exec.Command("redis-server", s.args...)
	return s.process.Start()
}

// Signal sends the process a signal.
func (s *Server) Signal(signal os.Signal) { _ = s.process.Process.Signal(signal) }

// Kill kills the process, which cannot save anything before, and blocks until it has ended.
func (s *Server) Kill() {
	s.Signal(os.Kill)
	_ = s.process.Wait() // It returns an error that says that the process was killed.
}
