package discordtest

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
)

func TestResponsesThatDoNotFitTheInteraction(t *testing.T) {
	const (
		show, deferral = `{"type":4,"data":{"content":"x",` + quiet + `}}`, `{"type":5,"data":{` + quiet + `}}`
		change, later  = `{"type":7,"data":{"content":"x",` + quiet + `}}`, `{"type":6}`
	)
	all := map[string]string{
		"show": show, "deferral": deferral, "change": change, "change later": later,
		"choices": choices(1, "x"), "modal": modal("x", labelled("a", "")),
	}
	onMessage := sent
	onMessage.On = pressed.On
	for name, test := range map[string]struct {
		interaction Interaction
		takes       []string
	}{
		"a command":               {used, []string{"show", "deferral", "modal"}},
		"a press":                 {pressed, []string{"show", "deferral", "change", "change later", "modal"}},
		"a wish for choices":      {typing, []string{"choices"}},
		"a modal of a command":    {sent, []string{"show", "deferral"}},
		"a modal under a message": {onMessage, []string{"show", "deferral", "change", "change later"}},
	} {
		for response, body := range all {
			s := New()
			p, _ := s.create(test.interaction)
			status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body)
			want := http.StatusBadRequest
			if slices.Contains(test.takes, response) {
				want = http.StatusNoContent
			}
			if status != want || len(s.Problems()) != map[int]int{400: 1, 204: 0}[want] {
				t.Errorf("%s answered by %s: status %d, problems %q", name, response, status, s.Problems())
			}
			s.Close()
		}
	}
}

// A press changes the message for all who see it, and only by what is sent.
func TestAPressChangesItsMessage(t *testing.T) {
	s := New()
	defer s.Close()
	first, _ := s.create(used)
	callback := func(p *Pending, body string) int {
		status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body)
		return status
	}
	edit := func(p *Pending, body string) int {
		status, _ := do(t, s, "PATCH", "/webhooks/"+s.ApplicationID+"/"+p.Token+"/messages/@original", "", body)
		return status
	}
	callback(first, shows(row(button("a"))))
	message := first.Answer().Message

	at, _ := s.create(first.Press("6", "a"))
	if status := callback(at, `{"type":7,"data":{"content":"new",`+quiet+`}}`); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	later, _ := s.create(first.Press("5", "forged"))
	callback(later, `{"type":6}`)
	if a := later.Answer(); !a.Deferred || a.Content != "new" {
		t.Errorf("promised: %+v", a)
	}
	edit(later, `{"content":"newest","components":[],`+quiet+`}`)
	now := first.Answer().Message
	if now.ID != message.ID || now.Content != "newest" || now.Edited != 2 || len(now.Buttons) != 0 || len(s.Messages()) != 1 {
		t.Errorf("%+v", now)
	}
	if shown := at.Shown(); len(shown) != 1 || shown[0].Content != "new" || len(shown[0].Buttons) != 1 {
		t.Errorf("the press showed %+v", shown)
	}

	// Ephemeral answers to a press are messages of their own.
	alone, _ := s.create(first.Press("6", "a"))
	callback(alone, `{"type":4,"data":{"content":"only you","flags":64,`+quiet+`}}`)
	if a := alone.Answer(); !a.Ephemeral || a.SeenBy != "6" || a.ID == message.ID || first.Answer().Content != "newest" {
		t.Errorf("%+v", a)
	}
	if len(s.Problems()) > 0 {
		t.Errorf("refused: %q", s.Problems())
	}
}

func TestWhoSeesAnAnswerIsFixedByItsPromise(t *testing.T) {
	for _, promised := range []bool{false, true} {
		s := New()
		p, _ := s.create(used)
		flags := map[bool]string{false: "0", true: "64"}
		do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", `{"type":5,"data":{"flags":`+flags[promised]+`,`+quiet+`}}`)
		webhook := "/webhooks/" + s.ApplicationID + "/" + p.Token
		say := `{"content":"x","flags":` + flags[!promised] + `,` + quiet + `}`
		if status, _ := do(t, s, "POST", webhook, "", say); status != 200 {
			t.Errorf("status %d: %q", status, s.Problems())
		}
		a := p.Answer()
		if a.Ephemeral != promised || a.Content != "x" || len(a.Followups) != 0 || a.Edited != 0 {
			t.Errorf("straight after a promise: %+v", a)
		}
		do(t, s, "PATCH", webhook+"/messages/@original", "", say)
		do(t, s, "POST", webhook, "", say)
		a = p.Answer()
		if a.Ephemeral != promised || a.Edited != 1 || len(a.Followups) != 1 || a.Followups[0].Ephemeral == promised {
			t.Errorf("later: %+v", a)
		}
		s.Close()
	}
}

func TestOnlyMessagesHaveAWebhook(t *testing.T) {
	s := New()
	defer s.Close()
	for _, test := range []struct {
		interaction Interaction
		body        string
	}{{used, modal("x", labelled("a", ""))}, {typing, choices(1, "x")}} {
		p, _ := s.create(test.interaction)
		do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", test.body)
		webhook := "/webhooks/" + s.ApplicationID + "/" + p.Token
		if status, code := do(t, s, "PATCH", webhook+"/messages/@original", "", `{"content":"x",`+quiet+`}`); status != 404 || code != 10015 {
			t.Errorf("edit: status %d, code %d", status, code)
		}
		if status, code := do(t, s, "POST", webhook, "", `{"content":"x",`+quiet+`}`); status != 404 || code != 10015 {
			t.Errorf("follow-up: status %d, code %d", status, code)
		}
	}
}

func TestAnAnswerExpiresAfterFifteenMinutes(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(used)
	do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", `{"type":5,"data":{`+quiet+`}}`)
	s.mu.Lock()
	p.sent = time.Now().Add(-tokenLife - time.Second)
	s.mu.Unlock()
	for method, path := range map[string]string{"PATCH": "/messages/@original", "POST": ""} {
		if status, code := do(t, s, method, "/webhooks/"+s.ApplicationID+"/"+p.Token+path, "", `{"content":"x",`+quiet+`}`); status != 401 || code != 50027 {
			t.Errorf("%s: status %d, code %d", method, status, code)
		}
	}
}

func TestAModalComesBackAsItWasShown(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(pressed)
	body := modal("Which?", labelled("a", `,"placeholder":"0x…","max_length":42`)+","+
		row(`{"type":4,"custom_id":"b","style":2,"label":"Why","value":"because","required":false}`))
	if status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	m := p.Answer().Modal
	if m.Title != "Which?" || len(m.Inputs) != 2 || m.Inputs[0] != (Input{CustomID: "a", Label: "Wallet", Placeholder: "0x…", Required: true, MaxLength: 42, InLabel: true}) {
		t.Fatalf("%+v", m)
	}
	_, payload := s.create(p.Submit(map[string]string{"a": "0x1"}))
	got, _ := json.Marshal(payload["data"])
	want := `{"components":[{"component":{"custom_id":"a","id":1,"type":4,"value":"0x1"},"id":100,"type":18},` +
		`{"components":[{"custom_id":"b","id":2,"type":4,"value":"because"}],"id":101,"type":1}],"custom_id":"1:x"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if message := payload["message"].(map[string]any); payload["type"] != 5 || message["id"] != p.interaction.On.ID {
		t.Errorf("%+v", payload)
	}
}

func TestInteractionsSayWhereTheyComeFrom(t *testing.T) {
	s := New()
	defer s.Close()
	first, _ := s.create(used)
	s.respond(first, decoded(t, shows(row(button("a")))), nil)
	for name, test := range map[string]struct {
		interaction Interaction
		want        string
	}{
		"a guild":         {used, `[2,0,"7",{"0":"7"},"en-US","en-US",null,null]`},
		"a private chat":  {Interaction{Command: "x", UserID: "5", Locale: "tr"}, `[2,1,null,{"0":"0"},"tr",null,null,null]`},
		"one's own bot":   {Interaction{Command: "x", UserID: "5", GuildID: "7", GuildLocale: "ru", UserInstalled: true}, `[2,0,"7",{"1":"5"},"en-US","ru",null,null]`},
		"among friends":   {Interaction{Command: "x", UserID: "5", PrivateChannel: true}, `[2,2,null,{"1":"5"},"en-US",null,null,null]`},
		"a press":         {first.Press("6", "a"), `[3,0,"7",{"0":"7"},"en-US","en-US",{"component_type":2,"custom_id":"a","id":2},"x"]`},
		"a press of old":  {pressed, `[3,0,"7",{"0":"7"},"en-US","en-US",{"component_type":2,"custom_id":"1:x","id":2},"old"]`},
		"a press, forged": {first.Press("6", "\x00…"), `[3,0,"7",{"0":"7"},"en-US","en-US",{"component_type":2,"custom_id":"\u0000…","id":2},"x"]`},
		"while typing":    {Interaction{Command: "x", Focused: "o", UserID: "5", Options: map[string]string{"o": "Tel"}}, `[4,1,null,{"0":"0"},"en-US",null,{"id":"1300000000000000001","name":"x","options":[{"focused":true,"name":"o","type":3,"value":"Tel"}],"type":1},null]`},
	} {
		_, p := s.create(test.interaction)
		var data, content any
		if p["type"] != useOfCommand {
			data = p["data"]
		}
		if m, ok := p["message"].(map[string]any); ok {
			content = m["content"]
		}
		got, err := json.Marshal([]any{p["type"], p["context"], p["guild_id"], p["authorizing_integration_owners"], p["locale"], p["guild_locale"], data, content})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, test.want)
		}
	}
	old, _ := s.create(pressed)
	if shown, err := discordgo.SnowflakeTimestamp(old.interaction.On.ID); err != nil || time.Since(shown) < 300*24*time.Hour {
		t.Errorf("a message of last year is of %v, %v", shown, err)
	}
}

func decoded(t *testing.T, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What is answered in the body of an HTTP response is taken like a call.
func TestAPressArrivesByHTTP(t *testing.T) {
	s := New()
	defer s.Close()
	var answer, kind string
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var i struct {
			Type int
			Data struct {
				CustomID string `json:"custom_id"`
			}
			Message struct{ Content string }
		}
		signed := append([]byte(r.Header.Get("X-Signature-Timestamp")), body...)
		signature, _ := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
		if json.Unmarshal(body, &i) != nil || i.Type != 3 || i.Data.CustomID != "1:x" || i.Message.Content == "" || !ed25519.Verify(s.PublicKey, signed, signature) {
			t.Errorf("got %s", body)
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, answer)
	}))
	defer bot.Close()

	kind, answer = "application/json", `{"type":7,"data":{"content":"new",`+quiet+`}}`
	p, status, err := s.Post(t.Context(), bot.URL, pressed)
	if a := p.Answer(); err != nil || status != 200 || a.Content != "new" || a.Edited != 1 {
		t.Errorf("status %d, %v: %+v", status, err, a)
	}
	answer = `{"type":8,"data":{"choices":[]}}`
	if _, _, err := s.Post(t.Context(), bot.URL, pressed); err == nil {
		t.Error("choices were taken for an answer to a press")
	}
	kind, answer = "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n"+shows(row(button("a")))+"\r\n--b--\r\n"
	if _, _, err := s.Post(t.Context(), bot.URL, pressed); err == nil {
		t.Error("a response of several parts was taken")
	}
}

func TestACallThatFailedMayHaveLanded(t *testing.T) {
	s := New()
	defer s.Close()
	s.Script(Callback, Fault{Status: 502, Landed: true})
	p, _ := s.create(used)
	callback := "/interactions/" + p.ID + "/" + p.Token + "/callback"
	if status, _ := do(t, s, "POST", callback, "", shows(row(button("a")))); status != 502 || p.Answer().Content != "x" {
		t.Errorf("status %d, shown %+v", status, p.Answer())
	}
	if _, code := do(t, s, "POST", callback, "", shows(row(button("a")))); code != 40060 {
		t.Errorf("code %d", code)
	}
}
