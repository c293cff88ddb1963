package fault

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

// Of are the ways in which a target fails, the same ones first that any
// service has. It is empty for a name that is none.
func Of(t Target) []Fault {
	var own []Fault
	switch t {
	case Partner:
		own = slices.Concat([]Fault{truncatedFault}, partnerFaults())
	case Price:
		own = slices.Concat([]Fault{truncatedFault}, priceFaults())
	case Supply:
		// Half of a bare number that claims to be whole is a number: no client
		// could tell.
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
		{Name: "half an answer that ends with its connection", serve: halfUntilClosed},
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
