package discord

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// quiet is the member that every message of the bot must have: it forbids all mentions.
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

// call makes one REST call, and returns the status of the response and Discord's code of the error, or 0.
func (s *Server) call(t *testing.T, method, path, body string) (status, code int) {
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

// respondFirst makes the call of the first response to p.
func (p *Pending) respondFirst(t *testing.T, body string) (status, code int) {
	t.Helper()
	return p.server.call(t, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", body)
}

// webhookPath returns the path of follow-ups. The path of edits begins with it.
func (p *Pending) webhookPath() string { return "/webhooks/" + p.server.ApplicationID + "/" + p.Token }

// edit makes the call that edits the message of the first response.
func (p *Pending) edit(t *testing.T, body string) (status, code int) {
	t.Helper()
	return p.server.call(t, "PATCH", p.webhookPath()+"/messages/@original", body)
}

// messageWith returns a first response that shows a message with the content "x" and more members, each followed by a
// comma.
func messageWith(members string) string {
	return `{"type":4,"data":{"content":"x",` + members + quiet + `}}`
}

// checkRefused checks that each first response is refused and has no effect. responses maps a response to a part of the
// problem that the server records.
func checkRefused(t *testing.T, responses map[string]string) {
	t.Helper()
	s := startServer(t)
	for body, problem := range responses {
		s.problems = nil
		p, _ := s.create(testCommand)
		status, code := p.respondFirst(t, body)
		if status != 400 || code != 50035 {
			t.Errorf("%.200s: status %d, code %d", body, status, code)
		}
		if problems := s.Problems(); len(problems) != 1 || !strings.Contains(problems[0], problem) {
			t.Errorf("%.200s: problems %q, want %s", body, problems, problem)
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
	embed := func(members string) string { return messageWith(`"embeds":[{` + members + `}],`) }
	text, footer := strings.Repeat("x", 4000), strings.Repeat("x", 2001)
	checkRefused(t, map[string]string{
		embed(`"color":1`): "one is empty",
		embed(`"description":"` + text + `","footer":{"text":"` + footer + `"}`): "6001 characters",
		embed(`"title":"x","image":{"url":"attachment://a.png"}`):                "no image of the name",
	})
}

func TestButtonsThatDiscordRefuses(t *testing.T) {
	row := func(button string) string { return `{"type":1,"components":[{"type":2,"label":"x",` + button + `}]}` }
	rows := func(all ...string) string { return messageWith(`"components":[` + strings.Join(all, ",") + `],`) }
	pressable := row(`"style":1,"custom_id":"a"`)
	checkRefused(t, map[string]string{
		rows(pressable, pressable):                  "custom_id is there twice",
		rows(row(`"style":1`)):                      "any other button a custom_id",
		rows(row(`"style":5,"url":"tg://resolve"`)): "no address",
	})
}

// ephemeralFlags maps whether a message is ephemeral to its flags.
var ephemeralFlags = map[bool]string{false: "0", true: "64"}

// deferred returns an interaction with a deferred answer. It is ephemeral if the parameter is set. other is a message
// with the opposite flags.
func deferred(t *testing.T, ephemeral bool) (s *Server, p *Pending, other string) {
	t.Helper()
	s = startServer(t)
	p, _ = s.create(testCommand)
	p.respondFirst(t, `{"type":5,"data":{"flags":`+ephemeralFlags[ephemeral]+`,`+quiet+`}}`)
	return s, p, `{"content":"x","flags":` + ephemeralFlags[!ephemeral] + `,` + quiet + `}`
}

func TestAFollowUpFillsTheDeferredMessage(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		s, p, other := deferred(t, ephemeral)
		s.call(t, "POST", p.webhookPath(), other)
		a := p.Answer()
		if a.Ephemeral != ephemeral || a.Content != "x" || len(a.Followups) != 0 || a.Edited != 0 {
			t.Errorf("deferred with ephemeral %v: %+v, %q", ephemeral, a, s.Problems())
		}
	}
}

func TestOnlyALaterFollowUpHasItsOwnVisibility(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		s, p, other := deferred(t, ephemeral)
		s.call(t, "POST", p.webhookPath(), other)
		p.edit(t, other)
		s.call(t, "POST", p.webhookPath(), other)
		a := p.Answer()
		if a.Ephemeral != ephemeral || a.Edited != 1 {
			t.Errorf("deferred with ephemeral %v: %+v, %q", ephemeral, a, s.Problems())
		}
		if len(a.Followups) != 1 || a.Followups[0].Ephemeral == ephemeral {
			t.Errorf("deferred with ephemeral %v: follow-ups %+v", ephemeral, a.Followups)
		}
	}
}

// Options of a command. Required options must come first.
const (
	requiredOption = `{"type":3,"name":"a","description":"d","required":true}`
	optionalOption = `{"type":3,"name":"b","description":"d"}`
)

// validCommands is a list of commands that Discord accepts.
const validCommands = `[
	{"name":"x","description":"d","options":[` + requiredOption + `,` + optionalOption + `]},
	{"name":"Check registration","type":2,"name_localizations":{"ru":"Проверить Регистрацию"}}
]`

// register replaces the global commands, and returns the status.
func (s *Server) register(t *testing.T, commands string) (status int) {
	t.Helper()
	status, _ = s.call(t, "PUT", "/applications/"+s.ApplicationID+"/commands", commands)
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
		part        string // of validCommands, which becomes invalid by the replacement
		replacement string
	}{
		"a name in upper case": {
			part:        `"name":"x"`,
			replacement: `"name":"X"`,
		},
		"no description": {
			part:        `"description":"d"`,
			replacement: `"description":""`,
		},
		"two options with the same name": {
			part:        `"name":"b"`,
			replacement: `"name":"a"`,
		},
		"the required option last": {
			part:        requiredOption + `,` + optionalOption,
			replacement: optionalOption + `,` + requiredOption,
		},
		"a context menu command with a description": {
			part:        `"type":2`,
			replacement: `"type":2,"description":"d"`,
		},
		"a locale that does not exist": {
			part:        `"ru":"Проверить`,
			replacement: `"xx":"Проверить`,
		},
	} {
		commands := strings.Replace(validCommands, tt.part, tt.replacement, 1)
		if status := s.register(t, commands); status != 400 {
			t.Errorf("%s: status %d", name, status)
		}
	}
}
