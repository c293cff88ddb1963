package fault_test

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
	"go.uber.org/goleak"

	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
	"herald/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *fault.Sandbox {
	t.Helper()
	s, err := fault.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

const quotesPath = "/v1/cryptocurrency/quotes/latest"

// ask puts one question to a target that every fault of it must spoil.
func ask(t *testing.T, ctx context.Context, s *fault.Sandbox, target fault.Target) (sandboxtest.Response, error) {
	t.Helper()
	switch target {
	case fault.Partner:
		return sandboxtest.NewPartnerCall(s.Sandbox, sandboxtest.ExistsPath, sandboxtest.ExistsInner(s.World.Registered.Accounts[0])).Send(ctx, s.Sandbox)
	case fault.Price:
		got, err := sandboxtest.Send(ctx, http.MethodGet, s.Price.URL()+quotesPath+"?id="+sandbox.TokenID, nil, "")
		_, got.Body, _ = strings.Cut(got.Body, `"error_code"`) // what precedes tells the time
		return got, err
	case fault.Supply:
		return sandboxtest.Send(ctx, http.MethodGet, s.Supply.URL()+"/circulating-supply", nil, "")
	default:
		return sandboxtest.Send(ctx, http.MethodPost, s.Chain.URL(), nil, chainQuestion(t, s))
	}
}

// chainQuestion asks for every pool, singly and through Multicall3.
func chainQuestion(t *testing.T, s *fault.Sandbox) string {
	t.Helper()
	data := sandboxtest.Pack(t, "currentStake", s.World.Staker)
	var calls []sandboxtest.Call3
	questions := []string{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`}
	add := func(to fmt.Stringer, data []byte) {
		questions = append(questions, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_call","params":[{"to":%q,"input":%q}]}`,
			len(questions)+1, to, hexutil.Encode(data)))
	}
	for _, pool := range s.World.Pools {
		calls = append(calls, sandboxtest.Call3{Target: pool.Address, AllowFailure: true, CallData: data})
		add(pool.Address, data)
	}
	add(sandbox.MulticallAddress, sandboxtest.Pack(t, "aggregate3", calls))
	return "[" + strings.Join(questions, ",") + "]"
}

func TestFaultsHaveNamesOfTheirOwn(t *testing.T) {
	for _, target := range fault.Targets {
		seen := map[string]bool{}
		for _, f := range fault.Of(target) {
			if f.Name == "" || seen[f.Name] {
				t.Errorf("%s: the name %q is empty or taken", target, f.Name)
			}
			seen[f.Name] = true
		}
		if len(seen) < 40 {
			t.Errorf("%s: %d faults only", target, len(seen))
		}
	}
	if got := fault.Of("other"); got != nil {
		t.Errorf("a target that is none has %d faults", len(got))
	}
}

func TestFaultsSpoilAnswersAndEnd(t *testing.T) {
	// What the questions of ask do not show.
	unseen := map[string]bool{
		"right after 50ms": true, "lagging an hour": true, "frozen an hour ago": true, "results": true,
		"a proxy's clock an hour fast": true, "a proxy's clock a month slow": true,
	}
	for _, target := range fault.Targets {
		t.Run(string(target), func(t *testing.T) {
			s := start(t)
			stand := s.At(target)
			healthy, err := ask(t, t.Context(), s, target)
			if err != nil || healthy.Status != http.StatusOK || healthy.Body == "" {
				t.Fatalf("without a fault: %+v, %v", healthy, err)
			}
			for _, f := range fault.Of(target) {
				stand.SetFault(f)
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
				got, err := ask(t, ctx, s, target)
				cancel()
				same := err == nil && got.Status == http.StatusOK && got.Body == healthy.Body
				if same && !unseen[f.Name] {
					t.Errorf("%s: the answer is still right", f.Name)
				}
				stand.SetFault(fault.Fault{})
				if after, err := ask(t, t.Context(), s, target); err != nil || after.Status != http.StatusOK || after.Body != healthy.Body {
					t.Errorf("after %s: %+v, %v", f.Name, after, err)
				}
			}
			if n := s.Elsewhere.Requests(); n != 0 {
				t.Errorf("%d requests went elsewhere", n)
			}
		})
	}
}

// find finds one of a target's faults by its name.
func find(t *testing.T, target fault.Target, name string) fault.Fault {
	t.Helper()
	for _, f := range fault.Of(target) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%s has no fault %q", target, name)
	return fault.Fault{}
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
			s.Supply.SetFault(find(t, fault.Supply, name))
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			got, err := ask(t, ctx, s, fault.Supply)
			if !errors.Is(err, tt.want) || (got.Body != "") != tt.body {
				t.Errorf("got %+v, %v; want %v", got, err, tt.want)
			}
			s.Supply.SetFault(fault.Fault{})
		})
	}
}

func TestEndlessBodiesOutgrowAnyBound(t *testing.T) {
	s := start(t)
	for _, name := range []string{"200 a gigabyte", "200 gzip bomb"} {
		s.Supply.SetFault(find(t, fault.Supply, name))
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
	s.Price.SetFault(find(t, fault.Price, "redirect 307"))
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
	s.Partner.SetFault(find(t, fault.Partner, "404 that repeats the request"))
	got, err := ask(t, t.Context(), s, fault.Partner)
	if err != nil || got.Status != http.StatusNotFound {
		t.Fatalf("%d, %v", got.Status, err)
	}
	for _, part := range []string{sandboxtest.ExistsPath, "Appid: " + s.AppID, "Sign: ", s.World.Registered.UID("Telegram")} {
		if !strings.Contains(got.Body, part) {
			t.Errorf("%q is missing in %s", part, got.Body)
		}
	}
}

func TestClockFaultShiftsDateAndJudgement(t *testing.T) {
	s := start(t)
	s.Partner.SetFault(find(t, fault.Partner, "clock an hour fast"))
	call := sandboxtest.NewPartnerCall(s.Sandbox, sandboxtest.ExistsPath, sandboxtest.ExistsInner(s.World.Newcomer.Accounts[0]))
	refused, err := call.Send(t.Context(), s.Sandbox)
	if err != nil || refused.Status != http.StatusUnauthorized {
		t.Fatalf("by the true time: %+v, %v", refused, err)
	}
	date, err := http.ParseTime(refused.Header.Get("Date"))
	if off := time.Until(date); err != nil || off < 59*time.Minute || off > 61*time.Minute {
		t.Errorf("the Date header is off by %v, %v", off, err)
	}
	call.Timestamp = fmt.Sprint(date.UnixMilli())
	if got, err := call.Send(t.Context(), s.Sandbox); err != nil || got.Status != http.StatusOK {
		t.Errorf("by the target's time: %+v, %v", got, err)
	}
}

func TestChainFaultsSpoilNoMoreThanTheySay(t *testing.T) {
	s := start(t)
	count := func(name string) (results, failures int) {
		s.Chain.SetFault(find(t, fault.Chain, name))
		got, err := ask(t, t.Context(), s, fault.Chain)
		if err != nil {
			t.Fatal(err)
		}
		var answers []struct {
			Result string
			Error  any
		}
		if err := json.Unmarshal([]byte(got.Body), &answers); err != nil {
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
		"frozen an hour ago":               {23, 0},
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
	s.Supply.SetFault(fault.Answer(http.StatusTeapot, "text/x-tea", "\x1b[31mtea"))
	got, err := ask(t, t.Context(), s, fault.Supply)
	if err != nil || got.Status != http.StatusTeapot || got.Body != "\x1b[31mtea" || got.Header.Get("Content-Type") != "text/x-tea" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRequestsAreCountedAlsoUnderFaults(t *testing.T) {
	s := start(t)
	var callers sync.WaitGroup
	for i := range 20 {
		callers.Go(func() {
			s.Supply.SetFault([]fault.Fault{{}, fault.Late(time.Millisecond), fault.Answer(500, "", "")}[i%3])
			if _, err := ask(t, t.Context(), s, fault.Supply); err != nil {
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
	s, err := fault.Start()
	if err != nil {
		t.Fatal(err)
	}
	s.Chain.SetFault(fault.Hang())
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

func TestServicesAreFoundByTheirTargets(t *testing.T) {
	s := start(t)
	for target, want := range map[fault.Target]*fault.Service{
		fault.Partner: s.Partner, fault.Price: s.Price, fault.Supply: s.Supply, fault.Chain: s.Chain, "other": nil,
	} {
		if got := s.At(target); got != want {
			t.Errorf("the service of target %q is not the one of that field", target)
		}
	}
}
