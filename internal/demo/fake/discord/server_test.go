package discord

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

const quiet = `"allowed_mentions":{"parse":[]}`

var used = Interaction{Command: "x", UserID: "5", GuildID: "7", ChannelID: "8"}

// started is a server until the test ends.
func started(t *testing.T) *Server {
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

// first makes the first response to p.
func (p *Pending) first(t *testing.T, body string) (status, code int) {
	t.Helper()
	return p.server.ask(t, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", body)
}

// hook is where p takes what follows its first response.
func (p *Pending) hook() string { return "/webhooks/" + p.server.ApplicationID + "/" + p.Token }

func (p *Pending) edit(t *testing.T, body string) (status, code int) {
	t.Helper()
	return p.server.ask(t, "PATCH", p.hook()+"/messages/@original", body)
}

// says is a first response of a message with these members.
func says(members string) string { return `{"type":4,"data":{"content":"x",` + members + quiet + `}}` }

func TestFirstResponsesThatDiscordRefuses(t *testing.T) {
	long := strings.Repeat("x", 4097)
	embed := func(members string) string { return says(`"embeds":[{` + members + `}],`) }
	row := func(button string) string { return `{"type":1,"components":[{"type":2,"label":"x",` + button + `}]}` }
	rows := func(all ...string) string { return says(`"components":[` + strings.Join(all, ",") + `],`) }
	pressable := row(`"style":1,"custom_id":"a"`)
	s := started(t)
	for _, tt := range []struct {
		body, why string
	}{
		{`{"data":{"content":"x",` + quiet + `}}`, "type"},
		{`{"type":4,"data":{"content":"x","allowed_mentions":{"parse":["users"]}}}`, "allowed_mentions"},
		{`{"type":4,"data":{` + quiet + `}}`, "is empty"},
		{embed(`"color":1`), "one is empty"},
		{embed(`"description":"` + long[:4000] + `","footer":{"text":"` + long[:2001] + `"}`), "6001 characters"},
		{embed(`"title":"x","image":{"url":"attachment://a.png"}`), "no image of the name"},
		{rows(pressable, pressable), "custom_id is there twice"},
		{rows(row(`"style":1`)), "any other button a custom_id"},
		{rows(row(`"style":5,"url":"tg://resolve"`)), "no address"},
	} {
		s.problems = nil
		p, _ := s.create(used)
		status, code := p.first(t, tt.body)
		if status != 400 || code != 50035 || len(s.Problems()) != 1 || !strings.Contains(s.Problems()[0], tt.why) {
			t.Errorf("%.200s: status %d, code %d, problems %q, want %s", tt.body, status, code, s.Problems(), tt.why)
		}
		if a := p.Answer(); a.First > 0 || a.Callbacks > 0 || a.Content == "x" {
			t.Errorf("%.200s took effect: %+v", tt.body, a)
		}
	}
}

func TestWhoSeesAnAnswerIsFixedByItsPromise(t *testing.T) {
	flags := map[bool]string{false: "0", true: "64"}
	for _, promised := range []bool{false, true} {
		s := started(t)
		p, _ := s.create(used)
		p.first(t, `{"type":5,"data":{"flags":`+flags[promised]+`,`+quiet+`}}`)
		say := `{"content":"x","flags":` + flags[!promised] + `,` + quiet + `}`
		s.ask(t, "POST", p.hook(), say)
		if a := p.Answer(); a.Ephemeral != promised || a.Content != "x" || len(a.Followups) != 0 || a.Edited != 0 {
			t.Errorf("straight after a promise: %+v, %q", a, s.Problems())
		}
		p.edit(t, say)
		s.ask(t, "POST", p.hook(), say)
		if a := p.Answer(); a.Ephemeral != promised || a.Edited != 1 || len(a.Followups) != 1 || a.Followups[0].Ephemeral == promised {
			t.Errorf("later: %+v, %q", a, s.Problems())
		}
	}
}

func TestCommandsThatDiscordRefuses(t *testing.T) {
	s := started(t)
	path := "/applications/" + s.ApplicationID + "/commands"
	const right = `[{"name":"x","description":"d",
		"options":[{"type":3,"name":"a","description":"d","required":true},{"type":3,"name":"b","description":"d"}]},
		{"name":"Check registration","type":2,"name_localizations":{"ru":"Проверить Регистрацию"}}]`
	for was, is := range map[string]string{
		"x": "x", `"name":"x"`: `"name":"X"`, `"description":"d"`: `"description":""`, `"name":"b"`: `"name":"a"`,
		`"name":"a","description":"d","required":true},{`: `"name":"a","description":"d"},{"required":true,`, `"type":2`: `"type":2,"description":"d"`,
		`"ru":"Проверить`: `"xx":"Проверить`,
	} {
		want := map[bool]int{true: 200, false: 400}[was == is]
		if status, _ := s.ask(t, "PUT", path, strings.Replace(right, was, is, 1)); status != want {
			t.Errorf("%s for %s: status %d, %q", is, was, status, s.Problems())
		}
	}
}
