package fault

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"herald/internal/core"
	"herald/internal/sandbox"
)

// altered is the service's own handler after a change of its fields.
func altered[H http.Handler](alter func(*H)) func(exchange) {
	return func(x exchange) {
		handler := x.service.right.(H)
		alter(&handler)
		handler.ServeHTTP(x.w, x.r)
	}
}

// clockOff is the partner's service with a clock that is ahead by so much.
func clockOff(ahead time.Duration) func(exchange) {
	return altered(func(p *sandbox.Partner) {
		p.Now = func() time.Time { return time.Now().Add(ahead) }
	})
}

// dateOff is the right answer, dated by a proxy whose clock is ahead by so much.
func dateOff(ahead time.Duration) func(exchange) {
	return func(x exchange) {
		right := x.rightAnswer()
		right.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		x.answer(right, right.Code, right.Body.Bytes())
	}
}

func partnerFaults() []Fault {
	faults := []Fault{
		{Name: "clock an hour fast", Effect: Answerable, serve: clockOff(time.Hour)},
		{Name: "clock ten minutes slow", Effect: Answerable, serve: clockOff(-10 * time.Minute)},
		{Name: "a proxy's clock an hour fast", Effect: Answerable, serve: dateOff(time.Hour)},
		{Name: "a proxy's clock a month slow", Effect: Answerable, serve: dateOff(-30 * 24 * time.Hour)},
		{Name: "signature refused", serve: altered(func(p *sandbox.Partner) { p.SecretKey += "x" })},
		{Name: "application refused", serve: altered(func(p *sandbox.Partner) { p.AppID += "x" })},
		{Name: "code 0 as text", serve: replaced(`"code":0`, `"code":"0"`)},
	}
	for _, code := range []string{"40001", `"40001"`, "-1", "null", "1e400", "{}"} {
		faults = append(faults, Fault{Name: "code " + code, serve: replaced(`"code":0`, `"code":`+code)})
	}
	for _, data := range []struct{ name, account, logins string }{
		{"data of a wrong type", `"yes"`, `"none"`},
		{"data a number", `1`, `0`},
		{"data with its parts of wrong types", `{"did":1,"mid":2}`, `[{"dapp_name":1,"login_platform":2,"login_time":"x"}]`},
		{"data with a bare part", `{"did":"ann"}`, `[{"dapp_name":"Orchard","login_platform":"EVM"}]`},
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
	anotherCoin := func(data string) func(exchange) {
		return edited(func(_ exchange, body string) string {
			body = strings.Replace(body, `"id":`+sandbox.TokenID, `"id":1`, 1)
			body = strings.Replace(body, `"symbol":"`+sandbox.Symbol, `"symbol":"OTHR`, 1)
			return regexp.MustCompile(marketData).ReplaceAllString(body, data)
		})
	}
	faults := []Fault{
		{Name: "entries in lists, as in version 2", Effect: Answerable, serve: replaced(marketData, `"data":{$1:[$2]}}`)},
		{Name: "all in a list, as in version 3", Effect: Answerable, serve: replaced(marketData, `"data":[$2]}`)},
		{Name: "error code 0 as text", Effect: Answerable, serve: replaced(`"error_code":0`, `"error_code":"0"`)},
		{Name: "another coin", serve: anotherCoin(`"data":{$1:$2}}`)},
		{Name: "another coin's symbol", serve: replaced(`"symbol":"[^"]*"`, `"symbol":"OTHR"`)},
		{Name: "another coin under its own key", serve: anotherCoin(`"data":{"1":$2}}`)},
		{Name: "price in another currency", serve: replaced(`"USD"`, `"EUR"`)},
	}
	for _, price := range []string{"null", "0", "-0.04", `"NaN"`, "NaN", "1e400", "1e999999999", "{}", `"a lot"`} {
		faults = append(faults, Fault{Name: "price " + price, serve: replaced(`"price":[^,]*`, `"price":`+price)})
	}
	for _, code := range []string{"1001", "1008", "1009", "1010", "1011", `"1001"`, "null"} {
		faults = append(faults, Fault{Name: "200 with error code " + code, serve: replaced(`"error_code":0`, `"error_code":`+code)})
	}
	for _, data := range []string{"null", "[]", "{}", `"x"`} {
		faults = append(faults, Fault{Name: "data " + data, serve: replaced(marketData, `"data":`+data+`}`)})
	}
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
		both(Answerable, "data as text", "{\"data\":\"%s\"}\n"),
		both(Answerable, "code 0", `{"code":0,"message":"success","data":"%s"}`),
		both(Answerable, "status 1", `{"status":"1","message":"OK","result":"%s"}`),
		both(Unanswerable, "code 500", `{"code":500,"data":"%s"}`),
		both(Unanswerable, "not ok", `{"ok":false,"result":%s}`),
		both(Unanswerable, "status 0", `{"status":0,"message":"NOTOK","result":"%s"}`),
		both(Unanswerable, "no success", `{"success":false,"data":%s}`),
		both(Unanswerable, "error beside data", `{"error":"upstream failed","data":%s}`),
		both(Unanswerable, "negative", "-%s"),
		{Name: "half a bare number that ends with its connection", serve: func(x exchange) {
			x.breakOff([]byte(untilClosed+x.service.world.Supply.Total.String()[:4]), false)
		}},
		{Name: "circulating above total", serve: supplies(func(s core.Supply) (total, circulating string) {
			return s.Circulating.String(), s.Total.String()
		})},
		{Name: "circulating 0 beside a total", serve: supplies(func(s core.Supply) (total, circulating string) {
			return s.Total.String(), `{"result":"0"}`
		})},
	}
	for _, body := range []string{
		"0", "0.0", `"0"`, `{"result":"0"}`, "Error calculating total supply", `{"result":null}`, `{"data":{}}`,
		`{"error":"upstream failed"}`, "NaN", "Infinity", "1e400", "1e999999999", "987,654", "0x1f", "12 34",
	} {
		faults = append(faults, Fault{Name: "200 with " + body,
			serve: supplies(func(core.Supply) (total, circulating string) { return body, body })})
	}
	return faults
}
