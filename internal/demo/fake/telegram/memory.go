package telegram

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// memoryResponse is what the server writes to a RoundTrip.
type memoryResponse struct {
	bytes.Buffer
	header http.Header
	status int
}

func (m *memoryResponse) Header() http.Header { return m.header }

func (m *memoryResponse) WriteHeader(status int) { m.status = status }

// RoundTrip makes one call without a network.
func (s *Server) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	w := &memoryResponse{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if broken := recover(); broken == http.ErrAbortHandler {
			resp, err = nil, errors.New("the connection was reset")
		} else if broken != nil {
			panic(broken)
		}
	}()
	s.serve(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, ContentLength: int64(w.Len()), Body: io.NopCloser(w), Request: req,
	}, nil
}
