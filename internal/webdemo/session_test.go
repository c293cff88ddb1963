package webdemo_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"herald/internal/webdemo"
)

// TestWhatIsForOneIsToldAsTheirs has everybody ask what is private to them, in
// every way there is, and looks for what it says in all that others would see.
func TestWhatIsForOneIsToldAsTheirs(t *testing.T) {
	c := connect(t)
	staker := c.wallet(0)
	for _, as := range []string{"member", "unregistered", "moderator"} {
		for _, place := range []string{webdemo.Group, webdemo.Private} {
			for _, line := range []string{"/mylogins", "/exists", "/verify " + staker, "/exists @member", "/exists @unregistered", "/verify @member " + staker, "/verify 0x12"} {
				r := c.say(as, place, line)
				old := c.act(webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: as, Chat: place, Text: line, OldApp: true})
				for side, asked := range r.Asked {
					c.answered(side, asked)
				}
				// Its pointer, or the answer itself.
				c.answered(webdemo.Telegram, old.Asked[webdemo.Telegram])
			}
		}
	}
	// All of these stand in answers to private commands alone.
	private := []string{"Harbor Swap", "Night Market", "registered", "Registered", "No logins", "yours", "Check the wallet"}
	found := map[string]bool{}
	all := c.wait("all", func([]webdemo.Event) bool { return true })
	for _, e := range all {
		if e.Chat == webdemo.Private && e.For == "" {
			t.Errorf("for all, in a private chat: %+v", e)
		}
		if e.Kind != webdemo.KindMessage {
			continue
		}
		text := string(e.Message)
		for _, p := range private {
			switch {
			case !strings.Contains(text, p):
			case e.For == "":
				t.Errorf("%q is shown to all on %s:\n%s", p, e.Side, text)
			default:
				found[e.Side+p+e.For] = true
			}
		}
		if strings.Contains(text, "Harbor Swap") && e.For != "member" {
			t.Errorf("the member's logins are shown to %q on %s", e.For, e.Side)
		}
		asked := slices.IndexFunc(all, func(o webdemo.Event) bool {
			return o.Side == e.Side && o.ID == e.ReplyTo && o.Kind == webdemo.KindAsked
		})
		if e.For != "" && asked >= 0 && all[asked].From != e.For {
			t.Errorf("what %s asked is answered for %s: %s", all[asked].From, e.For, text)
		}
	}
	if !found["telegramHarbor Swapmember"] || !found["discordHarbor Swapmember"] || !found["telegramregisteredunregistered"] {
		t.Errorf("the private answers were not among those looked at: %v", found)
	}
}

func TestAFaultIsSaidAndMended(t *testing.T) {
	c := connect(t)
	ask := func(line string) map[string]string {
		r := c.say("member", webdemo.Group, line)
		said := map[string]string{}
		for _, side := range []string{webdemo.Telegram, webdemo.Discord} {
			said[side] = string(c.answered(side, r.Asked[side]).Message)
		}
		return said
	}
	// until asks again while what was learned before is fresh, which it is for a
	// second.
	until := func(about, line string, want ...string) {
		t.Helper()
		c.wait(about, func([]webdemo.Event) bool {
			said := ask(line)
			return !slices.ContainsFunc(want, func(w string) bool {
				return !strings.Contains(said[webdemo.Telegram], w) || !strings.Contains(said[webdemo.Discord], w)
			})
		})
	}
	lines := map[string]string{"partner": "/exists", "price": "/price", "supply": "/supply", "chain": "/staked " + c.wallet(1)}
	well := map[string]string{"partner": "is registered", "price": "$0.0417", "supply": "Circulating", "chain": "Not staked"}
	wrong := map[string]string{"partner": "Could not be checked", "price": "This price is old", "supply": "This supply is old", "chain": "Could not be checked"}
	for _, service := range c.state().Services {
		until(service.Name+" to be well", lines[service.Name], well[service.Name])
		for _, fault := range service.Faults {
			var now webdemo.State
			c.call("/fault", webdemo.Switch{Service: service.Name, Fault: fault}, &now)
			if i := slices.IndexFunc(now.Services, func(s webdemo.Service) bool { return s.Name == service.Name }); now.Services[i].Fault != fault {
				t.Fatalf("%+v", now.Services)
			}
			until(service.Name+" to be "+fault, lines[service.Name], wrong[service.Name])
		}
		c.call("/fault", webdemo.Switch{Service: service.Name}, new(webdemo.State))
		until(service.Name+" to be well again", lines[service.Name], well[service.Name])
	}
	for _, unknown := range []webdemo.Switch{{Service: "weather", Fault: "down"}, {Service: "supply", Fault: "limit"}} {
		if status, _ := c.send("POST", "/fault", string(mustJSON(unknown)), nil); status != 400 {
			t.Errorf("%+v: %d", unknown, status)
		}
	}
}

func TestAReaderWhoComesLaterIsShownTheSame(t *testing.T) {
	c := connect(t)
	c.act(webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "unregistered", Chat: webdemo.Group, Text: "/mylogins", OldApp: true})
	for line := range commands(c) {
		r := c.say("member", webdemo.Group, line)
		for side, asked := range r.Asked {
			c.answered(side, asked)
		}
	}
	r := c.say("unregistered", webdemo.Private, "/start mylogins")
	c.answered(webdemo.Telegram, r.Asked[webdemo.Telegram])
	all := c.wait("the pointer to go", func(all []webdemo.Event) bool {
		return slices.ContainsFunc(all, func(e webdemo.Event) bool { return e.Kind == webdemo.KindGone })
	})
	c.again().wait("the same as before", func(later []webdemo.Event) bool {
		if one, other := listed(shows(all)), listed(shows(later)); one != other {
			t.Errorf("one who was there is shown\n%sand one who comes later\n%s", one, other)
		}
		return true
	})
}

func TestAResetEmptiesBothSides(t *testing.T) {
	c := connect(t)
	r := c.say("member", webdemo.Private, "/help")
	shown := c.answered(webdemo.Telegram, r.Asked[webdemo.Telegram])
	c.answered(webdemo.Discord, r.Asked[webdemo.Discord])
	c.call("/reset", struct{}{}, &struct{}{})
	c.wait("nothing to be shown", func(all []webdemo.Event) bool { return len(shows(all)) == 0 })
	press := webdemo.Act{Side: webdemo.Telegram, Kind: "press", As: "member", Chat: webdemo.Private, Language: "en", Message: shown.ID, Button: "1 e 0 price"}
	if status, _ := c.send("POST", "/act", string(mustJSON(press)), nil); status != 400 {
		t.Errorf("what is not shown was pressed: %d", status)
	}
	// The bot may not write to them first any more.
	ask := webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "member", Chat: webdemo.Group, Text: "/exists", OldApp: true}
	if e := c.answered(webdemo.Telegram, c.act(ask).Asked[webdemo.Telegram]); !strings.Contains(string(e.Message), "I can't write to you yet") {
		t.Errorf("they are known still: %s", e.Message)
	}
}

func TestNobodyPressesWhatTheyDoNotSee(t *testing.T) {
	c := connect(t)
	r := c.say("member", webdemo.Group, "/exists")
	for side, asked := range r.Asked {
		press := webdemo.Act{Side: side, Kind: "press", As: "member", Chat: webdemo.Group, Language: "en", Message: c.answered(side, asked).ID, Button: "1 e 0 exists"}
		for _, change := range []func(*webdemo.Act){
			func(a *webdemo.Act) { a.As = "moderator" },
			func(a *webdemo.Act) { a.Chat = webdemo.Private },
			func(a *webdemo.Act) { a.Message = asked },
		} {
			other := press
			change(&other)
			if status, text := c.send("POST", "/act", string(mustJSON(other)), nil); status != 400 || !strings.Contains(text, "no such message") {
				t.Errorf("%+v: %d %s", other, status, text)
			}
		}
		c.act(press)
	}
}

func TestTheOldestMessagesMakeRoom(t *testing.T) {
	c := connect(t)
	first := c.say("member", webdemo.Group, "/supply")
	c.answered(webdemo.Telegram, first.Asked[webdemo.Telegram])
	c.answered(webdemo.Discord, first.Asked[webdemo.Discord])
	for range 210 {
		c.say("member", webdemo.Group, "hello")
	}
	all := c.again().wait("what is left", func([]webdemo.Event) bool { return true })
	sides := map[string]int{}
	for _, e := range shows(all) {
		sides[e.Side]++
		if e.ID == first.Asked[e.Side] {
			t.Errorf("the oldest is still there on %s", e.Side)
		}
	}
	if sides[webdemo.Telegram] != 200 || sides[webdemo.Discord] != 200 {
		t.Errorf("%v messages are kept, want 200 of each side", sides)
	}
}

func TestTheReadersAreBounded(t *testing.T) {
	c := connect(t)
	for range 15 {
		c.again()
	}
	bounded := func(r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), within) // a stream would not end
		t.Cleanup(cancel)
		*r = *r.WithContext(ctx)
	}
	if status, text := c.send("GET", "/events", "", bounded); status != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", status, text)
	}
}

func TestWhatIsNotOfTheProtocolIsRefused(t *testing.T) {
	c := connect(t)
	say := `{"side":"both","kind":"say","as":"member","chat":"group","language":"en","text":%q}`
	for body, want := range map[string]string{
		`{`:                     "the body must be JSON",
		`{"colour":"red"}`:      "the body must be JSON",
		fmt.Sprintf(say, ""):    "text: is empty",
		fmt.Sprintf(say, " \n"): "text: is empty",
		fmt.Sprintf(say, strings.Repeat("x", 4097)):                                                                                    "text: at most 4096 bytes",
		`{"text":"` + strings.Repeat("x", 65<<10) + `"}`:                                                                               "at most 64 kB",
		`{"side":"both","kind":"say","as":"ann","chat":"group","language":"en","text":"/help"}`:                                        "as: ",
		`{"side":"both","kind":"say","as":"member","chat":"street","language":"en","text":"/help"}`:                                    "chat: ",
		`{"side":"both","kind":"say","as":"member","chat":"group","language":"xx","text":"/help"}`:                                     "language: ",
		`{"side":"irc","kind":"say","as":"member","chat":"group","language":"en","text":"/help"}`:                                      "side: ",
		`{"side":"both","kind":"press","as":"member","chat":"group","language":"en","message":"1","button":"x"}`:                       "side: ",
		`{"side":"telegram","kind":"press","as":"member","chat":"group","language":"en","message":"99","button":"x"}`:                  "no such message",
		`{"side":"discord","kind":"press","as":"member","chat":"group","language":"en","message":"99","button":"x"}`:                   "no such message",
		`{"side":"discord","kind":"submit","as":"member","chat":"group","language":"en","message":"99"}`:                               "no such message",
		`{"side":"telegram","kind":"say","as":"member","chat":"group","language":"en","text":"/help","replyTo":"99"}`:                  "no such message",
		`{"side":"telegram","kind":"choose","as":"member","chat":"group","language":"en","message":"99","button":"help"}`:              "no such result",
		`{"side":"telegram","kind":"complete","as":"member","chat":"group","language":"en","text":"` + strings.Repeat("x", 257) + `"}`: "at most 256 characters",
		`{"side":"telegram","kind":"dance","as":"member","chat":"group","language":"en"}`:                                              "cannot be done",
		`{"side":"discord","kind":"choose","as":"member","chat":"group","language":"en"}`:                                              "cannot be done",
	} {
		if status, text := c.send("POST", "/act", body, nil); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%.120s: %d %s", body, status, text)
		}
	}
	for path, want := range map[string]int{"/act": 404, "/menu": 400, "/menu?as=member&chat=group": 400, "/file/telegram/1/0.png": 404, "/nothing": 404} {
		if status, _ := c.send("GET", path, "", nil); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestOtherSitesAreKeptOut makes the calls that a page elsewhere could have this
// person's browser make.
func TestOtherSitesAreKeptOut(t *testing.T) {
	c := connect(t)
	port := c.url[strings.LastIndex(c.url, ":"):]
	act := string(mustJSON(webdemo.Act{Side: webdemo.Both, Kind: "say", As: "member", Chat: webdemo.Group, Language: "en", Text: "/help"}))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, test := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"a name that leads here":                {"GET", "/state", host("evil.example" + port), http.StatusMisdirectedRequest},
		"a name that leads here, for events":    {"GET", "/events", host("evil.example" + port), http.StatusMisdirectedRequest},
		"another port":                          {"GET", "/state", host("127.0.0.1:1"), http.StatusMisdirectedRequest},
		"localhost":                             {"GET", "/state", host("localhost" + port), http.StatusOK},
		"another origin":                        {"POST", "/act", header("Origin", "https://evil.example"), http.StatusForbidden},
		"another site":                          {"POST", "/act", header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"another port of the same site":         {"POST", "/act", header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"a form":                                {"POST", "/act", header("Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"the page itself":                       {"POST", "/act", header("Sec-Fetch-Site", "same-origin"), http.StatusOK},
		"the page in a browser without the one": {"POST", "/act", header("Origin", c.url), http.StatusOK},
	} {
		if status, text := c.send(test.method, test.path, act, test.change); status != test.want {
			t.Errorf("%s: %d, want %d: %s", name, status, test.want, text)
		}
	}
	resp, err := http.Get(c.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self';") ||
		resp.Header.Get("Access-Control-Allow-Origin") != "" || resp.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("%v", resp.Header)
	}
}
