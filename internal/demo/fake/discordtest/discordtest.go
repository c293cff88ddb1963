// Package discordtest is a fake of Discord for tests. It adds faults of REST calls, interactions by HTTP, and a
// network in memory. Nothing of it is linked into the program.
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

// Fault is one way for a call to go wrong. The zero Fault changes nothing. A refusal
// without a Code is a proxy's HTML page.
type Fault = faketest.Fault

// Server is a fake of Discord with faults. Its methods may be called from many goroutines.
type Server struct {
	*fakediscord.Server
	// PublicKey verifies what Post sends.
	PublicKey ed25519.PublicKey
	// Client calls the bot for Post.
	Client *http.Client

	privateKey ed25519.PrivateKey
	faults     faketest.Faults[fakediscord.Route]
	record     fake.State // guards calls
	calls      map[fakediscord.Route]int
}

// NewNetwork returns a network in memory, so that a bot and its Discord can live in
// simulated time. It takes 50 ms to connect, which orders what happens between two
// connections.
func NewNetwork() *faketest.Network {
	n := faketest.NewNetwork()
	n.DialTime = 50 * time.Millisecond
	return n
}

// New starts a server on a free port of 127.0.0.1.
func New() *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return NewOn(l)
}

// NewOn starts a server on a listener, which Close closes.
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

// Close ends every connection and the server.
func (s *Server) Close() {
	s.Server.Close()
	s.Client.CloseIdleConnections()
}

// serve counts a call, and lets it go wrong.
func (s *Server) serve(
	route fakediscord.Route, w http.ResponseWriter, r *http.Request, carryOut func() (respond func()),
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
	s.faults.Pop(route).Serve(w, r, refuse, carryOut)
}

// Script puts faults on the next calls of route, one each.
func (s *Server) Script(route fakediscord.Route, faults ...Fault) { s.faults.Add(route, faults...) }

// Break puts fault on every call of route that has no scripted one; the zero Fault mends
// it.
func (s *Server) Break(route fakediscord.Route, fault Fault) { s.faults.Set(route, fault) }

// Calls counts the calls of route, refused ones too.
func (s *Server) Calls(route fakediscord.Route) int {
	return fake.Locked(&s.record, func() int { return s.calls[route] })
}

// Post signs an interaction that Prepare has made, and posts it to the bot's address. A
// response with status 200 is taken as the first response.
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

// Sign returns the headers of a body that is sent at a time.
func (s *Server) Sign(body []byte, at time.Time) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signature := ed25519.Sign(s.privateKey, append([]byte(timestamp), body...))
	return http.Header{
		"Content-Type":          {"application/json"},
		"X-Signature-Timestamp": {timestamp},
		"X-Signature-Ed25519":   {hex.EncodeToString(signature)},
	}
}
