package app_test

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// refusedRequests has a row for each service. If the service answers a request with one of answers, bot check prints
// the request.
var refusedRequests = []struct {
	service  fault.Target
	requests []string // one of them is printed
	command  []string // a command that asks the service, and its arguments
	answers  map[string]fault.Fault
}{
	{
		service:  fault.Partner,
		requests: []string{"POST /api/v1/partner/user/exists"},
		command:  []string{"exists"},
		answers: map[string]fault.Fault{
			"a wrong signature": fault.Answer(401, "application/json", `{"code":40100,"message":"wrong signature"}`),
			"a code":            fault.Answer(200, "application/json", `{"code":40000,"message":"no"}`),
		},
	},
	{
		service:  fault.Price,
		requests: []string{"GET /v1/cryptocurrency/quotes/latest?convert=USD&id=31415"},
		command:  []string{"price"},
		answers: map[string]fault.Fault{
			"a code":        fault.Answer(200, "application/json", `{"status":{"error_code":1001}}`),
			"another token": fault.Answer(200, "application/json", `{"status":{"error_code":0},"data":{}}`),
		},
	},
	{
		service:  fault.Supply,
		requests: []string{"GET /total-supply", "GET /circulating-supply"}, // sent at the same time
		command:  []string{"supply"},
		answers: map[string]fault.Fault{
			"the text of an error": fault.Answer(200, "text/plain", "Error calculating total supply"),
		},
	},
	{
		service:  fault.Chain,
		requests: []string{"eth_getBlockByNumber"},
		command:  []string{"staked", "0x52908400098527886E0F7030069857D2E4169EE7"},
		answers: map[string]fault.Fault{
			"an RPC error": fault.Answer(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601}}`),
		},
	},
}

func TestCheckPrintsTheRefusedRequestOnce(t *testing.T) {
	for _, test := range refusedRequests {
		test.answers["HTML"] = fault.Answer(200, "text/html", "<html>Please log in</html>")
		test.answers["403"] = fault.Answer(403, "text/plain", "no")
		test.answers["400"] = fault.Answer(400, "text/plain", "no")
		for name, answer := range test.answers {
			t.Run(string(test.service)+", "+name, func(t *testing.T) {
				t.Parallel()
				e := e2etest.NewEverything(t)
				service := e.World.At(test.service)
				service.SetFault(answer)
				table, err := check(t, e, service.Setting+"="+service.URL()+"/k3y-in-path")
				printed := regexp.MustCompile(`\n +asked: (.*)\n`).FindAllStringSubmatch(table, -1)
				if err == nil || len(printed) != 1 || !slices.Contains(test.requests, printed[0][1]) {
					t.Errorf("%v, asked %q, want one of %q in\n%s", err, printed, test.requests, table)
				}
				if strings.Contains(table, "k3y") {
					t.Errorf("it prints the path of the URL in the settings:\n%s", table)
				}
			})
		}
	}
}

// Members read why a service refused, but not what it was asked.
func TestNoAnswerPrintsTheRefusedRequest(t *testing.T) {
	for _, test := range refusedRequests {
		e := e2etest.NewEverything(t)
		e.World.At(test.service).SetFault(fault.Answer(400, "text/plain", "no"))
		bot := e2etest.New(t, e.Settings, slog.New(slog.DiscardHandler))
		reply := bot.Router.Handle(t.Context(), &chat.Request{
			Command: test.command[0],
			Args:    chat.Typed(test.command[1:]...),
			From:    chat.User{Platform: "telegram", ID: "1"},
			Direct:  true,
		})
		text := strings.Join(e2etest.Lines(reply), "\n")
		if !strings.Contains(text, "unavailable") || strings.Contains(text, "/") || strings.Contains(text, "eth_") {
			t.Errorf("%s: the answer is %s", test.service, text)
		}
	}
}

// A request that was not sent is not printed.
func TestCheckPrintsNoRequestWithoutAConnection(t *testing.T) {
	e := e2etest.NewEverything(t)
	settings := []string{}
	for _, service := range e.World.Services() {
		settings = append(settings, service.Setting+"="+transporttest.RefusedURL)
	}
	if table, err := check(t, e, settings...); err == nil || strings.Contains(table, "asked: ") {
		t.Errorf("%v, and it prints a request in\n%s", err, table)
	}
}
