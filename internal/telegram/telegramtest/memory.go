package telegramtest

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
)

var errReset = errors.New("the connection was reset")

// memoryResponse is what the server writes to a RoundTrip.
type memoryResponse struct {
	*httptest.ResponseRecorder
	reset bool
}

// Hijack is how the server breaks a connection.
func (m *memoryResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	m.reset = true
	conn, other := net.Pipe()
	other.Close()
	return conn, nil, nil
}

// RoundTrip makes one call without a network.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &memoryResponse{ResponseRecorder: httptest.NewRecorder()}
	s.serve(w, req)
	switch {
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case w.reset:
		return nil, errReset
	}
	return w.Result(), nil
}
