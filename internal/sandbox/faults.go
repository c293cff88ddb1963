package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	htmlPage = "<!DOCTYPE html><html><head><title>Sorry</title></head><body><h1>Please try again later</h1></body></html>"
	jsonBody = `{"code":50000,"data":null,"message":"internal error","error":"internal error"}`
)

// Faults are the ways in which a service fails, the same ones first that any
// service has. It is empty for a name that is none.
func Faults(service Name) []Fault {
	var own []Fault
	switch service {
	case Partner:
		own = slices.Concat([]Fault{truncatedFault}, partnerFaults())
	case Price:
		own = slices.Concat([]Fault{truncatedFault}, priceFaults())
	case TokenSupply:
		// Half of a bare number is a number: no client could tell.
		own = supplyFaults()
	case Chain:
		own = slices.Concat([]Fault{truncatedFault}, chainFaults())
	default:
		return nil
	}
	return slices.Concat(connectionFaults(), statusFaults(), bodyFaults(), own)
}

var truncatedFault = Fault{Name: "half an answer that claims to be whole", serve: truncated}

func connectionFaults() []Fault {
	return []Fault{
		Refuse(),
		{Name: "closed without an answer", serve: closeAtOnce},
		{Name: "reset without an answer", serve: resetAtOnce},
		{Name: "closed midway", serve: halfABody(false)},
		{Name: "reset midway", serve: halfABody(true)},
		{Name: "not HTTP", serve: notHTTP},
		Hang(),
		{Name: "a byte a second", serve: drip},
		Late(50 * time.Millisecond),
		{Name: "redirect 302", serve: redirect(http.StatusFound)},
		{Name: "redirect 307", serve: redirect(http.StatusTemporaryRedirect)},
	}
}

func statusFaults() []Fault {
	var faults []Fault
	for _, f := range []struct {
		status     int
		kind, body string
		retryAfter string
	}{
		{401, "application/json", jsonBody, ""},
		{401, "text/html", htmlPage, ""},
		{403, "application/json", jsonBody, ""},
		{403, "text/html", htmlPage, ""},
		{404, "application/json", jsonBody, ""},
		{404, "text/html", htmlPage, ""},
		{404, "", "", ""},
		{429, "application/json", jsonBody, ""},
		{429, "application/json", jsonBody, "2"},
		{429, "text/html", htmlPage, "Fri, 31 Dec 9999 23:59:59 GMT"},
		{429, "", "", "soon"},
		{500, "application/json", jsonBody, ""},
		{500, "", "", ""},
		{502, "text/html", htmlPage, ""},
		{503, "text/html", htmlPage, "5"},
		{504, "", "", ""},
	} {
		name := fmt.Sprintf("%d %s", f.status, f.kind)
		if f.kind == "" {
			name = fmt.Sprintf("%d empty", f.status)
		}
		header := http.Header{}
		if f.kind != "" {
			header.Set("Content-Type", f.kind)
		}
		if f.retryAfter != "" {
			name += " with Retry-After " + f.retryAfter
			header.Set("Retry-After", f.retryAfter)
		}
		faults = append(faults, Fault{Name: name, serve: answering(f.status, header, f.body)})
	}
	return append(faults,
		Fault{Name: "404 that repeats the request", serve: echo},
		Fault{Name: "404 with the right answer", serve: withStatus(http.StatusNotFound)},
		Fault{Name: "500 with the right answer", serve: withStatus(http.StatusInternalServerError)},
	)
}

func bodyFaults() []Fault {
	faults := []Fault{
		{Name: "200 HTML", serve: answering(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, htmlPage)},
		{Name: "200 HTML as JSON", serve: answerJSON(htmlPage)},
		{Name: "200 empty", serve: answerJSON("")},
		{Name: "204 empty", serve: answering(http.StatusNoContent, nil, "")},
		{Name: "200 a gigabyte", serve: gigabyte},
		{Name: "200 gzip bomb", serve: gzipBomb},
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

func answerJSON(body string) func(exchange) {
	return answering(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, body)
}

func partnerFaults() []Fault {
	faults := []Fault{
		{Name: "clock an hour fast", Effect: Answerable,
			serve: altered(func(p *partner) { p.clockOff = time.Hour })},
		{Name: "clock ten minutes slow", Effect: Answerable,
			serve: altered(func(p *partner) { p.clockOff = -10 * time.Minute })},
		{Name: "signature refused", serve: altered(func(p *partner) { p.secret += "x" })},
		{Name: "application refused", serve: altered(func(p *partner) { p.appID += "x" })},
		{Name: "code 0 as text", serve: altered(func(p *partner) { p.code = `"0"` })},
	}
	for _, code := range []string{"40001", `"40001"`, "-1", "null", "1e400", "{}"} {
		faults = append(faults, Fault{Name: "code " + code, serve: altered(func(p *partner) { p.code = code })})
	}
	for _, data := range []struct{ name, account, logins string }{
		{"data of a wrong type", `"yes"`, `"none"`},
		{"data a number", `1`, `0`},
		{"data with its parts of wrong types", `{"did":1,"mid":2}`, `[{"dapp_name":1,"login_platform":2,"login_time":"x"}]`},
		{"data with a bare part", `{"did":"ann"}`, `[{"dapp_name":"Orchard","login_platform":"EVM"}]`},
		{"data in the other's form", `[{"did":"did:herald:1"}]`, `{"dapp_name":"Orchard"}`},
		{"impossible data", `{"did":"did:a b\n:\u0000"}`, `[{"dapp_name":"Orchard","login_platform":"EVM","login_time":-5}]`},
	} {
		faults = append(faults, Fault{Name: data.name,
			serve: altered(func(p *partner) { p.account, p.loginLog = data.account, data.logins })})
	}
	return faults
}

func priceFaults() []Fault {
	faults := []Fault{
		{Name: "entries in lists, as in version 2", Effect: Answerable, serve: altered(func(m *market) {
			m.data = func(key, entry string) string { return keyed(key, "["+entry+"]") }
		})},
		{Name: "all in a list, as in version 3", Effect: Answerable, serve: altered(func(m *market) {
			m.data = func(_, entry string) string { return "[" + entry + "]" }
		})},
		{Name: "error code 0 as text", Effect: Answerable, serve: altered(func(m *market) { m.errorCode = `"0"` })},
		{Name: "another coin", serve: altered(func(m *market) { m.id, m.symbol = "1", "OTHR" })},
		{Name: "another coin's symbol", serve: altered(func(m *market) { m.symbol = "OTHR" })},
		{Name: "another coin under its own key", serve: altered(func(m *market) {
			m.id, m.symbol = "1", "OTHR"
			m.data = func(_, entry string) string { return keyed("1", entry) }
		})},
		{Name: "price in another currency", serve: altered(func(m *market) { m.currency = "EUR" })},
	}
	for _, price := range []string{"null", "0", "-0.04", `"NaN"`, "NaN", "1e400", "1e999999999", "{}", `"a lot"`} {
		faults = append(faults, Fault{Name: "price " + price, serve: altered(func(m *market) { m.price = price })})
	}
	for _, code := range []string{"1001", "1008", "1009", `"1001"`, "null"} {
		faults = append(faults, Fault{Name: "200 with error code " + code,
			serve: altered(func(m *market) { m.errorCode = code })})
	}
	for _, data := range []string{"null", "[]", "{}", `"x"`} {
		faults = append(faults, Fault{Name: "data " + data, serve: altered(func(m *market) {
			m.data = func(_, _ string) string { return data }
		})})
	}
	return faults
}

func supplyFaults() []Fault {
	both := func(effect Effect, name, format string) Fault {
		return Fault{Name: name, Effect: effect, serve: func(x exchange) {
			handler := x.service.handler.(supplyHost)
			handler.total = fmt.Sprintf(format, handler.world.Total)
			handler.circulating = fmt.Sprintf(format, handler.world.Circulating)
			handler.ServeHTTP(x.w, x.r)
		}}
	}
	faults := []Fault{
		both(Answerable, "bare numbers", "%s"),
		both(Answerable, "numbers as text", "%q"),
		both(Answerable, "results", `{"result":"%s"}`),
		both(Answerable, "data", `{"data":%s}`),
		both(Answerable, "data as text", "{\"data\":\"%s\"}\n"),
		both(Unanswerable, "negative", "-%s"),
		{Name: "circulating above total", serve: altered(func(s *supplyHost) {
			s.total, s.circulating = s.world.Circulating.String(), s.world.Total.String()
		})},
		{Name: "circulating 0 beside a total", serve: altered(func(s *supplyHost) { s.circulating = `{"result":"0"}` })},
	}
	for _, body := range []string{
		"0", "0.0", `"0"`, `{"result":"0"}`, "Error calculating total supply", `{"result":null}`, `{"data":{}}`,
		`{"error":"upstream failed"}`, "NaN", "Infinity", "1e400", "1e999999999", "987,654", "0x1f", "12 34",
	} {
		faults = append(faults, Fault{Name: "200 with " + body,
			serve: altered(func(s *supplyHost) { s.total, s.circulating = body, body })})
	}
	return faults
}
