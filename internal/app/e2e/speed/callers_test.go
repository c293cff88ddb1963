//go:build speed

package speed

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
)

// call is a request that a platform makes of the bot.
type call struct {
	number  int64 // of its command
	request []byte
}

// callers are kept-alive connections to the bot, each of which makes one call
// after the other.
type callers struct {
	due   chan call
	conns []net.Conn
	ended sync.WaitGroup
}

// dialCallers opens n connections. done is called with each response, or with
// the error that a connection ended with.
func dialCallers(address string, n, most int, done func(number int64, status int, body []byte, err error)) (*callers, error) {
	c := &callers{due: make(chan call, most)}
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			c.close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
		c.ended.Go(func() {
			responses := bufio.NewReader(conn)
			for next := range c.due {
				status, body, err := exchange(conn, responses, next.request)
				done(next.number, status, body, err)
				if err != nil {
					return
				}
			}
		})
	}
	return c, nil
}

func exchange(conn net.Conn, responses *bufio.Reader, request []byte) (status int, body []byte, err error) {
	if _, err := conn.Write(request); err != nil {
		return 0, nil, err
	}
	resp, err := http.ReadResponse(responses, nil)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// close ends the connections once what is due is done.
func (c *callers) close() {
	close(c.due)
	c.ended.Wait()
	for _, conn := range c.conns {
		conn.Close()
	}
}
