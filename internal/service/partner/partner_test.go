package partner_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/partner"
	"herald/internal/service/rest/resttest"
)

const did = "did:herald:0xAb12"

var (
	ann = core.Identity{Platform: "Telegram", UID: "1234567890"}
	now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// newClient makes a client with a cache of its own.
func newClient(s partner.Settings) *partner.Client {
	return partner.New(s, query.NewCache(query.CacheConfig{CallTimeout: time.Minute}))
}

// clientOf makes a client of a service that answers every request alike.
func clientOf(t *testing.T, status int, body string) *partner.Client {
	t.Helper()
	url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
	c := newClient(partner.Settings{
		URL: url, AppID: "app", SecretKey: secret.New("topsecret"), NotFoundCodes: []string{"", "404", "NO_USER"},
	})
	c.SetClock(func() time.Time { return now })
	return c
}

func wantReason(t *testing.T, err error, want core.Reason) {
	t.Helper()
	resttest.WantReason(t, err, partner.Service, want, did, ann.UID, "NO_USER", "1234567")
}

func TestOnlyWhatTheContractNamesIsAnAnswer(t *testing.T) {
	for _, c := range []struct {
		status int
		want   core.Reason // "" is an answer, registered if the body has a DID
		bodies []string
	}{
		{200, "", []string{`{"code":0,"data":{"did":"` + did + `","mid":"0x1"},"message":"ok"}`, `{"code":0,"data":{"did":"` + did + `"}}`}},
		{200, "", []string{`{"code":0,"data":null}`, `{"code":0}`, `{"code":0,"data":{}}`, `{"code":0,"data":{"did":""}}`,
			`{"code":0,"data":{"did":null,"mid":"0x1"}}`, `{"code":0,"message":"ok","success":true,"traceId":"7","errors":null}`, `{"code":404,"data":{}}`, `{"code":"404"}`, `{"code":"NO_USER"}`}},
		{404, "", []string{`{"code":404}`}},
		{400, "", []string{`{"code":"NO_USER","message":"no such user"}`}},
		{200, core.Rejected, []string{`{"code":1}`, `{"code":-1,"data":null}`, `{"code":"ERROR: ` + did + `"}`, `{"code":1234567890}`, `{"code":"40001"}`, `{"code":1e400}`,
			`{"code":0.5}`, `{"code":"00"}`, `{"code":40}`}},
		{404, core.Rejected, []string{`{"code":0,"data":null}`, `{"code":0,"data":{"did":"` + did + `"}}`, `<html>404</html>`, `404`}},
		{401, core.Denied, []string{`{"code":404}`}},
		{403, core.Denied, []string{`{"code":404}`}},
		{429, core.Limited, []string{`{"code":404}`}},
		{500, core.Unreachable, []string{`{"code":404}`}},
		{200, core.Malformed, []string{`{"data":null}`, `{"code":null}`, `{"code":false,"data":null}`, `{"code":"0","data":null}`,
			`{"code":"0","data":{"did":"` + did + `"}}`, `{"code":"","data":null}`, `{"Code":0,"data":null}`, `{"code":0,"code":404}`,
			`null`, `[{"code":0}]`, `{"code":0,"data":[]}`, `{"code":0,"data":""}`, `{"code":0,"data":0}`, `{"code":0,"data":false}`,
			`{"code":0,"data":{"user":{"did":"` + did + `"}}}`, `{"code":0,"data":{"DID":"` + did + `"}}`, `{"code":0,"data":{"exists":true}}`,
			`{"code":0,"user":{"did":"` + did + `"}}`, `{"code":0,"Data":{"did":"` + did + `"}}`, `{"code":0,"did":"` + did + `"}`, `{"code":0,"users":[]}`, `{"code":0,"exists":true}`,
			`{"code":0,"data":{"mid":"0x1"}}`, `{"code":0,"data":{"did":1234567}}`, `{"code":0,"data":{"did":{}}}`,
			`{"code":0,"data":{"did":"1234567"}}`, `{"code":0,"data":{"did":"did:herald:"}}`, `{"code":0,"data":{"did":"did::0xAb12"}}`,
			`{"code":0,"data":{"did":"did:herald:0x Ab12"}}`, `{"code":0,"data":{"did":"` + did + `\n"}}`,
			`{"code":0,"data":{"did":"did:herald:` + strings.Repeat("1", 300) + `"}}`}},
	} {
		for _, body := range c.bodies {
			got, err := clientOf(t, c.status, body).Accounts.Fetch(t.Context(), ann)
			switch {
			case c.want != "":
				t.Log(body)
				wantReason(t, err, c.want)
			case err != nil || got.Registered() != strings.Contains(body, did):
				t.Errorf("%d %s: got %v, %v", c.status, body, got, err)
			}
		}
	}
}

func TestLoginsOfThePastThirtyDaysNewestFirst(t *testing.T) {
	got, err := clientOf(t, 200, `{"code":0,"data":[
		{"dapp_name":"Swap","login_platform":"EVM","login_time":1795175999},
		{"dapp_name":"","login_platform":"","login_time":"1795176001"},
		{"dapp_name":"Old","login_platform":"TON","login_time":1792583999},
		{"dapp_name":"Oldest","login_platform":"TON","login_time":1792584000}
	]}`).Logins.Fetch(t.Context(), did)
	want := []core.Login{
		{At: now.Add(time.Second)},
		{Dapp: "Swap", Platform: "EVM", At: now.Add(-time.Second)},
		{Dapp: "Oldest", Platform: "TON", At: now.Add(-30 * 24 * time.Hour)},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestOnlyAListIsAnAnswerAboutLogins(t *testing.T) {
	if got, err := clientOf(t, 200, `{"code":0,"data":[]}`).Logins.Fetch(t.Context(), did); err != nil || len(got) != 0 {
		t.Errorf("no logins: got %v, %v", got, err)
	}
	login := func(at string) string { return `[{"dapp_name":"D","login_platform":"EVM","login_time":` + at + `}]` }
	for _, data := range []string{
		`null`, `{}`, `""`, `0`, `[null]`, `[[]]`, `[{}]`,
		`[{"dapp_name":"D","login_platform":"EVM"}]`, `[{"dapp_name":"D","login_time":1795175999}]`,
		`[{"dapp_name":5,"login_platform":"EVM","login_time":1795175999}]`,
		login(`null`), login(`0`), login(`-1795175999`), login(`29919600`), login(`1795175999000`), login(`1795179601`),
		login(`9223372036854775807`), login(`1e400`), login(`1795175999.5`), login(`"2026-11-20T12:00:00Z"`),
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1795175999},{"dapp_name":1}]`,
	} {
		t.Log(data)
		_, err := clientOf(t, 200, `{"code":0,"data":`+data+`}`).Logins.Fetch(t.Context(), did)
		wantReason(t, err, core.Malformed)
	}
	_, err := clientOf(t, 404, `{"code":404}`).Logins.Fetch(t.Context(), did)
	wantReason(t, err, core.Rejected)
}

func TestANoIsSaidOnceEverySpellingIsUnknown(t *testing.T) {
	const wallet, lower = "0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886e0f7030069857d2e4169ee7"
	const bounceable, plain = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs", "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"
	const raw = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
	var asked []string
	known := ""
	url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		uid := regexp.MustCompile(`platform_uid\\":\\"([^\\]+)`).FindStringSubmatch(string(body))[1]
		asked = append(asked, uid)
		switch known {
		case uid:
			io.WriteString(w, `{"code":0,"data":{"did":"`+did+`"}}`)
		case "fails":
			if uid == lower {
				w.WriteHeader(500)
			}
			fallthrough
		default:
			io.WriteString(w, `{"code":0,"data":null}`)
		}
	})
	c := newClient(partner.Settings{URL: url})
	for _, test := range []struct {
		platform, typed, known, did string
		asked                       []string
		want                        core.Reason
	}{
		{"EVM", lower, wallet, did, []string{wallet}, ""},
		{"EVM", wallet, lower, did, []string{wallet, lower}, ""},
		{"EVM", wallet, "", "", []string{wallet, lower}, ""},
		{"EVM", wallet, "fails", "", []string{wallet, lower}, core.Unreachable},
		{"TON", raw, bounceable, did, []string{bounceable}, ""},
		{"TON", bounceable, raw, did, []string{bounceable, plain, raw}, ""},
		{"TON", plain, "", "", []string{bounceable, plain, raw}, ""},
		{"SOL", strings.Repeat("1", 32), "", "", []string{strings.Repeat("1", 32)}, ""},
	} {
		known, asked = test.known, nil
		id, err := core.NewIdentity(test.platform, test.typed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Accounts.Fetch(t.Context(), id)
		if got.DID != test.did || (err != nil) != (test.want != "") {
			t.Errorf("%q is known: got %q, %v; want %q", test.known, got.DID, err, test.did)
		}
		if !slices.Equal(asked, test.asked) {
			t.Errorf("%q is known: asked for %v, want %v", test.known, asked, test.asked)
		}
	}
}

// The signatures were made by
//
//	printf '%s' 1700000000123POST<path><inner> | openssl dgst -sha256 -hmac topsecret -binary | base64
func TestRequestIsSignedAsSent(t *testing.T) {
	var got *http.Request
	var body []byte
	url := resttest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	for prefix, c := range map[string]struct {
		ask               func(*partner.Client)
		path, inner, sign string
	}{
		"": {
			ask:   func(c *partner.Client) { c.Accounts.Fetch(t.Context(), ann) },
			path:  "/api/v1/partner/user/exists",
			inner: `{"platform":"Telegram","platform_uid":"1234567890"}`,
			sign:  "3GXXgga87H2AOclc7RmslcH5VOxlzLVQKAO8JVEfFAc=",
		},
		"/gate": { // with HTML characters
			ask:   func(c *partner.Client) { c.Logins.Fetch(t.Context(), "did:x:a<b>&c") },
			path:  "/gate/api/v1/partner/user/dapps/login/log",
			inner: `{"did":"did:x:a<b>&c"}`,
			sign:  "Hbb+3Tx04S/OpTrZWxH8rWbljHUEpvwfDAVJbsWLe/Q=",
		},
	} {
		client := newClient(partner.Settings{URL: url + prefix, AppID: "app", SecretKey: secret.New("topsecret")})
		client.SetClock(func() time.Time { return time.UnixMilli(1700000000123) })
		c.ask(client)
		if want := `{"requestBody":` + strconv.Quote(c.inner) + `}`; string(body) != want || got.Method != "POST" || got.URL.Path != c.path {
			t.Errorf("got %s %s of %s, want %s", got.Method, got.URL.Path, body, want)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/json", "appid": "app", "timestamp": "1700000000123", "sign": c.sign,
		} {
			if got.Header.Get(header) != want {
				t.Errorf("%s was %q, want %q", header, got.Header.Get(header), want)
			}
		}
	}
}

// strictService is a service with a clock of its own, which it tells. It refuses a
// timestamp that is more than 5 seconds away.
type strictService struct {
	ahead   time.Duration // of the client's clock
	refuse  func(http.ResponseWriter)
	unknown bool // knows nobody
	always  bool // refuses every timestamp
	undated bool
	dateOff time.Duration // how far a proxy's Date is ahead of the service's clock
	slow    time.Duration // how long an answer takes, by both clocks

	client time.Time
	calls  int
}

func (s *strictService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if s.unknown {
		io.WriteString(w, `{"code":404}`)
		return
	}
	io.WriteString(w, `{"code":0,"data":{"did":"`+did+`"}}`)
}

func (s *strictService) start(t *testing.T) *partner.Client {
	t.Helper()
	s.client = now.Add(300 * time.Millisecond)
	if s.refuse == nil {
		s.refuse = func(w http.ResponseWriter) { w.WriteHeader(401) }
	}
	c := newClient(partner.Settings{URL: resttest.Serve(t, s.ServeHTTP), NotFoundCodes: []string{"404"}})
	c.SetClock(func() time.Time { return s.client })
	return c
}

// wantAnswers asks five times and wants an answer each time, from that many
// calls in all.
func wantAnswers(t *testing.T, s *strictService, c *partner.Client, calls int) {
	t.Helper()
	s.calls = 0
	for range 5 {
		if got, err := c.Accounts.Fetch(t.Context(), ann); err != nil || got.Registered() == s.unknown {
			t.Errorf("%v ahead: %v, %v", s.ahead, got, err)
		}
	}
	if s.calls != calls {
		t.Errorf("%v ahead: %d calls for 5 questions, want %d", s.ahead, s.calls, calls)
	}
}

func TestARefusalForTheClockIsRepeatedOnce(t *testing.T) {
	for _, refuse := range []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(401) },
		func(w http.ResponseWriter) { io.WriteString(w, `{"code":1003}`) },
		func(w http.ResponseWriter) { w.WriteHeader(400); io.WriteString(w, `{"code":"BAD_SIGN"}`) },
	} {
		for _, ahead := range []time.Duration{time.Hour, -time.Hour, 6 * time.Second, -6 * time.Second} {
			for _, unknown := range []bool{false, true} {
				s := &strictService{ahead: ahead, refuse: refuse, unknown: unknown}
				wantAnswers(t, s, s.start(t), 6)
			}
		}
	}
}

func TestOtherRefusalsAreNotRepeated(t *testing.T) {
	answer := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, s := range map[string]*strictService{
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
		if (err == nil) != (name == "no such user") {
			t.Errorf("%s: got %v", name, err)
		}
		if want := map[bool]int{true: 2, false: 1}[name == "wrong key"]; s.calls != want {
			t.Errorf("%s: %d calls, want %d", name, s.calls, want)
		}
	}
}

func TestClockThatIsSetRightAgainIsNoticed(t *testing.T) {
	for _, dateOff := range []time.Duration{0, time.Hour, -time.Hour, 2 * time.Hour} {
		s := &strictService{ahead: time.Hour}
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
		service strictService
		want    time.Duration
	}{
		{strictService{ahead: time.Second}, time.Second},
		{strictService{slow: 30 * time.Second}, 0},
		{strictService{ahead: time.Hour, undated: true, refuse: func(w http.ResponseWriter) { io.WriteString(w, `{"code":404}`) }}, 0},
		{strictService{ahead: 10 * time.Minute}, 10 * time.Minute},
		{strictService{ahead: -10 * time.Minute}, -10 * time.Minute},
		{strictService{dateOff: -10 * time.Minute}, -10 * time.Minute}, // a proxy's clock
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
