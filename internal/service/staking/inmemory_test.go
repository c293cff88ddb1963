package staking

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"
)

// inMemory is a node without a network, for tests in simulated time. Its clock runs.
type inMemory struct {
	*node
	hangs       bool          // it never answers a batch
	answerTakes time.Duration // how long each answer takes
	headers     []string      // the numbers of the headers that were requested

	inFlight, maxInFlight int // HTTP requests
}

var headerNumber = regexp.MustCompile(`"eth_getBlockByNumber","params":\["([^"]*)"`)

// RoundTrip implements http.RoundTripper.
func (m *inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	m.begin(body)
	defer m.end()
	if m.hangs && bytes.HasPrefix(body, []byte("[")) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	time.Sleep(m.answerTakes)
	received := req.Clone(req.Context())
	received.Body = io.NopCloser(bytes.NewReader(body))
	response := httptest.NewRecorder()
	m.ServeHTTP(response, received)
	return response.Result(), nil
}

// begin counts an HTTP request, and notes the headers that it asks for.
func (m *inMemory) begin(body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, match := range headerNumber.FindAllSubmatch(body, -1) {
		m.headers = append(m.headers, string(match[1]))
	}
	m.inFlight++
	m.maxInFlight = max(m.maxInFlight, m.inFlight)
}

func (m *inMemory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight--
}

// withdrawing returns a node in memory and its client. Every wallet has the withdrawals in pool 20. An amount can be
// withdrawn delay blocks after its own block. withdrawing sleeps, in simulated time, until the chain of sandbox has
// begun.
func withdrawing(t *testing.T, delay uint64, entries ...entry) (*inMemory, *Client) {
	t.Helper()
	time.Sleep(time.Until(sandboxStarted.Add(time.Minute)))
	chain, pools := stakers()
	m := &inMemory{node: &node{Node: sandbox, url: "http://chain.test"}}
	m.ChainID = testChain
	m.Contracts = chain
	m.Now = func() time.Time { return time.Now().Add(-time.Second) }
	chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(m.Block(), entries...))
	c := newClient(t, m.node, pools, withClaimBlocks(delay))
	var err error
	c.rpc, err = newRPCClient(m.url, &http.Client{Transport: m})
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}
