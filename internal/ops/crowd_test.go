package ops

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// ask opens a connection of its own, sends one request and returns the status
// and whether the connection was closed after it.
func ask(address, path string) (status int, closed bool) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://" + address + path)
	if err != nil {
		return 0, false
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Close
}

// holding serves requests at /hold until release is closed.
func holding(t *testing.T) (s *Server, inHand *atomic.Int64, release chan struct{}) {
	t.Helper()
	inHand, release = &atomic.Int64{}, make(chan struct{})
	s = serve(t, NewMetrics(), nil, nil)
	s.Handle("/hold", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inHand.Add(1)
		<-release
	}))
	return s, inHand, release
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !done(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestABurstIsLetInAsConnectionsBecomeFree(t *testing.T) {
	s, inHand, release := holding(t)
	const burst = crowded + 300
	statuses := make(chan int, burst)
	for range burst {
		go func() {
			status, _ := ask(s.Addr(), "/hold")
			statuses <- status
		}()
	}
	await(t, "the crowd", func() bool { return inHand.Load() >= crowded })
	if status, closed := ask(s.Addr(), "/healthz"); status != http.StatusOK || !closed {
		t.Errorf("health beside requests that hang: status %d, closed %v", status, closed)
	}
	close(release)
	for range burst {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	await(t, "room", func() bool { return !s.listener.(*crowd).isCrowded() })
	if status, closed := ask(s.Addr(), "/healthz"); status != http.StatusOK || closed {
		t.Errorf("health without a crowd: status %d, closed %v", status, closed)
	}
}

// The pause is what a burst is held back by: without it all of it is let in.
func TestACrowdHoldsTheNextConnectionsBack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := newCrowd(listener)
	accepted := func() time.Duration {
		go func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err == nil {
				defer conn.Close()
			}
		}()
		began := time.Now()
		conn, err := c.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		return time.Since(began)
	}
	for i := range crowded {
		c.changed(&net.TCPConn{}, http.StateNew)
		if i == crowded-1 && !c.isCrowded() {
			t.Fatal("no crowd")
		}
	}
	if took := accepted(); took < crowdedPause {
		t.Errorf("let in after %v", took)
	}
	for conn := range c.busy {
		c.changed(conn, http.StateIdle)
		break
	}
	if c.isCrowded() {
		t.Error("an idle connection counts as busy")
	}
	accepted()
}
