package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
)

const (
	htmlPage = "<!DOCTYPE html><html><head><title>Sorry</title></head><body><h1>Please try again later</h1></body></html>"
	jsonBody = `{"code":50000,"data":null,"message":"internal error","error":"internal error"}`
)

// Of returns the faults of a target, beginning with those that every service has. There is
// one of each kind: each service's own package tests more odd values.
func Of(t Target) []Fault {
	all := slices.Concat(connectionFaults(), statusFaults(), bodyFaults())
	if t != Supply {
		// Half of a bare number is a number too: no client could tell.
		all = append(all, Fault{Name: "half an answer that claims to be whole", serve: edited(func(_ exchange, body string) string {
			return body[:len(body)/2]
		})})
	}
	own := map[Target]func() []Fault{Partner: partnerFaults, Price: priceFaults, Supply: supplyFaults, Chain: chainFaults}
	return append(all, own[t]()...)
}

// Named returns the fault of a target by its name.
func Named(t testing.TB, target Target, name string) Fault {
	t.Helper()
	all := Of(target)
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("the %s service has no fault %q", target, name)
	}
	return all[i]
}

func connectionFaults() []Fault {
	midway := func(x exchange) {
		body := x.right().Body.String()
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
		x.breakOff(head+body[:len(body)/2], true)
	}
	redirect := func(x exchange) {
		http.Redirect(x.w, x.r, x.service.elsewhere+x.r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}
	return []Fault{
		Drop(),
		Hang(),
		{Name: "reset midway", Reason: Unreachable, serve: midway},
		{Name: "not HTTP", Reason: Unreachable, serve: func(x exchange) { x.breakOff("SSH-2.0-OpenSSH_9.6\r\n", false) }},
		{Name: "redirect 307", serve: redirect},
	}
}

func statusFaults() (faults []Fault) {
	for _, f := range []struct {
		status           int
		reason           Reason
		kind, retryAfter string
		wait             time.Duration
	}{
		{401, Denied, "text/html", "", 0},
		{404, Rejected, "application/json", "", 0},
		{429, Limited, "application/json", "2", 2 * time.Second},
		{429, Limited, "text/html", "Fri, 31 Dec 9999 23:59:59 GMT", 31 * 24 * time.Hour},
		{429, Limited, "", "soon", 0},
		{500, Unreachable, "application/json", "", 0},
		{502, Unreachable, "text/html", "", 0},
		{503, Unreachable, "text/html", "5", 5 * time.Second},
	} {
		name := fmt.Sprintf("%d %s", f.status, f.kind)
		if f.kind == "" {
			name += "empty"
		}
		if f.retryAfter != "" {
			name += " with Retry-After " + f.retryAfter
		}
		body := map[string]string{"application/json": jsonBody, "text/html": htmlPage}[f.kind]
		faults = append(faults, Fault{Name: name, Reason: f.reason, Wait: f.wait, serve: func(x exchange) {
			if f.retryAfter != "" {
				x.w.Header().Set("Retry-After", f.retryAfter)
			}
			answering(f.status, f.kind, body)(x)
		}})
	}
	return append(faults, Fault{Name: "500 with the right answer", Reason: Unreachable, serve: func(x exchange) {
		right := x.right()
		x.pass(right, 500, right.Body.Bytes())
	}})
}

// digits is a megabyte of digits, which may begin a number.
var digits = bytes.Repeat([]byte("1"), 1<<20)

func bodyFaults() []Fault {
	faults := []Fault{
		{Name: "200 HTML", serve: answering(200, "text/html", htmlPage)},
		{Name: "200 HTML as JSON", serve: answerJSON(htmlPage)},
		{Name: "204 empty", serve: answering(204, "", "")},
		{Name: "200 a gigabyte", serve: func(x exchange) { endless(x.w, digits) }},
	}
	for _, body := range []string{"", "null", "{}", "[]", `"text"`, "{", "\x00\xff\xfe", `{"code":[],"data":"x","status":"x","result":{}}`} {
		faults = append(faults, Fault{Name: fmt.Sprintf("200 %q", body), serve: answerJSON(body)})
	}
	return faults
}

func partnerFaults() []Fault {
	clockOff := func(ahead time.Duration) serve {
		now := func() time.Time { return time.Now().Add(ahead) }
		return altered(func(p *services.Partner, _ services.World) { p.Now = now })
	}
	faults := []Fault{
		{Name: "clock an hour fast", Effect: Answerable, serve: clockOff(time.Hour)},
		{Name: "clock ten minutes slow", Effect: Answerable, serve: clockOff(-10 * time.Minute)},
		{Name: "a proxy's clock an hour fast", Effect: Answerable, serve: func(x exchange) {
			right := x.right()
			right.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			x.pass(right, right.Code, right.Body.Bytes())
		}},
		{Name: "signature refused", Reason: Denied, serve: altered(func(p *services.Partner, _ services.World) { p.SecretKey += "x" })},
		{Name: "application refused", Reason: Denied, serve: altered(func(p *services.Partner, _ services.World) { p.AppID += "x" })},
		{Name: "code 0 as text", serve: replaced(`"code":0`, `"code":"0"`)},
		{Name: "code 40001", Reason: Rejected, serve: replaced(`"code":0`, `"code":40001`)},
		{Name: "code null", serve: replaced(`"code":0`, `"code":null`)},
	}
	for _, data := range []struct{ name, account, logins string }{
		{"data of a wrong type", `"yes"`, `"none"`},
		{"data with its parts of wrong types", `{"did":1,"mid":2}`, `[{"dapp_name":1,"login_platform":2,"login_time":"x"}]`},
		{"data in the other's form", `[{"did":"did:herald:1"}]`, `{"dapp_name":"Orchard"}`},
	} {
		faults = append(faults, Fault{Name: data.name, serve: edited(func(x exchange, _ string) string {
			if strings.HasSuffix(x.r.URL.Path, "/exists") {
				return `{"code":0,"data":` + data.account + `,"message":"success"}`
			}
			return `{"code":0,"data":` + data.logins + `,"message":"success"}`
		})})
	}
	return faults
}

func priceFaults() []Fault {
	const data = `"data":{("[^"]*"):(.*)}}$` // its key and its entry
	faults := []Fault{
		{Name: "entries in lists, as in version 2", Effect: Answerable, serve: replaced(data, `"data":{$1:[$2]}}`)},
		{Name: "all in a list, as in version 3", serve: replaced(data, `"data":[$2]}`)},
		{Name: "error code 0 as text", Effect: Answerable, serve: replaced(`"error_code":0`, `"error_code":"0"`)},
		{Name: "another coin", serve: replaced(`"id":`+services.TokenID+`(.*"symbol":)"[^"]*"`, `"id":1$1"OTHR"`)},
		{Name: "another coin's symbol", serve: replaced(`"symbol":"[^"]*"`, `"symbol":"OTHR"`)},
		{Name: "price in another currency", serve: replaced(`"USD"`, `"EUR"`)},
		{Name: "no data", serve: replaced(`"data":.*}$`, `"data":null}`)},
	}
	for _, value := range []string{"null", "0", "-0.04", `"NaN"`, "1e999999999"} {
		faults = append(faults, Fault{Name: "price " + value, serve: replaced(`"price":[^,]*`, `"price":`+value)})
	}
	code := func(code string, why Reason, wait time.Duration) Fault {
		return Fault{Name: "200 with error code " + code, Reason: why, Wait: wait, serve: replaced(`"error_code":0`, `"error_code":`+code)}
	}
	// The wait of 1009 is longer, by the time of day.
	return append(faults, code("1001", Denied, 0), code("1008", Limited, time.Minute), code("1009", UsedUp, time.Minute), code("null", Nonsense, 0))
}

func supplyFaults() (faults []Fault) {
	// answer adds a fault in which both bodies are made of the true supply.
	answer := func(effect Effect, name string, bodies func(core.Supply) (total, circulating string)) {
		faults = append(faults, Fault{Name: name, Effect: effect, serve: edited(func(x exchange, _ string) string {
			total, circulating := bodies(x.service.world.Supply)
			if strings.HasPrefix(x.r.URL.Path, "/circulating") {
				return circulating
			}
			return total
		})})
	}
	for _, f := range []struct {
		effect       Effect
		name, format string
	}{
		{Answerable, "bare numbers", "%s"},
		{Answerable, "numbers as text", "%q"},
		{Answerable, "results", `{"result":"%s"}`},
		{Answerable, "data", `{"data":%s}`},
		{Unanswerable, "status 0", `{"status":0,"message":"NOTOK","result":"%s"}`},
		{Unanswerable, "error beside data", `{"error":"upstream failed","data":%s}`},
		{Unanswerable, "negative", "-%s"},
	} {
		answer(f.effect, f.name, func(s core.Supply) (total, circulating string) {
			return fmt.Sprintf(f.format, s.Total), fmt.Sprintf(f.format, s.Circulating)
		})
	}
	answer(Unanswerable, "circulating above total", func(s core.Supply) (total, circulating string) {
		return s.Circulating.String(), s.Total.String()
	})
	for _, body := range []string{"0", `{"result":"0"}`, "Error calculating total supply", `{"result":null}`, "NaN", "1e999999999", "987,654"} {
		answer(Unanswerable, "200 with "+body, func(core.Supply) (total, circulating string) { return body, body })
	}
	return append(faults, Fault{Name: "half a bare number that ends with its connection", serve: func(x exchange) {
		x.breakOff("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+x.service.world.Supply.Total.String()[:4], false)
	}})
}

// with returns the node with another contract at some addresses; nil means no code.
func with(n services.Node, other services.Contract, at ...common.Address) services.Node {
	n.Contracts = maps.Clone(n.Contracts)
	for _, address := range at {
		n.Contracts[address] = other
	}
	return n
}

// withoutMulticall returns a node without the multicall contract, which is asked by batches.
func (x exchange) withoutMulticall() services.Node {
	return with(x.service.right.(services.Node), nil, services.MulticallAddress)
}

// staked returns a pool in which somebody stakes, unused one in which nobody does, and
// every all pools.
func staked(w services.World) []common.Address { return []common.Address{w.Staked[1].Pool.Address} }

func unused(w services.World) []common.Address {
	used := slices.Concat(w.Staked, w.Unbonding)
	i := slices.IndexFunc(w.Pools, func(p core.Pool) bool {
		return !slices.ContainsFunc(used, func(a core.PoolAmount) bool { return a.Pool == p })
	})
	return []common.Address{w.Pools[i].Address}
}

func every(w services.World) (all []common.Address) {
	for _, pool := range w.Pools {
		all = append(all, pool.Address)
	}
	return all
}

func multicall(services.World) []common.Address { return []common.Address{services.MulticallAddress} }

func reverting(reason string) services.Contract {
	return func(services.Node, uint64, []byte) ([]byte, error) { return nil, services.Reverted(reason) }
}

func returning(output []byte) services.Contract {
	return func(services.Node, uint64, []byte) ([]byte, error) { return output, nil }
}

func chainFaults() []Fault {
	contracts := func(name string, effect Effect, why Reason, at func(services.World) []common.Address, other services.Contract) Fault {
		replace := func(n *services.Node, w services.World) { *n = with(*n, other, at(w)...) }
		return Fault{Name: name, Effect: effect, Reason: why, serve: altered(replace)}
	}
	node := func(name string, why Reason, alter func(*services.Node)) Fault {
		return Fault{Name: name, Reason: why, serve: altered(func(n *services.Node, _ services.World) { alter(n) })}
	}
	answers := func(name string, why Reason, edit func(answer map[string]any)) Fault {
		return Fault{Name: "200 with " + name, Reason: why, serve: func(x exchange) { x.editAnswers(x.service.right, edit) }}
	}
	frozen := time.Now().Add(-time.Hour)
	return []Fault{
		node("another chain", Denied, func(n *services.Node) { n.ChainID = 1 }),
		node("lagging an hour", Behind, func(n *services.Node) { n.Now = func() time.Time { return time.Now().Add(-time.Hour) } }),
		node("frozen an hour ago", Behind, func(n *services.Node) { n.Now = func() time.Time { return frozen } }),

		contracts("an empty pool reverts", OnePoolUnread, Nonsense, unused, reverting("paused")),
		contracts("a pool with a stake reverts", OnePoolUnread, Nonsense, staked, reverting("")),
		contracts("an empty pool without code", OnePoolUnread, Nonsense, unused, nil),
		contracts("a pool answers half a word", OnePoolUnread, Nonsense, unused, returning(make([]byte, 16))),
		contracts("every pool reverts", Unanswerable, Rejected, every, reverting("paused")),
		contracts("every pool without code", Unanswerable, Nonsense, every, nil),
		contracts("no multicall", Answerable, Nonsense, multicall, nil),
		contracts("multicall reverts", Answerable, Nonsense, multicall, reverting("")),

		{Name: "batch answered by one error", Effect: Answerable, serve: func(x exchange) {
			if bytes.HasPrefix(x.body, []byte("[")) {
				answerJSON(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`)(x)
				return
			}
			x.withoutMulticall().ServeHTTP(x.w, x.r)
		}},
		answers("error -32005", Limited, func(a map[string]any) {
			delete(a, "result")
			a["error"] = map[string]any{"code": -32005, "message": "daily request count exceeded, request rate limited"}
		}),
		answers("result null", Nonsense, func(a map[string]any) { a["result"] = nil }),
		answers("another's id", Nonsense, func(a map[string]any) { a["id"] = 987654321 }),
	}
}

// editAnswers edits each answer of a node to a call or to the calls of a batch.
func (x exchange) editAnswers(node http.Handler, edit func(answer map[string]any)) {
	right := x.from(node)
	body, batch := right.Body.Bytes(), bytes.HasPrefix(right.Body.Bytes(), []byte("["))
	if !batch {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var answers []map[string]any
	if err := json.Unmarshal(body, &answers); err != nil {
		panic(err)
	}
	for _, answer := range answers {
		edit(answer)
	}
	body = mustJSON(answers)
	if !batch {
		body = body[1 : len(body)-1]
	}
	x.pass(right, right.Code, body)
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
