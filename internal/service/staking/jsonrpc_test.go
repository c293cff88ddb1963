package staking

import (
	"io"
	"net/http"
	"net/http/httptest"
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
		c, err := newRPCClient(node.URL, node.Client())
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
