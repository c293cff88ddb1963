package partner_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/service/partner"
)

// strict is a service with a clock of its own, which it tells. It refuses a
// timestamp that is more than 5 seconds away.
type strict struct {
	ahead   time.Duration // of the client's clock
	refuse  func(http.ResponseWriter)
	always  bool // refuses every timestamp
	undated bool
	dateOff time.Duration // how far a proxy's Date is ahead of the service's clock
	slow    time.Duration // how long an answer takes, by both clocks

	client time.Time
	calls  int
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls++
	mine := s.client.Add(s.ahead)
	s.client = s.client.Add(s.slow)
	w.Header().Set("Date", mine.Add(s.dateOff).UTC().Format(http.TimeFormat))
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
	c := newClient(partner.Settings{URL: server.URL, NotFoundCodes: []string{"404"}}, time.Minute)
	c.SetClock(func() time.Time { return s.client })
	return c
}

// wantAnswers asks five times and wants an answer each time, from that many
// calls in all.
func wantAnswers(t *testing.T, s *strict, c *partner.Client, calls int) {
	t.Helper()
	s.calls = 0
	for range 5 {
		if got, err := c.Accounts.Fetch(t.Context(), ann); err != nil || got.DID != did {
			t.Errorf("%v ahead: %v, %v", s.ahead, got, err)
		}
	}
	if s.calls != calls {
		t.Errorf("%v ahead: %d calls for 5 questions, want %d", s.ahead, s.calls, calls)
	}
}

func TestRefusalForTheClockIsRepeatedOnceWithTheRightTime(t *testing.T) {
	for _, refuse := range []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(401) },
		func(w http.ResponseWriter) { io.WriteString(w, `{"code":1003}`) },
		func(w http.ResponseWriter) { w.WriteHeader(400); io.WriteString(w, `{"code":"BAD_SIGN"}`) },
	} {
		for _, ahead := range []time.Duration{time.Hour, -time.Hour, 6 * time.Second, -6 * time.Second} {
			s := &strict{ahead: ahead, refuse: refuse}
			wantAnswers(t, s, s.start(t), 6)
		}
	}
}

func TestRefusalIsRepeatedForNothingElseAndOnceAtMost(t *testing.T) {
	answer := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, s := range map[string]*strict{
		"wrong key":     {ahead: time.Hour},
		"right clock":   {},
		"nearly right":  {ahead: -1400 * time.Millisecond},
		"slow answer":   {slow: 20 * time.Second},
		"no date":       {ahead: time.Hour, undated: true},
		"not a refusal": {ahead: time.Hour, refuse: answer(502, "")},
		"no answer":     {ahead: time.Hour, refuse: answer(404, "<html>")},
		"no such user":  {ahead: time.Hour, refuse: answer(200, `{"code":404}`)},
	} {
		s.always = true
		_, err := s.start(t).Accounts.Fetch(t.Context(), ann)
		if twice := name == "wrong key"; (err == nil) != (name == "no such user") || (s.calls == 2) != twice || s.calls > 2 {
			t.Errorf("%s: %v after %d calls", name, err, s.calls)
		}
	}
}

func TestClockThatIsAcceptedStaysWhateverADateSays(t *testing.T) {
	for ahead, calls := range map[time.Duration]int{0: 5, -time.Hour: 6} {
		s := &strict{ahead: ahead}
		c := s.start(t)
		wantAnswers(t, s, c, calls)
		for _, s.dateOff = range []time.Duration{3 * time.Second, -6 * time.Second, time.Hour, -24 * time.Hour, 0} {
			wantAnswers(t, s, c, 5)
		}
		s.undated = true
		wantAnswers(t, s, c, 5)
	}
}

func TestClockThatIsSetRightAgainIsNoticed(t *testing.T) {
	for _, dateOff := range []time.Duration{0, time.Hour, -time.Hour, 2 * time.Hour} {
		s := &strict{ahead: time.Hour}
		c := s.start(t)
		wantAnswers(t, s, c, 6)
		s.client, s.ahead, s.dateOff = s.client.Add(time.Hour), 0, dateOff
		if dateOff == 0 {
			wantAnswers(t, s, c, 6)
			continue
		}
		// By then a proxy's Date is wrong: it costs one answer, and no more.
		_, err := c.Accounts.Fetch(t.Context(), ann)
		wantReason(t, err, core.Denied)
		wantAnswers(t, s, c, 5)
	}
}

func TestTheSkewOfTheServicesClockIsMeasured(t *testing.T) {
	for _, test := range []struct {
		service strict
		want    time.Duration
	}{
		{strict{ahead: time.Second}, time.Second},
		{strict{slow: 30 * time.Second}, 0},
		{strict{ahead: time.Hour, undated: true, refuse: func(w http.ResponseWriter) { io.WriteString(w, `{"code":404}`) }}, 0},
		{strict{ahead: 10 * time.Minute}, 10 * time.Minute},
		{strict{ahead: -10 * time.Minute}, -10 * time.Minute},
		{strict{dateOff: -10 * time.Minute}, -10 * time.Minute}, // a proxy's clock
	} {
		c := test.service.start(t)
		if skew := c.Skew(); skew != 0 {
			t.Errorf("before any answer: %v", skew)
		}
		if err := c.Probe(t.Context()); err != nil || (c.Skew()-test.want).Abs() > time.Second {
			t.Errorf("got %v, %v, want %v", c.Skew(), err, test.want)
		}
	}
}
