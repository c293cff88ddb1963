package fault

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
)

const (
	htmlPage = "<!DOCTYPE html><html><head><title>Sorry</title></head><body><h1>Please try again later</h1></body></html>"
	jsonBody = `{"code":50000,"data":null,"message":"internal error","error":"internal error"}`
)

// Of are the ways in which a target fails, the same ones first that any
// service has. It is empty for a name that is none.
func Of(t Target) []Fault {
	own := map[Target]func() []Fault{Partner: partnerFaults, Price: priceFaults, Supply: supplyFaults, Chain: chainFaults}[t]
	if own == nil {
		return nil
	}
	all := slices.Concat(connectionFaults(), statusFaults(), bodyFaults())
	if t != Supply {
		// Half of a bare number that claims to be whole is a number: no client
		// could tell.
		all = append(all, Fault{Name: "half an answer that claims to be whole", serve: edited(func(_ exchange, body string) string {
			return body[:len(body)/2]
		})})
	}
	return append(all, own()...)
}

// untilClosed begins an answer whose end is that of its connection.
const untilClosed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

func connectionFaults() []Fault {
	broken := func(raw string, reset bool) func(exchange) {
		return func(x exchange) { x.breakOff([]byte(raw), reset) }
	}
	// midway is half of the right answer after a head, which may announce it all.
	midway := func(head string, reset bool) func(exchange) {
		return func(x exchange) {
			body := x.right().Body.String()
			x.breakOff([]byte(strings.ReplaceAll(head, "LENGTH", strconv.Itoa(len(body)))+body[:len(body)/2]), reset)
		}
	}
	redirect := func(status int) func(exchange) {
		return func(x exchange) { x.redirect(x.service.elsewhere, status) }
	}
	const whole = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: LENGTH\r\n\r\n"
	return []Fault{
		Refuse(),
		{Name: "closed without an answer", serve: broken("", false)},
		{Name: "reset without an answer", serve: broken("", true)},
		{Name: "closed midway", serve: midway(whole, false)},
		{Name: "reset midway", serve: midway(whole, true)},
		{Name: "half an answer that ends with its connection", serve: midway(untilClosed, false)},
		{Name: "not HTTP", serve: broken("SSH-2.0-OpenSSH_9.6\r\n", false)},
		Hang(),
		{Name: "a byte a second", serve: drip},
		Late(50 * time.Millisecond),
		{Name: "redirect 302", serve: redirect(http.StatusFound)},
		{Name: "redirect 307", serve: redirect(http.StatusTemporaryRedirect)},
	}
}

// drip is the right answer at a byte a second.
func drip(x exchange) {
	right := x.right()
	x.w.Header().Set("Content-Length", strconv.Itoa(right.Body.Len()))
	for _, b := range right.Body.Bytes() {
		if _, err := x.w.Write([]byte{b}); err != nil {
			return
		}
		_ = http.NewResponseController(x.w).Flush()
		x.wait(time.Second)
	}
}

func statusFaults() (faults []Fault) {
	for _, f := range []struct {
		status           int
		kind, retryAfter string
	}{
		{401, "text/html", ""}, {403, "application/json", ""}, {404, "application/json", ""}, {404, "", ""},
		{429, "application/json", "2"}, {429, "text/html", "Fri, 31 Dec 9999 23:59:59 GMT"}, {429, "", "soon"},
		{500, "application/json", ""}, {502, "text/html", ""}, {503, "text/html", "5"}, {504, "", ""},
	} {
		body := map[string]string{"application/json": jsonBody, "text/html": htmlPage}[f.kind]
		fault := Fault{Name: fmt.Sprintf("%d %s", f.status, f.kind), serve: answering(f.status, f.kind, body)}
		if f.kind == "" {
			fault.Name += "empty"
		}
		if f.retryAfter != "" {
			answer := fault.serve
			fault.Name += " with Retry-After " + f.retryAfter
			fault.serve = func(x exchange) {
				x.w.Header().Set("Retry-After", f.retryAfter)
				answer(x)
			}
		}
		faults = append(faults, fault)
	}
	return append(faults, Fault{Name: "500 with the right answer", serve: func(x exchange) {
		right := x.right()
		x.answer(right, 500, right.Body.Bytes())
	}}, Fault{Name: "404 that repeats the request", serve: func(x exchange) {
		answering(404, "text/plain; charset=utf-8", dump(x.r))(x)
	}})
}

// dump is all of a request, credentials included, as error pages repeat it.
func dump(r *http.Request) string {
	all, err := httputil.DumpRequest(r, true)
	if err != nil {
		return err.Error()
	}
	return "http://" + r.Host + r.URL.RequestURI() + "\n" + string(all)
}

// digits is a megabyte that every service could begin a number with.
var digits = bytes.Repeat([]byte("1"), 1<<20)

// packedDigits is digits as one member of a gzip file; a file may have many.
var packedDigits = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	packer := gzip.NewWriter(&b)
	_, _ = packer.Write(digits)
	_ = packer.Close()
	return b.Bytes()
})

func bodyFaults() []Fault {
	faults := []Fault{
		{Name: "200 HTML", serve: answering(200, "text/html", htmlPage)},
		{Name: "200 HTML as JSON", serve: answerJSON(htmlPage)},
		{Name: "200 empty", serve: answerJSON("")},
		{Name: "204 empty", serve: answering(204, "", "")},
		{Name: "200 a gigabyte", serve: func(x exchange) { x.endless(digits) }},
		{Name: "200 gzip bomb", serve: func(x exchange) {
			x.w.Header().Set("Content-Encoding", "gzip")
			x.endless(packedDigits())
		}},
	}
	for _, body := range []string{
		"null", "true", "{}", "[]", `""`, `"text"`, "{", "\x00\xff\xfe",
		`{"code":null,"data":null,"message":null,"status":null,"result":null}`,
		`{"code":[],"data":"x","status":"x","result":{}}`,
	} {
		faults = append(faults, Fault{Name: fmt.Sprintf("200 %q", body), serve: answerJSON(body)})
	}
	return faults
}

func partnerFaults() []Fault {
	// clockOff is a clock of the service.
	clockOff := func(ahead time.Duration) func(exchange) {
		return altered(func(p *services.Partner, _ services.World) { p.Now = func() time.Time { return time.Now().Add(ahead) } })
	}
	faults := []Fault{
		{Name: "clock an hour fast", Effect: Answerable, serve: clockOff(time.Hour)},
		{Name: "clock ten minutes slow", Effect: Answerable, serve: clockOff(-10 * time.Minute)},
		{Name: "a proxy's clock an hour fast", Effect: Answerable, serve: func(x exchange) {
			right := x.right()
			right.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			x.answer(right, right.Code, right.Body.Bytes())
		}},
		{Name: "signature refused", serve: altered(func(p *services.Partner, _ services.World) { p.SecretKey += "x" })},
		{Name: "application refused", serve: altered(func(p *services.Partner, _ services.World) { p.AppID += "x" })},
		{Name: "code 0 as text", serve: replaced(`"code":0`, `"code":"0"`)},
	}
	for _, code := range []string{"40001", `"40001"`, "-1", "null", "1e400", "{}"} {
		faults = append(faults, Fault{Name: "code " + code, serve: replaced(`"code":0`, `"code":`+code)})
	}
	for _, data := range []struct{ name, account, logins string }{
		{"data of a wrong type", `"yes"`, `"none"`},
		{"data with its parts of wrong types", `{"did":1,"mid":2}`, `[{"dapp_name":1,"login_platform":2,"login_time":"x"}]`},
		{"data in the other's form", `[{"did":"did:herald:1"}]`, `{"dapp_name":"Orchard"}`},
		{"impossible data", `{"did":"did:a b\n:\u0000"}`, `[{"dapp_name":"Orchard","login_platform":"EVM","login_time":-5}]`},
	} {
		faults = append(faults, Fault{Name: data.name, serve: edited(func(x exchange, _ string) string {
			instead := data.logins
			if strings.HasSuffix(x.r.URL.Path, "/exists") {
				instead = data.account
			}
			return `{"code":0,"data":` + instead + `,"message":"success"}`
		})})
	}
	return faults
}

// marketData matches the data of a right answer: the key and its entry.
const marketData = `"data":{("[^"]*"):(.*)}}$`

func priceFaults() []Fault {
	anotherCoin := func(key string) func(exchange) {
		return replaced(`"data":{("[^"]*"):{"id":`+services.TokenID+`(.*"symbol":")`+services.Symbol, `"data":{`+key+`:{"id":1${2}OTHR`)
	}
	faults := []Fault{
		{Name: "entries in lists, as in version 2", Effect: Answerable, serve: replaced(marketData, `"data":{$1:[$2]}}`)},
		{Name: "all in a list, as in version 3", Effect: Answerable, serve: replaced(marketData, `"data":[$2]}`)},
		{Name: "error code 0 as text", Effect: Answerable, serve: replaced(`"error_code":0`, `"error_code":"0"`)},
		{Name: "another coin", serve: anotherCoin("$1")},
		{Name: "another coin's symbol", serve: replaced(`"symbol":"[^"]*"`, `"symbol":"OTHR"`)},
		{Name: "another coin under its own key", serve: anotherCoin(`"1"`)},
		{Name: "price in another currency", serve: replaced(`"USD"`, `"EUR"`)},
	}
	instead := func(name, pattern, member string, values ...string) {
		for _, value := range values {
			faults = append(faults, Fault{Name: name + " " + value, serve: replaced(pattern, member+value)})
		}
	}
	instead("price", `"price":[^,]*`, `"price":`, "null", "0", "-0.04", `"NaN"`, "1e400", "1e999999999", "{}")
	instead("200 with error code", `"error_code":0`, `"error_code":`, "1001", "1008", "1009", "1010", "1011", `"1001"`, "null")
	instead("data", `"data":.*}$`, `"data":`, "null}", "[]}", "{}}", `"x"}`)
	return faults
}

// supplies answers the two questions with bodies made of the true supply.
func supplies(bodies func(core.Supply) (total, circulating string)) func(exchange) {
	return edited(func(x exchange, _ string) string {
		total, circulating := bodies(x.service.world.Supply)
		if strings.HasPrefix(x.r.URL.Path, "/circulating") {
			return circulating
		}
		return total
	})
}

func supplyFaults() []Fault {
	both := func(effect Effect, name, format string) Fault {
		return Fault{Name: name, Effect: effect, serve: supplies(func(s core.Supply) (total, circulating string) {
			return fmt.Sprintf(format, s.Total), fmt.Sprintf(format, s.Circulating)
		})}
	}
	faults := []Fault{
		both(Answerable, "bare numbers", "%s"),
		both(Answerable, "numbers as text", "%q"),
		both(Answerable, "results", `{"result":"%s"}`),
		both(Answerable, "data", `{"data":%s}`),
		both(Unanswerable, "status 0", `{"status":0,"message":"NOTOK","result":"%s"}`),
		both(Unanswerable, "error beside data", `{"error":"upstream failed","data":%s}`),
		both(Unanswerable, "negative", "-%s"),
		{Name: "half a bare number that ends with its connection", serve: func(x exchange) {
			x.breakOff([]byte(untilClosed+x.service.world.Supply.Total.String()[:4]), false)
		}},
		{Name: "circulating above total", serve: supplies(func(s core.Supply) (total, circulating string) {
			return s.Circulating.String(), s.Total.String()
		})},
	}
	for _, body := range []string{
		"0", "0.0", `{"result":"0"}`, "Error calculating total supply", `{"result":null}`, `{"data":{}}`,
		`{"error":"upstream failed"}`, "NaN", "1e400", "1e999999999", "987,654", "0x1f", "12 34",
	} {
		serve := supplies(func(core.Supply) (total, circulating string) { return body, body })
		faults = append(faults, Fault{Name: "200 with " + body, serve: serve})
	}
	return faults
}
