// Package discordtest is a fake of Discord for tests. To the fake of package internal/demo/fake/discord it adds faults
// of REST calls, interactions that are sent by HTTP instead of the gateway, and a network in memory. Only tests may
// import it.
package discordtest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"time"

	"herald/internal/demo/fake"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/faketest"
)

// Fault is one way for a call to fail. The zero Fault has no effect. If Status is set and Code is not, the response is
// a proxy's HTML page.
type Fault = faketest.Fault

// Server is a fake of Discord with faults. It is safe for concurrent use.
type Server struct {
	*fakediscord.Server
	// PublicKey verifies the signatures of the requests that Post sends.
	PublicKey ed25519.PublicKey
	// Client sends the requests of Post.
	Client *http.Client

	privateKey ed25519.PrivateKey
	faults     faketest.Faults[fakediscord.Route]
	record     fake.State                // guards calls
	calls      map[fakediscord.Route]int // how many, by route
}

// NewNetwork returns a network in memory for a bot and a Server in simulated time. Connecting takes 50 ms, so that
// the events of one connection are over before the next one is made.
func NewNetwork() *faketest.Network {
	n := faketest.NewNetwork()
	n.DialTime = 50 * time.Millisecond
	return n
}

// New starts a Server on a free port of 127.0.0.1.
func New() *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return NewOn(l)
}

// NewOn starts a Server on a listener, which Close closes.
func NewOn(l net.Listener) *Server {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	s := &Server{
		PublicKey:  public,
		privateKey: private,
		Client:     &http.Client{Transport: &http.Transport{}},
		calls:      map[fakediscord.Route]int{},
	}
	s.Server = fakediscord.NewOn(l, s.serve)
	s.Change(func() { s.VerifyKey = hex.EncodeToString(public) })
	return s
}

// Close closes all connections and stops the server.
func (s *Server) Close() {
	s.Server.Close()
	s.Client.CloseIdleConnections()
}

// serve counts a call, and handles it with its fault.
func (s *Server) serve(
	route fakediscord.Route, w http.ResponseWriter, r *http.Request, handle func() (respond func()),
) {
	s.record.Change(func() { s.calls[route]++ })
	refuse := func(f Fault) {
		fakediscord.Failure{
			Status:     f.Status,
			Code:       f.Code,
			Message:    "scripted",
			Global:     f.Global,
			RetryAfter: f.RetryAfter,
		}.Write(w)
	}
	s.faults.Pop(route).Serve(w, r, refuse, handle)
}

// Script queues faults for a route. Each is used for one of the route's next calls.
func (s *Server) Script(route fakediscord.Route, faults ...Fault) { s.faults.Add(route, faults...) }

// Break sets the fault of all calls of a route for which Script has queued none. The zero Fault ends it.
func (s *Server) Break(route fakediscord.Route, fault Fault) { s.faults.Set(route, fault) }

// Calls returns how many calls of a route there were, including those that were refused.
func (s *Server) Calls(route fakediscord.Route) int {
	return fake.Locked(&s.record, func() int { return s.calls[route] })
}

// Post signs an interaction that Prepare has made, posts it to the bot's address, and returns the status of the
// response. If it is 200, the body becomes the interaction's first response.
func (s *Server) Post(
	ctx context.Context, address string, p *fakediscord.Pending, body []byte,
) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = s.Sign(body, time.Now())
	resp, err := s.Client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		err = p.Responded(resp.Body)
	}
	return resp.StatusCode, err
}

// Sign returns the headers of a request with this body, signed at this time.
func (s *Server) Sign(body []byte, at time.Time) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signature := ed25519.Sign(s.privateKey, append([]byte(timestamp), body...))
	return http.Header{
		"Content-Type":          {"application/json"},
		"X-Signature-Timestamp": {timestamp},
		"X-Signature-Ed25519":   {hex.EncodeToString(signature)},
	}
}
