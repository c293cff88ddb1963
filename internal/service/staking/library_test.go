package staking

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/rpc"
)

// nodeAnswer is the response to every call.
type nodeAnswer string

func (a nodeAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}

func TestGoEthereumStillTrustsAnswers(t *testing.T) {
	single := func(c *rpc.Client) error { return c.Call(new(string), "m") }
	batch := func(c *rpc.Client) error {
		calls := []rpc.BatchElem{{Method: "m", Result: new(string)}}
		err := c.BatchCall(calls)
		return errors.Join(err, calls[0].Error)
	}
	for _, test := range []struct {
		answer nodeAnswer // the call has ID 1
		call   func(*rpc.Client) error
		works  bool
		canGo  string
	}{
		{`{"id":99,"result":"0x1"}`, single, true, "the comparison of IDs"},
		{`[{"id":1,"result":"0x1"},{"id":1,"result":"0x2"}]`, batch, true, "the search for second answers"},
		{`{"id":1,"result":"0x1","error":null}`, single, false, "the rewriting of answers"},
	} {
		c, err := rpc.DialOptions(t.Context(), "http://node.invalid",
			rpc.WithHTTPClient(&http.Client{Transport: test.answer}))
		if err != nil {
			t.Fatal(err)
		}
		if err := test.call(c); (err == nil) != test.works {
			t.Errorf("%s: %v: what can go is %s in checkAnswer", test.answer, err, test.canGo)
		}
	}
}

// The program is a third larger with go-ethereum's rlp. Its type typekey embeds
// reflect.Type, so the linker keeps every method of every type.
func TestGoEthereumStillImportsRLP(t *testing.T) {
	const ethereum = "github.com/ethereum/go-ethereum/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}} {{.Deps}} ",
		ethereum+"rlp", ethereum+"ethclient", ethereum+"accounts/abi", ethereum+"crypto").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		dir, deps, _ := strings.Cut(line, " ")
		if filepath.Base(dir) == "rlp" {
			source, err := os.ReadFile(filepath.Join(dir, "typecache.go"))
			if !strings.Contains(string(source), "type typekey struct {\n\treflect.Type\n") {
				t.Errorf("%s embeds no reflect.Type now, %v: see how large the program is with it", dir, err)
			}
		} else if !strings.Contains(deps, " "+ethereum+"rlp ") {
			t.Errorf("%s is free of rlp now: see how large the program is with it", dir)
		}
	}
}
