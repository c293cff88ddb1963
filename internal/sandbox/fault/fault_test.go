package fault

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFaultsHaveNamesOfTheirOwn(t *testing.T) {
	for _, target := range Targets {
		seen := map[string]bool{}
		for _, f := range Of(target) {
			if f.Name == "" || seen[f.Name] {
				t.Errorf("%s: the name %q is empty or taken", target, f.Name)
			}
			seen[f.Name] = true
		}
	}
}

// A fault ends as it begins, at the same port, and closing a service ends the
// calls that hang.
func TestAServiceFailsUntilItIsMended(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, f := range Of(Supply) {
		s.Supply.SetFault(f)
		if f.refuse {
			if _, err := client.Get(s.Supply.URL() + "/total-supply"); err == nil {
				t.Errorf("%s: answered", f.Name)
			}
		}
		s.Supply.SetFault(Fault{})
	}
	resp, err := client.Get(s.Supply.URL() + "/total-supply")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("after all faults: %v", err)
	}
	resp.Body.Close()

	s.Chain.SetFault(Hang())
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Chain.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	for s.Chain.Requests() == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the request does not arrive")
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
		t.Error("the hanging call was answered")
	}
}
