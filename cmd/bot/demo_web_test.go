package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"herald/internal/app/e2e/e2etest"
)

// A command that waits for a service is in hand when Ctrl-C comes.
func TestDemoOnAPageEndsWithControlC(t *testing.T) {
	t.Parallel()
	c := prepare(t, []string{"demo", "--web"}, "PARTNER_BASE_URL=not even a URL", "HTTP_ADDR=nowhere", "TELEGRAM_BOT_TOKEN=x", "DATA_DIR=/no/such/folder")
	c.start()
	address := ""
	e2etest.Eventually(t, "an address", func() bool {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\n?`).FindString(c.stdout.String())
		return address != ""
	})
	address = strings.TrimSpace(address)
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(page), "<html") {
		t.Errorf("%d, %v: %.200s", resp.StatusCode, err, page)
	}
	post := func(path, body string) {
		resp, err := http.Post(address+path, "application/json", strings.NewReader(body))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(path, resp, err)
		}
		resp.Body.Close()
	}
	post("fault", `{"service":"supply","fault":"slow"}`)
	post("act", `{"side":"both","kind":"say","as":"member","chat":"group","language":"en","text":"/supply"}`)
	c.signal(syscall.SIGINT)
	c.leaves(exitOK)
	if told := c.stderr.String(); told != "" {
		t.Errorf("standard error:\n%s", told)
	}
	if resp, err := http.Get(address); err == nil {
		resp.Body.Close()
		t.Error("the page is still served")
	}
}
