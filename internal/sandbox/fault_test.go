package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/sandbox"
)

var services = []core.Service{core.Partner, core.Price, core.TokenSupply, core.Chain}

// ask puts one question to a service that every fault of it must spoil.
func ask(t *testing.T, ctx context.Context, s *sandbox.Sandbox, service core.Service) (response, error) {
	t.Helper()
	switch service {
	case core.Partner:
		return newPartnerCall(s, existsPath, existsInner(s.World.Registered.Accounts[0])).send(ctx, s)
	case core.Price:
		got, err := send(ctx, http.MethodGet, s.Price.URL()+quotesPath+"?id="+sandbox.TokenID, nil, "")
		_, got.body, _ = strings.Cut(got.body, `"error_code"`) // what precedes tells the time
		return got, err
	case core.TokenSupply:
		return send(ctx, http.MethodGet, s.Supply.URL()+"/circulating-supply", nil, "")
	default:
		return send(ctx, http.MethodPost, s.Chain.URL(), nil, chainQuestion(t, s))
	}
}

// chainQuestion asks for every pool, singly and through Multicall3.
func chainQuestion(t *testing.T, s *sandbox.Sandbox) string {
	t.Helper()
	data := pack(t, "currentStake", s.World.Staker)
	var calls []call3
	questions := []string{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`}
	add := func(to fmt.Stringer, data []byte) {
		questions = append(questions, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_call","params":[{"to":%q,"input":%q}]}`,
			len(questions)+1, to, hexutil.Encode(data)))
	}
	for _, pool := range s.World.Pools {
		calls = append(calls, call3{pool.Address, true, data})
		add(pool.Address, data)
	}
	add(sandbox.MulticallAddress, pack(t, "aggregate3", calls))
	return "[" + strings.Join(questions, ",") + "]"
}

func TestFaultsHaveNamesOfTheirOwn(t *testing.T) {
	for _, service := range services {
		seen := map[string]bool{}
		for _, f := range sandbox.Faults(service) {
			if f.Name == "" || seen[f.Name] {
				t.Errorf("%s: the name %q is empty or taken", service, f.Name)
			}
			seen[f.Name] = true
		}
		if len(seen) < 40 {
			t.Errorf("%s: %d faults only", service, len(seen))
		}
	}
	if got := sandbox.Faults("other"); got != nil {
		t.Errorf("a service that is none has %d faults", len(got))
	}
}

func TestFaultsSpoilAnswersAndEnd(t *testing.T) {
	// What the questions of ask do not show.
	unseen := map[string]bool{"right after 50ms": true, "lagging an hour": true, "results": true}
	for _, service := range services {
		t.Run(string(service), func(t *testing.T) {
			s := start(t)
			stand := s.Service(service)
			healthy, err := ask(t, t.Context(), s, service)
			if err != nil || healthy.status != http.StatusOK || healthy.body == "" {
				t.Fatalf("without a fault: %+v, %v", healthy, err)
			}
			for _, f := range sandbox.Faults(service) {
				stand.SetFault(f)
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
				got, err := ask(t, ctx, s, service)
				cancel()
				same := err == nil && got.status == http.StatusOK && got.body == healthy.body
				if same && !unseen[f.Name] {
					t.Errorf("%s: the answer is still right", f.Name)
				}
				stand.SetFault(sandbox.Fault{})
				if after, err := ask(t, t.Context(), s, service); err != nil || after.status != http.StatusOK || after.body != healthy.body {
					t.Errorf("after %s: %+v, %v", f.Name, after, err)
				}
			}
			if n := s.Elsewhere.Requests(); n != 0 {
				t.Errorf("%d requests went elsewhere", n)
			}
		})
	}
}

// fault finds one of a service's faults by its name.
func fault(t *testing.T, service core.Service, name string) sandbox.Fault {
	t.Helper()
	for _, f := range sandbox.Faults(service) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%s has no fault %q", service, name)
	return sandbox.Fault{}
}

func TestConnectionFaultsEndAsTheySay(t *testing.T) {
	s := start(t)
	for name, tt := range map[string]struct {
		want error
		body bool // some of the body arrives first
	}{
		"connection refused":       {syscall.ECONNREFUSED, false},
		"closed without an answer": {io.EOF, false},
		"reset without an answer":  {syscall.ECONNRESET, false},
		"closed midway":            {io.ErrUnexpectedEOF, true},
		"a byte a second":          {context.DeadlineExceeded, true},
		"never answers":            {context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			s.Supply.SetFault(fault(t, core.TokenSupply, name))
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			got, err := ask(t, ctx, s, core.TokenSupply)
			if !errors.Is(err, tt.want) || (got.body != "") != tt.body {
				t.Errorf("got %+v, %v; want %v", got, err, tt.want)
			}
			s.Supply.SetFault(sandbox.Fault{})
		})
	}
}

func TestEndlessBodiesOutgrowAnyBound(t *testing.T) {
	s := start(t)
	for _, name := range []string{"200 a gigabyte", "200 gzip bomb"} {
		s.Supply.SetFault(fault(t, core.TokenSupply, name))
		resp, err := http.Get(s.Supply.URL() + "/total-supply")
		if err != nil {
			t.Fatal(err)
		}
		const enough = 64 << 20
		n, err := io.CopyN(io.Discard, resp.Body, enough)
		resp.Body.Close()
		if err != nil || n != enough {
			t.Errorf("%s: ends after %d bytes, %v", name, n, err)
		}
	}
}

func TestRedirectsLeadElsewhere(t *testing.T) {
	s := start(t)
	s.Price.SetFault(fault(t, core.Price, "redirect 307"))
	resp, err := http.Get(s.Price.URL() + quotesPath + "?id=1")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := s.Elsewhere.Requests(); got != 1 {
		t.Errorf("%d requests elsewhere after following a redirect, want 1", got)
	}
}

func TestEchoRepeatsCredentials(t *testing.T) {
	s := start(t)
	s.Partner.SetFault(fault(t, core.Partner, "404 that repeats the request"))
	got, err := ask(t, t.Context(), s, core.Partner)
	if err != nil || got.status != http.StatusNotFound {
		t.Fatalf("%d, %v", got.status, err)
	}
	for _, part := range []string{existsPath, "Appid: " + s.AppID, "Sign: ", s.World.Registered.UID("Telegram")} {
		if !strings.Contains(got.body, part) {
			t.Errorf("%q is missing in %s", part, got.body)
		}
	}
}

func TestClockFaultShiftsDateAndJudgement(t *testing.T) {
	s := start(t)
	s.Partner.SetFault(fault(t, core.Partner, "clock an hour fast"))
	call := newPartnerCall(s, existsPath, existsInner(s.World.Newcomer.Accounts[0]))
	refused, err := call.send(t.Context(), s)
	if err != nil || refused.status != http.StatusUnauthorized {
		t.Fatalf("by the true time: %+v, %v", refused, err)
	}
	date, err := http.ParseTime(refused.header.Get("Date"))
	if off := time.Until(date); err != nil || off < 59*time.Minute || off > 61*time.Minute {
		t.Errorf("the Date header is off by %v, %v", off, err)
	}
	call.timestamp = fmt.Sprint(date.UnixMilli())
	if got, err := call.send(t.Context(), s); err != nil || got.status != http.StatusOK {
		t.Errorf("by the service's time: %+v, %v", got, err)
	}
}

func TestChainFaultsSpoilNoMoreThanTheySay(t *testing.T) {
	s := start(t)
	count := func(name string) (results, failures int) {
		s.Chain.SetFault(fault(t, core.Chain, name))
		got, err := ask(t, t.Context(), s, core.Chain)
		if err != nil {
			t.Fatal(err)
		}
		var answers []struct {
			Result string
			Error  any
		}
		if err := json.Unmarshal([]byte(got.body), &answers); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, answer := range answers {
			if answer.Error != nil || answer.Result == "0x" {
				failures++
			}
		}
		return len(answers), failures
	}
	for name, want := range map[string][2]int{
		"lagging an hour":                  {23, 0},
		"an empty pool reverts":            {23, 1},
		"a pool with a stake without code": {23, 1},
		"every pool reverts":               {23, 21},
		"every pool without code":          {23, 21},
		"no multicall":                     {23, 1},
		"batch lacks an answer":            {22, 1},
		"batch doubles an answer":          {24, 1},
		"200 with error -32005":            {23, 23},
	} {
		if results, failures := count(name); results != want[0] || failures != want[1] {
			t.Errorf("%s: %d answers, %d failures; want %v", name, results, failures, want)
		}
	}
}

func TestGivenAnswerIsSentAsItIs(t *testing.T) {
	s := start(t)
	s.Supply.SetFault(sandbox.Answer(http.StatusTeapot, "text/x-tea", "\x1b[31mtea"))
	got, err := ask(t, t.Context(), s, core.TokenSupply)
	if err != nil || got.status != http.StatusTeapot || got.body != "\x1b[31mtea" || got.header.Get("Content-Type") != "text/x-tea" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRequestsAreCountedAlsoUnderFaults(t *testing.T) {
	s := start(t)
	var callers sync.WaitGroup
	for i := range 20 {
		callers.Go(func() {
			s.Supply.SetFault([]sandbox.Fault{{}, sandbox.Late(time.Millisecond), sandbox.Answer(500, "", "")}[i%3])
			if _, err := ask(t, t.Context(), s, core.TokenSupply); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if got := s.Supply.Requests(); got != 20 {
		t.Errorf("counted %d requests of 20", got)
	}
}

func TestCloseEndsHangingCalls(t *testing.T) {
	s, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	s.Chain.SetFault(sandbox.Hang())
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
