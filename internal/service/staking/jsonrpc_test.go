package staking

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestRequestsHaveTheFormOfJSONRPC(t *testing.T) {
	var contentType, body string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		contentType = r.Header.Get("Content-Type")
		body = string(sent)
		http.Error(w, "no", http.StatusNotImplemented)
	}))
	defer node.Close()
	for _, test := range []struct {
		send func(*rpcClient) error
		want string
	}{
		{
			send: func(c *rpcClient) error { return c.call(t.Context(), new(string), "eth_chainId") },
			want: `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`,
		},
		{
			send: func(c *rpcClient) error {
				calls := []rpcCall{{method: "a", args: []any{"latest", false}}, {method: "b"}}
				return c.callBatch(t.Context(), calls)
			},
			want: `[{"jsonrpc":"2.0","id":1,"method":"a","params":["latest",false]},` +
				`{"jsonrpc":"2.0","id":2,"method":"b"}]`,
		},
	} {
		c, err := newRPCClient(node.URL, node.Client()) // The IDs of a new client begin at 1.
		if err != nil {
			t.Fatal(err)
		}
		if err := test.send(c); err == nil {
			t.Error("status 501 is not an error")
		}
		if body != test.want || contentType != "application/json" {
			t.Errorf("sent %s as %q, want %s", body, contentType, test.want)
		}
	}
}

// FuzzCheckAnswer checks that each message of an accepted answer belongs to a request.
func FuzzCheckAnswer(f *testing.F) {
	// A good batch, an ID that comes twice, a message without result and error, and an error without an ID.
	for _, seed := range []string{
		`[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"error":{"code":3}}]`,
		`[{"id":1,"result":"0x1"},{"id":1,"result":"0x2"}]`,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
		`{"id":null,"error":{"code":-32005,"message":"limit"}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, inBatch bool) {
		form := single
		sent := []request{{ID: "1"}}
		if inBatch {
			form = batch
			sent = []request{{ID: "1"}, {ID: "2"}}
		}
		messages, err := checkAnswer(form, sent, body)
		if err != nil {
			return
		}
		if form == single && len(messages) != 1 {
			t.Fatalf("%q: %d messages for one request", body, len(messages))
		}
		for id := range messages {
			if !slices.ContainsFunc(sent, func(r request) bool { return r.ID == id }) {
				t.Fatalf("%q: a message with the ID %s, which was not sent", body, id)
			}
		}
	})
}
