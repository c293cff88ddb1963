//go:build speed

package speed

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"herald/internal/app/e2e/e2etest"
)

// platform is a chat platform as one bot sees it. It checks that each answer is
// the one to its command, and little else, to take as little of the processor
// as it can.
type platform interface {
	// settings lead a bot here.
	settings() []string
	// meet tells the address of the bot's HTTP server.
	meet(address string)
	// answer is what the bot said first, as JSON that the bare bot can read.
	answer() string
	// begin makes the platform ready to ask the commands of l and to take their
	// answers. Another begins after end.
	begin(l *load) error
	// ask makes a command available to the bot. It does not wait for the answer.
	ask(number int64)
	// end ends what begin began.
	end()
	// close ends the platform.
	close()
}

// server is what the platforms have in common.
type server struct {
	address string // of the bot's HTTP server
	url     string
	http    http.Server
	load    atomic.Pointer[load]
	first   atomic.Pointer[[]byte] // the request that carried the first answer
	callers *callers               // during a load, on a platform that calls the bot
}

// listen serves h on a free port.
func (s *server) listen(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.url = "http://" + l.Addr().String()
	s.http.Handler = h
	go s.http.Serve(l)
	return nil
}

func (s *server) meet(address string) { s.address = address }

func (s *server) close() { s.http.Close() }

func (s *server) end() {
	if s.callers != nil {
		s.callers.close()
		s.callers = nil
	}
}

// keepFirst keeps the first answer.
func (s *server) keepFirst(body []byte) {
	if s.first.Load() == nil {
		s.first.CompareAndSwap(nil, &body)
	}
}

func (s *server) answer() string { return string(*s.first.Load()) }

// judge returns an error unless an answer says the price where it was asked.
func judge(body []byte, inPlace bool) error {
	switch {
	case !bytes.Contains(body, []byte(e2etest.Price)):
		return fmt.Errorf("it is no answer to /price: %.300s", body)
	case !inPlace:
		return errors.New("it is answered elsewhere")
	}
	return nil
}

// numberOf finds a whole number by its name, in JSON and in multipart/form-data
// alike; 0 if it is not there.
func numberOf(body []byte, name string) int64 {
	_, after, _ := bytes.Cut(body, []byte(`"`+name+`"`))
	after = bytes.TrimLeft(after, "\": \r\n")
	end := 0
	for end < len(after) && (after[end] == '-' || after[end] >= '0' && after[end] <= '9') {
		end++
	}
	n, _ := strconv.ParseInt(string(after[:end]), 10, 64)
	return n
}
