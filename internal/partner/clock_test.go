package partner_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/partner"
)

// strict is a service with a clock of its own, which it tells. It refuses a
// timestamp that is more than 5 seconds away.
type strict struct {
	ahead   time.Duration // of the client's clock
	refuse  func(http.ResponseWriter)
	always  bool // refuses every timestamp
	undated bool
	slow    time.Duration // how long an answer takes, by both clocks

	client time.Time
	calls  int
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls++
	mine := s.client.Add(s.ahead)
	s.client = s.client.Add(s.slow)
	w.Header().Set("Date", mine.UTC().Format(http.TimeFormat))
	if s.undated {
		w.Header()["Date"] = nil
	}
	sent, _ := strconv.ParseInt(r.Header.Get("timestamp"), 10, 64)
	if s.always || mine.Sub(time.UnixMilli(sent)).Abs() > 5*time.Second {
		s.refuse(w)
		return
	}
	io.WriteString(w, `{"code":0,"data":{"did":"`+did+`"}}`)
}

func (s *strict) start(t *testing.T) *partner.Client {
	t.Helper()
	s.client = now.Add(300 * time.Millisecond)
	if s.refuse == nil {
		s.refuse = func(w http.ResponseWriter) { w.WriteHeader(401) }
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := newClient(partner.Settings{URL: server.URL}, time.Minute)
	c.SetClock(func() time.Time { return s.client })
	return c
}

func TestRefusalForTheClockIsRepeatedOnceWithTheRightTime(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter){
		"401":      func(w http.ResponseWriter) { w.WriteHeader(401) },
		"403":      func(w http.ResponseWriter) { w.WriteHeader(403) },
		"code":     func(w http.ResponseWriter) { io.WriteString(w, `{"code":1003}`) },
		"400 code": func(w http.ResponseWriter) { w.WriteHeader(400); io.WriteString(w, `{"code":"BAD_SIGN"}`) },
	} {
		for _, ahead := range []time.Duration{time.Hour, -time.Hour, 6 * time.Second, -6 * time.Second} {
			s := &strict{ahead: ahead, refuse: refuse}
			c := s.start(t)
			got, err := c.Accounts.Ask(t.Context(), ann)
			if err != nil || got.DID != did || s.calls != 2 {
				t.Errorf("%s, %v: got %v, %v after %d calls", name, ahead, got, err, s.calls)
			}
			if _, err = c.Accounts.Ask(t.Context(), ann); err != nil || s.calls != 3 {
				t.Errorf("%s, %v: the next call was not right at once: %v after %d calls", name, ahead, err, s.calls)
			}
		}
	}
}

func TestRefusalIsNotRepeatedForAnythingElse(t *testing.T) {
	for name, s := range map[string]*strict{
		"right clock":       {},
		"nearly right":      {ahead: 1400 * time.Millisecond},
		"nearly right, too": {ahead: -1400 * time.Millisecond},
		"slow answer":       {slow: 20 * time.Second},
		"no date":           {ahead: time.Hour, undated: true},
		"not a refusal":     {ahead: time.Hour, refuse: func(w http.ResponseWriter) { w.WriteHeader(502) }},
		"no answer": {ahead: time.Hour, refuse: func(w http.ResponseWriter) {
			w.WriteHeader(404)
			io.WriteString(w, "<html>")
		}},
	} {
		s.always = true
		_, err := s.start(t).Accounts.Ask(t.Context(), ann)
		if err == nil || s.calls != 1 {
			t.Errorf("%s: %v after %d calls", name, err, s.calls)
		}
	}
}

func TestRefusalThatStaysIsTold(t *testing.T) {
	s := &strict{ahead: time.Hour, always: true}
	c := s.start(t)
	_, err := c.Accounts.Ask(t.Context(), ann)
	wantReason(t, err, core.Denied)
	_, err = c.Accounts.Ask(t.Context(), ann)
	wantReason(t, err, core.Denied)
	if s.calls != 3 {
		t.Errorf("%d calls for two questions, want 2 and 1", s.calls)
	}
}

func TestClockThatIsSetRightIsNoticed(t *testing.T) {
	s := &strict{ahead: time.Hour}
	c := s.start(t)
	if _, err := c.Accounts.Ask(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	s.client, s.ahead = s.client.Add(time.Hour), 0
	if _, err := c.Accounts.Ask(t.Context(), ann); err != nil || s.calls != 4 {
		t.Errorf("got %v after %d calls", err, s.calls)
	}
}

func TestSkew(t *testing.T) {
	for _, c := range []struct {
		ahead, slow time.Duration
		undated     bool
		least, most time.Duration
	}{
		{least: -time.Second, most: time.Second},
		{ahead: 10 * time.Minute, least: 10*time.Minute - time.Second, most: 10*time.Minute + time.Second},
		{ahead: -10 * time.Minute, least: -10*time.Minute - time.Second, most: -10*time.Minute + time.Second},
		{slow: 30 * time.Second, least: -time.Second, most: time.Second},
		{ahead: time.Hour, undated: true},
	} {
		s := &strict{ahead: c.ahead, slow: c.slow, undated: c.undated}
		client := s.start(t)
		if got := client.Skew(); got != 0 {
			t.Errorf("before any answer: %v", got)
		}
		client.Accounts.Ask(t.Context(), ann)
		if got := client.Skew(); got < c.least || got > c.most {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestProbeMentionsAClockThatIsOff(t *testing.T) {
	for want, ahead := range map[string]time.Duration{
		"": time.Second,
		"this machine's clock is 10m0s behind the service's, which is allowed for":   10 * time.Minute,
		"this machine's clock is 10m0s ahead of the service's, which is allowed for": -10 * time.Minute,
	} {
		s := &strict{ahead: ahead}
		detail, err := s.start(t).Probe(t.Context())
		if err != nil || detail != want {
			t.Errorf("%v ahead: got %q, %v", ahead, detail, err)
		}
	}
}
