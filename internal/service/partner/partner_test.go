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

// newClient returns a client with its own cache.
func newClient(s partner.Settings) *partner.Client {
	return partner.New(s, query.NewCache(query.CacheConfig{CallTimeout: time.Minute}))
}

// clientOf returns a client of a service that gives every request the same answer.
func clientOf(t *testing.T, status int, body string) *partner.Client {
	t.Helper()
	url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
	c := newClient(partner.Settings{
		URL:           url,
		AppID:         "app",
		SecretKey:     secret.New("topsecret"),
		NotFoundCodes: []string{"", "404", "NO_USER"},
	})
	c.SetClock(func() time.Time { return now })
	return c
}

// wantReason ends the test unless err has this reason. It fails the test if err contains anything about the user.
func wantReason(t *testing.T, err error, want core.Reason) {
	t.Helper()
	resttest.WantReason(t, err, partner.Service, want, did, ann.UID, "NO_USER", "1234567")
}

func TestABodyWithADIDMeansRegistered(t *testing.T) {
	for _, body := range []string{
		`{"code":0,"data":{"did":"` + did + `","mid":"0x1"},"message":"ok"}`,
		`{"code":0,"data":{"did":"` + did + `"}}`,
	} {
		got, err := clientOf(t, http.StatusOK, body).Accounts.Fetch(t.Context(), ann)
		if err != nil || !got.Registered() {
			t.Errorf("%s: got %v, %v; want registered", body, got, err)
		}
	}
}

func TestNoDIDOrANotFoundCodeMeansUnregistered(t *testing.T) {
	for _, answer := range []struct {
		status int
		body   string
	}{
		{200, `{"code":0,"data":null}`},
		{200, `{"code":0}`},
		{200, `{"code":0,"data":{}}`},
		{200, `{"code":0,"data":{"did":""}}`},
		{200, `{"code":0,"data":{"did":null,"mid":"0x1"}}`},
		{200, `{"code":0,"message":"ok","success":true,"traceId":"7","errors":null}`},
		{200, `{"code":404,"data":{}}`},
		{200, `{"code":"404"}`},
		{200, `{"code":"NO_USER"}`},
		{404, `{"code":404}`},
		{400, `{"code":"NO_USER","message":"no such user"}`},
	} {
		got, err := clientOf(t, answer.status, answer.body).Accounts.Fetch(t.Context(), ann)
		if err != nil || got.Registered() {
			t.Errorf("%d %s: got %v, %v; want unregistered", answer.status, answer.body, got, err)
		}
	}
}

func TestAnyOtherCodeOrStatusIsAnError(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   core.Reason
	}{
		{200, `{"code":1}`, core.Rejected},
		{200, `{"code":-1,"data":null}`, core.Rejected},
		{200, `{"code":"ERROR: ` + did + `"}`, core.Rejected},
		{200, `{"code":1234567890}`, core.Rejected},
		{200, `{"code":"40001"}`, core.Rejected},
		{200, `{"code":1e400}`, core.Rejected},
		{200, `{"code":0.5}`, core.Rejected},
		{200, `{"code":"00"}`, core.Rejected},
		{200, `{"code":40}`, core.Rejected},
		{404, `{"code":0,"data":null}`, core.Rejected},
		{404, `{"code":0,"data":{"did":"` + did + `"}}`, core.Rejected},
		{404, `<html>404</html>`, core.Rejected},
		{404, `404`, core.Rejected},
		{401, `{"code":404}`, core.Denied},
		{403, `{"code":404}`, core.Denied},
		{429, `{"code":404}`, core.Limited},
		{500, `{"code":404}`, core.Unreachable},
	} {
		t.Log(test.status, test.body)
		_, err := clientOf(t, test.status, test.body).Accounts.Fetch(t.Context(), ann)
		wantReason(t, err, test.want)
	}
}

func TestABodyOfAnotherFormIsMalformed(t *testing.T) {
	for _, body := range []string{
		`{"data":null}`,
		`{"code":null}`,
		`{"code":false,"data":null}`,
		`{"code":"0","data":null}`,
		`{"code":"0","data":{"did":"` + did + `"}}`,
		`{"code":"","data":null}`,
		`{"Code":0,"data":null}`,
		`{"code":0,"code":404}`,
		`null`,
		`[{"code":0}]`,
		`{"code":0,"data":[]}`,
		`{"code":0,"data":""}`,
		`{"code":0,"data":0}`,
		`{"code":0,"data":false}`,
		`{"code":0,"data":{"user":{"did":"` + did + `"}}}`,
		`{"code":0,"data":{"DID":"` + did + `"}}`,
		`{"code":0,"data":{"exists":true}}`,
		`{"code":0,"user":{"did":"` + did + `"}}`,
		`{"code":0,"Data":{"did":"` + did + `"}}`,
		`{"code":0,"did":"` + did + `"}`,
		`{"code":0,"users":[]}`,
		`{"code":0,"exists":true}`,
		`{"code":0,"data":{"mid":"0x1"}}`,
		`{"code":0,"data":{"did":1234567}}`,
		`{"code":0,"data":{"did":{}}}`,
		`{"code":0,"data":{"did":"1234567"}}`,
		`{"code":0,"data":{"did":"did:herald:"}}`,
		`{"code":0,"data":{"did":"did::0xAb12"}}`,
		`{"code":0,"data":{"did":"did:herald:0x Ab12"}}`,
		`{"code":0,"data":{"did":"` + did + `\n"}}`,
		`{"code":0,"data":{"did":"did:herald:` + strings.Repeat("1", 300) + `"}}`,
	} {
		t.Log(body)
		_, err := clientOf(t, http.StatusOK, body).Accounts.Fetch(t.Context(), ann)
		wantReason(t, err, core.Malformed)
	}
}

func TestLoginsOfThePastThirtyDaysAreReturnedLatestFirst(t *testing.T) {
	const body = `{"code":0,"data":[
		{"dapp_name":"Swap","login_platform":"EVM","login_time":1795175999},
		{"dapp_name":"","login_platform":"","login_time":"1795176001"},
		{"dapp_name":"Old","login_platform":"TON","login_time":1792583999},
		{"dapp_name":"Oldest","login_platform":"TON","login_time":1792584000}
	]}`
	got, err := clientOf(t, http.StatusOK, body).Logins.Fetch(t.Context(), did)
	want := []core.Login{
		{At: now.Add(time.Second)},
		{Dapp: "Swap", Platform: "EVM", At: now.Add(-time.Second)},
		{Dapp: "Oldest", Platform: "TON", At: now.Add(-30 * 24 * time.Hour)},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestAnEmptyListMeansNoLogins(t *testing.T) {
	got, err := clientOf(t, http.StatusOK, `{"code":0,"data":[]}`).Logins.Fetch(t.Context(), did)
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v; want no logins", got, err)
	}
}

func TestLoginsOfAnotherFormAreMalformed(t *testing.T) {
	loginAt := func(at string) string {
		return `[{"dapp_name":"D","login_platform":"EVM","login_time":` + at + `}]`
	}
	for _, data := range []string{
		`null`,
		`{}`,
		`""`,
		`0`,
		`[null]`,
		`[[]]`,
		`[{}]`,
		`[{"dapp_name":"D","login_platform":"EVM"}]`,
		`[{"dapp_name":"D","login_time":1795175999}]`,
		`[{"dapp_name":5,"login_platform":"EVM","login_time":1795175999}]`,
		loginAt(`null`),
		loginAt(`0`),
		loginAt(`-1795175999`),
		loginAt(`29919600`),
		loginAt(`1795175999000`),
		loginAt(`1795179601`),
		loginAt(`9223372036854775807`),
		loginAt(`1e400`),
		loginAt(`1795175999.5`),
		loginAt(`"2026-11-20T12:00:00Z"`),
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1795175999},{"dapp_name":1}]`,
	} {
		t.Log(data)
		_, err := clientOf(t, http.StatusOK, `{"code":0,"data":`+data+`}`).Logins.Fetch(t.Context(), did)
		wantReason(t, err, core.Malformed)
	}
}

func TestANotFoundCodeAboutLoginsIsAnError(t *testing.T) {
	_, err := clientOf(t, http.StatusNotFound, `{"code":404}`).Logins.Fetch(t.Context(), did)
	wantReason(t, err, core.Rejected)
}

// Spellings of one EVM wallet, and of one TON wallet.
const (
	checksummed = "0x52908400098527886E0F7030069857D2E4169EE7"
	lowercase   = "0x52908400098527886e0f7030069857d2e4169ee7"

	bounceable    = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
	nonBounceable = "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"
	raw           = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
)

// directory is a partner API that knows at most one spelling of a wallet.
type directory struct {
	known string   // the spelling that has an account; empty: none
	fails string   // the spelling that is answered with status 500; empty: none
	asked []string // the spellings that were requested so far
}

var sentUID = regexp.MustCompile(`platform_uid\\":\\"([^\\]+)`)

func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	uid := sentUID.FindStringSubmatch(string(body))[1]
	d.asked = append(d.asked, uid)
	switch uid {
	case d.known:
		io.WriteString(w, `{"code":0,"data":{"did":"`+did+`"}}`)
	case d.fails:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		io.WriteString(w, `{"code":0,"data":null}`)
	}
}

// fetch asks the directory for a wallet as a user typed it.
func (d *directory) fetch(t *testing.T, platform, typed string) (core.Account, error) {
	t.Helper()
	id, err := core.NewIdentity(platform, typed)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(partner.Settings{URL: resttest.Serve(t, d.ServeHTTP)})
	return client.Accounts.Fetch(t.Context(), id)
}

func TestAWalletIsFoundUnderAnySpelling(t *testing.T) {
	for _, test := range []struct {
		platform string
		typed    string
		known    string
		asked    []string
	}{
		{
			platform: "EVM",
			typed:    lowercase,
			known:    checksummed,
			asked:    []string{checksummed},
		},
		{
			platform: "EVM",
			typed:    checksummed,
			known:    lowercase,
			asked:    []string{checksummed, lowercase},
		},
		{
			platform: "TON",
			typed:    raw,
			known:    bounceable,
			asked:    []string{bounceable},
		},
		{
			platform: "TON",
			typed:    bounceable,
			known:    raw,
			asked:    []string{bounceable, nonBounceable, raw},
		},
	} {
		d := &directory{known: test.known}
		got, err := d.fetch(t, test.platform, test.typed)
		if err != nil || got.DID != did {
			t.Errorf("%s, known as %s: got %q, %v; want %s", test.typed, test.known, got.DID, err, did)
		}
		if !slices.Equal(d.asked, test.asked) {
			t.Errorf("%s, known as %s: asked for %v, want %v", test.typed, test.known, d.asked, test.asked)
		}
	}
}

func TestUnregisteredOnlyIfEverySpellingIsUnknown(t *testing.T) {
	solana := strings.Repeat("1", 32)
	for _, test := range []struct {
		platform, typed string
		asked           []string
	}{
		{platform: "EVM", typed: checksummed, asked: []string{checksummed, lowercase}},
		{platform: "TON", typed: nonBounceable, asked: []string{bounceable, nonBounceable, raw}},
		{platform: "SOL", typed: solana, asked: []string{solana}},
	} {
		d := new(directory)
		got, err := d.fetch(t, test.platform, test.typed)
		if err != nil || got.DID != "" {
			t.Errorf("%s: got %q, %v; want unregistered", test.typed, got.DID, err)
		}
		if !slices.Equal(d.asked, test.asked) {
			t.Errorf("%s: asked for %v, want %v", test.typed, d.asked, test.asked)
		}
	}
}

func TestAWalletIsNotUnregisteredIfASpellingFails(t *testing.T) {
	d := &directory{fails: lowercase}
	_, err := d.fetch(t, "EVM", checksummed)
	wantReason(t, err, core.Unreachable)
	if want := []string{checksummed, lowercase}; !slices.Equal(d.asked, want) {
		t.Errorf("asked for %v, want %v", d.asked, want)
	}
}

// signedClient returns a client with the clock at the timestamp of the signatures below.
func signedClient(url string) *partner.Client {
	client := newClient(partner.Settings{
		URL:       url,
		AppID:     "app",
		SecretKey: secret.New("topsecret"),
	})
	client.SetClock(func() time.Time { return time.UnixMilli(1700000000123) })
	return client
}

// The signatures were made by
//
//	printf '%s' 1700000000123POST<path><inner> | openssl dgst -sha256 -hmac topsecret -binary | base64
func TestRequestIsSignedAsSent(t *testing.T) {
	for _, test := range []struct {
		prefix string // of the URL's path
		fetch  func(*partner.Client)
		path   string // that is requested
		inner  string // the JSON that is signed, and sent as a text
		sign   string
	}{
		{
			prefix: "",
			fetch:  func(c *partner.Client) { c.Accounts.Fetch(t.Context(), ann) },
			path:   "/api/v1/partner/user/exists",
			inner:  `{"platform":"Telegram","platform_uid":"1234567890"}`,
			sign:   "3GXXgga87H2AOclc7RmslcH5VOxlzLVQKAO8JVEfFAc=",
		},
		{
			prefix: "/gate",
			fetch:  func(c *partner.Client) { c.Logins.Fetch(t.Context(), "did:x:a<b>&c") },
			path:   "/gate/api/v1/partner/user/dapps/login/log",
			inner:  `{"did":"did:x:a<b>&c"}`, // with HTML characters
			sign:   "Hbb+3Tx04S/OpTrZWxH8rWbljHUEpvwfDAVJbsWLe/Q=",
		},
	} {
		var got *http.Request
		var body []byte
		url := resttest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
			got = r
			body, _ = io.ReadAll(r.Body)
		})
		test.fetch(signedClient(url + test.prefix))
		if got.Method != http.MethodPost || got.URL.Path != test.path {
			t.Errorf("requested %s %s, want POST %s", got.Method, got.URL.Path, test.path)
		}
		if want := `{"requestBody":` + strconv.Quote(test.inner) + `}`; string(body) != want {
			t.Errorf("%s: the body is %s, want %s", test.path, body, want)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/json",
			"appid":        "app",
			"timestamp":    "1700000000123",
			"sign":         test.sign,
		} {
			if got.Header.Get(header) != want {
				t.Errorf("%s: %s is %q, want %q", test.path, header, got.Header.Get(header), want)
			}
		}
	}
}

// strictService is a partner API that refuses a timestamp more than 5 seconds from its own clock. Its answers have its
// time in Date.
type strictService struct {
	ahead       time.Duration             // how far its clock is ahead of the client's
	refuse      func(http.ResponseWriter) // writes a refusal; nil: with status 401
	refusesAll  bool                      // it refuses every timestamp
	knowsNobody bool                      // it answers that it does not know the user
	undated     bool                      // its answers have no Date
	dateAhead   time.Duration             // how far a proxy sets Date ahead of the service's clock
	answerTakes time.Duration             // how long an answer takes, by both clocks

	client time.Time // the client's clock
	calls  int
}

func (s *strictService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls++
	received := s.client.Add(s.ahead)
	s.client = s.client.Add(s.answerTakes)
	w.Header().Set("Date", received.Add(s.dateAhead).UTC().Format(http.TimeFormat))
	if s.undated {
		w.Header()["Date"] = nil
	}
	sent, _ := strconv.ParseInt(r.Header.Get("timestamp"), 10, 64)
	switch {
	case s.refusesAll || received.Sub(time.UnixMilli(sent)).Abs() > 5*time.Second:
		s.refuse(w)
	case s.knowsNobody:
		io.WriteString(w, `{"code":404}`)
	default:
		io.WriteString(w, `{"code":0,"data":{"did":"`+did+`"}}`)
	}
}

// start returns a client of the service.
func (s *strictService) start(t *testing.T) *partner.Client {
	t.Helper()
	s.client = now.Add(300 * time.Millisecond)
	if s.refuse == nil {
		s.refuse = answer(http.StatusUnauthorized, "")
	}
	c := newClient(partner.Settings{URL: resttest.Serve(t, s.ServeHTTP), NotFoundCodes: []string{"404"}})
	c.SetClock(func() time.Time { return s.client })
	return c
}

// answer returns a function that writes an answer.
func answer(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Calls for five questions.
const (
	noneRefused  = 5
	firstRefused = 6 // The first question takes two calls.
)

// askFiveTimes fails the test unless five questions are all answered, with this number of calls in total.
func askFiveTimes(t *testing.T, s *strictService, c *partner.Client, wantCalls int) {
	t.Helper()
	s.calls = 0
	for range 5 {
		got, err := c.Accounts.Fetch(t.Context(), ann)
		if err != nil || got.Registered() == s.knowsNobody {
			t.Errorf("%v ahead: %v, %v", s.ahead, got, err)
		}
	}
	if s.calls != wantCalls {
		t.Errorf("%v ahead: %d calls for 5 questions, want %d", s.ahead, s.calls, wantCalls)
	}
}

func TestARefusalForTheClockIsRepeatedOnce(t *testing.T) {
	refusals := []func(http.ResponseWriter){
		answer(http.StatusUnauthorized, ""),
		answer(http.StatusOK, `{"code":1003}`),
		answer(http.StatusBadRequest, `{"code":"BAD_SIGN"}`),
	}
	for _, refuse := range refusals {
		for _, ahead := range []time.Duration{time.Hour, -time.Hour, 6 * time.Second, -6 * time.Second} {
			for _, knowsNobody := range []bool{false, true} {
				s := &strictService{ahead: ahead, refuse: refuse, knowsNobody: knowsNobody}
				askFiveTimes(t, s, s.start(t), firstRefused)
			}
		}
	}
}

func TestARefusalForAnotherReasonIsNotRepeated(t *testing.T) {
	for name, s := range map[string]*strictService{
		"correct clock":        {},
		"nearly correct clock": {ahead: -1400 * time.Millisecond},
		"slow answer":          {answerTakes: 20 * time.Second},
		"no date":              {ahead: time.Hour, undated: true},
		"not a refusal":        {ahead: time.Hour, refuse: answer(http.StatusBadGateway, "")},
		"no code":              {ahead: time.Hour, refuse: answer(http.StatusNotFound, "<html>")},
	} {
		s.refusesAll = true
		_, err := s.start(t).Accounts.Fetch(t.Context(), ann)
		if err == nil || s.calls != 1 {
			t.Errorf("%s: %v after %d calls, want an error after 1", name, err, s.calls)
		}
	}
}

func TestASecondRefusalIsAnError(t *testing.T) {
	s := &strictService{ahead: time.Hour, refusesAll: true} // as if the key were wrong, too
	_, err := s.start(t).Accounts.Fetch(t.Context(), ann)
	if err == nil || s.calls != 2 {
		t.Errorf("%v after %d calls, want an error after 2", err, s.calls)
	}
}

func TestAnUnknownUserIsAnAnswerEvenIfTheClockIsWrong(t *testing.T) {
	s := &strictService{ahead: time.Hour, refusesAll: true, refuse: answer(http.StatusOK, `{"code":404}`)}
	_, err := s.start(t).Accounts.Fetch(t.Context(), ann)
	if err != nil || s.calls != 1 {
		t.Errorf("%v after %d calls, want an answer after 1", err, s.calls)
	}
}

func TestAClockThatIsFixedIsNoticed(t *testing.T) {
	s := &strictService{ahead: time.Hour}
	c := s.start(t)
	askFiveTimes(t, s, c, firstRefused)
	s.fixClientsClock()
	askFiveTimes(t, s, c, firstRefused)
}

// fixClientsClock makes the client's clock right. It was behind the service's.
func (s *strictService) fixClientsClock() {
	s.client = s.client.Add(s.ahead)
	s.ahead = 0
}

// After the client's clock was fixed, a proxy sets a wrong Date.
func TestAWrongDateAfterTheClockWasFixedCostsOneAnswer(t *testing.T) {
	for _, dateAhead := range []time.Duration{time.Hour, -time.Hour, 2 * time.Hour} {
		s := &strictService{ahead: time.Hour}
		c := s.start(t)
		askFiveTimes(t, s, c, firstRefused)
		s.fixClientsClock()
		s.dateAhead = dateAhead
		_, err := c.Accounts.Fetch(t.Context(), ann)
		wantReason(t, err, core.Denied)
		askFiveTimes(t, s, c, noneRefused)
	}
}

func TestTheSkewOfTheServicesClockIsMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		service strictService
		want    time.Duration
	}{
		"a second ahead": {
			service: strictService{ahead: time.Second},
			want:    time.Second,
		},
		"a slow answer": {
			service: strictService{answerTakes: 30 * time.Second},
			want:    0,
		},
		"no Date": {
			service: strictService{ahead: time.Hour, undated: true, refuse: answer(http.StatusOK, `{"code":404}`)},
			want:    0,
		},
		"ten minutes ahead": {
			service: strictService{ahead: 10 * time.Minute},
			want:    10 * time.Minute,
		},
		"ten minutes behind": {
			service: strictService{ahead: -10 * time.Minute},
			want:    -10 * time.Minute,
		},
		"a proxy's Date": {
			service: strictService{dateAhead: -10 * time.Minute},
			want:    -10 * time.Minute,
		},
	} {
		c := test.service.start(t)
		if skew := c.Skew(); skew != 0 {
			t.Errorf("%s: the skew before any answer is %v", name, skew)
		}
		err := c.Probe(t.Context())
		if err != nil || (c.Skew()-test.want).Abs() > time.Second {
			t.Errorf("%s: the skew is %v (%v), want %v", name, c.Skew(), err, test.want)
		}
	}
}
