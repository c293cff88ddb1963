package botapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-telegram/bot"
	"golang.org/x/sync/errgroup"
)

// A server may close a connection after an answer, or while a message arrives on it. Such a message may have been
// delivered, so it is not sent again, although net/http could.
func TestLostMessageIsNotRepeated(t *testing.T) {
	// The server answers this many requests, and then closes the connection instead of answering one more.
	for _, answers := range []int64{1, 10} {
		var arrived atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if arrived.Add(1)%(answers+1) == 0 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, sentJSON)
		}))
		t.Cleanup(server.Close)
		c := newClient(t, server.URL, nil)
		for i := range 40 {
			before := arrived.Load()
			err := c.send(t.Context())
			n := arrived.Load() - before
			// A message that did not arrive needs an error. An error may say NotSent only if the message did not arrive.
			isRepeated := n > 1
			isLost := n == 0 && err == nil
			isDenied := n > 0 && ErrorOf(err).Kind == NotSent
			if isRepeated || isLost || isDenied {
				t.Fatalf("message %d, with %d answers per connection: arrived %d times, %v", i, answers, n, err)
			}
		}
		if n := arrived.Load(); n < 20 {
			t.Errorf("only %d of 40 messages arrived", n)
		}
	}
}

// closingServer is an HTTP/2 server that counts messages, and closes its connection (GOAWAY) after each hundred.
type closingServer struct {
	*httptest.Server
	mu      sync.Mutex
	arrived map[string]int // by text
}

func newClosingServer(t *testing.T) *closingServer {
	s := &closingServer{arrived: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *closingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := r.FormValue("text")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived[text]++
	if len(s.arrived)%100 == 0 {
		w.Header().Set("Connection", "close") // which net/http turns into a GOAWAY
	}
	_, _ = io.WriteString(w, sentJSON)
}

// net/http resends a request that the server did not read before a GOAWAY: at once the first time, then after 1, 2, 4
// and 8 s. The burst meets a GOAWAY three times before its end. A message that met a fourth or a fifth could take
// longer than the timeout of a call.
func TestABurstSurvivesGOAWAY(t *testing.T) {
	server := newClosingServer(t)
	c := newClient(t, server.URL, server.Client().Transport)
	const burst, workers = 400, 40
	var sending errgroup.Group
	sending.SetLimit(workers)
	for i := range burst {
		sending.Go(func() error {
			message := &bot.SendMessageParams{ChatID: 5, Text: fmt.Sprint(i)}
			return failure(Change(t.Context(), c, (*bot.Bot).SendMessage, message))
		})
	}
	if err := sending.Wait(); err != nil {
		t.Error(err)
	}
	for text, n := range server.arrived {
		if n != 1 {
			t.Errorf("message %s arrived %d times", text, n)
		}
	}
	if len(server.arrived) != burst {
		t.Errorf("%d of %d messages arrived", len(server.arrived), burst)
	}
}
