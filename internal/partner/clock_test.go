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

func (s *strict) start(t *testing.T, notFound ...string) *partner.Client {
	t.Helper()
	s.client = now.Add(300 * time.Millisecond)
	if s.refuse == nil {
		s.refuse = func(w http.ResponseWriter) { w.WriteHeader(401) }
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := newClient(partner.Settings{URL: server.URL, NotFoundCodes: notFound}, time.Minute)
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
	if s.calls != 4 {
		t.Errorf("%d calls for two questions, want 2 each", s.calls)
	}
}

// wantAnswers asks as often as that and wants an answer each time, from that
// many calls in all.
func wantAnswers(t *testing.T, s *strict, c *partner.Client, questions, calls int) {
	t.Helper()
	s.calls = 0
	for i := range questions {
		if got, err := c.Accounts.Ask(t.Context(), ann); err != nil || got.DID != did {
			t.Errorf("question %d: %v, %v", i+1, got, err)
		}
	}
	if s.calls > calls {
		t.Errorf("%d calls for %d questions, want %d", s.calls, questions, calls)
	}
}

func TestClockThatIsRightIsNotCorrectedByAProxysDate(t *testing.T) {
	for _, off := range []time.Duration{3 * time.Second, 6 * time.Second, -6 * time.Second, time.Hour, -time.Hour, 1000 * time.Hour} {
		s := &strict{dateOff: off}
		wantAnswers(t, s, s.start(t), 5, 5)
	}
}

func TestClockCorrectionIsDroppedOnceItIsRefused(t *testing.T) {
	for dateOff, calls := range map[time.Duration]int{0: 6, time.Hour: 6, -time.Hour: 7, 2 * time.Hour: 7} {
		s := &strict{ahead: time.Hour}
		c := s.start(t)
		wantAnswers(t, s, c, 5, 6)
		s.client, s.ahead, s.dateOff = s.client.Add(time.Hour), 0, dateOff
		wantAnswers(t, s, c, 5, calls)
	}
}

func TestClockCorrectionThatIsAcceptedStaysWhateverADateSays(t *testing.T) {
	s := &strict{ahead: -time.Hour}
	c := s.start(t)
	wantAnswers(t, s, c, 5, 6)
	for _, s.dateOff = range []time.Duration{time.Hour, -24 * time.Hour, 0} {
		wantAnswers(t, s, c, 5, 5)
	}
	s.undated = true
	wantAnswers(t, s, c, 5, 5)
}

func TestRefusalThatIsAnAnswerIsNotRepeated(t *testing.T) {
	s := &strict{dateOff: time.Hour, always: true, refuse: func(w http.ResponseWriter) { io.WriteString(w, `{"code":404}`) }}
	c := s.start(t, "404")
	for range 2 {
		if got, err := c.Accounts.Ask(t.Context(), ann); err != nil || got.Registered() {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if s.calls != 2 {
		t.Errorf("%d calls for two questions", s.calls)
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

func TestProbeMeasuresTheServicesClock(t *testing.T) {
	for _, test := range []struct {
		service strict
		want    partner.Clocks
	}{
		{strict{ahead: time.Second}, partner.Clocks{Known: true}},
		{strict{undated: true}, partner.Clocks{}},
		{strict{ahead: 10 * time.Minute}, partner.Clocks{Known: true, Ahead: 10 * time.Minute, Allowed: true}},
		{strict{ahead: -10 * time.Minute}, partner.Clocks{Known: true, Ahead: -10 * time.Minute, Allowed: true}},
		{strict{dateOff: -10 * time.Minute}, partner.Clocks{Known: true, Ahead: -10 * time.Minute}}, // a proxy's clock
	} {
		found, err := test.service.start(t).Probe(t.Context())
		found.Ahead = found.Ahead.Round(time.Second)
		if err != nil || found != test.want {
			t.Errorf("got %+v, %v, want %+v", found, err, test.want)
		}
	}
}
