package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
)

// own returns the faults that only one service has. A service may have none.
var own = map[Target]func() []Fault{
	Partner: partnerFaults,
	Price:   priceFaults,
	Supply:  supplyFaults,
	Chain:   chainFaults,
}

// Of returns the faults of a target, beginning with those that every service has. It has one fault of each kind.
// Each service's own package tests further values.
func Of(t Target) []Fault {
	if faults := own[t]; faults != nil {
		return append(commonFaults(), faults()...)
	}
	return commonFaults()
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

// commonFaults returns the faults that every service has.
func commonFaults() []Fault {
	return []Fault{
		Drop(),
		Hang(),
		{Name: "reset midway", Reason: Unreachable, serve: resetMidway},
		{Name: "redirect 307", serve: func(x exchange) {
			http.Redirect(x.w, x.r, x.service.elsewhere+x.r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}},
		{Name: "200 a gigabyte", serve: gigabyte},
		page(200, ""),
		page(401, Denied),
		page(404, Rejected),
		page(429, Limited),
		pageWithRetryAfter(429, Limited, "2", 2*time.Second),
		pageWithRetryAfter(429, Limited, "Fri, 31 Dec 9999 23:59:59 GMT", 31*24*time.Hour),
		pageWithRetryAfter(503, Unreachable, "5", 5*time.Second),
		{Name: "500 with the right answer", Reason: Unreachable, serve: func(x exchange) {
			right := x.right()
			x.sendAltered(right, 500, right.Body.Bytes())
		}},
	}
}

// resetMidway sends the first half of the right answer, and resets the connection.
func resetMidway(x exchange) {
	body := x.right().Body.String()
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	x.reset(head + body[:len(body)/2])
}

// errorPage is what web servers show in place of an answer.
const errorPage = "<!DOCTYPE html><html><head><title>Sorry</title></head>" +
	"<body><h1>Please try again later</h1></body></html>"

// page returns a fault that answers with errorPage and a status.
func page(status int, reason Reason) Fault {
	return Fault{Name: fmt.Sprint(status), Reason: reason, serve: answering(status, "text/html", errorPage)}
}

// pageWithRetryAfter is like page, and asks the client to wait, for as long as a header says.
func pageWithRetryAfter(status int, reason Reason, header string, wait time.Duration) Fault {
	f := page(status, reason)
	f.Name += " with Retry-After " + header
	f.Wait = wait
	answerPage := f.serve
	f.serve = func(x exchange) {
		x.w.Header().Set("Retry-After", header)
		answerPage(x)
	}
	return f
}

// gigabyte answers with digits, which may begin a number, until the client leaves.
func gigabyte(x exchange) {
	digits := bytes.Repeat([]byte("1"), 1<<20)
	for range 1 << 10 {
		if _, err := x.w.Write(digits); err != nil {
			return
		}
	}
}

func partnerFaults() []Fault {
	inAnHour := func() time.Time { return time.Now().Add(time.Hour) }
	return []Fault{
		{
			Name:   "clock an hour fast",
			Effect: Answerable,
			serve:  altered(func(p *services.Partner, _ services.World) { p.Now = inAnHour }),
		},
	}
}

func priceFaults() []Fault {
	return []Fault{
		{
			Name:   "entries in lists, as in version 2",
			Effect: Answerable,
			serve:  replaced(`"data":{("[^"]*"):(.*)}}$`, `"data":{$1:[$2]}}`),
		},
		{Name: "price null", Reason: NoData, serve: replaced(`"price":[^,]*`, `"price":null`)},
		{
			Name:   "200 with error code 1009",
			Reason: UsedUp,
			Wait:   time.Minute, // The bot waits at least so long; how long depends on the time of day.
			serve:  replaced(`"error_code":0`, `"error_code":1009`),
		},
	}
}

func supplyFaults() []Fault {
	// answer returns a fault of both the total and the circulating supply. bodies returns what they answer,
	// given the true supply.
	answer := func(name string, effect Effect, bodies func(core.Supply) (total, circulating string)) Fault {
		return Fault{Name: name, Effect: effect, serve: func(x exchange) {
			body, circulating := bodies(x.service.world.Supply)
			if strings.HasPrefix(x.r.URL.Path, "/circulating") {
				body = circulating
			}
			answerJSON(body)(x)
		}}
	}
	return []Fault{
		answer("numbers as text", Answerable, func(s core.Supply) (total, circulating string) {
			return strconv.Quote(s.Total.String()), strconv.Quote(s.Circulating.String())
		}),
		answer("circulating above total", Unanswerable, func(s core.Supply) (total, circulating string) {
			return s.Circulating.String(), s.Total.String()
		}),
	}
}

func chainFaults() []Fault {
	node := func(name string, effect Effect, why Reason, alter func(*services.Node, services.World)) Fault {
		return Fault{Name: name, Effect: effect, Reason: why, serve: altered(alter)}
	}
	everyReverts := func(n *services.Node, w services.World) {
		for _, pool := range w.Pools {
			*n = withContract(*n, reverts, pool.Address)
		}
	}
	return []Fault{
		node("another chain", Unanswerable, Denied, func(n *services.Node, _ services.World) { n.ChainID = 1 }),
		node("lagging an hour", Unanswerable, Behind, func(n *services.Node, _ services.World) {
			n.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		}),
		node("an empty pool reverts", OnePoolUnread, "",
			func(n *services.Node, w services.World) { *n = withContract(*n, reverts, unusedPool(w)) }),
		node("a pool with a stake reverts", OnePoolUnread, "", func(n *services.Node, w services.World) {
			*n = withContract(*n, reverts, w.Staked[1].Pool.Address)
		}),
		node("every pool reverts", Unanswerable, Rejected, everyReverts),
		node("no multicall", Answerable, "",
			func(n *services.Node, _ services.World) { *n = withContract(*n, nil, services.MulticallAddress) }),
		{Name: "batch answered by one error", Effect: Answerable, serve: func(x exchange) {
			if bytes.HasPrefix(x.body, []byte("[")) {
				answerJSON(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`)(x)
				return
			}
			withContract(x.service.right.(services.Node), nil, services.MulticallAddress).ServeHTTP(x.w, x.r)
		}},
	}
}

// withContract returns the node with another contract at an address, or without a contract there if other is
// nil.
func withContract(n services.Node, other services.Contract, at common.Address) services.Node {
	n.Contracts = maps.Clone(n.Contracts)
	n.Contracts[at] = other
	return n
}

// unusedPool returns a pool in which nothing is staked or unstaking.
func unusedPool(w services.World) common.Address {
	used := slices.Concat(w.Staked, w.Unbonding)
	i := slices.IndexFunc(w.Pools, func(p core.Pool) bool {
		return !slices.ContainsFunc(used, func(a core.PoolAmount) bool { return a.Pool == p })
	})
	return w.Pools[i].Address
}

// reverts is a contract whose calls fail.
func reverts(services.Node, uint64, []byte) ([]byte, error) { return nil, services.Reverted("paused") }

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
