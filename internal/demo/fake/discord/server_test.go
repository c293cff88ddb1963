package discord

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// quiet is what every message must have, so that it pings nobody.
const quiet = `"allowed_mentions":{"parse":[]}`

// testCommand is a command of user 5 in guild 7.
var testCommand = Interaction{Command: "x", UserID: "5", GuildID: "7", ChannelID: "8"}

// startServer starts a server, and closes it when the test ends.
func startServer(t *testing.T) *Server {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// ask makes one REST call, and returns its status and Discord's code.
func (s *Server) ask(t *testing.T, method, path, body string) (status, code int) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/api/v9"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bot "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.routes().ServeHTTP(w, r)
	var resp struct{ Code int }
	_ = json.NewDecoder(w.Body).Decode(&resp) // a success has no code
	return w.Code, resp.Code
}

// first posts the first response to p.
func (p *Pending) first(t *testing.T, body string) (status, code int) {
	t.Helper()
	return p.server.ask(t, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", body)
}

// hook returns the path for edits and follow-ups.
func (p *Pending) hook() string { return "/webhooks/" + p.server.ApplicationID + "/" + p.Token }

// edit edits the first response.
func (p *Pending) edit(t *testing.T, body string) (status, code int) {
	t.Helper()
	return p.server.ask(t, "PATCH", p.hook()+"/messages/@original", body)
}

// message returns a first response that is a message with these members.
func message(members string) string {
	return `{"type":4,"data":{"content":"x",` + members + quiet + `}}`
}

// checkRefused checks that each first response is refused for its reason, and has no effect.
func checkRefused(t *testing.T, reasons map[string]string) {
	t.Helper()
	s := startServer(t)
	for body, reason := range reasons {
		s.problems = nil
		p, _ := s.create(testCommand)
		status, code := p.first(t, body)
		if status != 400 || code != 50035 {
			t.Errorf("%.200s: status %d, code %d", body, status, code)
		}
		if problems := s.Problems(); len(problems) != 1 || !strings.Contains(problems[0], reason) {
			t.Errorf("%.200s: problems %q, want %s", body, problems, reason)
		}
		if a := p.Answer(); a.First > 0 || a.Callbacks > 0 || a.Content == "x" {
			t.Errorf("%.200s took effect: %+v", body, a)
		}
	}
}

func TestFirstResponsesWithoutATypeOrATextAreRefused(t *testing.T) {
	checkRefused(t, map[string]string{
		`{"data":{"content":"x",` + quiet + `}}`:                                   "type",
		`{"type":4,"data":{"content":"x","allowed_mentions":{"parse":["users"]}}}`: "allowed_mentions",
		`{"type":4,"data":{` + quiet + `}}`:                                        "is empty",
	})
}

func TestEmbedsThatDiscordRefuses(t *testing.T) {
	embed := func(members string) string { return message(`"embeds":[{` + members + `}],`) }
	text, footer := strings.Repeat("x", 4000), strings.Repeat("x", 2001)
	checkRefused(t, map[string]string{
		embed(`"color":1`): "one is empty",
		embed(`"description":"` + text + `","footer":{"text":"` + footer + `"}`): "6001 characters",
		embed(`"title":"x","image":{"url":"attachment://a.png"}`):                "no image of the name",
	})
}

func TestButtonsThatDiscordRefuses(t *testing.T) {
	row := func(button string) string { return `{"type":1,"components":[{"type":2,"label":"x",` + button + `}]}` }
	rows := func(all ...string) string { return message(`"components":[` + strings.Join(all, ",") + `],`) }
	pressable := row(`"style":1,"custom_id":"a"`)
	checkRefused(t, map[string]string{
		rows(pressable, pressable):                  "custom_id is there twice",
		rows(row(`"style":1`)):                      "any other button a custom_id",
		rows(row(`"style":5,"url":"tg://resolve"`)): "no address",
	})
}

// ephemeralFlags are the flags of an ephemeral message, and of one that everybody sees.
var ephemeralFlags = map[bool]string{false: "0", true: "64"}

// deferred returns an interaction with a deferred answer, and a message with the other flags.
func deferred(t *testing.T, ephemeral bool) (s *Server, p *Pending, other string) {
	t.Helper()
	s = startServer(t)
	p, _ = s.create(testCommand)
	p.first(t, `{"type":5,"data":{"flags":`+ephemeralFlags[ephemeral]+`,`+quiet+`}}`)
	return s, p, `{"content":"x","flags":` + ephemeralFlags[!ephemeral] + `,` + quiet + `}`
}

func TestAFollowUpOfADeferralTakesItsPlaceAndVisibility(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		s, p, other := deferred(t, ephemeral)
		s.ask(t, "POST", p.hook(), other)
		a := p.Answer()
		if a.Ephemeral != ephemeral || a.Content != "x" || len(a.Followups) != 0 || a.Edited != 0 {
			t.Errorf("deferred with ephemeral %v: %+v, %q", ephemeral, a, s.Problems())
		}
	}
}

func TestAnEditKeepsTheVisibilityAndALaterFollowUpHasItsOwn(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		s, p, other := deferred(t, ephemeral)
		s.ask(t, "POST", p.hook(), other)
		p.edit(t, other)
		s.ask(t, "POST", p.hook(), other)
		a := p.Answer()
		if a.Ephemeral != ephemeral || a.Edited != 1 {
			t.Errorf("deferred with ephemeral %v: %+v, %q", ephemeral, a, s.Problems())
		}
		if len(a.Followups) != 1 || a.Followups[0].Ephemeral == ephemeral {
			t.Errorf("deferred with ephemeral %v: follow-ups %+v", ephemeral, a.Followups)
		}
	}
}

// Options of a command. Discord wants the required ones first.
const (
	requiredOption = `{"type":3,"name":"a","description":"d","required":true}`
	otherOption    = `{"type":3,"name":"b","description":"d"}`
)

// validCommands is a list of commands that Discord takes.
const validCommands = `[
	{"name":"x","description":"d","options":[` + requiredOption + `,` + otherOption + `]},
	{"name":"Check registration","type":2,"name_localizations":{"ru":"Проверить Регистрацию"}}
]`

// register writes commands, and returns the status.
func (s *Server) register(t *testing.T, commands string) (status int) {
	t.Helper()
	status, _ = s.ask(t, "PUT", "/applications/"+s.ApplicationID+"/commands", commands)
	return status
}

func TestValidCommandsAreRegistered(t *testing.T) {
	s := startServer(t)
	if status := s.register(t, validCommands); status != 200 {
		t.Errorf("status %d, %q", status, s.Problems())
	}
}

func TestCommandsThatDiscordRefuses(t *testing.T) {
	s := startServer(t)
	for name, tt := range map[string]struct {
		part        string // of validCommands
		replacement string
	}{
		"a name in upper case":         {`"name":"x"`, `"name":"X"`},
		"no description":               {`"description":"d"`, `"description":""`},
		"two options of one name":      {`"name":"b"`, `"name":"a"`},
		"the required option last":     {requiredOption + `,` + otherOption, otherOption + `,` + requiredOption},
		"a menu with a description":    {`"type":2`, `"type":2,"description":"d"`},
		"a locale that does not exist": {`"ru":"Проверить`, `"xx":"Проверить`},
	} {
		commands := strings.Replace(validCommands, tt.part, tt.replacement, 1)
		if status := s.register(t, commands); status != 400 {
			t.Errorf("%s: status %d", name, status)
		}
	}
}
