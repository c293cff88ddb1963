package telegramtest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
)

var errReset = errors.New("the connection was reset")

// memoryResponse is what the server writes to a RoundTrip.
type memoryResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
	reset  bool
}

func (m *memoryResponse) Header() http.Header { return m.header }

func (m *memoryResponse) WriteHeader(status int) { m.status = status }

func (m *memoryResponse) Write(p []byte) (int, error) { return m.body.Write(p) }

// Hijack is how the server breaks a connection.
func (m *memoryResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	m.reset = true
	conn, other := net.Pipe()
	other.Close()
	return conn, nil, nil
}

// RoundTrip makes one call without a network.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &memoryResponse{header: http.Header{}, status: http.StatusOK}
	s.serve(w, req)
	switch {
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case w.reset:
		return nil, errReset
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body), Request: req,
	}, nil
}
