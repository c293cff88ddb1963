package discordtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// do makes one REST call and returns its status and Discord's code.
func do(t *testing.T, s *Server, method, path, token, body string) (status, code int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/api/v10"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bot "+token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var told struct{ Code int }
	json.NewDecoder(resp.Body).Decode(&told)
	return resp.StatusCode, told.Code
}

const quiet = `"allowed_mentions":{"parse":[]}`

func TestFirstResponsesThatDiscordRefuses(t *testing.T) {
	long := strings.Repeat("x", 4097)
	for name, body := range map[string]string{
		"no type":              `{"data":{"content":"x",` + quiet + `}}`,
		"type of a modal":      `{"type":9,"data":{"content":"x",` + quiet + `}}`,
		"no allowed_mentions":  `{"type":4,"data":{"content":"x"}}`,
		"mentions allowed":     `{"type":4,"data":{"content":"x","allowed_mentions":{"parse":["users"]}}}`,
		"empty":                `{"type":4,"data":{` + quiet + `}}`,
		"empty embed":          `{"type":4,"data":{"embeds":[{"color":1}],` + quiet + `}}`,
		"title too long":       `{"type":4,"data":{"embeds":[{"title":"` + long[:257] + `"}],` + quiet + `}}`,
		"description too long": `{"type":4,"data":{"embeds":[{"description":"` + long + `"}],` + quiet + `}}`,
		"field without value":  `{"type":4,"data":{"embeds":[{"fields":[{"name":"x"}]}],` + quiet + `}}`,
		"more than 6000":       `{"type":4,"data":{"embeds":[{"description":"` + long[:4000] + `","footer":{"text":"` + long[:2001] + `"}}],` + quiet + `}}`,
		"content too long":     `{"type":4,"data":{"content":"` + long[:2001] + `",` + quiet + `}}`,
		"colour out of range":  `{"type":4,"data":{"embeds":[{"title":"x","color":16777216}],` + quiet + `}}`,
		"title no string":      `{"type":4,"data":{"embeds":[{"title":5}],` + quiet + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			defer s.Close()
			p, _ := s.create(Interaction{Command: "x"})
			status, code := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body)
			if status != http.StatusBadRequest || code != 50035 || len(s.Problems()) != 1 {
				t.Errorf("status %d, code %d, problems %q", status, code, s.Problems())
			}
		})
	}
}

func TestInteractionTokensServeOnce(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(Interaction{Command: "x"})
	callback, edit := "/interactions/"+p.ID+"/"+p.Token+"/callback", "/webhooks/"+s.ApplicationID+"/"+p.Token+"/messages/@original"
	deferral, message := `{"type":5,"data":{"flags":64,`+quiet+`}}`, `{"content":"x",`+quiet+`}`
	steps := []struct {
		name, method, path, body string
		status, code             int
		before                   func()
	}{
		{"edit before the first response", "PATCH", edit, message, 404, 10015, nil},
		{"another token", "POST", "/interactions/" + p.ID + "/other/callback", deferral, 404, 10062, nil},
		{"deferral", "POST", callback, deferral, 204, 0, nil},
		{"second response", "POST", callback, deferral, 400, 40060, nil},
		{"edit", "PATCH", edit, message, 200, 0, nil},
		{"expired edit", "PATCH", edit, message, 401, 50027, p.Expire},
		{"expired response", "POST", callback, deferral, 404, 10062, nil},
	}
	for _, step := range steps {
		if step.before != nil {
			step.before()
		}
		if status, code := do(t, s, step.method, step.path, "", step.body); status != step.status || code != step.code {
			t.Errorf("%s: status %d, code %d", step.name, status, code)
		}
	}
	if a := p.Answer(); !a.Deferred || !a.Ephemeral || a.Edits != 1 || a.Content != "x" {
		t.Errorf("%+v", a)
	}
}

func TestCommandsThatDiscordRefuses(t *testing.T) {
	s := New()
	defer s.Close()
	path := "/applications/" + s.ApplicationID + "/commands"
	long := strings.Repeat("d", 101)
	option := func(more string) string {
		return `[{"name":"x","description":"d","options":[{"type":3,"name":"a","description":"d",` + more + `}]}]`
	}
	described := func(more string) string { return `[{"name":"x","description":"d",` + more + `}]` }
	for name, body := range map[string]string{
		"no list":                        `{}`,
		"no name":                        `[{"description":"d"}]`,
		"upper case":                     `[{"name":"X","description":"d"}]`,
		"no description":                 `[{"name":"x"}]`,
		"description is long":            `[{"name":"x","description":"` + strings.Repeat("d", 101) + `"}]`,
		"same name twice":                `[{"name":"x","type":1,"description":"d"},{"name":"x","type":1,"description":"d"}]`,
		"menu described":                 `[{"name":"X","type":2,"description":"d"}]`,
		"optional first":                 `[{"name":"x","description":"d","options":[{"type":3,"name":"a","description":"d"},{"type":3,"name":"b","description":"d","required":true}]}]`,
		"option undescribed":             `[{"name":"x","description":"d","options":[{"type":3,"name":"a"}]}]`,
		"no contexts":                    `[{"name":"x","description":"d","contexts":[]}]`,
		"context twice":                  described(`"contexts":[0,0]`),
		"unknown context":                described(`"contexts":[3]`),
		"for nobody":                     described(`"integration_types":[]`),
		"for others":                     described(`"integration_types":[2]`),
		"unknown language":               described(`"description_localizations":{"es":"d"}`),
		"no description in a language":   described(`"description_localizations":{"vi":""}`),
		"long description in a language": described(`"description_localizations":{"ru":"` + long + `"}`),
		"upper case in a language":       described(`"name_localizations":{"tr":"Fiyat"}`),
		"space in a language":            described(`"name_localizations":{"vi":"giá cả"}`),
		"long name in a language":        described(`"name_localizations":{"vi":"` + long[:33] + `"}`),
		"menu described in a language":   `[{"name":"X","type":2,"description_localizations":{"ru":"d"}}]`,
		"menu in an unknown language":    `[{"name":"X","type":2,"name_localizations":{"xx":"d"}}]`,
		"option described in no words":   option(`"description_localizations":{"zh-CN":""}`),
		"option in an unknown language":  option(`"name_localizations":{"zh":"a"}`),
		"option in upper case":           option(`"name_localizations":{"ru":"Имя"}`),
		"choices and autocomplete":       option(`"autocomplete":true,"choices":[{"name":"x","value":"x"}]`),
		"26 choices":                     option(`"choices":[` + strings.Repeat(`{"name":"x","value":"x"},`, 25) + `{"name":"x","value":"x"}]`),
		"choice in an unknown language":  option(`"choices":[{"name":"x","value":"x","name_localizations":{"xx":"d"}}]`),
		"long name of a choice":          option(`"choices":[{"name":"` + long + `","value":"x"}]`),
	} {
		if status, code := do(t, s, "PUT", path, s.Token, body); status != 400 || code != 50035 {
			t.Errorf("%s: status %d, code %d", name, status, code)
		}
	}
	if status, _ := do(t, s, "PUT", path, s.Token, `[{"name":"x","description":"d","integration_types":[0,1],"contexts":[0,1,2],
		"name_localizations":{"ru":"цена","zh-CN":"价格","tr":"fiyat","vi":"giá","es-ES":"precio","es-419":"precio"},"description_localizations":{"ru":"Цена"},
		"options":[{"type":3,"name":"a","description":"d","autocomplete":true,"name_localizations":{"ru":"имя"}}]},
		{"name":"Check registration","type":2,"name_localizations":{"ru":"Проверить Регистрацию"},"default_member_permissions":"8"}]`); status != 200 {
		t.Errorf("a list in six languages: status %d, %q", status, s.Problems())
	}
	if got := s.Commands(""); len(got) != 2 || got[0]["description_localizations"].(map[string]any)["ru"] != "Цена" {
		t.Errorf("registered %v", got)
	}
	if status, _ := do(t, s, "GET", path, "wrong", ""); status != 401 {
		t.Errorf("a wrong token got %d", status)
	}
	if status, _ := do(t, s, "GET", "/applications/1/commands", s.Token, ""); status != 403 {
		t.Errorf("another application got %d", status)
	}
	if s.Overwrites() != 1 {
		t.Error("a refused list took effect")
	}
}

func TestIdentifiesThatDiscordRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		packet string
		want   int
	}{
		"wrong token":        {`{"op":2,"d":{"token":"wrong","intents":0,"properties":{}}}`, 4004},
		"no intents":         {`{"op":2,"d":{"token":"TOKEN","properties":{}}}`, 4002},
		"privileged intents": {`{"op":2,"d":{"token":"TOKEN","intents":32768,"properties":{}}}`, 4014},
		"unknown opcode":     {`{"op":42}`, 4001},
		"resume, token":      {`{"op":6,"d":{"token":"wrong","session_id":"x","seq":1}}`, 4004},
		"resume, no seq":     {`{"op":6,"d":{"token":"TOKEN","session_id":"x"}}`, 4002},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			defer s.Close()
			ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL(), "http")+"/gateway", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			ws.SetReadDeadline(time.Now().Add(10 * time.Second))
			ws.WriteMessage(websocket.TextMessage, []byte(strings.ReplaceAll(test.packet, "TOKEN", s.Token)))
			for err == nil {
				_, _, err = ws.ReadMessage()
			}
			if !websocket.IsCloseError(err, test.want) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// client is one connection to the gateway of s, after Hello.
type client struct {
	*testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, s *Server, path string) client {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL(), "http")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	ws.SetReadDeadline(time.Now().Add(10 * time.Second))
	c := client{t, ws}
	c.next()
	return c
}

func (c client) send(text string) { c.ws.WriteMessage(websocket.TextMessage, []byte(text)) }

// next is the next packet's opcode, type and data.
func (c client) next() (op int, kind string, data any) {
	c.Helper()
	var p packet
	if err := c.ws.ReadJSON(&p); err != nil {
		c.Fatal(err)
	}
	return p.Op, p.Type, p.Data
}

func TestASessionIsResumedAsDiscordDoes(t *testing.T) {
	s := New()
	defer s.Close()
	identify := func() (c client, resume string) {
		c = dial(t, s, "/gateway")
		c.send(`{"op":2,"d":{"token":"` + s.Token + `","intents":0,"properties":{}}}`)
		_, _, ready := c.next()
		return c, `{"op":6,"d":{"token":"` + s.Token + `","session_id":"` + ready.(map[string]any)["session_id"].(string) + `","seq":1}}`
	}
	leave := func(c client, code int) {
		c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
		c.ws.Close()
		if err := s.Wait(t.Context(), func() bool { return s.Connected() == 0 }); err != nil {
			t.Fatal(err)
		}
	}

	c, resume := identify()
	leave(c, 4000)
	for range 2 {
		if _, err := s.Push(Interaction{Command: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	c = dial(t, s, resumePath)
	c.send(resume)
	for _, want := range []string{"INTERACTION_CREATE", "INTERACTION_CREATE", "RESUMED"} {
		if _, kind, _ := c.next(); kind != want {
			t.Errorf("got %s, want %s", kind, want)
		}
	}
	if s.Resumes() != 1 || s.Connects() != 2 {
		t.Errorf("resumed %d times, connected %d", s.Resumes(), s.Connects())
	}

	refused := func(why, path string) {
		t.Helper()
		c := dial(t, s, path)
		c.send(resume)
		if op, _, data := c.next(); op != 9 || data != false {
			t.Errorf("%s: resumed with op %d", why, op)
		}
	}
	leave(c, 4000)
	refused("at the address where sessions begin", "/gateway")
	c, resume = identify()
	leave(c, 1000)
	refused("after 1000", resumePath)
	if _, err := s.Push(Interaction{Command: "x"}); err == nil {
		t.Error("pushed without a session")
	}
	c, resume = identify()
	s.ForgetSession()
	leave(c, 4000)
	refused("after too long", resumePath)
}
